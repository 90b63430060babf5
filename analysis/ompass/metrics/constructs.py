# SPDX-License-Identifier: Apache-2.0
"""Task constructs and kernels, summed over threads, and the durations of tasks.

Owns the totals of each construct over its threads, and the means derived from them.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ompass.model import N_HISTOGRAM_BINS, ConstructRow, Run, share

Shares = tuple[tuple[int, int], ...]


class ConstructTotals(ConstructRow):
    """One construct over all threads: the sum of its rows, and its tasks by creating and completing thread.

    `created_by` and `completed_by` are pairs of a thread and a number of tasks, most first.
    """

    def __init__(self, total: ConstructRow, kind: str, created_by: Shares, completed_by: Shares) -> None:
        super().__init__(**total.as_dict())
        self.kind = kind
        self.created_by = created_by
        self.completed_by = completed_by

    def __reduce__(self) -> tuple[type[ConstructTotals], tuple[ConstructRow, str, Shares, Shares]]:
        return type(self), (ConstructRow(**self.as_dict()), self.kind, self.created_by, self.completed_by)

    @property
    def sampled(self) -> bool:
        """True if minimum, maximum and histogram cover only a part of the tasks."""
        return self.n_timed < self.n_completed

    @property
    def mean_work_ns(self) -> float:
        return share(self.work_ns, self.n_completed)

    @property
    def mean_create_ns(self) -> float:
        return share(self.create_ns, self.n_created)

    @property
    def mean_ready_ns(self) -> float:
        return share(self.ready_ns, self.n_ready)

    @property
    def moved_share(self) -> float:
        """Part of the tasks that did not run on the thread that created them."""
        return share(self.n_other_thread, self.n_completed)

    @property
    def cost_ns(self) -> int:
        """Thread-time that this construct causes directly: creating its tasks, and running their own code."""
        return self.work_ns + self.create_ns + self.mpi_ns + self.offload_ns


def construct_totals(
    run: Run, kind: str = "task", groups: Mapping[int, int] | None = None
) -> tuple[ConstructTotals, ...]:
    """Returns all constructs of one kind ("task", "kernel") by decreasing cost.

    `groups` is used as in time_breakdown.
    """
    groups = groups or {}
    rows_of: dict[int, list[ConstructRow]] = {}
    for row in run.constructs:
        if run.kind_of(row.construct) == kind:
            rows_of.setdefault(groups.get(row.construct, row.construct), []).append(row)
    totals = [merge_counts(construct, kind, rows) for construct, rows in rows_of.items()]
    return tuple(sorted(totals, key=lambda t: (-t.cost_ns, -t.n_completed, t.construct)))


def merge_counts(construct: int, kind: str, rows: Sequence[ConstructRow]) -> ConstructTotals:
    """Returns the merged rows of one construct."""
    return ConstructTotals(
        functools.reduce(operator.add, rows).replace(construct=construct),
        kind,
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


@dataclass(frozen=True, slots=True)
class Bin:
    """A bin of durations: `n_tasks` timed tasks took at least `low_ns` and less than `high_ns`."""

    low_ns: int
    high_ns: int
    n_tasks: int


def granularity(totals: Sequence[ConstructTotals]) -> tuple[Bin, ...]:
    """Returns the bins from the shortest to the longest timed task, including empty ones."""
    return trim_bins(sum_histograms(t.histogram for t in totals))


def trim_bins(histogram: Sequence[int]) -> tuple[Bin, ...]:
    """Returns the bins from the first used to the last; bin k covers [2^k, 2^(k+1)) ns, bin 0 begins at 0."""
    used = [k for k, n in enumerate(histogram) if n]
    if not used:
        return ()
    return tuple(
        Bin(0 if k == 0 else 1 << k, 1 << (k + 1), histogram[k]) for k in range(used[0], used[-1] + 1)
    )
