# SPDX-License-Identifier: Apache-2.0
"""A recording as immutable values: a `Run` has definitions, threads and times; a `TaskGraph` has tasks.

The core documents the fields, units and sums of its rows. This file adds the names of kinds and states, and
derived values. Times are in ns.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Final

from ompass import _core
from ompass._core import (
    N_HISTOGRAM_BINS,
    CallRow,
    ConstructRow,
    CriticalStep,
    Definition,
    GraphGroup,
    GraphTask,
    GroupDependence,
    GroupReuse,
    KernelReuse,
    LoopRow,
    Module,
    RegionRow,
    Reuse,
    Run,
    TargetRow,
    ThreadRow,
    WaitRow,
)

__all__ = [
    "LOCKS",
    "LOOPS",
    "MPI_CLASSES",
    "N_HISTOGRAM_BINS",
    "OPENMP_STATES",
    "OUTSIDE",
    "STATES",
    "UNSHARED_LOOPS",
    "WAITS",
    "WAIT_KINDS",
    "CallRow",
    "ConstructRow",
    "CpuTimes",
    "CriticalStep",
    "Definition",
    "GraphGroup",
    "GraphTask",
    "GroupDependence",
    "GroupReuse",
    "KernelReuse",
    "LoopRow",
    "Module",
    "RegionRow",
    "Reuse",
    "Run",
    "StateTimes",
    "SystemUse",
    "TargetRow",
    "TaskGraph",
    "ThreadRow",
    "WaitRow",
    "loop_kind",
    "share",
    "shown_states",
    "state_values",
    "sums",
    "wait_kind",
]

# OMPT's numbers (OpenMP 5.1, section 4.4.4), and our own: in WAITS, 62 and 63 (dependences); in LOCKS, 32 and
# 33 (waits that OMPT does not report); in LOOPS, 32 (masked).
WAITS: Final = {
    1: "barrier", 2: "implicit barrier", 3: "explicit barrier", 4: "implementation barrier", 5: "taskwait",
    6: "taskgroup", 7: "reduction", 8: "worksharing barrier", 9: "region barrier", 10: "teams barrier",
    62: "dependence", 63: "taskwait depend",
}  # fmt: skip
LOCKS: Final = {
    1: "lock", 2: "test lock", 3: "nest lock", 4: "test nest lock", 5: "critical", 6: "atomic", 7: "ordered",
    32: "doacross", 33: "taskyield",
}  # fmt: skip
WAIT_KINDS: Final = {**WAITS, **{kind | 128: name for kind, name in LOCKS.items()}}
"""The meaning of Definition.flags of a wait."""
LOOPS: Final = {
    1: "loop", 2: "sections", 3: "single", 5: "workshare", 6: "distribute", 7: "taskloop", 8: "scope",
    9: "workdistribute", 10: "static loop", 11: "dynamic loop", 12: "guided loop", 13: "loop", 32: "masked",
}  # fmt: skip
"""The meaning of Definition.flags of a loop."""
_BEYOND: Final = 256
_BEYOND_MUTEX: Final = 1 << 25


def wait_kind(flags: int) -> str:
    """Returns the kind of a wait by its Definition.flags; for an unknown kind, OMPT's number."""
    if flags in WAIT_KINDS or not flags:
        return WAIT_KINDS.get(flags, "wait")
    if flags & _BEYOND_MUTEX:
        return f"mutex {flags - _BEYOND_MUTEX - _BEYOND}"
    if flags >= _BEYOND:
        return f"sync region {flags - _BEYOND}"
    return f"mutex {flags - 128}" if flags >= 128 else f"sync region {flags}"


def loop_kind(flags: int) -> str:
    """Returns the kind of a loop by its Definition.flags; for an unknown kind, OMPT's number."""
    if flags in LOOPS or not flags:
        return LOOPS.get(flags, "loop")
    return f"work {flags - _BEYOND if flags >= _BEYOND else flags}"


UNSHARED_LOOPS: Final = frozenset({"single", "taskloop", "masked"})
"""Loops whose instances run on one thread each."""

MPI_CLASSES: Final = {
    0: "other", 1: "point-to-point", 2: "collective", 3: "wait", 4: "one-sided", 5: "I/O",
}  # fmt: skip
"""The meaning of Definition.flags of an MPI call."""

OUTSIDE = -1
"""The construct number of time spent outside every parallel region."""

STATES: Final = ("work", "create", "schedule", "sync", "idle", "mpi", "offload")
"""The states, in the core's order."""
OPENMP_STATES: Final = STATES[:5]
"""The states that every run has."""
_STATE_VALUES: Final = attrgetter(*(f"{state}_ns" for state in STATES))


@dataclass(frozen=True, slots=True)
class StateTimes:
    """Thread-time by state; the states are disjoint, so their sum `total_ns` is the thread-time."""

    work_ns: int = 0
    create_ns: int = 0
    schedule_ns: int = 0
    sync_ns: int = 0
    idle_ns: int = 0
    mpi_ns: int = 0
    offload_ns: int = 0

    @classmethod
    def of(cls, row: RegionRow) -> StateTimes:
        """Returns the states of a row."""
        return cls(*state_values(row))

    def __add__(self, other: StateTimes) -> StateTimes:
        return StateTimes(*(a + b for a, b in zip(state_values(self), state_values(other), strict=True)))

    @property
    def total_ns(self) -> int:
        return sum(state_values(self))

    @property
    def overhead_ns(self) -> int:
        return self.create_ns + self.schedule_ns + self.sync_ns


@dataclass(frozen=True, slots=True)
class CpuTimes:
    """Thread-time on and off processors; `total_ns` is the thread-time."""

    running_ns: int = 0  # on a processor
    preempted_ns: int = 0  # off the processor although it could have run
    blocked_ns: int = 0  # off the processor because it waited for something

    @classmethod
    def of(cls, total_ns: int, preempted_ns: int, blocked_ns: int) -> CpuTimes:
        """Returns the times, given the total and its off-CPU parts."""
        return cls(total_ns - preempted_ns - blocked_ns, preempted_ns, blocked_ns)

    def __add__(self, other: CpuTimes) -> CpuTimes:
        return CpuTimes(
            self.running_ns + other.running_ns,
            self.preempted_ns + other.preempted_ns,
            self.blocked_ns + other.blocked_ns,
        )

    @property
    def off_cpu_ns(self) -> int:
        return self.preempted_ns + self.blocked_ns

    @property
    def total_ns(self) -> int:
        return self.running_ns + self.off_cpu_ns


@dataclass(frozen=True, slots=True)
class SystemUse:
    """Page faults, and time in the operating system's kernel."""

    n_minor_faults: int = 0  # the kernel mapped a page without reading a disk
    n_major_faults: int = 0  # the kernel read the page from a disk
    system_ns: int = 0  # in any state, faults included

    @classmethod
    def of(cls, rows: Iterable[RegionRow | ThreadRow]) -> SystemUse | None:
        """Returns the sum over the rows; None without rows, or if it is unknown for one of them."""
        return cls.sum(
            cls(row.n_minor_faults, row.n_major_faults, row.system_ns) if row.system_ns >= 0 else None
            for row in rows
        )

    @staticmethod
    def sum(parts: Iterable[SystemUse | None]) -> SystemUse | None:
        """Returns the sum; None without parts, or if one is unknown."""
        total: SystemUse | None = None
        for part in parts:
            if part is None:
                return None
            total = total + part if total else part
        return total

    def __add__(self, other: SystemUse) -> SystemUse:
        return SystemUse(
            self.n_minor_faults + other.n_minor_faults,
            self.n_major_faults + other.n_major_faults,
            self.system_ns + other.system_ns,
        )


class TaskGraph(_core.TaskGraph):
    """Work and span of one run, its groups of tasks, and its critical path."""

    @property
    def region_span_ns(self) -> int:
        """The part of the critical path inside parallel regions."""
        return self.span_ns - self.span_outside_ns

    @property
    def region_burdened_ns(self) -> int:
        return self.burdened_ns - self.span_outside_ns

    @property
    def parallelism(self) -> float:
        """Work / span of the parallel regions; 0 without any."""
        return self.work_ns / self.region_span_ns if self.region_span_ns else 0.0

    @property
    def burdened_parallelism(self) -> float:
        return self.work_ns / self.region_burdened_ns if self.region_burdened_ns else 0.0

    @property
    def program_parallelism(self) -> float:
        """Work / span of the whole program, an upper bound of its speed-up."""
        return (self.work_ns + self.outside_ns) / self.span_ns if self.span_ns else 0.0


def state_values(times: Any) -> tuple[Any, ...]:
    """Returns the times of all states, in the order of STATES."""
    values: tuple[Any, ...] = _STATE_VALUES(times)
    return values


def shown_states(*times: Any) -> tuple[str, ...]:
    """Returns OpenMP's states, and each other state that is not 0 in at least one of `times`."""
    return tuple(
        state
        for state in STATES
        if state in OPENMP_STATES or any(getattr(each, f"{state}_ns") for each in times)
    )


def share(part: float, whole: float, of_nothing: float = 0.0) -> float:
    """Returns part / whole; `of_nothing` if the whole is 0."""
    return part / whole if whole else of_nothing


def sums(rows: Sequence[Any], names: str) -> dict[str, Any]:
    """Returns, for each attribute in `names`, its sum over the rows."""
    return {name: sum(getattr(row, name) for row in rows) for name in names.split()}


# OMPT's numbers (OpenMP 6.0, sections 33.33 and 33.35), and our own: 64 and 65 outside of constructs.
_KINDS: Final = {
    1: "target", 2: "enter data", 3: "exit data", 4: "update", 9: "target nowait", 10: "enter data nowait",
    11: "exit data nowait", 12: "update nowait", 64: "call", 65: "load",
}  # fmt: skip
_OPERATIONS: Final = {
    1: "alloc", 2: "to device", 3: "from device", 4: "delete", 5: "associate", 6: "disassociate",
    7: "transfer", 8: "memset", 9: "rectangle", 254: "load of code",
}  # fmt: skip
_ASYNC: Final = {number + 16: number for number in (1, 2, 3, 4, 7, 8, 9)}
"""The synchronous form of an asynchronous operation."""
_DIRECTIONS: Final = ("", " to device", " from device", " between devices")
_NOWAIT: Final = frozenset({9, 10, 11, 12})


def kind_name(flags: int) -> str:
    """Returns the name of the kind in the flags of a target construct."""
    return _KINDS.get(flags & 0xFF, f"kind {flags & 0xFF}")


def is_nowait(flags: int) -> bool:
    """True if the encountering thread does not wait for the construct."""
    return flags & 0xFF in _NOWAIT


def operation_name(number: int) -> str:
    """Returns the name of a data operation; `number` may hold a direction."""
    plain, direction = number & 0xFF, number >> 8
    if plain in _OPERATIONS:
        return _OPERATIONS[plain] + _DIRECTIONS[direction]
    if plain in _ASYNC:
        return f"{_OPERATIONS[_ASYNC[plain]]}{_DIRECTIONS[direction]} (async)"
    return f"operation {plain}{_DIRECTIONS[direction]}"


def direction_of(number: int) -> int:
    """Returns the direction of a data operation (1: to a device, 2: from it, 3: between devices, 0: none)."""
    return {2: 1, 18: 1, 3: 2, 19: 2}.get(number & 0xFF, number >> 8)


def device_of(flags: int) -> int:
    """Returns the device in the flags of a target construct; -1: unknown."""
    return (flags >> 8 & 0xFF) - 1


def device_name(number: int) -> str:
    return f"device {number}" if number >= 0 else "unknown device"
