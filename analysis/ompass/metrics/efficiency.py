# SPDX-License-Identifier: Apache-2.0
"""Efficiencies of an MPI job with OpenMP threads, by the two models of POP (products and sums), and by TALP.

Owns the formulas: pure functions of the times of each rank. R is the time of the job (its longest rank). For
each rank, U is its useful time (the mean work of its threads), and N its time outside of MPI:

    hybrid efficiency  =  avg U / R  =  MPI efficiency * OpenMP efficiency
    MPI efficiency     =  avg N / R  =  load balance (avg N / max N) * communication (max N / R)
    OpenMP efficiency  =  avg U / avg N

    1 - avg U / R      =  losses in MPI, in regions and in serial parts, each over R        (additive)

While a rank is in MPI outside of parallel regions, all its threads count as in MPI; within regions, each
thread counts separately. docs/ranks.md explains each efficiency.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final

from ompass.metrics.breakdown import RegionShare, Scope, outermost_ns, region_shares, time_breakdown
from ompass.metrics.library_calls import mpi_totals
from ompass.model import OUTSIDE, RegionRow, Run, StateTimes, share, sums

LOW: Final = 0.85
"""Efficiencies below this value get a sentence: removing the loss saves at least 15% of the job's time."""


@dataclass(frozen=True, slots=True)
class RankTimes:
    """The times of one rank. Thread-times are sums over its threads.

    wall_ns == region_ns + mpi_outside_ns + serial_ns.
    """

    n_threads: int
    wall_ns: int
    region_ns: int  # wall time in outermost parallel regions
    mpi_outside_ns: int  # wall time in MPI outside of regions
    work_inside_ns: int  # thread-time: work in regions
    work_outside_ns: int  # thread-time: work outside of regions
    mpi_inside_ns: int  # thread-time: MPI in regions
    unequal_ns: int  # thread-time: lost in regions because other threads have more work

    @property
    def serial_ns(self) -> int:
        """Wall time outside of regions and MPI."""
        return self.wall_ns - self.region_ns - self.mpi_outside_ns

    @property
    def useful_ns(self) -> float:
        """U: the mean work of a thread."""
        return (self.work_inside_ns + self.work_outside_ns) / self.n_threads

    @property
    def mpi_ns(self) -> float:
        """The mean time of a thread in MPI. Outside of regions, all threads count as in MPI."""
        return self.mpi_outside_ns + self.mpi_inside_ns / self.n_threads

    @property
    def outside_mpi_ns(self) -> float:
        """N: the mean time of a thread outside of MPI."""
        return self.wall_ns - self.mpi_ns

    @property
    def region_loss_ns(self) -> float:
        """The mean time of a thread in regions with neither work nor MPI."""
        return self.region_ns - (self.work_inside_ns + self.mpi_inside_ns) / self.n_threads

    @property
    def serial_loss_ns(self) -> float:
        """The mean time of a thread without work outside of regions and MPI."""
        return self.serial_ns - self.work_outside_ns / self.n_threads


@dataclass(frozen=True, slots=True)
class Factor:
    """One efficiency, 0 to 1 (a quotient of balances may exceed 1); `value` is None if it is not known."""

    key: str
    name: str
    value: float | None
    level: int = 0  # depth in the tree of factors
    why: str = ""  # the reason if it is not known


@dataclass(frozen=True, slots=True)
class Efficiencies:
    """All efficiencies of a job. Each part lists a tree of factors, parents first."""

    multiplicative: tuple[Factor, ...]
    additive: tuple[Factor, ...]
    talp: tuple[Factor, ...]

    def value(self, key: str) -> float:
        """Returns a factor of the multiplicative part; 1 if it is not known."""
        found = self.known(key)
        return 1.0 if found is None else found

    def known(self, key: str) -> float | None:
        """Returns a factor of the multiplicative part; None if it is not known."""
        return next((factor.value for factor in self.multiplicative if factor.key == key), None)


NO_TRACES: Final = (
    "only traces (`--mode trace`) have the messages that distinguish late ranks from slow transfers"
)
_NO_REFERENCE: Final = "it compares jobs with different numbers of ranks or threads: `ompass scale`"


@dataclass(frozen=True, slots=True)
class IdealNetwork:
    """The time of a job's longest rank if messages took no time, from a replay; `ns` is None if unknown."""

    ns: int | None = None
    why: str = NO_TRACES  # the reason if it is not known


NO_REPLAY: Final = IdealNetwork()


def efficiencies(ranks: Sequence[RankTimes], ideal: IdealNetwork = NO_REPLAY) -> Efficiencies:
    """Returns the efficiencies of a job, from the times of all its ranks (at least one)."""
    return Efficiencies(multiplicative(ranks, ideal), additive(ranks), talp(ranks))


def multiplicative(ranks: Sequence[RankTimes], ideal: IdealNetwork = NO_REPLAY) -> tuple[Factor, ...]:
    """Returns POP's hybrid efficiencies: each factor is the product of its children in the tree."""
    run_ns = max(rank.wall_ns for rank in ranks)
    useful = [rank.useful_ns for rank in ranks]
    outside = [rank.outside_mpi_ns for rank in ranks]
    balance = share(fmean(useful), max(useful))
    mpi_balance = share(fmean(outside), max(outside))
    return (
        Factor("parallel", "hybrid parallel efficiency", share(fmean(useful), run_ns)),
        Factor("load_balance", "hybrid load balance", balance, 1),
        Factor("communication", "hybrid communication", share(max(useful), run_ns), 1),
        Factor("mpi", "MPI parallel efficiency", share(fmean(outside), run_ns)),
        Factor("mpi_load_balance", "MPI load balance", mpi_balance, 1),
        Factor("mpi_communication", "MPI communication", share(max(outside), run_ns), 1),
        *_of_network(ideal, max(outside), run_ns),
        Factor("openmp", "OpenMP parallel efficiency", share(fmean(useful), fmean(outside))),
        Factor("openmp_load_balance", "OpenMP load balance", share(balance, mpi_balance), 1),
        Factor("openmp_communication", "OpenMP communication", share(max(useful), max(outside)), 1),
        *_scaling(),
    )


def _of_network(ideal: IdealNetwork, outside_ns: float, run_ns: int) -> Iterator[Factor]:
    """Yields the two factors of the MPI communication: waits for late ranks, and transfers."""
    serialisation, transfer = None, None
    if ideal.ns is not None:
        # The tool reads the clock slightly after MPI acts, so the replay may slightly exceed these bounds.
        ideal_ns = min(max(float(ideal.ns), outside_ns), float(run_ns))
        serialisation, transfer = share(outside_ns, ideal_ns), share(ideal_ns, run_ns)
    yield Factor("mpi_serialisation", "MPI serialisation", serialisation, 2, ideal.why)
    yield Factor("mpi_transfer", "MPI transfer", transfer, 2, ideal.why)


def additive(ranks: Sequence[RankTimes]) -> tuple[Factor, ...]:
    """Returns POP's additive efficiencies: a loss (1 - efficiency) is the sum of its children's losses."""
    run_ns = max(rank.wall_ns for rank in ranks)
    outside = [rank.outside_mpi_ns for rank in ranks]

    def without(loss_ns: float) -> float:
        return 1 - share(loss_ns, run_ns)

    region_ns = fmean(rank.region_loss_ns for rank in ranks)
    serial_ns = fmean(rank.serial_loss_ns for rank in ranks)
    unbalanced_ns = max(outside) - fmean(outside)
    return (
        Factor("parallel", "parallel efficiency", share(fmean(r.useful_ns for r in ranks), run_ns)),
        Factor("threads", "thread efficiency", without(region_ns + serial_ns), 1),
        Factor("openmp_regions", "OpenMP region efficiency", without(region_ns), 2),
        Factor("serial_regions", "serial region efficiency", without(serial_ns), 2),
        Factor("processes", "process efficiency", share(fmean(outside), run_ns), 1),
        Factor("mpi_load_balance", "MPI load balance", without(unbalanced_ns), 2),
        Factor("mpi_communication", "MPI communication", share(max(outside), run_ns), 2),
        *_scaling(),
    )


def talp(ranks: Sequence[RankTimes]) -> tuple[Factor, ...]:
    """Returns the efficiencies of TALP (DLB 3.7), as parts of the thread-time of all ranks.

    A rank that ends early counts as in MPI until the longest one ends.
    """
    run_ns = max(rank.wall_ns for rank in ranks)
    whole_ns = sum(rank.n_threads for rank in ranks) * run_ns
    mpi_ns = sum(rank.n_threads * (rank.mpi_ns + run_ns - rank.wall_ns) for rank in ranks)
    serial_ns = sum(rank.n_threads * rank.serial_loss_ns for rank in ranks)
    idle_ns = serial_ns + sum(rank.n_threads * rank.region_loss_ns for rank in ranks)
    unequal_ns = sum(min(rank.unequal_ns, rank.n_threads * rank.region_loss_ns) for rank in ranks)
    useful_ns = sum(rank.n_threads * rank.useful_ns for rank in ranks)
    return (
        Factor("parallel", "hybrid parallel efficiency", share(useful_ns, whole_ns)),
        Factor("mpi", "MPI parallel efficiency", share(whole_ns - mpi_ns, whole_ns), 1),
        Factor("openmp", "OpenMP parallel efficiency", share(whole_ns - idle_ns, whole_ns), 1),
        Factor("openmp_serialisation", "serialisation", share(whole_ns - serial_ns, whole_ns), 2),
        Factor(
            "openmp_load_balance",
            "load balance",
            share(whole_ns - serial_ns - unequal_ns, whole_ns - serial_ns),
            2,
        ),
        Factor(
            "openmp_scheduling",
            "scheduling",
            share(whole_ns - idle_ns, whole_ns - serial_ns - unequal_ns),
            2,
        ),
    )


def _scaling() -> Iterator[Factor]:
    yield Factor("global", "global efficiency", None, 0, _NO_REFERENCE)
    yield Factor("computation", "computational scaling", None, 1, _NO_REFERENCE)


@dataclass(frozen=True, slots=True)
class Computation:
    """The useful computation of a job; instructions and cycles are 0 if they were not counted."""

    useful_ns: int  # work of all threads
    instructions: int = 0
    cycles: int = 0
    preempted_ns: int = 0  # not in useful_ns: time in which threads with work waited for a processor

    @property
    def processors(self) -> float:
        """The share of the work time in which threads had a processor."""
        return share(self.useful_ns, self.useful_ns + self.preempted_ns, 1.0)


def computational_scaling(job: Computation, reference: Computation) -> dict[str, float | None]:
    """Returns the computational scaling of a job and its parts; 1: as much computing time as the reference.

    computation = instructions * ipc * frequency. The three parts are None without counters. The part
    `processors` does not depend on the reference.
    """
    known = all(part.instructions and part.cycles for part in (job, reference))
    parts: dict[str, float | None] = {
        "computation": share(reference.useful_ns, job.useful_ns) or None,
        "processors": job.processors if job.useful_ns else None,
        "instructions": None,
        "ipc": None,
        "frequency": None,
    }
    if known and job.useful_ns and reference.useful_ns:
        parts["instructions"] = reference.instructions / job.instructions
        parts["ipc"] = (job.instructions / job.cycles) / (reference.instructions / reference.cycles)
        parts["frequency"] = (job.cycles / job.useful_ns) / (reference.cycles / reference.useful_ns)
    return parts


# ---------------------------------------------------------------- times of a run


EDGES: Final = ("MPI_Init", "MPI_Init_thread", "MPI_Finalize")
"""Functions in which MPI starts and ends; efficiencies exclude their time."""


def rank_times(run: Run) -> RankTimes:
    """Returns the times of a recorded rank between MPI_Init and MPI_Finalize.

    Without MPI calls, these are the times of the whole recording. Time of the initial thread outside of
    regions and MPI counts as work unless another state was recorded.
    """
    program = time_breakdown(run, Scope.PROGRAM)
    inside = [row for row in run.regions if row.construct != OUTSIDE]
    outside = [row for row in run.regions if row.construct == OUTSIDE]
    outermost = [row for row in inside if row.level == 1] or inside
    n_threads = max(program.n_threads, 1)
    in_mpi_ns, edges_ns = _serial_mpi_ns(run, outside)
    wall_ns = max(program.wall_ns - edges_ns, 0)
    region_ns = min(outermost_ns(inside), wall_ns)
    mpi_outside_ns = min(in_mpi_ns, wall_ns - region_ns)
    serial_ns = wall_ns - region_ns - mpi_outside_ns
    # Only the initial thread runs outside of regions, unless the program creates threads itself.
    unused_ns = max((row.total_ns - row.work_ns - row.mpi_ns for row in outside), default=0)
    return RankTimes(
        n_threads=n_threads,
        wall_ns=wall_ns,
        region_ns=region_ns,
        mpi_outside_ns=mpi_outside_ns,
        work_inside_ns=min(sum(row.work_ns for row in inside), n_threads * region_ns),
        work_outside_ns=max(serial_ns - unused_ns, 0),
        mpi_inside_ns=sum(row.mpi_ns for row in inside),
        unequal_ns=sum(_unequal_ns(each, n_threads) for each in region_shares(run, outermost, {})),
    )


def whole_states(run: Run, times: RankTimes) -> StateTimes:
    """Returns the thread-time of a rank by state between MPI_Init and MPI_Finalize.

    Threads that wait for MPI outside of regions count as in MPI; those that wait for a serial part, as idle.
    """
    inside = [row for row in run.regions if row.construct != OUTSIDE]
    known = StateTimes(
        work_ns=times.work_inside_ns + times.work_outside_ns,
        mpi_ns=times.mpi_inside_ns + times.n_threads * times.mpi_outside_ns,
        **sums(inside, "create_ns schedule_ns sync_ns offload_ns"),
    )
    return known + StateTimes(idle_ns=max(times.n_threads * times.wall_ns - known.total_ns, 0))


def _serial_mpi_ns(run: Run, outside: Sequence[RegionRow]) -> tuple[int, int]:
    """Returns the time in MPI outside of regions, without EDGES, and the time in EDGES."""
    calls = mpi_totals(run)
    edges_ns = sum(call.time_ns for call in calls if call.function in EDGES)
    by_thread: dict[int, int] = {}
    for call in calls:
        for thread in call.threads if call.function not in EDGES else ():
            by_thread[thread.thread] = by_thread.get(thread.thread, 0) + thread.serial_ns
    accounted_ns = max((row.mpi_ns for row in outside), default=0) if not calls else 0
    return max(by_thread.values(), default=accounted_ns), edges_ns


def _unequal_ns(region: RegionShare, n_threads: int) -> int:
    """Returns the sum over threads of (largest sum of work and MPI time - the thread's)."""
    busy = [thread.states.work_ns + thread.states.mpi_ns for thread in region.threads]
    return max(busy, default=0) * max(n_threads, len(busy)) - sum(busy)


def computation_of(run: Run) -> Computation:
    """Returns the computation of a run, with counters if the run counted instructions and cycles.

    Here, `useful_ns` includes the time in which threads with work waited for a processor.
    """
    useful_ns = sum(row.work_ns for row in run.regions)
    rows = [row.counters for row in run.regions]
    rows += [row.counters for row in run.constructs if run.kind_of(row.construct) == "task"]
    counted = {
        name: sum(counters[k] for counters in rows if k < len(counters))
        for k, name in enumerate(run.counters)
    }
    return Computation(useful_ns, counted.get("PAPI_TOT_INS", 0), counted.get("PAPI_TOT_CYC", 0))
