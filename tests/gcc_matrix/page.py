# SPDX-License-Identifier: Apache-2.0
"""Writes the page docs/gcc-programs.md: the behaviour of each function of libgomp in all runs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import generated_part
import toolchains
from gcc_matrix.runs import OTHER, REFUSED, SAME, Outcome

PAGE = toolchains.REPOSITORY / "docs" / "gcc-programs.md"
_COMMAND = "gcc-matrix"
BOTH = "same or refused"
UNKNOWN = "not tried"

Cells = Mapping[str, Mapping[str, str]]
"""The behaviour of each function on each runtime."""


def cells_of(functions: Sequence[str], runtimes: Sequence[str], outcomes: Iterable[Outcome]) -> Cells:
    """Judges each function on each runtime.

    A function is SAME if the programs that call it had the right results, REFUSED if refusals name it, BOTH
    if only some of its calls are refused, and OTHER if a program that calls it had another result.
    """
    seen: dict[tuple[str, str], set[str]] = {}
    for outcome in outcomes:
        runtime = outcome.case.runtime
        names = outcome.names if outcome.kind == REFUSED else outcome.case.program.calls
        for name in names:
            seen.setdefault((name, runtime), set()).add(outcome.kind)
    return {
        name: {runtime: _cell(seen.get((name, runtime), set())) for runtime in runtimes} for name in functions
    }


def _cell(kinds: set[str]) -> str:
    if OTHER in kinds:
        return OTHER
    if len(kinds) == 2:
        return BOTH
    return next(iter(kinds), UNKNOWN)


def tables(cells: Cells, runtimes: Sequence[str], gcc: str, outcomes: Sequence[Outcome]) -> str:
    """Returns the functions listed by result, and a table of those whose result depends on the runtime."""
    counts = {kind: sum(outcome.kind == kind for outcome in outcomes) for kind in (SAME, REFUSED, OTHER)}
    text = (
        f"{len(outcomes):,} runs of programs built by {gcc}, on {', '.join(runtimes)}:\n"
        f"{counts[SAME]:,} had the result of libgomp, {counts[REFUSED]:,} were refused by name, "
        f"{counts[OTHER]:,} had another result.\n"
    )
    rest = list(cells)
    for kind in (SAME, BOTH, REFUSED):
        names = [name for name, row in cells.items() if set(row.values()) == {kind}]
        rest = [name for name in rest if name not in set(names)]
        if names:
            text += f"\n## {kind.capitalize()} on each runtime\n\n{_wrapped(names)}\n"
    if rest:
        head = f"| function | {' | '.join(runtimes)} |\n|---|{'---|' * len(runtimes)}"
        rows = "\n".join(f"| `{name}` | {' | '.join(cells[name][r] for r in runtimes)} |" for name in rest)
        text += f"\n## Other functions\n\n{head}\n{rows}\n"
    return text


def write(text: str, page: Path = PAGE) -> None:
    """Puts these tables into the page in place of the earlier ones."""
    generated_part.write(text, page, _COMMAND)


def named_in(page: Path = PAGE) -> list[str]:
    """Returns the functions that the generated part of the page names."""
    return re.findall(r"`(\w+)`", generated_part.read(page, _COMMAND))


def _wrapped(names: Sequence[str]) -> str:
    lines, line = [], ""
    for name in names:
        word = f"`{name}`" + ("," if name != names[-1] else ".")
        if len(line) + len(word) > 150:
            lines.append(line)
            line = ""
        line += (" " if line else "") + word
    return "\n".join([*lines, line])
