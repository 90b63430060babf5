# SPDX-License-Identifier: Apache-2.0
"""`./run gcc-matrix`: runs the programs, judges every function of libgomp and writes the page."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import toolchains
from campaigns import add_at_once, with_progress
from gcc_matrix.page import cells_of, tables, write
from gcc_matrix.programs import corpus, functions_of_libgomp
from gcc_matrix.runs import MODES, OTHER, RUNTIMES, THREADS, Campaign, Case, Outcome, cases_of

_EXAMPLES = """examples:
  ./run gcc-matrix                                        all programs, twice; writes docs/gcc-programs.md
  ./run gcc-matrix --rounds 1 --runtimes 'libomp 19'      one round on one runtime; writes no page
  ./run gcc-matrix --only taskloops.c,tasks.c             two programs; writes no page"""


def main() -> int:
    arguments = parsed()
    tool = Path(os.environ.get("OMPASS_LIBRARY", toolchains.BUILD / "lib" / "libompass.so"))
    programs = corpus(arguments.compiler, arguments.only)
    cases = cases_of(programs, arguments.runtimes, arguments.threads, arguments.modes, arguments.rounds)
    outcomes = run(Campaign(tool), cases, arguments.at_once)
    functions = functions_of_libgomp(arguments.compiler)
    cells = cells_of(functions, arguments.runtimes, outcomes)
    text = tables(cells, arguments.runtimes, arguments.compiler, outcomes)
    print(text)
    chosen = (arguments.runtimes, arguments.threads, arguments.modes)
    if not arguments.only and chosen == (list(RUNTIMES), list(THREADS), list(MODES)):
        write(text)
    if arguments.json:
        arguments.json.write_text(
            json.dumps({"functions": cells, "runs": as_values(outcomes)}, indent=1) + "\n"
        )
    return int(any(outcome.kind == OTHER for outcome in outcomes))


def run(campaign: Campaign, cases: Sequence[Case], at_once: int) -> list[Outcome]:
    """Runs all cases. Writes its progress, and each case with a wrong result, to stderr."""
    return with_progress(
        campaign.run_all(cases, at_once),
        len(cases),
        lambda outcome: f"{outcome.case}: {outcome.detail}" if outcome.kind == OTHER else "",
    )


def as_values(outcomes: Sequence[Outcome]) -> list[dict[str, object]]:
    return [
        {
            "program": outcome.case.program.name,
            "runtime": outcome.case.runtime,
            "threads": outcome.case.threads,
            "mode": outcome.case.mode,
            "outcome": outcome.kind,
            "names": sorted(outcome.names),
            "detail": outcome.detail,
        }
        for outcome in outcomes
    ]


def _names_of(known: Iterable[str]) -> Callable[[str], list[str]]:
    """Returns a parser of names separated by commas, which rejects unknown ones."""
    known = list(known)

    def names(text: str) -> list[str]:
        if unknown := [name for name in text.split(",") if name not in known]:
            raise argparse.ArgumentTypeError(f"{unknown[0]} is not one of {', '.join(known)}")
        return text.split(",")

    return names


def _numbers(text: str) -> list[int]:
    try:
        return [int(number) for number in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text}: not numbers separated by commas") from None


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="./run gcc-matrix",
        description="Run small programs, which together call every function of gcc's libgomp, on each LLVM "
        "runtime: in each mode, on 1, 2 and 4 threads. Show whether each has the same result as on libgomp, "
        "or is refused by name. Exit with 1 if any result differs.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--rounds", type=int, default=2, metavar="N", help="runs of each case (2)")
    parser.add_argument(
        "--runtimes", type=_names_of(RUNTIMES), default=list(RUNTIMES), metavar="NAMES",
        help=f"runtimes, separated by commas ({','.join(RUNTIMES)})",
    )  # fmt: skip
    parser.add_argument(
        "--threads", type=_numbers, default=list(THREADS), metavar="N,...", help="numbers of threads (1,2,4)"
    )
    parser.add_argument(
        "--modes",
        type=_names_of(MODES),
        default=list(MODES),
        metavar="NAMES",
        help=f"how programs are recorded ({','.join(MODES)})",
    )
    parser.add_argument(
        "--only", default="", metavar="PROGRAMS", help="sources of programs, separated by commas"
    )
    parser.add_argument(
        "--compiler", default="gcc-12", metavar="GCC", help="the gcc that builds them (gcc-12)"
    )
    add_at_once(parser)
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="write every run and every function to FILE"
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
