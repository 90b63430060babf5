# SPDX-License-Identifier: Apache-2.0
"""What ran when and where in a window of a trace, as typed columns.

Owns the typed form of what the core's read_schedule returns; the core owns the rules.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ompass.readers.core import check_directory, core_errors, load_core

if TYPE_CHECKING:
    from numpy.typing import NDArray

DEFAULT_LIMIT = 5_000
"""Stretches in a window unless more are asked for: as many as a figure still shows."""


@dataclass(frozen=True)
class Stretches:
    """What threads did, thread by thread in order of time, cut off at the window; columns of one length.

    thread uint32; state uint8, an index into bars.STATES; construct int32, of the task, or of the region in
    implicit tasks, -1 outside; task uint64, 0: no deferred task, or several; home int32, the
    locality domain that the task was placed in, or without such domains the thread that created it, -1: no
    deferred task; pooled uint64, shorter stretches that the row stands for, 1: it is
    just as it was; start_ns and end_ns int64 since the start of the run.
    """

    thread: NDArray[Any]
    state: NDArray[Any]
    construct: NDArray[Any]
    task: NDArray[Any]
    home: NDArray[Any]
    pooled: NDArray[Any]
    start_ns: NDArray[Any]
    end_ns: NDArray[Any]

    def __len__(self) -> int:
        return int(self.thread.shape[0])


@dataclass(frozen=True)
class Schedule:
    """A window of a trace, the states over time, and which thread ran whose tasks."""

    start_ns: int
    end_ns: int
    shortest_ns: int  # what is shorter is pooled with its neighbours, and shown as what it mostly was
    stretches: Stretches
    n_tasks: int  # deferred tasks that started in the window
    domains: bool  # homes are locality domains
    bins: tuple[tuple[int, ...], ...]  # thread-time by state, of equal parts of the window
    ran: tuple[tuple[int, ...], ...]  # [creating thread][running thread]: deferred tasks of the whole run

    @property
    def is_pooled(self) -> bool:
        """Whether there are stretches that stand for several."""
        return bool((self.stretches.pooled > 1).any())


def read_schedule(
    path: Path,
    *,
    start_ns: int = 0,
    end_ns: int = -1,
    limit: int = DEFAULT_LIMIT,
    by_home: bool = False,
    n_bins: int = 200,
) -> Schedule:
    """The schedule in [start_ns, end_ns) (-1: to the end), of at most `limit` stretches, or four per thread.

    `by_home`: tasks are pooled by their homes, not by their constructs. Raises
    RunNotFoundError, DamagedRunError (also when the run has no trace).
    """
    check_directory(path)
    core = load_core()
    with core_errors(core, path):
        read = core.read_schedule(str(path), start_ns, end_ns, limit, by_home, n_bins)
    columns: dict[str, Any] = dict(read["stretches"])
    return Schedule(
        start_ns=read["start_ns"],
        end_ns=read["end_ns"],
        shortest_ns=read["shortest_ns"],
        stretches=Stretches(**columns),
        n_tasks=read["n_tasks"],
        domains=read["domains"],
        bins=tuple(tuple(row) for row in read["bins"]),
        ran=tuple(tuple(row) for row in read["ran"]),
    )
