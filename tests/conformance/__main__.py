# SPDX-License-Identifier: Apache-2.0
"""`./run conformance FOLDER...`: runs the programs of suites in every way and lists the differences."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path

import toolchains
from campaigns import add_at_once, run_command, with_progress
from conformance.judge import Campaign, Case, Entry
from conformance.programs import Built, Program, build_all, programs_in
from conformance.suites import SUITES
from conformance.ways import WAYS
from ext_programs import ext_library
from ompass.errors import UsageError
from ompass.journal import Journal

FOLDER = toolchains.REPOSITORY / "build" / "conformance"
_THREADS = (2, 4, 8)


def main() -> int:
    arguments = parsed()
    campaign = Campaign(
        Path(os.environ.get("OMPASS_LIBRARY", toolchains.BUILD / "lib" / "libompass.so")),
        ext_library(),
        toolchains.toolchain_named(arguments.toolchain),
        [way for way in WAYS if fnmatch(way.name, arguments.way)],
        arguments.limit,
        arguments.repeats,
    )
    programs = chosen_programs(arguments.folder, arguments.only)
    built = with_progress(
        build_all(programs, campaign.toolchain, arguments.at_once), len(programs), lambda _: ""
    )
    threads = [int(number) for number in arguments.threads.split(",")]
    cases = [Case(b.program, b.executable, n) for b in built if b.executable for n in threads]
    entries = run(campaign, cases, arguments.at_once, again=arguments.again)
    not_built = [b for b in built if not b.executable]
    print(report(entries, not_built))
    if arguments.json:
        write_json(arguments.json, entries, not_built)
    return int(any(serious(entry) for entry in entries))


def chosen_programs(folders: Sequence[Path], only: str) -> list[Program]:
    """Returns the programs of the checkouts. Raises UsageError if a folder is missing or no name matches."""
    for folder in folders:
        if not folder.is_dir():
            raise UsageError(str(folder), "there is no such folder", "give the checkout of a suite")
    programs = [program for folder in folders for program in programs_in(folder, only)]
    if not programs:
        raise UsageError(only, "no OpenMP program has such a name", "leave out --only")
    return programs


def run(campaign: Campaign, cases: Sequence[Case], at_once: int, *, again: bool = False) -> list[Entry]:
    """Runs the cases that the journal lacks. If `again`, also repeats those with differences."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    header = {"format": "ompass conformance journal 1"}
    with Journal(FOLDER / "journal.jsonl", f"remove {FOLDER}", header) as journal:
        ended = {
            (entry["key"], entry["inputs"]): entry
            for number, entry in journal.entries()
            if number > 1 and entry and not (again and entry["differences"])
        }
        missing = [case for case in cases if (case.key, campaign.inputs(case)) not in ended]

        def kept(entries: Iterable[Entry]) -> Iterator[Entry]:
            for entry in entries:
                journal.append(entry)
                yield entry

        with contextlib.closing(campaign.run_all(missing, at_once)) as entries:
            for entry in with_progress(kept(entries), len(missing), complaint):
                ended[entry["key"], entry["inputs"]] = entry
    return [ended[case.key, campaign.inputs(case)] for case in cases]


def serious(entry: Entry) -> list[Entry]:
    """Returns the differences of an entry except those in the order of the output."""
    return [difference for difference in entry["differences"] if not difference["is_order"]]


def complaint(entry: Entry) -> str:
    """Returns the differences of an entry, one per line."""
    return "\n".join(
        f"{entry['program']}, {entry['threads']} threads, {found['way']}: {found['difference']} (in "
        f"{found['n_different']} of {found['n_runs']} runs, in none of {found['n_stock_runs']} stock runs)"
        for found in serious(entry)
    )


def report(entries: Sequence[Entry], not_built: Sequence[Built]) -> str:
    """Returns the differences, and the numbers of runs, skipped programs and programs that do not build."""
    skipped = {entry["program"]: entry["skipped"] for entry in entries if entry["skipped"]}
    n_order = sum(any(found["is_order"] for found in entry["differences"]) for entry in entries)
    n_different = sum(bool(serious(entry)) for entry in entries)
    lines = [text for entry in entries if (text := complaint(entry))]
    lines += [f"skipped {program}: {reason}" for program, reason in skipped.items()]
    n_programs = len({entry["program"] for entry in entries})
    lines += [
        f"{n_programs} programs in {len(entries)} cases: {n_different} cases differ from stock, "
        f"{n_order} differ in the order of the output, {len(not_built)} programs do not build"
    ]
    return "\n".join(lines)


def write_json(path: Path, entries: Sequence[Entry], not_built: Sequence[Built]) -> None:
    """Writes all entries, and the compilers' messages of the programs that do not build."""
    messages = {built.program.key: built.message for built in not_built}
    path.write_text(
        json.dumps({"cases": list(entries), "not_built": messages}, indent=1) + "\n", encoding="utf-8"
    )


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="./run conformance",
        description="Build the OpenMP programs of third-party suites, and run each without Ompass, with the "
        "tool, with the extension, and with both. List the programs whose exit status or output differs "
        "from stock runs. Finished programs are skipped: the same command resumes an interrupted campaign.",
        epilog=f"The journal is in {os.path.relpath(FOLDER, toolchains.REPOSITORY)}. In "
        f"{', '.join(suite.name for suite in SUITES if suite.made)}, a program may have several files; "
        "in other suites, only programs of a single file are built.",
    )
    parser.add_argument("folder", type=Path, nargs="+", metavar="FOLDER", help="checkout of a suite")
    parser.add_argument("--only", default="*", metavar="PATTERN", help="programs, such as '*task*'")
    parser.add_argument("--way", default="*", metavar="PATTERN", help="ways to load, such as 'trace*'")
    parser.add_argument("--threads", default=",".join(map(str, _THREADS)), metavar="N,...", help="(2,4,8)")
    parser.add_argument("--toolchain", default=toolchains.DEFAULT_TOOLCHAIN, metavar="NAME", help="clang-19")
    parser.add_argument("--limit", type=float, default=60.0, metavar="SECONDS", help="limit of a run (60)")
    parser.add_argument(
        "--repeats", type=int, default=5, metavar="N", help="repeats of a run that differs (5)"
    )
    parser.add_argument("--again", action="store_true", help="repeat the programs that differed")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every case to FILE")
    add_at_once(parser)
    return parser.parse_args()


if __name__ == "__main__":
    run_command(main)
