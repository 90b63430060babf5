# SPDX-License-Identifier: Apache-2.0
"""Compares a run with stock runs of the same program: runs without the tool and the extension.

Ignores what differs between stock runs.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

_NUMBER: Final = re.compile(r"(0x)+[0-9a-fA-F]+|[-+]?\d+(\.\d+)?([eE][-+]?\d+)?|[-+]?\b(nan|inf)\b|\*+")
"""Fortran prints asterisks for a number that is too long."""
_MOST_CHARACTERS: Final = 120  # of a line in a message
_WITH_ANY_TOOL: Final = re.compile(r"OMP: Warning #\d+: OMPT: Cannot determine workshare type.*\n")
"""libomp prints this warning once for a program of an older compiler, if any tool observes loops."""
ORDER: Final = "the order of the output differs"


@dataclass(frozen=True, slots=True)
class Ended:
    """A finished run. A status of None means that it reached the time limit."""

    status: int | None
    stdout: str = ""
    stderr: str = ""


@dataclass(slots=True)
class Reference:
    """The stock runs of a program.

    has_race: True if the numbers in the output depend on a data race. free: pattern of whole lines that are
    not compared. may_hang: True if a stock run reached the time limit after others had ended.
    """

    has_race: bool = False
    free: str = ""
    may_hang: bool = False
    runs: list[Ended] = field(default_factory=list)

    def difference(self, run: Ended) -> str:
        """Returns how a run differs from all stock runs; empty if it does not.

        Returns ORDER if only the order of the words differs, because independent tasks may run in any order.
        """
        if run.status is None:
            return "does not end"
        if run.status not in {stock.status for stock in self.runs}:
            return f"ends with {run.status}, stock with {self.runs[0].status}"
        streams: tuple[tuple[str, Callable[[Ended], str]], ...] = (
            ("stdout", lambda ended: ended.stdout),
            ("stderr", lambda ended: ended.stderr),
        )
        found = [
            (name, _difference([self._seen(text(stock)) for stock in self.runs], self._seen(text(run))))
            for name, text in streams
        ]
        found = [(name, reason) for name, reason in found if reason]
        serious = [f"{name}: {reason}" for name, reason in found if reason != ORDER]
        return next(iter(serious), ORDER if found else "")

    def _seen(self, text: str) -> str:
        text = _WITH_ANY_TOOL.sub("", text)
        if self.free:
            lines = text.splitlines(keepends=True)
            text = "".join(line for line in lines if not re.fullmatch(self.free, line.rstrip("\n")))
        return masked(text) if self.has_race else text


def masked(text: str) -> str:
    """Returns a text with # in place of every number, and one space in place of several."""
    return re.sub(" +", " ", _NUMBER.sub("#", text))


def _difference(stock: Sequence[str], text: str) -> str:
    if text in stock:
        return ""
    if sorted(text.split()) in [sorted(other.split()) for other in stock]:
        return "" if len(set(stock)) > 1 else ORDER
    counts = [Counter(other.splitlines()) for other in stock]
    found = Counter(text.splitlines())
    every = set().union(*counts)
    fixed = {line for line in every if len({count[line] for count in counts}) == 1}
    for line in sorted(fixed):
        if found[line] != counts[0][line]:
            return f"{counts[0][line]} → {found[line]} lines {_shown(line)}"
    shapes = {masked(line) for line in every - fixed}
    for line in found:
        if line not in fixed and masked(line) not in shapes:
            return f"new line {_shown(line)}"
    return ""


def _shown(line: str) -> str:
    return repr(line if len(line) <= _MOST_CHARACTERS else line[:_MOST_CHARACTERS] + "…")
