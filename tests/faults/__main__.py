# SPDX-License-Identifier: Apache-2.0
"""`./run faults`: runs programs with faults under the tool and lists unexpected outcomes."""

from __future__ import annotations

import argparse
import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import toolchains
from campaigns import add_at_once, run_command, with_progress
from faults.cases import Case
from faults.kinds import KINDS
from faults.one_run import Outcome, run_all
from ompass.errors import UsageError
from ompass.journal import Journal

FOLDER = toolchains.REPOSITORY / "build" / "faults"
MOST_CHARACTERS = 500  # of a printed complaint; the journal has the whole text


def main() -> int:
    arguments = parsed()
    library = Path(os.environ.get("OMPASS_LIBRARY", toolchains.BUILD / "lib" / "libompass.so"))
    cases = [Case.of_key(key) for key in arguments.key] or chosen_cases(arguments)
    FOLDER.mkdir(parents=True, exist_ok=True)
    with Journal(
        FOLDER / "journal.jsonl", f"remove {FOLDER}", {"format": "ompass faults journal 1"}
    ) as journal:
        ended = {entry["key"]: entry for number, entry in journal.entries() if number > 1 and entry}
        if arguments.again:
            ended = {key: entry for key, entry in ended.items() if not entry["failure"]}
        missing = [case for case in cases if arguments.key or case.key not in ended]

        def kept() -> Iterator[Outcome]:
            for outcome in run_all(missing, library, FOLDER, arguments.at_once):
                journal.append(outcome)
                yield outcome

        for outcome in with_progress(kept(), len(missing), complaint):
            ended[outcome["key"]] = outcome
    outcomes = [ended[case.key] for case in cases]
    print(summary(outcomes))
    if arguments.json:
        arguments.json.write_text(json.dumps(outcomes, indent=1) + "\n", encoding="utf-8")
    return int(any(outcome["failure"] for outcome in outcomes))


def chosen_cases(arguments: argparse.Namespace) -> list[Case]:
    """Returns the requested cases, all kinds for each seed in turn. Raises UsageError for an unknown kind."""
    names = arguments.only.split(",") if arguments.only else list(KINDS)
    if unknown := [name for name in names if name not in KINDS]:
        raise UsageError(unknown[0], "no such fault", f"there are {', '.join(KINDS)}")
    seeds = range(arguments.seed, arguments.seed + arguments.seeds)
    return [Case(KINDS[name], seed) for seed in seeds for name in names]


def complaint(outcome: Outcome) -> str:
    return f"{outcome['key']}: {str(outcome['failure'])[:MOST_CHARACTERS]}" if outcome["failure"] else ""


def summary(outcomes: Sequence[Outcome]) -> str:
    """Returns the numbers of runs and failures by kind, and of skipped runs, as text."""
    runs = Counter(outcome["kind"] for outcome in outcomes)
    failures = Counter(outcome["kind"] for outcome in outcomes if outcome["failure"])
    skipped = Counter(outcome["skipped"] for outcome in outcomes if outcome["skipped"])
    lines = [f"{name:12} {n:6} runs {failures[name]:4} failures" for name, n in sorted(runs.items())]
    lines += [f"{n} runs skipped: {reason}" for reason, n in skipped.items()]
    return "\n".join([*lines, f"{'in total':12} {len(outcomes):6} runs {failures.total():4} failures"])


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="./run faults",
        description="Run a program that ends, forks, unloads libraries, or lacks memory, disk or files at "
        "random moments, without and with the tool. Its output and status must be the same. The recording "
        "must be complete, or state its missing parts. Finished runs are skipped: the same command resumes "
        "an interrupted campaign.",
        epilog="The journal and the folders of failed runs are in "
        f"{FOLDER.relative_to(toolchains.REPOSITORY)}. "
        f"Faults: {', '.join(KINDS)}.",
    )
    parser.add_argument("--only", default="", metavar="NAMES", help="faults, comma-separated")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="first seed (1)")
    parser.add_argument("--seeds", type=int, default=5, metavar="N", help="number of seeds of each fault (5)")
    parser.add_argument(
        "--key", action="append", default=[], metavar="KEY", help="repeat this run, such as kill-7"
    )
    parser.add_argument("--again", action="store_true", help="repeat failed runs")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every run and its outcome to FILE")
    add_at_once(parser)
    return parser.parse_args()


if __name__ == "__main__":
    run_command(main)
