# SPDX-License-Identifier: Apache-2.0
"""`./run coverage`: shows how many lines the fuzzer's inputs and the quick tests execute."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import toolchains
from fuzz import seeds

ROOT: Final = toolchains.REPOSITORY
FOLDER: Final = ROOT / "build" / "coverage"
LLVM: Final = Path("/usr/lib/llvm-19/bin")
READERS: Final = ("analysis/core/events/", "analysis/core/analyses/", "ompt_tool/format/")
NO_READERS: Final = (
    *("run_writer", "control_groups", "ideal_network"),
    *("reuse_distance", "last_touches", "ordered_keys", "recency_weights", "touch_moves"),
)
"""Other files in these folders: they write, or compute from data that the readers return."""
LEAST_PERCENT: Final = 90


class File(NamedTuple):
    """The lines of one file and the executed part of them."""

    path: str
    n_lines: int
    n_executed: int


def main() -> int:
    """Prints the table of each part. The words after "--" are arguments of pytest."""
    words = sys.argv[1:]
    end = words.index("--") if "--" in words else len(words)
    arguments = parsed(words[:end])
    too_few = False
    for part in [arguments.part] if arguments.part else PARTS:
        files = sorted(PARTS[part](words[end + 1 :]))
        total = File("total", sum(file.n_lines for file in files), sum(file.n_executed for file in files))
        print(f"\n{'lines':>7}{'missing':>9}{'executed':>10}  {part}")
        for file in [*files, total]:
            print(f"{file.n_lines:7}{file.n_lines - file.n_executed:9}{percent(file):9.1f}%  {file.path}")
        too_few |= percent(total) < LEAST_PERCENT
    if too_few:
        print(f"Less than {LEAST_PERCENT}% of the lines are executed.", file=sys.stderr)
    return int(too_few)


def percent(file: File) -> float:
    return 100 * file.n_executed / file.n_lines if file.n_lines else 100


def readers(_: Sequence[str]) -> list[File]:
    """Returns the lines of the readers of run directories that the fuzzer's inputs execute, by file."""
    program, profile, inputs = FOLDER / "bin" / "ompass-fuzz-run", FOLDER / "readers", FOLDER / "inputs"
    seeds.write(inputs)
    with tempfile.TemporaryDirectory(prefix="ompass-coverage-") as scratch:
        raw = Path(scratch) / "profraw"
        environment = os.environ | {"TMPDIR": scratch, "LLVM_PROFILE_FILE": str(raw)}
        done = subprocess.run(
            [str(program), *map(str, sorted(inputs.iterdir()))],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise SystemExit(done.stderr)
        subprocess.run([LLVM / "llvm-profdata", "merge", raw, "-o", profile], check=True)
    command: list[str | Path] = [
        LLVM / "llvm-cov",
        "export",
        "-summary-only",
        f"-instr-profile={profile}",
        program,
    ]
    result = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    files = []
    for entry in result["data"][0]["files"]:
        path = str(Path(entry["filename"]).relative_to(ROOT))
        if path.startswith(READERS) and Path(path).stem not in NO_READERS:
            lines = entry["summary"]["lines"]
            files.append(File(path, lines["count"], lines["covered"]))
    return files


def package(pytest: Sequence[str]) -> list[File]:
    """Returns the lines of the package that pytest with these arguments and its subprocesses execute."""
    coverage = [sys.executable, "-m", "coverage"]
    subprocess.run([*coverage, "erase"], cwd=ROOT, check=True)
    tests = [*coverage, "run", "-m", "pytest", "-p", "line_coverage.saving", *pytest]
    if subprocess.run(tests, cwd=ROOT, check=False).returncode != 0:
        print("Tests failed, so lines that they execute may count as missing.", file=sys.stderr)
    subprocess.run([*coverage, "combine", "--quiet"], cwd=ROOT, check=True)
    report = FOLDER / "package.json"
    subprocess.run([*coverage, "json", "--quiet", "-o", report], cwd=ROOT, check=True)
    return [
        File(path.rpartition("site-packages/")[2], summary["num_statements"], summary["covered_lines"])
        for path, content in json.loads(report.read_text())["files"].items()
        for summary in [content["summary"]]
    ]


PARTS: Final[dict[str, Callable[[Sequence[str]], list[File]]]] = {"readers": readers, "package": package}


def parsed(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="./run coverage",
        description="Show how many lines of the readers of run directories the fuzzer's inputs execute, and "
        f"how many of the package the quick tests execute. Fails below {LEAST_PERCENT}%.",
    )
    parser.add_argument("part", nargs="?", choices=PARTS, help="only this part")
    return parser.parse_args(words)


if __name__ == "__main__":
    sys.exit(main())
