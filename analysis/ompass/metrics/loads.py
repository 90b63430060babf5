# SPDX-License-Identifier: Apache-2.0
"""How long the loads of each construct took, and where their data came from, counted from sampled loads."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ompass.metrics.samples import Owner
from ompass.metrics.shares import share

SOURCES: Final = ("L1", "under way", "L2", "L3", "memory", "other node", "unknown")
"""Where data come from, nearest first. Under way: the line was being fetched already."""

_MOST_POINTS: Final = 200  # of a curve


@dataclass(frozen=True, slots=True)
class SampledLoad:
    """Samples of one kind of load."""

    thread: int
    owner: Owner
    cycles: int  # until the datum was there; 0: less than the processor tells
    source: str  # one of SOURCES
    was_modified: bool  # another core had written to the line, and had it in its cache
    weight: int  # samples
    period: int  # loads for which one sample stands


@dataclass(frozen=True, slots=True)
class OwnerLoads:
    """The sampled loads of one owner."""

    owner: Owner
    counts: Mapping[int, int]  # samples by cycles, in order
    by_source: Mapping[str, int]  # samples; every source is there
    cycles_by_source: Mapping[str, int]
    n_modified: int  # samples of lines that another core had written to
    slowed_cycles: int  # of samples whose data came from another node or from a modified line
    waited_cycles: int  # the same of all loads for which these samples stand

    @property
    def n(self) -> int:
        return sum(self.counts.values())

    @property
    def cycles(self) -> int:
        return sum(cycles * n for cycles, n in self.counts.items())

    @property
    def mean_cycles(self) -> float:
        return self.cycles / self.n

    def quantile(self, part: float) -> int:
        """Returns the cycles within which this part of the loads had their data."""
        wanted = max(math.ceil(part * self.n), 1)
        for cycles, n in self.counts.items():
            wanted -= n
            if wanted <= 0:
                return cycles
        return 0

    def source_share(self, source: str) -> float:
        return share(self.by_source[source], self.n)

    @property
    def modified_share(self) -> float:
        return share(self.n_modified, self.n)

    def distribution(self) -> list[tuple[int, float]]:
        """Which share of the loads had their data within so many cycles; only points that show."""
        points: list[tuple[int, float]] = []
        n, below = self.n, 0
        for cycles, count in self.counts.items():
            below += count
            known = points[-1][1] if points else 0.0
            if below == n or not points or below / n - known >= 1 / _MOST_POINTS:
                points.append((cycles, below / n))
        return points


def loads_by_owner(loads: Iterable[SampledLoad]) -> tuple[OwnerLoads, ...]:
    """Of each owner, the one that waited longest first."""
    by_owner: dict[Owner, list[SampledLoad]] = defaultdict(list)
    for load in loads:
        by_owner[load.owner].append(load)
    found = [_totals(owner, own) for owner, own in by_owner.items()]
    return tuple(sorted(found, key=lambda of: (-of.cycles, -of.n, of.owner.kind, of.owner.construct)))


def _totals(owner: Owner, loads: Sequence[SampledLoad]) -> OwnerLoads:
    counts: Counter[int] = Counter()
    by_source, cycles_by_source = (dict.fromkeys(SOURCES, 0) for _ in range(2))
    slowed = [load for load in loads if load.was_modified or load.source == "other node"]
    for load in loads:
        counts[load.cycles] += load.weight
        by_source[load.source] += load.weight
        cycles_by_source[load.source] += load.cycles * load.weight
    return OwnerLoads(
        owner,
        dict(sorted(counts.items())),
        by_source,
        cycles_by_source,
        sum(load.weight for load in loads if load.was_modified),
        sum(load.cycles * load.weight for load in slowed),
        sum(load.cycles * load.weight * load.period for load in slowed),
    )
