# SPDX-License-Identifier: Apache-2.0
"""`./run runtime-matrix`: runs the programs on every runtime and compiler; updates docs/runtimes.md."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import toolchains
from campaigns import add_at_once, with_progress
from generated_part import write
from runtime_matrix.page import PAGE, table
from runtime_matrix.runs import WAYS, Campaign, Case, Outcome, cases_of, pairs

_PATIENCE_S = 300.0
_EXAMPLES = """examples:
  ./run runtime-matrix                          all programs; writes docs/runtimes.md
  ./run runtime-matrix --runtime 'libomp 23'    one runtime; writes no page
  ./run runtime-matrix --only tied,untied       two programs; writes no page"""


def main() -> int:
    arguments = parsed()
    chosen = [pair for pair in pairs() if arguments.runtime in ("", pair.runtime)]
    if missing := sorted({lack for pair in chosen for lack in pair.toolchain.missing()}):
        sys.exit(f"missing: {', '.join(missing)} (tests/fetch-runtimes PYTHON --all fetches runtimes)")
    tool = Path(os.environ.get("OMPASS_LIBRARY", toolchains.BUILD / "lib" / "libompass.so"))
    cases = cases_of(chosen, WAYS, arguments.only)
    outcomes = repeat_late(tool, run(Campaign(tool), cases, arguments.at_once))
    text = table(chosen, WAYS, outcomes)
    print(text)
    if not arguments.only and not arguments.runtime:
        write(text, PAGE, "runtime-matrix")
    return int(any(outcome.wrong and outcome.is_ours for outcome in outcomes))


def run(campaign: Campaign, cases: Sequence[Case], at_once: int) -> list[Outcome]:
    """Runs all cases and returns their outcomes. Writes wrong cases and the progress to stderr."""
    return with_progress(
        campaign.run_all(cases, at_once),
        len(cases),
        lambda outcome: f"{outcome.case}: {outcome.wrong}" if outcome.wrong else "",
    )


def repeat_late(tool: Path, outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Repeats late cases and those that fail without the tool, one at a time with a longer limit."""
    campaign = Campaign(tool, _PATIENCE_S)
    return [
        campaign.run(outcome.case) if outcome.is_late or not outcome.is_ours else outcome
        for outcome in outcomes
    ]


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="./run runtime-matrix",
        description="Run small programs, which together have every kind of task, on each runtime and with "
        "each compiler, under the tool and the extension. Show how many are right: output, counts, and the "
        "sum of the states. Exits with 1 if any is not.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    names = sorted({pair.runtime for pair in pairs()})
    parser.add_argument("--runtime", default="", metavar="NAME", choices=names, help=", ".join(names))
    parser.add_argument("--only", default="", metavar="PROGRAMS", help="programs, separated by commas")
    add_at_once(parser)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
