# SPDX-License-Identifier: Apache-2.0
"""A paper and its reproduction: measurements, figures, and claims with their verdicts.

A claim is data: the paper's sentence and number, a function that computes our numbers from the measurements,
and a condition on these numbers. Owns the verdicts; measures and writes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, Final

from ompass.figures.style import Spec

FIGURE_ONLY: Final = "figure only"
"""Stands for the paper's number if only a figure of the paper shows it."""

SIZES: Final = ("quick", "full")

Values = Mapping[str, Any]
"""The value of every step, by its key."""

Numbers = Mapping[str, float]
"""Our numbers for a claim, by the label under which the page shows them."""


@dataclass(frozen=True, slots=True)
class Workplace:
    """The resources of a step: a folder that survives a resume, and the values of the steps before it."""

    folder: Path
    values: Values


@dataclass(frozen=True, slots=True)
class Step:
    """One measurement, of a minute at most. A resumed campaign repeats only unfinished steps."""

    key: str
    run: Callable[[Workplace], Any]


@dataclass(frozen=True, slots=True)
class Picture:
    """Our counterpart of a figure or table of the paper."""

    name: str
    place: str  # of the paper: "Fig. 7"
    title: str
    made: str  # origin of the numbers: "Recorded here", "Simulated"
    text: str  # explains the axes and the contents
    make: Callable[[Values], Spec]


class Verdict(Enum):
    AGREES = "agrees"
    DIFFERS = "differs"
    MISSING = "cannot be tested here"


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence of the paper that numbers can refute."""

    name: str
    sentence: str
    place: str  # figure, table or section of the paper
    theirs: str  # the paper's number
    picture: str  # name of the Picture that shows ours
    ours: Callable[[Values], Numbers]
    holds: Callable[[Sequence[float]], bool]
    show: Callable[[float], str]
    cause: str = ""  # if ours differ: the cause that we found
    evidence: Callable[[Values], Numbers] | None = None  # numbers that follow the cause
    show_evidence: Callable[[float], str] | None = None  # if not as `show`
    missing: str = ""  # the reason if this machine and the simulation cannot check the claim
    absent: Callable[[Values], str] | None = None  # returns the reason if these measurements lack its numbers

    def verdict(self, values: Values) -> Verdict:
        if self.why_missing(values):
            return Verdict.MISSING
        return Verdict.AGREES if self.holds(list(self.ours(values).values())) else Verdict.DIFFERS

    def shown(self, values: Values) -> str:
        """Returns our numbers as text, each after its label; nothing if they are absent."""
        if self.absent and self.absent(values):
            return ""
        return _text(self.ours(values), self.show)

    def why_missing(self, values: Values) -> str:
        """Returns the reason why the claim cannot be checked with these measurements, or an empty text."""
        return self.missing or (self.absent(values) if self.absent else "")

    def reason(self, values: Values) -> str:
        """Returns the cause of a difference, or the reason why the claim cannot be checked here."""
        if self.why_missing(values) or self.evidence is None:
            return self.why_missing(values) or self.cause
        show = self.show_evidence or self.show
        found = ", ".join(f"{show(number)} ({label})" for label, number in self.evidence(values).items())
        return f"{self.cause} {found}."


def _text(numbers: Numbers, show: Callable[[float], str]) -> str:
    return ", ".join(f"{label}: {show(number)}" for label, number in numbers.items())


@dataclass(frozen=True, slots=True)
class Paper:
    """The reproduction of one paper. `introduction` and `method` are Markdown."""

    name: str
    title: str
    citation: str
    introduction: str
    programs: Sequence[str]  # the folders of bots/ that it needs
    duration: Mapping[str, str]  # time of the command, by size
    steps: Callable[[str], Sequence[Step]]  # by size
    method: Callable[[Values], str]
    pictures: Sequence[Picture]
    claims: Sequence[Claim] = field(default_factory=tuple)
    sources: str = ""  # where the claims come from, if not from the paper itself
    builds: Sequence[str] = ("bots",)  # the builds of these programs: bots by clang, bots-gcc by gcc

    def picture(self, name: str) -> Picture:
        return next(one for one in self.pictures if one.name == name)
