# SPDX-License-Identifier: Apache-2.0
"""Findings: what keeps a run from being faster, in plain language, most costly first.

Owns the type of a finding and the order of judgement; the judges are in task_findings and
thread_findings, the remarks on how far the figures reach in notes. Texts name no source line:
`construct` does, and reports look it up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ompass.metrics import thresholds
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


def find_causes(run: Run, breakdown: Breakdown, tasks: Sequence[ConstructTotals]) -> tuple[Finding, ...]:
    """All findings: problems, the costliest first, then notes.

    `breakdown` is that of Scope.REGIONS, whatever scope is shown.
    """
    # Imported here: the judges build Finding, which this module defines.
    from ompass.metrics import notes, task_findings, thread_findings

    facts = Facts(run, breakdown, tuple(tasks))
    problems: list[Finding] = []
    if breakdown.thread_time_ns >= thresholds.JUDGED_THREAD_TIME_NS:
        fine = task_findings.too_fine(facts)
        coarse = task_findings.too_coarse(facts)
        starved = [] if coarse else task_findings.starved(facts)
        problems += fine + coarse + starved
        problems += thread_findings.serial_part(facts)
        problems += thread_findings.imbalance(facts, with_tasks=not starved)
        problems += thread_findings.lock_contention(facts)
        problems += thread_findings.waiting(facts)
        if not fine:
            problems += task_findings.slow_dispatch(facts)
    problems.sort(key=lambda f: (-f.cost_ns, f.kind, f.construct or 0))
    return (*problems, *notes.all_notes(facts))
