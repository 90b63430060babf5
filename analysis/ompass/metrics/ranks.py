# SPDX-License-Identifier: Apache-2.0
"""The ranks of one MPI job, and the balance of work among them.

Owns the rule by which several runs form one job, and the job's figures:

    useful     =  work, without the part in which threads waited for a processor
    imbalance  =  largest useful time of a rank / mean of the ranks           (1: balanced)
    lost_ns    =  sum over ranks of  threads * (longest scope time - own)     (thread-time after a rank's end)

The figures exclude a rank's time outside of the scope, so a better distribution can gain at most
`lost_ns`. metrics/efficiency.py has the efficiencies, which cover the whole program.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean

from ompass.metrics.breakdown import Breakdown, sum_states
from ompass.metrics.efficiency import NO_REPLAY, Efficiencies, IdealNetwork, RankTimes, efficiencies
from ompass.metrics.processors import Presence
from ompass.model import StateTimes, share


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
    preempted_ns: int = 0  # part of the work: threads waited for a processor
    times: RankTimes | None = None  # from MPI_Init to MPI_Finalize; None: its MPI calls were not recorded
    whole: StateTimes | None = None  # thread-time of `times`, by state

    @property
    def useful_ns(self) -> int:
        """The work on processors."""
        return self.states.work_ns - self.preempted_ns


@dataclass(frozen=True)
class Job:
    """All ranks (at least two), by number."""

    ranks: tuple[Rank, ...]
    ideal: IdealNetwork = NO_REPLAY

    @cached_property
    def efficiencies(self) -> Efficiencies | None:
        """The efficiencies; None if a rank's MPI calls were not recorded."""
        times = [rank.times for rank in self.ranks if rank.times is not None]
        return efficiencies(times, self.ideal) if len(times) == len(self.ranks) else None

    @property
    def states(self) -> StateTimes:
        """Sum over all ranks."""
        return sum_states(rank.states for rank in self.ranks)

    @property
    def wall_ns(self) -> int:
        """The longest wall time of a rank."""
        return max(rank.wall_ns for rank in self.ranks)

    @property
    def whole(self) -> StateTimes | None:
        """The thread-time of all ranks between MPI_Init and MPI_Finalize; None if it is not known."""
        known = [rank.whole for rank in self.ranks if rank.whole is not None]
        return sum_states(known) if len(known) == len(self.ranks) else None

    @property
    def program_ns(self) -> int:
        """The longest time of a rank, with the parts outside of the scope if they are known."""
        return max(rank.times.wall_ns if rank.times else rank.wall_ns for rank in self.ranks)

    @property
    def imbalance(self) -> float:
        return max(map(self.relative_work, self.ranks))

    @property
    def lost_ns(self) -> int:
        return sum(rank.n_threads * (self.wall_ns - rank.wall_ns) for rank in self.ranks)

    @property
    def lost_share(self) -> float:
        """`lost_ns` over the thread-time of a job in which every rank takes as long as the longest."""
        whole = sum(rank.n_threads for rank in self.ranks) * self.wall_ns
        return self.lost_ns / whole if whole else 0.0

    def relative_work(self, rank: Rank) -> float:
        """Returns the rank's useful time over the mean of all ranks."""
        return share(rank.useful_ns, fmean(each.useful_ns for each in self.ranks))

    @property
    def busiest(self) -> Rank:
        """The rank with the largest useful time."""
        return max(self.ranks, key=lambda rank: rank.useful_ns)

    @property
    def preempted_share(self) -> float:
        """The part of the work in which threads waited for a processor."""
        return share(sum(rank.preempted_ns for rank in self.ranks), self.states.work_ns)


def preempted_work_ns(breakdown: Breakdown) -> int:
    """Returns the part of the work in which threads waited for a processor; 0 if it is not known.

    If the states of preempted threads are unknown, assumes that all time on processors is work.
    """
    return sum(_preempted(thread.states, thread.presence) for thread in breakdown.threads)


def _preempted(states: StateTimes, presence: Presence | None) -> int:
    if presence is None:
        return 0
    if presence.work is not None:
        return presence.work.preempted_ns
    return min(max(states.work_ns - presence.whole.running_ns, 0), presence.whole.preempted_ns)


def job_of(ranks: Sequence[Rank | None], ideal: IdealNetwork = NO_REPLAY) -> Job | None:
    """Returns the job of these runs; None for one run, runs without a rank, or two runs of one rank."""
    known = [rank for rank in ranks if rank is not None]
    if len(known) < 2 or len(known) < len(ranks) or len({rank.rank for rank in known}) < len(known):
        return None
    return Job(tuple(sorted(known, key=lambda rank: rank.rank)), ideal)
