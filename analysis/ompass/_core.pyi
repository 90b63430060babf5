# SPDX-License-Identifier: Apache-2.0
"""Typed interface of the C++ core, which alone knows the bytes of a run directory.

All times are integer nanoseconds. Functions are pure: they read the directory given and keep nothing.
Errors in the files raise `LogError` with the path and the byte offset; the core never prints.
"""

from collections.abc import Callable
from typing import TypedDict

class LogError(Exception):
    """A log that is not ours, or is damaged beyond what a killed writer leaves."""

class Module(TypedDict):
    path: str
    build_id: str  # hexadecimal, empty when the module has none
    base: int  # load bias: address in process minus this is the ELF virtual address

class Definition(TypedDict):
    id: int  # index into `definitions`
    kind: str  # "program" (id 0: outside of every region), "task", "parallel", "kernel", "phase"
    flags: int  # OMPT task flags at first creation (kind "task"), else 0
    module: int  # index into `modules`, -1 when unknown
    offset: (
        int  # ELF virtual address of the return address in the module (look up offset - 1), 0 when unknown
    )
    name: str  # kernels and phases: the given name; else ""

class ThreadRow(TypedDict):
    thread: int  # index of the log
    tid: int  # operating system thread
    kind: str  # "initial", "worker", "other"
    first_ns: int  # since start of the run
    last_ns: int
    n_events: int  # trace records, in source "events"; 0 in source "profile", which does not read them
    n_dropped: int  # records lost (size limit, full disk)
    n_migrations: int  # CPU changes seen

class RegionRow(TypedDict):
    """One thread's time in all instances of one parallel construct; construct -1: outside every region.

    total_ns == work_ns + create_ns + schedule_ns + sync_ns + idle_ns, exactly.
    """

    construct: int
    thread: int
    level: int  # nesting depth at first instance, 1 = outermost; 0 for construct -1
    n_instances: int  # instances this thread took part in
    n_primary: int  # instances in which this thread was the primary thread
    wall_ns: int  # sum of instance durations, counted on the primary thread only
    capacity_ns: int  # sum over instances of team size * duration, primary thread only
    max_team_size: int
    total_ns: int  # this thread's time in the region, without inner regions that it led
    nested_ns: int  # its time in inner regions that it led
    work_ns: int
    create_ns: int
    schedule_ns: int
    sync_ns: int
    idle_ns: int
    implicit_ns: int  # part of work_ns spent in the implicit task itself
    lock_ns: int  # part of sync_ns spent in locks, critical, ordered, atomic
    n_tasks: int  # explicit tasks completed by this thread in this region
    domain: int  # locality domain of libomp_ext.so in which this thread started tasks last; -1: it held none
    n_rescued: int  # started here outside of their domain, since the program would have hung
    n_steals: int  # tasks taken from other threads' queues
    n_failed_steals: int  # attempts at queues with tasks that took none
    steal_ns: int
    failed_steal_ns: int
    n_from_domain: tuple[int, ...]  # tasks started here by the domain where they were placed; the last: and all beyond
    counters: tuple[int, ...]  # of the implicit task, one per name in RunProfile.counters

class ConstructRow(TypedDict):
    """What one thread saw of one construct (kinds task and kernel)."""

    construct: int
    thread: int
    n_created: int  # created by this thread
    n_completed: int  # completed by this thread
    n_cancelled: int  # discarded before they started
    n_undeferred: int  # of n_created
    work_ns: int  # own work of these tasks on this thread
    create_ns: int  # time this thread spent creating them (measured or estimated, see create_estimated)
    inclusive_ns: int  # work including undeferred descendants, scaled from the timed tasks when sampled
    n_timed: int  # tasks with a measured duration; n_timed < n_completed means sampled
    min_ns: int  # shortest and longest of the timed durations; 0 when none
    max_ns: int
    histogram: tuple[int, ...]  # 48 bins, bin k: tasks of [2^k, 2^(k+1)) ns, bin 0 includes 0; a timed task counts for the
    # tasks that it stands for, so the sum is n_timed where all are timed, and at most n_completed where they are sampled
    ready_ns: int  # sum over deferred tasks started here of start - ready
    ready_max_ns: int
    n_ready: int
    n_other_thread: int  # started here, created on another thread
    n_other_core: int
    n_other_domain: int
    read_bytes: int  # kernels: declared bytes
    write_bytes: int
    counters: tuple[int, ...]  # one per name in RunProfile.counters

class RunProfile(TypedDict):
    format_version: int
    mode: str  # "profile" or "trace" (what was asked for)
    source: str  # "profile" (as the tool accounted it) or "events" (recomputed from the trace)
    complete: bool  # False for a run cut short (killed, still running, records dropped in source "events")
    end_reason: str  # "finalized", "exit", "running-or-killed", "ended-by-control"
    incomplete_reasons: list[str]  # sentences
    pid: int
    start_epoch_ns: int
    wall_ns: int  # whole program, first to last moment recorded
    clock_kind: str  # "tsc", "cntvct", "clock_gettime"
    clock_hz: float
    create_estimated: bool  # no brackets: create_ns is an estimate
    create_estimate_ns: float  # per task; 0 when measured
    counters: list[str]
    modules: list[Module]
    definitions: list[Definition]
    threads: list[ThreadRow]
    regions: list[RegionRow]
    constructs: list[ConstructRow]
    log_bytes: int

class EventColumns(TypedDict):
    """numpy arrays of one length, in time order within each thread."""

    time_ns: object  # int64, since start of the run
    latest_ns: object  # int64, the last possible moment: of untimed records that of the timed record after them
    thread: object  # uint32
    kind: object  # uint8, index into event_kinds()
    construct: object  # int32, -1 when none
    task: object  # uint64 task id (creating thread << 40 | counter), 0 when none
    value: object  # uint64: what the meaning of the kind tells besides; durations in ns
    exact: object  # bool: False for untimed records, whose time is that of the timed record before them

class TaskGraph(TypedDict):
    """Work and span of a trace, and its tasks collapsed into groups. Columns are numpy arrays.

    work_ns == sum of groups.work_ns but the first; span_ns == sum of groups.critical_ns; up to rounding of each.
    """

    work_ns: int  # inside parallel regions
    outside_ns: int  # outside of them
    span_ns: int  # longest chain of the program, outside included
    span_outside_ns: int
    burdened_ns: int  # longest chain when each creation and dispatch on it costs what was measured
    n_deferred: int
    n_undeferred: int
    n_dependences: int
    n_taskgroup_ends: int
    n_dependent_waits: int
    n_out_of_order: int  # events whose cause the trace does not hold
    n_steps: int  # of the critical path, listed or not
    # parent uint32, construct uint32 (0: the program), depth uint32, folded uint8, n_tasks uint64, n_undeferred uint64,
    # n_other_thread uint64, work_ns uint64, create_ns uint64, dispatch_ns uint64, max_ns uint64 (longest task),
    # critical_ns uint64, n_critical uint64, n_waits uint64
    groups: dict[str, object]
    dependences: dict[str, object]  # from_group uint32, to_group uint32, n uint64
    # task uint64, group uint32, thread uint32, begin_ns uint64 (place in the path), length_ns uint64, start_ns uint64
    critical: dict[str, object]
    # task uint64, parent uint64, group uint32, thread uint32, created_ns, created_latest_ns, start_ns, end_ns,
    # work_ns, critical_ns uint64
    tasks: dict[str, object]

def event_kinds() -> list[tuple[str, str]]:
    """(name, meaning) of every event kind, indexed by its number."""

def read_profile(directory: str) -> RunProfile:
    """The profile that the tool kept; works for both modes and for runs cut short."""

def replay_trace(directory: str) -> RunProfile:
    """The same figures recomputed from the events alone; LogError when the run has no trace."""

def read_events(
    directory: str, thread: int = -1, start_ns: int = 0, end_ns: int = -1, limit: int = -1
) -> EventColumns:
    """Decoded events, filtered; for dump and for later analyses."""

def task_graph(directory: str, depth: int = 3, expanded: list[int] = [], max_tasks: int = 10_000) -> TaskGraph:
    """Work, span, critical path and collapsed graph; LogError when the run has no trace.

    `depth` levels of task nesting have groups of their own; tasks of `expanded` groups are listed, `max_tasks` at most,
    and so many steps of the critical path.
    """

class KernelReuse(TypedDict):
    """Bytes of one kernel's accesses in one cache group, by reuse distance (docs/reuse-distance.md).

    cold + coherence + close + near + far are `bytes`, or the sampled part of them; the bins sum to close + near + far.
    """

    construct: int
    n_accesses: int  # all of them, sampled or not; so is `bytes`
    bytes: int
    cold_bytes: int
    coherence_bytes: int
    close_bytes: int
    near_bytes: int
    far_bytes: int
    bins: list[int]  # 64; bin k: the smallest 2**k >= max(distance, 1)

class GroupReuse(TypedDict):
    kernels: list[KernelReuse]  # those with accesses
    distinct_bytes: int  # touched; in a sample: of the sampled blocks
    memory_bytes: int  # of the tables of this group
    sample: list[list[int]]  # empty when exact; else 32 random parts of the sampled blocks, each its bytes by distance:
    # 8 bins per power of two (bin(d) = d below 8, else 8 * floor(log2 d) + the next three bits of d), cold, coherence

class Reuse(TypedDict):
    groups: list[GroupReuse]
    block_bytes: int  # of a sample; 0 when exact

def reuse_of_run(
    directory: str,
    group_of_thread: list[int],
    group_of_cpu: list[int],
    class_bytes: list[tuple[int, int]],
    rate: float = 1.0,
    block_bytes: int = 0,
    coherent: bool = True,
    n_jobs: int = 1,
    progress: object = None,
) -> Reuse:
    """Reuse distances of the accesses of a trace, for each cache group.

    `class_bytes`: (L2, last level) of each group; `group_of_thread`: by thread, -1 or missing: by the CPU that it ran
    on; `group_of_cpu`: by CPU, missing: 0. `block_bytes` 0: chosen. `progress` is called with the share done.
    LogError; ValueError when the numbers do not fit each other.
    """

def reuse_of_accesses(
    address: object,
    bytes: object,
    write: object,
    group: object,
    kernel: object,
    class_bytes: list[tuple[int, int]],
    rate: float = 1.0,
    block_bytes: int = 0,
    coherent: bool = True,
    n_jobs: int = 1,
) -> Reuse:
    """The same of accesses in order of time, given as arrays (uint64, uint64, uint8, uint16, uint32).

    `block_bytes` 0: 4096.
    """

class Slices(TypedDict):
    """numpy arrays of one length, threads one after the other; of a thread, in the order in which they ended."""

    begin_ns: object  # int64, since start of the run, cut to the window
    end_ns: object  # int64
    thread: object  # uint32
    kind: object  # uint8: 0 region, 1 implicit task, 2 task, 3 wait, 4 lock, 5 creation, 6 kernel, 7 created (moment)
    construct: object  # int32; of waits and locks the OMPT kind; -1: not known
    task: object  # uint64 id of tasks and creations; 0: undeferred
    depth: object  # uint16: slices of this thread around it
    flags: object  # uint8: 1 a suspended task goes on; 2 an untimed undeferred task, at the time of the event before
    too_many: bool  # there are more than `limit`; these are the first

def slices_of_run(
    directory: str, threads: list[int], start_ns: int = 0, end_ns: int = -1, limit: int = 2**64 - 1
) -> Slices:
    """What each thread (empty: all) was in, in [start_ns, end_ns) (-1: to the end). LogError."""

def validate(directory: str) -> list[str]:
    """Every inconsistency found, one sentence each with path and byte offset; empty when the run is sound."""

class ScheduleStretches(TypedDict):
    """What threads did, thread by thread in order of time, as numpy arrays of one length."""

    thread: object  # uint32
    state: object  # uint8: 0 work, 1 create, 2 schedule, 3 sync, 4 idle
    construct: object  # int32: of the task, or of the region in implicit tasks; -1 outside
    task: object  # uint64; 0: no deferred task, or several pooled
    home: object  # int32: where the task comes from, see Schedule.domains; -1: no deferred task
    pooled: object  # uint64: stretches in it; 1: just as it was
    start_ns: object  # int64
    end_ns: object  # int64

class Schedule(TypedDict):
    start_ns: int  # of the window
    end_ns: int
    shortest_ns: int  # what is shorter is pooled with its neighbours, and stands for what it mostly was
    n_tasks: int  # deferred tasks that started in the window
    domains: bool  # homes are the domains that tasks were placed in; else the threads that created them
    stretches: ScheduleStretches
    bins: list[list[int]]  # n_bins x the five states: thread-time of equal parts of the window
    ran: list[list[int]]  # [creating thread][running thread]: deferred tasks of the whole run

def read_schedule(
    directory: str,
    start_ns: int = 0,
    end_ns: int = -1,
    limit: int = 5_000,
    by_home: bool = False,
    n_bins: int = 200,
) -> Schedule:
    """The schedule of a window of a trace; LogError when the run has no trace.

    At most `limit` stretches, as long as that is four per thread; 0: none.
    """

def read_rows(
    directory: str, table: str, columns: list[str], batch_rows: int, deliver: Callable[[list[object]], None]
) -> None:
    """Hands rows of a trace to `deliver`, batch by batch, as one int64 array per column; -1: nothing to tell.

    Tables and their columns (times in ns since the start of the run):
    tasks: task, parent, construct, deferred, creator, thread, created_ns, created_latest_ns, ready_ns,
    start_ns, end_ns, work_ns
    segments: thread, state (see ScheduleStretches), task, construct, start_ns, end_ns
    waits: thread, lock (1: kind is an OMPT mutex, 0: a sync region), kind, task, start_ns, end_ns, idle_ns,
    schedule_ns, sync_ns
    kernels: thread, construct, task, start_ns, end_ns, read_bytes, write_bytes
    accesses: thread, construct, task, time_ns, address (its 64 bits), bytes, write
    What `deliver` raises ends the reading and is raised again. LogError; ValueError for other names.
    """
