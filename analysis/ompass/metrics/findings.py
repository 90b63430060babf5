# SPDX-License-Identifier: Apache-2.0
"""Findings: what keeps a run from being faster, in plain language, most costly first.

Owns the order of judgement; the judges are in task_findings and thread_findings, the remarks on how
far the figures reach in notes.
"""

from __future__ import annotations

from collections.abc import Sequence

from ompass.metrics import notes, task_findings, thread_findings, thresholds
from ompass.metrics.breakdown import Breakdown
from ompass.metrics.constructs import ConstructTotals
from ompass.metrics.facts import Facts, Finding
from ompass.model import Run


def find_causes(run: Run, breakdown: Breakdown, tasks: Sequence[ConstructTotals]) -> tuple[Finding, ...]:
    """All findings: problems, the costliest first, then notes.

    `breakdown` is that of Scope.REGIONS, whatever scope is shown.
    """
    facts = Facts(run, breakdown, tuple(tasks))
    problems: list[Finding] = []
    if breakdown.thread_time_ns >= thresholds.JUDGED_THREAD_TIME_NS:
        fine = task_findings.too_fine(facts)
        # At most one reason for idle threads: the first that fits explains the others away.
        undeferred = task_findings.undeferred(facts)
        coarse = [] if undeferred else task_findings.too_coarse(facts)
        starved = [] if undeferred or coarse else task_findings.starved(facts)
        problems += fine + undeferred + coarse + starved
        problems += thread_findings.serial_part(facts)
        problems += thread_findings.imbalance(facts, with_tasks=not (starved or undeferred))
        problems += thread_findings.lock_contention(facts)
        problems += thread_findings.waiting(facts)
        if not fine:
            problems += task_findings.slow_dispatch(facts)
    problems.sort(key=lambda f: (-f.cost_ns, f.kind, f.construct or 0))
    return (*problems, *notes.all_notes(facts))
