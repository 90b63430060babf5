# SPDX-License-Identifier: Apache-2.0
"""Latencies of the loads of each construct, and the sources of their data, from sampled loads."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ompass.model import share
from ompass.samples.metrics import Owner

SOURCES: Final = ("L1", "under way", "L2", "L3", "memory", "other node", "unknown")
"""Sources of data, nearest first. Under way: the line was already being fetched."""

_MOST_POINTS: Final = 200  # most points of a curve


@dataclass(frozen=True, slots=True)
class SampledLoad:
    """Equal samples of loads; `weight` is their number."""

    thread: int
    owner: Owner
    cycles: int  # until the data arrived; 0: unknown, as for L1 hits on AMD
    source: str  # one of SOURCES
    was_modified: bool  # True if another core's cache had a modified copy of the line
    weight: int
    period: int  # number of loads that one sample represents


@dataclass(frozen=True, slots=True)
class OwnerLoads:
    """The sampled loads of one owner."""

    owner: Owner
    counts: Mapping[int, int]  # samples by cycles, ascending
    by_source: Mapping[str, int]  # samples; has every source
    cycles_by_source: Mapping[str, int]
    n_modified: int  # samples of lines that another core had modified
    slowed_cycles: int  # cycles of samples whose data came from another node or a modified line
    waited_cycles: int  # cycles of all loads that the slowed samples represent

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
        """Returns the latency, in cycles, that this part of the loads did not exceed."""
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
        """Returns (cycles, share of the loads that took no longer), without points too close to see."""
        points: list[tuple[int, float]] = []
        n, below = self.n, 0
        for cycles, count in self.counts.items():
            below += count
            known = points[-1][1] if points else 0.0
            if below == n or not points or below / n - known >= 1 / _MOST_POINTS:
                points.append((cycles, below / n))
        return points


def loads_by_owner(loads: Iterable[SampledLoad]) -> tuple[OwnerLoads, ...]:
    """Returns the loads of each owner, the owner with the most cycles first."""
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
