# SPDX-License-Identifier: Apache-2.0
"""Durations of tasks: their log2 histogram, trimmed to the used bins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ompass.metrics.constructs import ConstructTotals, sum_histograms


@dataclass(frozen=True, slots=True)
class Bin:
    """n_tasks timed tasks took at least low_ns and less than high_ns."""

    low_ns: int
    high_ns: int
    n_tasks: int


def granularity(totals: Sequence[ConstructTotals]) -> tuple[Bin, ...]:
    """Returns the bins from the shortest to the longest timed task, including empty ones."""
    return trim_bins(sum_histograms(t.histogram for t in totals))


def trim_bins(histogram: Sequence[int]) -> tuple[Bin, ...]:
    """Returns the used bins; bin k covers [2^k, 2^(k+1)) ns, bin 0 begins at 0."""
    used = [k for k, n in enumerate(histogram) if n]
    if not used:
        return ()
    return tuple(
        Bin(0 if k == 0 else 1 << k, 1 << (k + 1), histogram[k]) for k in range(used[0], used[-1] + 1)
    )
