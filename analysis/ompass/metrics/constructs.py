# SPDX-License-Identifier: Apache-2.0
"""Task constructs and kernels, summed over threads.

Owns how per-thread counts merge (sums, minima, maxima) and the means derived from them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ompass.model import N_HISTOGRAM_BINS, ConstructCounts, Counts, Run


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstructTotals(Counts):
    """One construct over all threads."""

    construct: int
    kind: str
    created_by: tuple[tuple[int, int], ...]  # (thread, tasks created), most first
    completed_by: tuple[tuple[int, int], ...]  # (thread, tasks completed), most first

    @property
    def sampled(self) -> bool:
        """Whether minimum, maximum and histogram rest on a part of the tasks."""
        return self.n_timed < self.n_completed

    @property
    def mean_work_ns(self) -> float:
        return self.work_ns / self.n_completed if self.n_completed else 0.0

    @property
    def mean_create_ns(self) -> float:
        return self.create_ns / self.n_created if self.n_created else 0.0

    @property
    def mean_ready_ns(self) -> float:
        return self.ready_ns / self.n_ready if self.n_ready else 0.0

    @property
    def cost_ns(self) -> int:
        """Thread-time that this construct accounts for by itself: its work and its creation."""
        return self.work_ns + self.create_ns


def construct_totals(
    run: Run, kind: str = "task", groups: Mapping[int, int] | None = None
) -> tuple[ConstructTotals, ...]:
    """All constructs of one kind ("task", "kernel"), most expensive first.

    `groups` as in time_breakdown.
    """
    groups = groups or {}
    rows_of: dict[int, list[ConstructCounts]] = {}
    for row in run.constructs:
        if run.kind_of(row.construct) == kind:
            rows_of.setdefault(groups.get(row.construct, row.construct), []).append(row)
    totals = [merge_counts(construct, kind, rows) for construct, rows in rows_of.items()]
    return tuple(sorted(totals, key=lambda t: (-t.cost_ns, -t.n_completed, t.construct)))


def merge_counts(construct: int, kind: str, rows: Iterable[ConstructCounts]) -> ConstructTotals:
    """The rows of one construct as one."""
    rows = list(rows)
    timed = [row for row in rows if row.n_timed]
    return ConstructTotals(
        construct=construct,
        kind=kind,
        n_created=sum(row.n_created for row in rows),
        n_completed=sum(row.n_completed for row in rows),
        n_cancelled=sum(row.n_cancelled for row in rows),
        n_undeferred=sum(row.n_undeferred for row in rows),
        work_ns=sum(row.work_ns for row in rows),
        create_ns=sum(row.create_ns for row in rows),
        inclusive_ns=sum(row.inclusive_ns for row in rows),
        n_timed=sum(row.n_timed for row in rows),
        min_ns=min((row.min_ns for row in timed), default=0),
        max_ns=max((row.max_ns for row in timed), default=0),
        histogram=sum_histograms(row.histogram for row in rows),
        ready_ns=sum(row.ready_ns for row in rows),
        ready_max_ns=max((row.ready_max_ns for row in rows), default=0),
        n_ready=sum(row.n_ready for row in rows),
        n_other_thread=sum(row.n_other_thread for row in rows),
        n_other_core=sum(row.n_other_core for row in rows),
        n_other_domain=sum(row.n_other_domain for row in rows),
        read_bytes=sum(row.read_bytes for row in rows),
        write_bytes=sum(row.write_bytes for row in rows),
        counters=tuple(sum(values) for values in zip(*(row.counters for row in rows), strict=True)),
        created_by=_by_thread((row.thread, row.n_created) for row in rows),
        completed_by=_by_thread((row.thread, row.n_completed) for row in rows),
    )


def sum_histograms(histograms: Iterable[tuple[int, ...]]) -> tuple[int, ...]:
    total = [0] * N_HISTOGRAM_BINS
    for histogram in histograms:
        for k, n in enumerate(histogram):
            total[k] += n
    return tuple(total)


def _by_thread(pairs: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    counts: dict[int, int] = {}
    for thread, n in pairs:
        if n:
            counts[thread] = counts.get(thread, 0) + n
    return tuple(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
