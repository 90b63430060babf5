# SPDX-License-Identifier: Apache-2.0
"""Thread-time on and off processors, and the number of processors that a run may use.

    thread-time = running + preempted + blocked        integer nanoseconds, no remainder

docs/metrics.md has the definitions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ompass.model import CpuTimes, RegionRow, Run, StateTimes, ThreadRow, sums

SWITCHES = "switches"
_WORKER = "worker"


@dataclass(frozen=True, slots=True)
class Presence:
    """Thread-time and work, each on and off processors."""

    whole: CpuTimes
    work: CpuTimes | None  # None: the source does not distinguish states
    source: str  # "switches": the kernel's records of switches; "clocks": each thread's clocks

    @property
    def off_in_work(self) -> float:
        """Off-CPU part of the work, over the thread-time, 0 to 1."""
        if self.work is None or not self.whole.total_ns:
            return 0.0
        return self.work.off_cpu_ns / self.whole.total_ns


@dataclass(frozen=True, slots=True)
class WaitTimes:
    """Time of threads that had nothing to run. total_ns == spun_ns + slept_ns + preempted_ns."""

    spun_ns: int = 0  # on a processor
    slept_ns: int = 0  # off the processor voluntarily
    preempted_ns: int = 0
    waking_ns: int = 0  # part of slept_ns: from the end of the wait until the thread ran again

    @property
    def total_ns(self) -> int:
        return self.spun_ns + self.slept_ns + self.preempted_ns

    @staticmethod
    def sum(parts: Iterable[WaitTimes | None]) -> WaitTimes | None:
        """Returns the sum; None if there is no part, or if one is unknown."""
        known = list(parts)
        if not known or None in known:
            return None
        return WaitTimes(**sums(known, "spun_ns slept_ns preempted_ns waking_ns"))


def wait_times(rows: Sequence[RegionRow], source: str) -> WaitTimes | None:
    """Returns the wait times in one thread's rows; None if the `source` of the times lacks states.

    Sleep in sync outside of locks counts as waking: the thread is entering a region or leaving a barrier.
    """
    if source != SWITCHES:
        return None
    total = sums(
        rows,
        "schedule_ns sync_ns idle_ns lock_ns schedule_blocked_ns sync_blocked_ns idle_blocked_ns "
        "schedule_preempted_ns sync_preempted_ns idle_preempted_ns",
    )
    slept_ns = total["schedule_blocked_ns"] + total["sync_blocked_ns"] + total["idle_blocked_ns"]
    preempted_ns = total["schedule_preempted_ns"] + total["sync_preempted_ns"] + total["idle_preempted_ns"]
    waited_ns = total["schedule_ns"] + total["sync_ns"] + total["idle_ns"]
    waking_ns = max(total["sync_blocked_ns"] - total["lock_ns"], 0)
    return WaitTimes(max(waited_ns - slept_ns - preempted_ns, 0), slept_ns, preempted_ns, waking_ns)


def waits_outside_regions(run: Run) -> WaitTimes | None:
    """Returns the waiting times of workers outside of regions; None if unknown."""
    workers = [thread for thread in run.threads if thread.kind == _WORKER]
    if not knows_switches(run) or not workers:
        return None
    inside_ns: dict[int, int] = {}
    for row in run.regions:
        inside_ns[row.thread] = inside_ns.get(row.thread, 0) + row.total_ns
    parts = []
    for thread in workers:
        # A recording that was cut short ends with the last event of each thread.
        end_ns = (thread.ended_ns or run.wall_ns) if run.complete else thread.last_ns
        rest_ns = max(end_ns - thread.first_ns - inside_ns.get(thread.thread, 0), 0)
        slept_ns = min(thread.unaccounted_blocked_ns, rest_ns)
        preempted_ns = min(thread.unaccounted_preempted_ns, rest_ns - slept_ns)
        parts.append(WaitTimes(rest_ns - slept_ns - preempted_ns, slept_ns, preempted_ns))
    return WaitTimes.sum(parts)


def knows_switches(run: Run) -> bool:
    """True if every thread's switches were recorded: then constructs have preempted and blocked times."""
    return bool(run.threads) and all(t.cpu_source == SWITCHES for t in run.threads)


def of_rows(rows: Sequence[RegionRow], source: str) -> Presence | None:
    """Returns the sum of one thread's rows; None if their times have no `source`."""
    if not source:
        return None
    whole, work = CpuTimes(), CpuTimes()
    for row in rows:
        whole += CpuTimes.of(row.total_ns, row.preempted_ns, row.blocked_ns)
        work += CpuTimes.of(row.work_ns, row.work_preempted_ns, row.work_blocked_ns)
    return Presence(whole, work if source == SWITCHES else None, source)


def sum_presence(parts: Iterable[Presence | None]) -> Presence | None:
    """Returns the sum; None if a part is unknown. The sum has the least detailed source."""
    whole, work = CpuTimes(), CpuTimes()
    sources = set()
    for part in parts:
        if part is None:
            return None
        whole += part.whole
        work += part.work or CpuTimes()
        sources.add(part.source)
    if not sources:
        return None
    source = SWITCHES if sources == {SWITCHES} else max(sources - {SWITCHES})
    return Presence(whole, work if source == SWITCHES else None, source)


def with_rest(known: Presence | None, thread: ThreadRow, rest_ns: int, wall_ns: int) -> Presence | None:
    """Returns `known` plus the rest of the run, which no row covers.

    The thread counts as blocked before its start and after its end.
    """
    if not thread.cpu_source:
        return None
    known = known or of_rows((), thread.cpu_source)
    if known is None:
        return None
    gone_ns = thread.first_ns
    if thread.ended_ns and thread.kind != "initial":
        gone_ns += max(0, wall_ns - thread.ended_ns)
    blocked_ns = min(rest_ns, gone_ns + thread.unaccounted_blocked_ns)
    preempted_ns = min(rest_ns - blocked_ns, thread.unaccounted_preempted_ns)
    rest = CpuTimes.of(rest_ns, preempted_ns, blocked_ns)
    return Presence(known.whole + rest, known.work, known.source)


class Timed(Protocol):
    """A breakdown, a region or a thread's share."""

    @property
    def states(self) -> StateTimes: ...
    @property
    def presence(self) -> Presence | None: ...


_TIMED_STATES = ("work", "schedule", "sync", "idle", "mpi", "offload")


def running_shares(rows: Sequence[RegionRow]) -> tuple[float, float]:
    """Returns, for the states create and schedule, the part of their time on a processor, 0 to 1.

    The source of the rows' times must be SWITCHES. Rows list the off-CPU time of every state except create,
    whose off-CPU time is the rest.
    """
    fields = [f"{state}_{kind}_ns" for state in _TIMED_STATES for kind in ("preempted", "blocked")]
    total = sums(rows, f"create_ns schedule_ns preempted_ns blocked_ns {' '.join(fields)}")
    create_off_ns = total["preempted_ns"] + total["blocked_ns"] - sum(total[name] for name in fields)
    schedule_off_ns = total["schedule_preempted_ns"] + total["schedule_blocked_ns"]
    return _running_share(total["create_ns"], create_off_ns), _running_share(
        total["schedule_ns"], schedule_off_ns
    )


def _running_share(whole_ns: int, off_ns: int) -> float:
    return min(max(whole_ns - off_ns, 0), whole_ns) / whole_ns if whole_ns else 1.0


@dataclass(frozen=True, slots=True)
class ProcessorTime:
    """Processor times of a scope, region or thread."""

    running_ns: int
    preempted_ns: int
    work_running_ns: int  # part of running_ns
    work_blocked_ns: int

    @property
    def other_running_ns(self) -> int:
        """Running time outside of work."""
        return max(self.running_ns - self.work_running_ns, 0)


def processor_time(part: Timed) -> ProcessorTime:
    """Returns the processor times of `part`."""
    whole = part.presence.whole if part.presence else None
    work = part.presence.work if part.presence else None
    return ProcessorTime(
        running_ns=whole.running_ns if whole else part.states.total_ns,
        preempted_ns=whole.preempted_ns if whole else 0,
        work_running_ns=work.running_ns if work else part.states.work_ns,
        work_blocked_ns=work.blocked_ns if work else 0,
    )


def allowed_processors(n_cpus: int, quota_us: int, period_us: int) -> float:
    """Returns the mean number of processors within affinity and quota, such as 1.5; 0 if unknown."""
    quota = quota_us / period_us if quota_us and period_us else 0.0
    return min(quota, n_cpus) if quota and n_cpus else quota or float(n_cpus)


def describe_processors(n_cpus: int, quota_us: int, period_us: int) -> str:
    """Returns `2`, or `1.0 of 2` under a quota; empty if unknown."""
    allowed = allowed_processors(n_cpus, quota_us, period_us)
    if n_cpus and allowed == n_cpus:
        return str(n_cpus)
    of = f" of {n_cpus}" if n_cpus else ""
    return f"{allowed:.2g}{of}" if 0 < allowed < 1 else f"{allowed:.1f}{of}" if allowed else ""


def processors_of(run: Run) -> float:
    """Returns the mean number of processors that the run's threads could use at a time; 0 if unknown."""
    return allowed_processors(run.n_usable_cpus, run.quota_us, run.quota_period_us)


def described(run: Run) -> str:
    """Returns processors_of(run) in words, such as `2 processors`."""
    number = describe_processors(run.n_usable_cpus, run.quota_us, run.quota_period_us)
    return f"{number} processor" if number == "1" else f"{number} processors"


def processor_values(run: Run) -> dict[str, Any]:
    """Returns the affinity, the quota and its effects as JSON values."""
    return {
        "usable": run.n_usable_cpus,
        "allowed": processors_of(run),
        "quota_us": run.quota_us,
        "quota_period_us": run.quota_period_us,
        "throttled_periods": None if run.n_throttled < 0 else run.n_throttled,
        "throttled_ns": None if run.throttled_ns < 0 else run.throttled_ns,
    }


def launcher_options(n_threads: int) -> str:
    """Returns the options with which launchers of MPI jobs give each rank `n_threads` processors."""
    return (
        f"let the launcher give each rank {n_threads} processors: OpenMPI `mpirun --map-by "
        f"slot:PE={n_threads}` (or `--bind-to none`), MPICH `mpiexec -bind-to core:{n_threads}` (or "
        f"`-bind-to none`), Slurm `srun --cpus-per-task={n_threads}`"
    )


def held_back_ns(run: Run, thread_time_ns: int, wall_ns: int, shared_ns: int) -> int:
    """Returns the kernel's count of the thread-time that the quota withheld.

    If the count is unknown (the run was killed), returns the excess of the thread-time over the quota,
    without `shared_ns`, the time lost to sharing processors.
    """
    if not run.quota_us or run.n_throttled == 0:
        return 0
    if run.throttled_ns >= 0:
        return run.throttled_ns
    return max(int(thread_time_ns - wall_ns * run.quota_us / run.quota_period_us) - shared_ns, 0)
