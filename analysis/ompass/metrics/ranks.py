# SPDX-License-Identifier: Apache-2.0
"""The ranks of one MPI job, and how evenly the work is distributed over them.

Owns the rule by which several runs form one job, and the job's figures:

    imbalance  =  largest work of a rank / mean work of the ranks             (1: balanced)
    lost_ns    =  sum over ranks of  threads * (longest scope time - own)     (thread-time that ends early)

The figures lack a rank's time outside of the scope (mostly communication). A better distribution can
therefore gain at most `lost_ns`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from ompass.metrics.breakdown import sum_states
from ompass.model import StateTimes


@dataclass(frozen=True, slots=True)
class Rank:
    """One rank's share of a scope; states.total_ns is its thread-time there."""

    rank: int
    host: str
    directory: str
    n_threads: int
    wall_ns: int
    states: StateTimes
    n_tasks: int


@dataclass(frozen=True, slots=True)
class Job:
    """All ranks (at least two), by number."""

    ranks: tuple[Rank, ...]

    @property
    def states(self) -> StateTimes:
        """Sum over all ranks."""
        return sum_states(rank.states for rank in self.ranks)

    @property
    def wall_ns(self) -> int:
        """The longest wall time of a rank."""
        return max(rank.wall_ns for rank in self.ranks)

    @property
    def imbalance(self) -> float:
        mean = fmean(rank.states.work_ns for rank in self.ranks)
        return max(rank.states.work_ns for rank in self.ranks) / mean if mean > 0 else 0.0

    @property
    def lost_ns(self) -> int:
        return sum(rank.n_threads * (self.wall_ns - rank.wall_ns) for rank in self.ranks)

    @property
    def lost_share(self) -> float:
        """`lost_ns` over the thread-time of a job in which every rank takes as long as the longest."""
        whole = sum(rank.n_threads for rank in self.ranks) * self.wall_ns
        return self.lost_ns / whole if whole else 0.0

    def relative_work(self, rank: Rank) -> float:
        """Returns the rank's work over the mean of all ranks."""
        mean = fmean(each.states.work_ns for each in self.ranks)
        return rank.states.work_ns / mean if mean > 0 else 0.0


def job_of(ranks: Sequence[Rank | None]) -> Job | None:
    """Returns the job of these runs; None for one run, runs without a rank, or two runs of one rank."""
    known = [rank for rank in ranks if rank is not None]
    if len(known) < 2 or len(known) < len(ranks) or len({rank.rank for rank in known}) < len(known):
        return None
    return Job(tuple(sorted(known, key=lambda rank: rank.rank)))
