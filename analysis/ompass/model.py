# SPDX-License-Identifier: Apache-2.0
"""What was recorded, as immutable values: one `Run` holds modules, definitions, threads and time.

The core describes its rows: fields, units, sums. Here is what only Python needs; metrics derive figures.
"""

from __future__ import annotations

from dataclasses import dataclass

from ompass._core import N_HISTOGRAM_BINS, ConstructRow, Definition, Module, RegionRow, Run, ThreadRow

__all__ = [
    "N_HISTOGRAM_BINS",
    "OUTSIDE",
    "ConstructRow",
    "CpuTimes",
    "Definition",
    "Module",
    "RegionRow",
    "Run",
    "StateTimes",
    "ThreadRow",
]

OUTSIDE = -1
"""The construct number of time spent outside every parallel region."""


@dataclass(frozen=True, slots=True)
class StateTimes:
    """Thread-time by state; the states are disjoint, so that `total_ns` is the thread-time."""

    work_ns: int = 0
    create_ns: int = 0
    schedule_ns: int = 0
    sync_ns: int = 0
    idle_ns: int = 0

    @classmethod
    def of(cls, row: RegionRow) -> StateTimes:
        """The states of a row."""
        return cls(row.work_ns, row.create_ns, row.schedule_ns, row.sync_ns, row.idle_ns)

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
class CpuTimes:
    """Thread-time by what the processors did; `total_ns` is the thread-time."""

    running_ns: int = 0  # on a processor
    preempted_ns: int = 0  # taken from it although the thread could have run
    blocked_ns: int = 0  # left by the thread itself, until it ran again

    @classmethod
    def of(cls, total_ns: int, preempted_ns: int, blocked_ns: int) -> CpuTimes:
        """A time and the parts of it that the thread was on no processor."""
        return cls(total_ns - preempted_ns - blocked_ns, preempted_ns, blocked_ns)

    def __add__(self, other: CpuTimes) -> CpuTimes:
        return CpuTimes(
            self.running_ns + other.running_ns,
            self.preempted_ns + other.preempted_ns,
            self.blocked_ns + other.blocked_ns,
        )

    @property
    def absent_ns(self) -> int:
        return self.preempted_ns + self.blocked_ns

    @property
    def total_ns(self) -> int:
        return self.running_ns + self.absent_ns
