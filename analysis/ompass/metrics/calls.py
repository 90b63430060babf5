# SPDX-License-Identifier: Apache-2.0
"""MPI calls, summed over threads: functions, classes, places, times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ompass.model import MPI_CLASSES, CallRow, Run, share, sums

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
    unaccounted_ns: int  # part of time_ns, on threads outside of the accounted time


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
    """Returns the MPI calls, the most time first. `groups` is used as in time_breakdown."""
    rows: dict[int, list[CallRow]] = {}
    for row in run.calls:
        if run.kind_of(row.construct) == "mpi":
            rows.setdefault((groups or {}).get(row.construct, row.construct), []).append(row)
    totals = [_totals(run, construct, mine) for construct, mine in rows.items()]
    return tuple(sorted(totals, key=lambda call: (-call.time_ns, call.construct)))


def mpi_share(run: Run, calls: Sequence[CallTotals], time_ns: int) -> float:
    """Returns a time in MPI as a part of the run time of the threads that call MPI."""
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
