# SPDX-License-Identifier: Apache-2.0
"""The table in docs/runtimes.md: the number of right programs by runtime, compiler and way to load."""

from __future__ import annotations

from collections.abc import Sequence

import toolchains
from runtime_matrix.runs import Outcome, Pair, Way

PAGE = toolchains.REPOSITORY / "docs" / "runtimes.md"


def table(pairs: Sequence[Pair], ways: Sequence[Way], outcomes: Sequence[Outcome]) -> str:
    """Returns the table, the wrong programs with reasons, and the programs that fail without the tool."""
    head = f"| runtime | compiler | {' | '.join(way.name for way in ways)} |\n|---|---|{'---|' * len(ways)}"
    rows = [
        f"| {pair.runtime} | {pair.compiler} | {' | '.join(_cell(pair, way, outcomes) for way in ways)} |"
        for pair in pairs
    ]
    ours = [outcome for outcome in outcomes if outcome.wrong and outcome.is_ours]
    others = {_fault(outcome, outcome.case.pair.compiler) for outcome in outcomes if not outcome.is_ours}
    n_runs = sum(outcome.is_ours for outcome in outcomes)
    wrong = f"{len(ours)} wrong" if ours else "all right"
    text = f"{n_runs:,} runs, {wrong}:\n\n" + "\n".join([head, *rows]) + "\n"
    if ours:
        text += (
            "\nWrong:\n\n"
            + "\n".join(
                sorted(f"{_fault(o, f'{o.case.pair.compiler}, {o.case.way.name}')}: {o.wrong}" for o in ours)
            )
            + "\n"
        )
    if others:
        text += (
            "\nOmitted, because they also fail without tool and extension:\n\n"
            + "\n".join(sorted(others))
            + "\n"
        )
    return text


def _cell(pair: Pair, way: Way, outcomes: Sequence[Outcome]) -> str:
    of_cell = [o for o in outcomes if o.case.pair == pair and o.case.way == way and o.is_ours]
    n_right = sum(not outcome.wrong for outcome in of_cell)
    return str(n_right) if n_right == len(of_cell) else f"{n_right} of {len(of_cell)}"


def _fault(outcome: Outcome, detail: str) -> str:
    case = outcome.case
    return f"- `{case.program.name}` on {case.pair.runtime}, {detail}"
