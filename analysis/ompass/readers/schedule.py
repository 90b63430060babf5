# SPDX-License-Identifier: Apache-2.0
"""What ran when and where in a window of a trace, as typed rows and columns.

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
    """What threads did, by start. thread uint32; state uint8, an index into bars.STATES; construct int32, -1
    outside of regions; task uint64, 0 in implicit tasks; start_ns and end_ns int64 since the start of the run.
    """

    thread: NDArray[Any]
    state: NDArray[Any]
    construct: NDArray[Any]
    task: NDArray[Any]
    start_ns: NDArray[Any]
    end_ns: NDArray[Any]

    def __len__(self) -> int:
        return int(self.thread.shape[0])


@dataclass(frozen=True)
class Schedule:
    """A window of a trace, the states over time, and which thread ran whose tasks."""

    start_ns: int
    end_ns: int
    cut: bool  # the window ends earlier than asked for, since it would have held too much
    stretches: Stretches
    n_tasks: int  # deferred tasks that started in the window
    bins_start_ns: int
    bins_end_ns: int
    bins: tuple[tuple[int, ...], ...]  # thread-time by state, of equal parts of the window asked for
    ran: tuple[tuple[int, ...], ...]  # [creating thread][running thread]: deferred tasks of the whole run


def read_schedule(
    path: Path, *, start_ns: int = 0, end_ns: int = -1, limit: int = DEFAULT_LIMIT, n_bins: int = 200
) -> Schedule:
    """The schedule in [start_ns, end_ns) (-1: to the end), of at most `limit` stretches.

    Raises RunNotFoundError, DamagedRunError (also when the run has no trace).
    """
    check_directory(path)
    core = load_core()
    with core_errors(core, path):
        read = core.read_schedule(str(path), start_ns, end_ns, limit, n_bins)
    columns: dict[str, Any] = dict(read["stretches"])
    return Schedule(
        start_ns=read["start_ns"],
        end_ns=read["end_ns"],
        cut=read["cut"],
        stretches=Stretches(**columns),
        n_tasks=len(read["tasks"]["task"]),  # type: ignore[arg-type]
        bins_start_ns=read["bins_start_ns"],
        bins_end_ns=read["bins_end_ns"],
        bins=tuple(tuple(row) for row in read["bins"]),
        ran=tuple(tuple(row) for row in read["ran"]),
    )
