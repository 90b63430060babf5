# SPDX-License-Identifier: Apache-2.0
"""`./run performance`: measures this commit on this machine; with two records, compares them."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from ompass.errors import OmpassError, UsageError
from performance.compare import changes_of, notes, read_record, table
from performance.record import BENCHMARKS, file_name, measure
from toolchains import REPOSITORY

FOLDER = REPOSITORY / "build" / "performance"


def main() -> int:
    arguments = parsed()
    if arguments.records:
        before, after = arguments.records
        return compare(before, after, arguments.min_difference, show_all=arguments.all)
    record = measure(arguments.only.split(","), arguments.samples)
    FOLDER.mkdir(parents=True, exist_ok=True)
    file = FOLDER / file_name(record)
    file.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print(file.relative_to(REPOSITORY))
    return 0


def compare(before_path: Path, after_path: Path, least: float | None, *, show_all: bool) -> int:
    """Prints the significant changes; returns 1 if a figure grew."""
    before, after = read_record(before_path), read_record(after_path)
    changes = changes_of(before, after, least)
    verdicts = [change.verdict for change in changes]
    shown = [
        change
        for change, verdict in zip(changes, verdicts, strict=True)
        if show_all or verdict in ("more", "less")
    ]
    if shown:
        print(table(shown))
    print(f"{verdicts.count('more')} of {len(changes)} figures grew, {verdicts.count('less')} shrank.")
    for note in notes(before, after):
        print(note)
    return int("more" in verdicts)


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="./run performance",
        description="Measure this commit on this machine, and write all samples to build/performance. "
        "With two such records: list the figures that differ significantly, with the ratio and its 98% "
        "interval. All figures are costs (seconds, bytes); the status is 1 if one grew.",
    )
    parser.add_argument(
        "records", nargs="*", type=Path, metavar="RECORD", help="two records, the older one first"
    )
    parser.add_argument(
        "--only", default=",".join(BENCHMARKS), metavar="NAMES", help="benchmarks (%(default)s)"
    )
    parser.add_argument("--samples", type=int, default=15, metavar="N", help="samples of each figure (15)")
    parser.add_argument(
        "--min-difference", type=float, metavar="SHARE", help="the least difference that counts, such as 0.02"
    )
    parser.add_argument("--all", action="store_true", help="list all figures")
    arguments = parser.parse_args()
    if len(arguments.records) not in (0, 2):
        parser.error("give two records, or none to measure")
    if unknown := [name for name in arguments.only.split(",") if name not in BENCHMARKS]:
        raise UsageError(unknown[0], "no such benchmark", f"there are {', '.join(BENCHMARKS)}")
    return arguments


if __name__ == "__main__":
    try:
        sys.exit(main())
    except OmpassError as error:
        sys.exit(f"error: {error.one_line()}")
