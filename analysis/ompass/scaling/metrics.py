# SPDX-License-Identifier: Apache-2.0
"""Scaling: speed-up, OVR_N and WTI_N (Pericàs et al.), factored speed-ups (Acar et al.), from repeated runs.

Owns the formulas. Every figure is a ratio of means over the repeats, never a mean of ratios. Its spread is
the smallest and largest value of a single round of the sweep. With P threads, T_P is their wall time, T_1 the
wall time on one thread (for the same `{threads}`), T_s the serial baseline, I_P the idle time and W_P the
work:

    P * T_P  =  W_P + create + schedule + sync + mpi + offload + I_P
    speed-up =  T_s / T_P  =  P / (OVR_P * WTI_P),   OVR_P = P * T_P / W_P,   WTI_P = W_P / T_s

Also compares work time inflation by construct. The caller gives a construct the same name (`Key`) in all
runs.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, fields
from statistics import fmean
from typing import Generic, TypeVar

from ompass.metrics.breakdown import Scope, time_breakdown
from ompass.model import Run, StateTimes, share

CURVES = ("linear", "elision", "maximal", "idle", "inflation", "actual")


@dataclass(frozen=True, slots=True)
class Measured:
    """One recorded run in the scope of the sweep. n_threads * time_ns == states.total_ns unless `misfit`."""

    time_ns: int
    states: StateTimes
    n_seen: int  # threads that took part
    misfit: bool  # True if recorded thread-time exceeds n_threads * time_ns: the program chose its team sizes


def measured(run: Run, n_threads: int, scope: Scope, process_ns: int) -> Measured:
    """Returns the measurement from one run. `process_ns`: wall time of its process, for Scope.PROGRAM.

    Threads missing from a team count as idle. For the whole program, time before and after the recording
    counts as work of one thread.
    """
    breakdown = time_breakdown(run, scope)
    time_ns, states = breakdown.wall_ns, breakdown.states
    if scope is Scope.PROGRAM:
        unseen_ns = max(process_ns - time_ns, 0)
        states += StateTimes(work_ns=unseen_ns, idle_ns=unseen_ns * (breakdown.n_threads - 1))
        time_ns += unseen_ns
    missing_ns = n_threads * time_ns - states.total_ns
    return Measured(
        time_ns=time_ns,
        states=states + StateTimes(idle_ns=max(missing_ns, 0)),
        n_seen=breakdown.n_threads,
        misfit=missing_ns < -0.001 * states.total_ns,
    )


@dataclass(frozen=True, slots=True)
class Samples:
    """Everything measured for one number of threads; each sequence has one entry per round."""

    threads: int
    recorded: Sequence[Measured]
    one_thread: Sequence[Measured]
    baseline_ns: Sequence[int] = ()
    elision_ns: Sequence[int] = ()
    recorded_process_ns: Sequence[int] = ()
    unrecorded_ns: Sequence[int] = ()
    unrecorded_one_ns: Sequence[int] = ()

    @property
    def n_rounds(self) -> int:
        return min(
            len(part)
            for part in (self.recorded, self.one_thread, self.baseline_ns, self.elision_ns)
            if len(part) or part is self.recorded
        )

    def round(self, k: int) -> Samples:
        """Returns round k alone."""
        parts = {each.name: getattr(self, each.name)[k : k + 1] for each in fields(self)[1:]}
        return Samples(self.threads, **parts)


@dataclass(frozen=True, slots=True)
class MeanStates:
    """Means of StateTimes over several runs, so not integers."""

    work_ns: float
    create_ns: float
    schedule_ns: float
    sync_ns: float
    idle_ns: float
    mpi_ns: float = 0.0
    offload_ns: float = 0.0

    @property
    def overhead_ns(self) -> float:
        return self.create_ns + self.schedule_ns + self.sync_ns

    @property
    def total_ns(self) -> float:
        return self.work_ns + self.overhead_ns + self.idle_ns + self.mpi_ns + self.offload_ns


@dataclass(frozen=True, slots=True)
class ScalingPoint:
    """The figures for one number of threads."""

    threads: int
    time_ns: float  # T_P
    states: MeanStates  # at P threads
    one: MeanStates  # on one thread
    one_time_ns: float  # T_1
    serial_ns: float  # T_s
    has_baseline: bool  # False: the work on one thread replaces the serial program
    elision_ns: float | None

    @property
    def thread_time_ns(self) -> float:
        """P * T_P."""
        return self.states.total_ns

    @property
    def speedup(self) -> float:
        return share(self.serial_ns, self.time_ns)

    @property
    def efficiency(self) -> float:
        return self.speedup / self.threads

    @property
    def ovr(self) -> float:
        """Non-work overhead factor, P * T_P / W_P."""
        return share(self.thread_time_ns, self.states.work_ns)

    @property
    def wti(self) -> float:
        """Work time inflation, W_P / T_s."""
        return share(self.states.work_ns, self.serial_ns)

    @property
    def inflation_ns(self) -> float:
        """F_P = P * T_P - I_P - T_1, including the runtime's inflation (Acar et al., fact 2.8)."""
        return self.thread_time_ns - self.states.idle_ns - self.one_time_ns

    @property
    def work_inflation_ns(self) -> float:
        """W_P - W_1: additional time of the program's own code compared with one thread."""
        return self.states.work_ns - self.one.work_ns

    @property
    def runtime_inflation_ns(self) -> float:
        """Increase of create + schedule + sync compared with one thread."""
        return self.states.overhead_ns - self.one.overhead_ns

    @property
    def one_thread_overhead_ns(self) -> float:
        """T_1 - T_s: the cost of parallelism on one thread."""
        return self.one_time_ns - self.serial_ns

    def curve(self, name: str) -> float | None:
        """Returns the value of one of CURVES; None for an elision that was not timed."""
        if name == "linear":
            return float(self.threads)
        if name == "actual":
            return self.speedup
        divisors = {
            "elision": self.elision_ns,
            "maximal": self.one_time_ns,
            "idle": self.one_time_ns + self.states.idle_ns,
            "inflation": self.thread_time_ns - self.states.idle_ns,
        }
        divisor = divisors[name]
        return None if divisor is None else share(self.threads * self.serial_ns, divisor)


def scaling_point(samples: Samples) -> ScalingPoint:
    """Returns the figures of one number of threads.

    Raises ValueError unless there are recorded runs on P threads and on one thread.
    """
    if not samples.recorded or not samples.one_thread:
        raise ValueError(f"no recorded run on {samples.threads} or on one thread")
    one = mean_states([m.states for m in samples.one_thread])
    return ScalingPoint(
        threads=samples.threads,
        time_ns=fmean(m.time_ns for m in samples.recorded),
        states=mean_states([m.states for m in samples.recorded]),
        one=one,
        one_time_ns=fmean(m.time_ns for m in samples.one_thread),
        serial_ns=fmean(samples.baseline_ns) if samples.baseline_ns else one.work_ns,
        has_baseline=bool(samples.baseline_ns),
        elision_ns=fmean(samples.elision_ns) if samples.elision_ns else None,
    )


def spread(samples: Samples, figure: Callable[[ScalingPoint], float | None]) -> tuple[float, float] | None:
    """Returns the smallest and largest value of a figure in single rounds; None if it has no value."""
    values = [figure(scaling_point(samples.round(k))) for k in range(samples.n_rounds)]
    known = [value for value in values if value is not None]
    return (min(known), max(known)) if known else None


@dataclass(frozen=True, slots=True)
class RecordingCost:
    """The effect of recording on times, from recorded and unrecorded runs in the same rounds."""

    factor: float  # process time recorded / not recorded
    unrecorded_speedup: float  # T_s (or the time on one thread) / T_P, both unrecorded
    against_baseline: bool


def recording_cost(samples: Samples) -> RecordingCost | None:
    """Returns the cost of recording; None without unrecorded runs."""
    if not samples.unrecorded_ns or not samples.recorded_process_ns:
        return None
    serial = samples.baseline_ns or samples.unrecorded_one_ns
    time_ns = fmean(samples.unrecorded_ns)
    return RecordingCost(
        factor=share(fmean(samples.recorded_process_ns), time_ns),
        unrecorded_speedup=share(fmean(serial), time_ns) if serial else 0.0,
        against_baseline=bool(samples.baseline_ns),
    )


def mean_states(parts: Sequence[StateTimes]) -> MeanStates:
    return MeanStates(*(fmean(getattr(p, each.name) for p in parts) for each in fields(MeanStates)))


Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, slots=True)
class WorkOf:
    """Own work of one construct in one run."""

    work_ns: int
    n_runs: int  # tasks, executions of a kernel, instances of a region
    create_ns: int = 0  # time to create all of them


@dataclass(frozen=True, slots=True)
class Inflation(Generic[Key]):
    """One construct on P threads and on one thread. Means over the rounds."""

    key: Key
    threads: int
    work_ns: float
    one_work_ns: float
    n_runs: float
    one_n_runs: float
    low: float  # smallest and largest factor of any round
    high: float

    @property
    def factor(self) -> float:
        """W_P,c / W_1,c; 0 if it did no work on one thread."""
        return share(self.work_ns, self.one_work_ns)

    @property
    def excess_ns(self) -> float:
        """W_P,c - W_1,c."""
        return self.work_ns - self.one_work_ns

    @property
    def same_work(self) -> bool:
        """True if it ran equally often on P threads and on one; else the factor compares different work."""
        return abs(self.n_runs - self.one_n_runs) <= 0.01 * max(self.n_runs, self.one_n_runs)


def inflation(
    threads: int, recorded: Sequence[Mapping[Key, WorkOf]], one: Sequence[Mapping[Key, WorkOf]]
) -> tuple[Inflation[Key], ...]:
    """Returns all constructs of the runs (one mapping per round), the largest change of work first."""
    keys: dict[Key, None] = {}
    for run in (*recorded, *one):
        keys.update(dict.fromkeys(run))
    nothing = WorkOf(0, 0)
    rows = []
    for key in keys:
        at_p = [run.get(key, nothing) for run in recorded]
        at_one = [run.get(key, nothing) for run in one]
        factors = [a.work_ns / b.work_ns for a, b in zip(at_p, at_one, strict=False) if b.work_ns]
        rows.append(
            Inflation(
                key=key,
                threads=threads,
                work_ns=fmean(w.work_ns for w in at_p),
                one_work_ns=fmean(w.work_ns for w in at_one),
                n_runs=fmean(w.n_runs for w in at_p),
                one_n_runs=fmean(w.n_runs for w in at_one),
                low=min(factors, default=0.0),
                high=max(factors, default=0.0),
            )
        )
    return tuple(sorted(rows, key=lambda row: -abs(row.excess_ns)))
