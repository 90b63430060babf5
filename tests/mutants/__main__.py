# SPDX-License-Identifier: Apache-2.0
"""Makes small wrong changes and counts how many the quick tests notice.

Usage: ./run mutants [--language python|c++] [-n N] [--seed N] [--only TEXT] [--json FILE]

Each change is made in a copy of the sources, in build/mutants. For Python, the unit tests run on a changed
copy of the installed package; for C++, the native tests run on changed libraries. A journal keeps the
results: the same command resumes an interrupted campaign. A change that no test notices is a survivor;
`equivalent.txt` lists survivors that change no behaviour, with the reason.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import ompass
from mutants.changes import Change, choose
from ompass.journal import Journal

ROOT: Final = Path(__file__).resolve().parents[2]
FOLDER: Final = ROOT / "build" / "mutants"
EQUIVALENT: Final = Path(__file__).with_name("equivalent.txt")
SOURCES: Final = {
    "python": (
        "analysis/ompass/metrics",
        "analysis/ompass/simulation",
        "analysis/ompass/scaling",
        "analysis/ompass/readers",
    ),
    "c++": ("analysis/core/events", "ompt_tool/src/accounting", "omp_ext/src/scheduler"),
}
LIMIT_S: Final = 300


def files_of(language: str, only: str) -> list[Path]:
    """Returns the files whose paths contain `only`."""
    suffixes = {".py"} if language == "python" else {".cpp", ".h"}
    return [
        file
        for folder in SOURCES[language]
        for file in (ROOT / folder).rglob("*")
        if file.suffix in suffixes and only in str(file)
    ]


def notices_python(change: Change, folder: Path) -> str:
    """Returns the result of the unit tests on a package with the change: noticed, survived or timeout."""
    package = folder / "ompass"
    if not package.exists():
        shutil.copytree(Path(ompass.__file__).parent, package)
    target = package / Path(change.file).relative_to("analysis/ompass")
    original = target.read_bytes()
    target.write_bytes(change.apply((ROOT / change.file).read_bytes()))
    try:
        environment = os.environ | {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
        for tests in _python_tests(change):
            result = _run([sys.executable, "-m", "pytest", "-q", "-x", "-n", "2", *tests], environment)
            if result != "survived":
                return result
        return "survived"
    finally:
        target.write_bytes(original)


def passes_unchanged(language: str, folder: Path) -> bool:
    """True if the tests pass without a change; otherwise they would notice everything."""
    file = files_of(language, "")[0]
    judge = notices_python if language == "python" else notices_cpp
    return judge(Change(str(file.relative_to(ROOT)), 1, 0, 0, "", ""), folder) == "survived"


def _python_tests(change: Change) -> list[list[str]]:
    """Returns the unit tests: first those that import the changed module, then all."""
    module = change.file.removeprefix("analysis/").removesuffix(".py").replace("/", ".")
    near = [
        str(file)
        for file in sorted((ROOT / "tests" / "unit").glob("test_*.py"))
        if module in file.read_text(encoding="utf-8")
    ]
    everything = [str(ROOT / "tests" / "unit")]
    return [near, everything] if near else [everything]


def notices_cpp(change: Change, folder: Path) -> str:
    """Returns the result of building and testing a copy of the sources with the change."""
    copy = folder / "source"
    if not copy.exists():
        copy.mkdir(parents=True)
        names = subprocess.run(
            ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout
        for name in names.splitlines():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy / name)
        options = ["-DOMPASS_BUILD_BOTS=OFF", "-DOMPASS_BUILD_TESTS=ON"]
        subprocess.run(["cmake", "--preset", "release", *options], cwd=copy, check=True, capture_output=True)
        subprocess.run(["cmake", "--build", "--preset", "release"], cwd=copy, check=True, capture_output=True)
    target = copy / change.file
    original = target.read_bytes()
    target.write_bytes(change.apply((ROOT / change.file).read_bytes()))
    try:
        built = _run(["cmake", "--build", "--preset", "release"], os.environ, copy, 900)
        if built != "survived":
            return "not built" if built == "noticed" else built
        return _run(["ctest", "--preset", "release", "--stop-on-failure", "-j", "2"], os.environ, copy)
    finally:
        target.write_bytes(original)


def _run(
    command: Sequence[str], environment: Mapping[str, str], cwd: Path = ROOT, limit_s: int = LIMIT_S
) -> str:
    try:
        done = subprocess.run(
            command, env=environment, cwd=cwd, capture_output=True, timeout=limit_s, check=False
        )
    except subprocess.TimeoutExpired:
        return "timeout"
    return "noticed" if done.returncode else "survived"


def main() -> int:
    """Runs the campaign and prints its result; 0 if at least 85% of the changes were noticed."""
    parser = argparse.ArgumentParser(prog="./run mutants", description=__doc__, add_help=True)
    parser.add_argument("--language", choices=list(SOURCES), default="python")
    parser.add_argument("-n", type=int, default=0, help="number of changes (200 in Python, 100 in C++)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="only files whose path contains this text")
    parser.add_argument("--json", type=Path, help="write all results to this file")
    options = parser.parse_args()
    n = options.n or (200 if options.language == "python" else 100)
    changes = choose(ROOT, files_of(options.language, options.only), n, options.seed)
    folder = FOLDER / options.language
    folder.mkdir(parents=True, exist_ok=True)
    judge = notices_python if options.language == "python" else notices_cpp
    known = EQUIVALENT.read_text(encoding="utf-8") if EQUIVALENT.exists() else ""
    results: dict[str, str] = {}
    if not passes_unchanged(options.language, folder):
        print("the tests fail without a change, or take too long", file=sys.stderr)
        return 2
    with Journal(folder / "journal.jsonl", f"remove {folder}") as journal:
        before = {entry["key"]: entry["result"] for _, entry in journal.entries() if entry}
        for k, change in enumerate(changes, 1):
            result = before.get(change.key) or judge(change, folder)
            if change.key not in before:
                journal.append({"key": change.key, "result": result})
            if result == "survived" and change.key in known:
                result = "equivalent"
            results[change.key] = result
            print(f"{k}/{len(changes)} {result}: {change.key}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    judged = [r for r in results.values() if r not in ("equivalent", "not built")]
    noticed = sum(r != "survived" for r in judged)
    print(f"{noticed} of {len(judged)} changes noticed")
    return 0 if noticed >= 0.85 * len(judged) else 1


if __name__ == "__main__":
    sys.exit(main())
