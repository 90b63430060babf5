# SPDX-License-Identifier: Apache-2.0
"""Makes small wrong changes and counts how many the quick tests notice.

Usage: ./run mutants [--language python|c++] [-n N] [--seed N] [--only TEXT] [--jobs N] [--json FILE]

Each change is made in a copy of the sources, in build/mutants. For Python, the unit tests that enter the
changed function run on a changed copy of the installed package. For C++, the native tests and some programs
run on changed libraries; use --jobs 1. A change that no test notices is a survivor;
`equivalent.txt` lists survivors that change no behaviour, with the reason. A journal keeps the results: the
same command resumes an interrupted campaign, and judges survivors again if the tests have changed. Another
seed chooses other changes; if the sources change, the choice among unchanged lines remains.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Final, Protocol

from mutants.changes import Change, all_changes, choose
from mutants.cpp_tests import CppTests
from mutants.python_tests import PythonTests, digest
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
NOTICED_PART: Final = 0.85


class Tests(Protocol):
    """The quick tests of one language."""

    def prepare(self, jobs: int, changes: Collection[Change]) -> None: ...
    def digest(self) -> str: ...
    def judge(self, change: Change, job: int) -> tuple[str, str]: ...


def files_of(language: str, only: str) -> list[Path]:
    """Returns the source files of a language whose paths contain `only`."""
    suffixes = {".py"} if language == "python" else {".cpp", ".h"}
    return [
        file
        for folder in SOURCES[language]
        for file in (ROOT / folder).rglob("*")
        if file.suffix in suffixes and only in str(file)
    ]


def equivalent() -> set[str]:
    """Returns the changes in equivalent.txt. Skips its comments (#) and its reasons (indented)."""
    lines = EQUIVALENT.read_text(encoding="utf-8").splitlines()
    return {line for line in lines if line and line[0] not in " #"}


def run_campaign(tests: Tests, changes: dict[str, Change], folder: Path, jobs: int) -> dict[str, str]:
    """Judges all changes and returns the result of each."""
    results: dict[str, str] = {}
    free: SimpleQueue[int] = SimpleQueue()
    for job in range(jobs):
        free.put(job)
    known = equivalent()
    version = tests.digest()
    with Journal(folder / "journal.jsonl", f"remove {folder}") as journal, ThreadPoolExecutor(jobs) as pool:
        before = {entry["change"]: entry for _, entry in journal.entries() if entry}

        def judge(shown: str, change: Change) -> None:
            entry = before.get(shown)
            source = digest(ROOT / change.file)
            if (
                not entry
                or entry["source"] != source
                or (entry["tests"] != version and entry["result"] == "survived")
            ):
                job = free.get()
                try:
                    result, by = tests.judge(change, job)
                finally:
                    free.put(job)
                entry = {"change": shown, "result": result, "by": by, "source": source, "tests": version}
                journal.append(entry)
            same = entry["result"] == "survived" and shown in known
            results[shown] = "equivalent" if same else entry["result"]
            print(
                f"{len(results)}/{len(changes)} {results[shown]}: {shown}  ({change.line}) {entry['by']}",
                flush=True,
            )

        for done in [pool.submit(judge, *item) for item in changes.items()]:
            done.result()
    return results


def main() -> int:
    """Runs the campaign and prints its result. Returns 0 if the tests notice at least 85% of the changes."""
    parser = argparse.ArgumentParser(prog="./run mutants", description=__doc__, add_help=True)
    parser.add_argument("--language", choices=list(SOURCES), default="python")
    parser.add_argument("-n", type=int, default=0, help="number of changes (200 in Python, 100 in C++)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="only files whose path contains this text")
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count(), help="changes that are judged at the same time"
    )
    parser.add_argument("--json", type=Path, help="write all results to this file")
    options = parser.parse_args()
    n = options.n or (200 if options.language == "python" else 100)
    folder = FOLDER / options.language
    folder.mkdir(parents=True, exist_ok=True)
    tests: Tests = PythonTests(folder) if options.language == "python" else CppTests(folder)
    changes = choose(dict(all_changes(ROOT, files_of(options.language, options.only))), n, options.seed)
    tests.prepare(options.jobs, changes.values())
    results = run_campaign(tests, changes, folder, options.jobs)
    if options.json:
        options.json.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    judged = [r for r in results.values() if r not in ("equivalent", "not built")]
    noticed = sum(r != "survived" for r in judged)
    print(f"{noticed} of {len(judged)} changes noticed")
    return 0 if noticed >= NOTICED_PART * len(judged) else 1


if __name__ == "__main__":
    sys.exit(main())
