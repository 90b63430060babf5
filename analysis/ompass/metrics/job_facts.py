# SPDX-License-Identifier: Apache-2.0
"""The facts about the ranks of a job that the judges in metrics/job_findings.py use.

The caller names the places of MPI calls, so that calls of different ranks at one place match.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import fmean

from ompass.metrics.efficiency import Computation, Efficiencies, RankTimes
from ompass.metrics.ranks import Job, Rank
from ompass.model import share

COLLECTIVE = "collective"
FILES = "I/O"


@dataclass(frozen=True, slots=True)
class MpiCall:
    """The calls of one MPI function at one place, on one rank."""

    function: str
    kind: str  # class of the function: point-to-point, collective, wait, one-sided, I/O, other
    place: str  # name of the place in the source; the same on all ranks
    construct: int
    n_calls: int
    time_ns: int


@dataclass(frozen=True, slots=True)
class RankFacts:
    """One rank of a job whose MPI calls were recorded."""

    rank: Rank
    times: RankTimes
    calls: tuple[MpiCall, ...] = ()
    n_usable_cpus: int = 0  # processors that the launcher left to the rank; 0: unknown
    n_host_cpus: int = 0  # processors of its host; 0: unknown
    knows_waits: bool = True  # False: the off-CPU times are unknown, and 0 here
    preempted_ns: int = 0  # thread-time in which threads with work or in MPI waited for a processor
    blocked_ns: int = 0  # thread-time of the program in which threads slept
    program_ns: int = 0  # thread-time of the program; unlike `times`, includes the start and end of MPI
    program_wall_ns: int = 0
    late_ns: int = 0  # part of preempted_ns: outside of MPI, where it delays other ranks
    work_preempted_ns: int = 0  # part of late_ns: in work
    mpi_preempted_ns: int = 0  # thread-time in MPI in which threads waited for a processor
    idle_inside_ns: int = 0  # thread-time without a task in the regions with MPI calls
    computation: Computation = field(default_factory=lambda: Computation(0))


@dataclass(frozen=True, slots=True)
class JobCall:
    """The calls of one function at one place, on all ranks."""

    rank: int  # the rank that spent the most time in them
    call: MpiCall  # this rank's most expensive call; its construct is a number of this rank's run
    by_rank: tuple[tuple[int, int], ...]  # (rank, thread-time), by rank
    n_calls: int

    @property
    def time_ns(self) -> int:
        return sum(ns for _, ns in self.by_rank)

    @property
    def last(self) -> int:
        """The rank that spent the least time in them: in a collective, usually the one that arrives last."""
        return min(self.by_rank, key=lambda one: one[1])[0]

    def time_of(self, rank: int) -> int:
        """Returns the thread-time of a rank in these calls."""
        return dict(self.by_rank).get(rank, 0)

    @property
    def mean_ns(self) -> float:
        return share(self.time_ns, self.n_calls)


@dataclass(frozen=True, slots=True)
class Host:
    """The ranks on one host, and its processors. A thread that polls in MPI needs a processor, too."""

    name: str
    ranks: tuple[RankFacts, ...]

    @property
    def n_threads(self) -> int:
        return sum(rank.times.n_threads for rank in self.ranks)

    @property
    def n_processors(self) -> int:
        """The processors that the ranks can use together; 0: unknown."""
        usable = [rank.n_usable_cpus for rank in self.ranks]
        host = min(rank.n_host_cpus for rank in self.ranks)
        return min(host, sum(usable)) if all(usable) else host

    @property
    def has_own_processors(self) -> bool:
        """True if the host has at least as many processors as its ranks may use: they probably share none."""
        usable = [rank.n_usable_cpus for rank in self.ranks]
        return all(usable) and sum(usable) <= min(rank.n_host_cpus for rank in self.ranks)

    @property
    def preempted_ns(self) -> int:
        """Thread-time in which threads waited for a processor."""
        return sum(rank.preempted_ns for rank in self.ranks)

    @property
    def thread_ns(self) -> int:
        """Thread-time of the programs."""
        return sum(max(_thread_ns(rank), rank.preempted_ns) for rank in self.ranks)

    @property
    def shared_ns(self) -> int:
        """The part of preempted_ns in which threads of the job shared processors with each other.

        That is the time in which threads could run minus the time of all processors. Sleeping threads need
        no processor.
        """
        if not 0 < self.n_processors < self.n_threads:
            return 0
        wall_ns = max(rank.program_wall_ns or rank.times.wall_ns for rank in self.ranks)
        able_ns = self.thread_ns - sum(rank.blocked_ns for rank in self.ranks)
        return min(max(able_ns - self.n_processors * wall_ns, 0), self.preempted_ns)

    @property
    def taken_ns(self) -> int:
        """Rest of preempted_ns: other programs ran, or ranks shared a processor while another was free."""
        return self.preempted_ns - self.shared_ns


def _thread_ns(rank: RankFacts) -> int:
    return rank.program_ns or rank.times.n_threads * rank.times.wall_ns


@dataclass(frozen=True)
class JobFacts:
    """A job whose ranks all recorded their MPI calls."""

    job: Job
    efficiencies: Efficiencies
    ranks: Sequence[RankFacts]

    @property
    def run_ns(self) -> int:
        return max(rank.times.wall_ns for rank in self.ranks)

    @property
    def n_threads(self) -> int:
        return sum(rank.times.n_threads for rank in self.ranks)

    @property
    def whole_ns(self) -> int:
        """Thread-time of the job."""
        return self.n_threads * self.run_ns

    @property
    def program_ns(self) -> int:
        """Thread-time of the programs, including the time before and after MPI."""
        return sum(host.thread_ns for host in self.hosts)

    @property
    def hosts(self) -> tuple[Host, ...]:
        """The hosts of the job, in the order of their first ranks."""
        groups: dict[str, list[RankFacts]] = {}
        for rank in self.ranks:
            groups.setdefault(rank.rank.host, []).append(rank)
        return tuple(Host(name, tuple(ranks)) for name, ranks in groups.items())

    @cached_property
    def latest(self) -> RankFacts:
        """The rank that is outside of MPI for the longest time: the others wait for it."""
        return max(self.ranks, key=lambda rank: rank.times.outside_mpi_ns)

    @cached_property
    def mean_outside_ns(self) -> float:
        return fmean(rank.times.outside_mpi_ns for rank in self.ranks)

    @cached_property
    def calls(self) -> tuple[JobCall, ...]:
        """The calls of all ranks by function and place, most expensive first."""
        groups: dict[tuple[str, str], list[tuple[int, MpiCall]]] = {}
        for rank in self.ranks:
            for call in rank.calls:
                groups.setdefault((call.function, call.place), []).append((rank.rank.rank, call))
        return tuple(sorted(map(_total, groups.values()), key=lambda total: -total.time_ns))


def _total(group: Sequence[tuple[int, MpiCall]]) -> JobCall:
    sums: dict[int, int] = {}
    for rank, call in group:
        sums[rank] = sums.get(rank, 0) + call.time_ns
    by_rank = tuple(sorted(sums.items()))
    most = max(by_rank, key=lambda one: one[1])[0]
    return JobCall(
        most,
        max((call for rank, call in group if rank == most), key=lambda call: call.time_ns),
        by_rank,
        sum(call.n_calls for _, call in group),
    )
