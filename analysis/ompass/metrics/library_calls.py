# SPDX-License-Identifier: Apache-2.0
"""Sums MPI calls and target constructs over threads. Both are states of their own.

MPI calls: functions, classes, places, times. Target constructs: times of the host, bytes and launches of each
construct on each device.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ompass.model import (
    MPI_CLASSES,
    CallRow,
    Run,
    TargetRow,
    device_of,
    is_nowait,
    kind_name,
    operation_name,
    share,
    sums,
)


@dataclass(frozen=True, slots=True)
class Device:
    """A device that the runtime initialized. It appears again if a later initialization changed it."""

    number: int
    type: str  # the runtime's name
    is_traced: bool  # True if the device reports its own times


@dataclass(frozen=True, slots=True)
class DataOperation:
    """The data operations of one kind in a target construct."""

    number: int  # 0: all kinds for which a row has no room
    n: int
    bytes: int
    time_ns: int  # of the host

    @property
    def name(self) -> str:
        return operation_name(self.number) if self.number else "others"


@dataclass(frozen=True, slots=True)
class TargetTotals:
    """One target construct on one device, over all host threads. Times are the host's unless named otherwise.

    time_ns == transfer_ns + launch_ns + wait_ns.
    """

    construct: int
    kind: str
    nowait: bool
    device: int  # -1: unknown
    n_runs: int
    time_ns: int
    transfer_ns: int  # in data operations
    launch_ns: int
    wait_ns: int  # the rest: waits for the device, and the runtime's own work
    max_ns: int
    n_launches: int
    n_to: int
    to_bytes: int
    to_ns: int
    n_from: int
    from_bytes: int
    n_alloc: int
    alloc_bytes: int
    n_repeated: int  # part of n_to: the same host memory as in an earlier transfer to the device
    repeated_bytes: int
    n_device_kernels: int
    device_kernel_ns: int
    n_device_transfers: int
    device_transfer_ns: int
    operations: tuple[DataOperation, ...]  # most bytes first

    @property
    def away_ns(self) -> int:
        """Time of the host in launches, and in waits for kernels."""
        return self.launch_ns + self.wait_ns


_SUMS: Final = (
    "n_runs time_ns transfer_ns launch_ns wait_ns n_launches n_to to_bytes to_ns n_from from_bytes n_alloc "
    "alloc_bytes n_repeated repeated_bytes n_device_kernels device_kernel_ns n_device_transfers "
    "device_transfer_ns"
)


def devices_of(run: Run) -> tuple[Device, ...]:
    """Returns the devices that the runtime initialized, by number."""
    found = {(d.flags >> 1, d.name, bool(d.flags & 1)) for d in run.definitions if d.kind == "device"}
    return tuple(Device(*device) for device in sorted(found))


def target_totals(run: Run, groups: Mapping[int, int] | None = None) -> tuple[TargetTotals, ...]:
    """Returns all target constructs of the run, the longest first. `groups` is used as in time_breakdown."""
    rows: dict[int, list[TargetRow]] = {}
    for row in run.targets:
        rows.setdefault((groups or {}).get(row.construct, row.construct), []).append(row)
    totals = [_total(run, construct, mine) for construct, mine in rows.items()]
    return tuple(sorted(totals, key=lambda t: (-t.time_ns, -t.to_bytes - t.from_bytes, t.construct)))


def _total(run: Run, construct: int, rows: Sequence[TargetRow]) -> TargetTotals:
    flags = run.definitions[construct].flags
    return TargetTotals(
        construct=construct,
        kind=kind_name(flags),
        nowait=is_nowait(flags),
        device=device_of(flags),
        **sums(rows, _SUMS),
        max_ns=max(row.max_ns for row in rows),
        operations=_operations(rows),
    )


def _operations(rows: Sequence[TargetRow]) -> tuple[DataOperation, ...]:
    found: dict[int, tuple[int, int, int]] = {}
    for row in rows:
        columns = (row.operations, row.operations_n, row.operations_bytes, row.operations_ns)
        for number, *figures in zip(*columns, strict=True):
            before = found.get(number, (0, 0, 0))
            found[number] = (before[0] + figures[0], before[1] + figures[1], before[2] + figures[2])
    operations = [DataOperation(number, *figures) for number, figures in found.items()]
    return tuple(sorted(operations, key=lambda o: (-o.bytes, -o.n, o.number)))


_FIGURES = "n_calls time_ns n_in_tasks task_ns serial_ns unaccounted_ns"


@dataclass(frozen=True, slots=True)
class CallShare:
    """One thread's part of the calls at one place."""

    thread: int
    n_calls: int
    time_ns: int
    max_ns: int
    n_in_tasks: int  # part of n_calls, in explicit tasks
    task_ns: int  # part of time_ns, in explicit tasks
    serial_ns: int  # part of time_ns, outside of parallel regions
    unaccounted_ns: int  # part of time_ns, on a thread that OpenMP does not know


@dataclass(frozen=True, slots=True)
class CallTotals:
    """The calls of one MPI function at one place, over all threads."""

    construct: int
    function: str
    kind: str  # one of MPI_CLASSES
    n_calls: int
    time_ns: int
    max_ns: int
    n_in_tasks: int
    task_ns: int
    serial_ns: int
    unaccounted_ns: int
    threads: tuple[CallShare, ...]


def mpi_totals(run: Run, groups: Mapping[int, int] | None = None) -> tuple[CallTotals, ...]:
    """Returns the MPI calls, the longest total time first. `groups` is used as in time_breakdown."""
    rows: dict[int, list[CallRow]] = {}
    for row in run.calls:
        if run.kind_of(row.construct) == "mpi":
            rows.setdefault((groups or {}).get(row.construct, row.construct), []).append(row)
    totals = [_totals(run, construct, mine) for construct, mine in rows.items()]
    return tuple(sorted(totals, key=lambda call: (-call.time_ns, call.construct)))


def mpi_share(run: Run, calls: Sequence[CallTotals], time_ns: int) -> float:
    """Returns `time_ns` as a part of the run time of all threads that call MPI."""
    n_threads = len({thread.thread for call in calls for thread in call.threads})
    return share(time_ns, run.wall_ns * n_threads)


def _totals(run: Run, construct: int, rows: Sequence[CallRow]) -> CallTotals:
    by_thread: dict[int, list[CallRow]] = {}
    for row in rows:
        by_thread.setdefault(row.thread, []).append(row)
    definition = run.definitions[construct]
    return CallTotals(
        construct=construct,
        function=definition.name,
        kind=MPI_CLASSES.get(definition.flags & 0xFF, "other"),
        **sums(rows, _FIGURES),
        max_ns=max(row.max_ns for row in rows),
        threads=tuple(
            CallShare(thread=thread, **sums(mine, _FIGURES), max_ns=max(row.max_ns for row in mine))
            for thread, mine in sorted(by_thread.items())
        ),
    )
