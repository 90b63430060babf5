# SPDX-License-Identifier: Apache-2.0
"""What was recorded, as immutable values: one `Run` holds modules, definitions, threads and time.

Owns the meaning and units of every field (integer nanoseconds, counts, bytes). Knows no file format
(readers) and derives no figure (metrics) beyond sums that hold by definition.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

OUTSIDE = -1
"""The construct number of time spent outside every parallel region."""

N_HISTOGRAM_BINS = 48


@dataclass(frozen=True, slots=True)
class StateTimes:
    """Thread-time by state; the states are disjoint, so that `total_ns` is the thread-time."""

    work_ns: int = 0
    create_ns: int = 0
    schedule_ns: int = 0
    sync_ns: int = 0
    idle_ns: int = 0

    def __add__(self, other: StateTimes) -> StateTimes:
        return StateTimes(
            self.work_ns + other.work_ns,
            self.create_ns + other.create_ns,
            self.schedule_ns + other.schedule_ns,
            self.sync_ns + other.sync_ns,
            self.idle_ns + other.idle_ns,
        )

    @property
    def total_ns(self) -> int:
        return self.work_ns + self.create_ns + self.schedule_ns + self.sync_ns + self.idle_ns

    @property
    def overhead_ns(self) -> int:
        return self.create_ns + self.schedule_ns + self.sync_ns


@dataclass(frozen=True, slots=True)
class Module:
    """An executable or shared library that code addresses were recorded in."""

    path: str
    build_id: str  # hexadecimal; empty when the module has none
    base: int  # load bias


@dataclass(frozen=True, slots=True)
class Definition:
    """A construct in the source: a task, a parallel region, a kernel or a phase."""

    id: int
    kind: str  # "task", "parallel", "kernel", "phase"
    flags: int
    module: int  # index into Run.modules; -1 when unknown
    offset: int  # ELF virtual address of the return address; 0 when unknown
    name: str  # kernels and phases only


@dataclass(frozen=True, slots=True)
class Thread:
    """One recorded thread; `thread` is the number of its log."""

    thread: int
    tid: int
    kind: str  # "initial", "worker", "other"
    first_ns: int
    last_ns: int
    n_events: int
    n_dropped: int
    n_migrations: int


@dataclass(frozen=True, slots=True)
class HeldTasks:
    """What libomp_ext.so told of the tasks that it held and one thread started."""

    domain: int = -1  # where the thread started tasks last; -1: none was held
    n_rescued: int = 0
    n_steals: int = 0
    n_failed_steals: int = 0
    steal_ns: int = 0
    failed_steal_ns: int = 0
    n_from_domain: tuple[int, ...] = ()  # by the domain where they were placed; the last: and all beyond


@dataclass(frozen=True, slots=True)
class RegionTime:
    """One thread's time in all instances of one parallel construct (`OUTSIDE`: in none)."""

    construct: int
    thread: int
    level: int
    n_instances: int
    n_primary: int
    wall_ns: int
    capacity_ns: int
    max_team_size: int
    total_ns: int
    nested_ns: int
    states: StateTimes
    implicit_ns: int
    lock_ns: int
    n_tasks: int
    held: HeldTasks = HeldTasks()


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Counts of a construct's tasks, or a kernel's calls; times in ns, sums unless named otherwise."""

    n_created: int
    n_completed: int
    n_cancelled: int
    n_undeferred: int
    work_ns: int
    create_ns: int
    inclusive_ns: int
    n_timed: int
    min_ns: int
    max_ns: int
    histogram: tuple[int, ...]
    ready_ns: int
    ready_max_ns: int
    n_ready: int
    n_other_thread: int
    n_other_core: int
    n_other_domain: int
    read_bytes: int
    write_bytes: int
    counters: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstructCounts(Counts):
    """What one thread saw of one task construct or kernel."""

    construct: int
    thread: int


@dataclass(frozen=True, slots=True)
class Run:
    """One process, recorded."""

    path: Path
    format_version: int
    mode: str  # "profile" or "trace"
    source: str  # "profile" or "events"
    complete: bool
    end_reason: str
    incomplete_reasons: tuple[str, ...]
    pid: int
    start_epoch_ns: int
    wall_ns: int
    clock_kind: str
    clock_hz: float
    create_estimated: bool
    create_estimate_ns: float
    counters: tuple[str, ...]
    modules: tuple[Module, ...]
    definitions: tuple[Definition, ...]
    threads: tuple[Thread, ...]
    regions: tuple[RegionTime, ...]
    constructs: tuple[ConstructCounts, ...]
    log_bytes: int

    def kind_of(self, construct: int) -> str:
        """The kind of a construct number; "outside" for OUTSIDE, "unknown" when never defined."""
        if construct == OUTSIDE:
            return "outside"
        if 0 <= construct < len(self.definitions):
            return self.definitions[construct].kind
        return "unknown"
