# SPDX-License-Identifier: Apache-2.0
"""What a finding is, and what the judges of findings look at.

Texts name no source line: `Finding.construct` does, and reports look it up.
"""

from __future__ import annotations

from dataclasses import dataclass

from ompass.metrics.breakdown import Breakdown
from ompass.metrics.constructs import ConstructTotals
from ompass.model import Run


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing a person can act on ("problem") or must know to read the figures ("note")."""

    kind: str
    severity: str  # "problem" or "note"
    title: str
    because: str  # the numbers it rests on, as a sentence
    cure: str  # what to do; empty when nothing is to be done
    cost_ns: int = 0  # thread-time at stake
    construct: int | None = None  # what is to blame
    numbers: tuple[tuple[str, float], ...] = ()


def problem(
    kind: str,
    title: str,
    because: str,
    cure: str,
    cost_ns: int,
    construct: int | None = None,
    **numbers: float,
) -> Finding:
    """A finding to act on."""
    return Finding(kind, "problem", title, because, cure, cost_ns, construct, tuple(numbers.items()))


def note(kind: str, title: str, because: str, cure: str = "", **numbers: float) -> Finding:
    """A finding to know of."""
    return Finding(kind, "note", title, because, cure, numbers=tuple(numbers.items()))


@dataclass(frozen=True, slots=True)
class Facts:
    """All that the judges look at."""

    run: Run
    breakdown: Breakdown  # of all regions, or of the program where there is none
    tasks: tuple[ConstructTotals, ...]

    @property
    def n_completed(self) -> int:
        return sum(t.n_completed for t in self.tasks)

    @property
    def n_deferred(self) -> int:
        return sum(t.n_created - t.n_undeferred for t in self.tasks)

    @property
    def region_wall_ns(self) -> int:
        """Wall time inside outermost parallel regions."""
        return sum(r.wall_ns for r in self.breakdown.regions if r.level == 1)
