# SPDX-License-Identifier: Apache-2.0
"""`./run diseases`: records the corpus, judges it and prints the confusion matrices."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

import toolchains
from campaigns import run_command
from diseases import document
from diseases.conditions import CONDITIONS
from diseases.labels import Label, all_labels
from diseases.matrix import as_values, judge, misses, share_of, table, way_of
from diseases.runs import COMPILERS, FOLDER, Case, Recordings, Selection, build, cases_of
from ompass.errors import UsageError


def main() -> int:
    arguments = parsed()
    pairs = pairs_of(os.sched_getaffinity(0)) if arguments.pairs else []
    if pairs:
        os.sched_setaffinity(0, pairs[0])  # the right answers depend on the number of processors
    library = Path(os.environ.get("OMPASS_LIBRARY", toolchains.BUILD / "lib" / "libompass.so"))
    labels = chosen_labels(arguments.only)
    conditions = [c for c in CONDITIONS if getattr(arguments, c.name)] or list(CONDITIONS)
    threads = arguments.threads
    selection = Selection(
        labels, arguments.compilers, threads, conditions, arguments.rounds, arguments.cured, arguments.scale
    )
    cases = list(cases_of(selection, arguments.seed))
    for label, compiler, cured in dict.fromkeys((c.label, c.compiler, c.cured) for c in cases):
        build(label, compiler, cured=cured)
    with Recordings(library) as recordings:
        record_all(recordings, recordings.missing(cases), pairs)
        judged = [judge(case, recordings.run_dir(case)) for case in cases]
    for n in threads:
        for way in dict.fromkeys(way_of(case) for case in cases):
            chosen = [j for j in judged if (j.case.threads, way_of(j.case)) == (n, way)]
            print(table(chosen, f"{n} threads, {way}"), end="\n\n")
    lines = [j.line_right for j in judged if j.line_right is not None]
    print(f"in total: {share_of(judged)}; {sum(lines)} of {len(lines)} right findings name the marked line")
    print(*misses(judged), sep="\n")
    if arguments.write_docs:
        document.write(toolchains.REPOSITORY / "docs" / "findings.md", judged)
    if arguments.json:
        arguments.json.write_text(json.dumps(as_values(judged), indent=1) + "\n", encoding="utf-8")
    return 0


def pairs_of(processors: Collection[int]) -> list[set[int]]:
    """Returns disjoint pairs of these processors. Raises UsageError if there are fewer than two."""
    ordered = sorted(processors)
    if len(ordered) < 2:
        raise UsageError("--pairs", "there is only one processor", "leave the option out")
    return [{one, other} for one, other in zip(ordered[::2], ordered[1::2], strict=False)]


def record_all(recordings: Recordings, cases: Sequence[Case], pairs: Sequence[set[int]]) -> None:
    """Records one case at a time, or, if pairs of processors are given, one case at a time on each pair."""
    free: SimpleQueue[set[int]] = SimpleQueue()
    for pair in pairs or [os.sched_getaffinity(0)]:
        free.put(pair)

    def record(number: int, case: Case) -> None:
        processors = free.get()
        os.sched_setaffinity(0, processors)  # of this thread and of the programs that it starts
        say(f"{number} of {len(cases)}: {case.key}")
        try:
            recordings.add(case)
        finally:
            free.put(processors)

    with ThreadPoolExecutor(free.qsize()) as workers:
        for done in [workers.submit(record, number, case) for number, case in enumerate(cases, 1)]:
            done.result()


def chosen_labels(only: str) -> list[Label]:
    """Returns the labels of these programs and diseases (separated by commas; empty: all).

    Raises UsageError if a name is unknown.
    """
    chosen = dict.fromkeys(only.split(",")) if only else {}
    for name in chosen:
        if not any(name in (label.program, label.disease) for label in all_labels()):
            raise UsageError(name, "no such program or disease", "see tests/diseases/labels.csv")
    return [label for label in all_labels() if not only or label.program in chosen or label.disease in chosen]


def _numbers(text: str) -> list[int]:
    numbers = text.split(",")
    if not all(number.isdecimal() and int(number) for number in numbers):
        raise argparse.ArgumentTypeError(f"{text}: not numbers separated by commas")
    return [int(number) for number in numbers]


def _compilers(text: str) -> list[str]:
    names = text.split(",")
    if unknown := [name for name in names if name not in COMPILERS]:
        raise argparse.ArgumentTypeError(f"unknown compiler {unknown[0]}; choose from {', '.join(COMPILERS)}")
    return names


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="./run diseases",
        description="Record small programs with one known disease each, and show as confusion matrices how "
        "often the findings name it. Finished runs are skipped, so the same command resumes a campaign.",
        epilog="Without --quiet, --hog and --pinned, runs under all three conditions. "
        f"Recordings and their journal are in {FOLDER.relative_to(toolchains.REPOSITORY)}.",
    )
    parser.add_argument("--only", default="", metavar="NAMES", help="programs or diseases, comma-separated")
    parser.add_argument(
        "--threads", type=_numbers, default="2,4,16", metavar="N,...", help="numbers of threads (2,4,16)"
    )
    parser.add_argument(
        "--compilers",
        type=_compilers,
        default=",".join(COMPILERS),
        metavar="NAMES",
        help="compilers of the test matrix, comma-separated",
    )
    parser.add_argument("--rounds", type=int, default=1, metavar="N", help="runs of each case (1)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="seed of the order of the runs (1)")
    for condition, help_text in zip(
        CONDITIONS,
        ("runs alone", "runs with a processor hog", "runs with all threads on one processor"),
        strict=True,
    ):
        parser.add_argument(f"--{condition.name}", action="store_true", help=help_text)
    parser.add_argument(
        "--pairs", action="store_true", help="run one case on each pair of processors at the same time"
    )
    parser.add_argument("--cured", action="store_true", help="also the cured version of each program")
    parser.add_argument("--scale", action="store_true", help="also sweeps from one thread to each number")
    parser.add_argument(
        "--write-docs", action="store_true", help="write the confusion matrix into docs/findings.md"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every run and its findings to FILE")
    return parser.parse_args()


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    run_command(main)
