# SPDX-License-Identifier: Apache-2.0
"""A window of a trace: states over time, each thread's activity, and tasks by creating and running thread.

Reads the trace's pyramid: state intervals if they are few, else bins with the same proportions.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ompass import _core
from ompass._core import NO_HOME, Pyramid, TaskLinks, WindowIntervals
from ompass.model import STATES
from ompass.readers.run import check_directory, core_errors

__all__ = ["NO_HOME", "Bars", "Pyramid", "Schedule", "TaskLinks", "WindowIntervals"]

if TYPE_CHECKING:  # numpy starts threads, and `ompass run` must not have any
    import numpy as np
    from numpy.typing import NDArray


DEFAULT_LIMIT: Final = 5_000
"""Default limit of state intervals in a window: as many as a figure can show."""
_KINDS_IN_BIN: Final = 4  # bars per bin; few traces have more
_FEWEST_BINS: Final = 16  # per thread
_MOST_KEYS: Final = 24
OTHERS: Final = -1
"""The key of work in all other constructs or homes."""


@dataclass(frozen=True, slots=True)
class Bars:
    """Bars that show the activity of threads, as columns of equal length.

    From `begin_ns` to `end_ns`, a thread spent `part_ns` on the activity; the bars below this one add up to
    `before_ns`. For a state interval, `part_ns` is its whole length; for a bin, the time of one activity.
    """

    thread: NDArray[np.int64]
    state: NDArray[np.int64]
    off_cpu: NDArray[np.int64]  # 0: a state; 1: its preempted part; 2: its blocked part
    key: NDArray[np.int64]  # construct or home of work; OTHERS
    begin_ns: NDArray[np.int64]
    end_ns: NDArray[np.int64]
    before_ns: NDArray[np.int64]
    part_ns: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.thread)


@dataclass(frozen=True, slots=True)
class Schedule:
    """A window of a trace: the states over time, the bars, and tasks by creating and running thread."""

    start_ns: int
    end_ns: int
    edges_ns: NDArray[np.int64]  # limits of the bins, one more than bins; outer bins may exceed the window
    bins: NDArray[np.uint64]  # thread-time by bin and state
    bars: Bars
    is_binned: bool  # True if the bars are parts of bins
    ran: tuple[tuple[int, ...], ...]  # [creating thread][running thread]: deferred tasks of the whole run

    @property
    def n_tasks(self) -> int:
        """Deferred tasks that started in the whole run."""
        return sum(map(sum, self.ran))


def read_schedule(
    path: Path,
    *,
    start_ns: int = 0,
    end_ns: int = -1,
    limit: int = DEFAULT_LIMIT,
    by_home: bool = False,
    n_bins: int = 200,
    threads: Collection[int] = (),
) -> Schedule:
    """Returns the schedule in [start_ns, end_ns) (-1: to the end), as schedule_of() does.

    Raises RunNotFoundError, DamagedRunError (also if the run has no trace).
    """
    pyramid = open_pyramid(path, keep=False)
    return schedule_of(
        pyramid,
        start_ns=start_ns,
        end_ns=end_ns,
        limit=limit,
        by_home=by_home,
        n_bins=n_bins,
        threads=threads,
    )


def schedule_of(
    pyramid: Pyramid,
    *,
    start_ns: int = 0,
    end_ns: int = -1,
    limit: int = 0,
    by_home: bool = False,
    n_bins: int = 200,
    threads: Collection[int] = (),
) -> Schedule:
    """Returns the window as bars, unless `limit` is 0, and at most `n_bins` bins of states.

    Each state interval has a bar. If there are more than `limit` intervals, the bars show bins instead.
    `by_home`: the keys of work are homes, not constructs. `threads`: threads with bars (empty: all).
    """
    import numpy as np

    last_ns = pyramid.end_ns if end_ns < 0 else min(end_ns, pyramid.end_ns)
    first_ns = min(start_ns, last_ns)
    every = list(range(len(pyramid.cpus)))
    edges, bins = np.zeros(1, dtype=np.int64), np.zeros((0, len(STATES)), dtype=np.uint64)
    if n_bins and first_ns < last_ns:
        chosen = _bins_of(pyramid, first_ns, last_ns, n_bins)
        edges, (bins,) = chosen.edges_ns, chosen.read([every], "state")
    bars, is_binned = _no_bars(), False
    if limit and first_ns < last_ns:
        shown = sorted(threads) or every
        key = "home" if by_home else "construct"
        found = pyramid.read_intervals(shown, first_ns, last_ns, limit)
        is_binned = found is None
        if found is not None:
            bars = _bars_of(found, key)
        else:
            most = max(limit // (_KINDS_IN_BIN * len(shown)), _FEWEST_BINS)
            bars = _binned_bars(_bins_of(pyramid, first_ns, last_ns, most), shown, key)
    ran = tuple(zip(*pyramid.ran, strict=True))
    return Schedule(first_ns, last_ns, edges, bins, bars, is_binned, ran)


@dataclass(frozen=True, slots=True)
class _Bins:
    """Bins of 2^shift nanoseconds over a window."""

    pyramid: Pyramid
    shift: int
    first: int
    n: int

    @property
    def edges_ns(self) -> NDArray[np.int64]:
        import numpy as np

        numbers = np.arange(self.first, self.first + self.n + 1, dtype=np.int64)
        edges: NDArray[np.int64] = np.minimum(numbers << self.shift, self.pyramid.end_ns)
        return edges

    def read(
        self, rows: Sequence[Sequence[int]], dimension: str, keys: Sequence[int] = ()
    ) -> NDArray[np.uint64]:
        """Returns nanoseconds by row, bin and column."""
        number = DIMENSIONS.index(dimension)
        return self.pyramid.read_tile(rows, number, keys, self.shift, self.first, self.n)


def _bins_of(pyramid: Pyramid, first_ns: int, last_ns: int, most: int) -> _Bins:
    """Returns at most `most` bins, of the smallest possible size."""
    shift = 0
    while ((last_ns - 1) >> shift) - (first_ns >> shift) >= most:
        shift += 1
    return _Bins(pyramid, shift, first_ns >> shift, ((last_ns - 1) >> shift) - (first_ns >> shift) + 1)


def _bars_of(found: WindowIntervals, key: str) -> Bars:
    import numpy as np

    chosen = (found.absent == 0) | (found.state == 0)  # other off-CPU intervals would hide the state
    rows = found.where(chosen)
    return Bars(
        thread=rows.thread.astype(np.int64),
        state=rows.state.astype(np.int64),
        off_cpu=rows.absent.astype(np.int64),
        key=getattr(rows, key).astype(np.int64),
        begin_ns=rows.begin_ns,
        end_ns=rows.end_ns,
        before_ns=np.zeros(len(rows), dtype=np.int64),
        part_ns=rows.end_ns - rows.begin_ns,
    )


def _binned_bars(bins: _Bins, threads: Sequence[int], key: str) -> Bars:
    """Returns work by key, other work and other states of each bin, stacked; off-CPU parts overlap work."""
    import numpy as np

    keys = [each for each, _ in bins.pyramid.totals(DIMENSIONS.index(key))[:_MOST_KEYS]]
    rows = [[thread] for thread in threads]
    spent = bins.read(rows, key, keys).astype(np.int64)
    absent = bins.read(rows, "absent").astype(np.int64)[:, :, :2]
    work = spent[:, :, : len(keys) + 1].sum(axis=2, keepdims=True)
    before = np.concatenate(
        [np.cumsum(spent, axis=2) - spent, work - absent[:, :, ::-1].cumsum(axis=2)[:, :, ::-1]], axis=2
    )
    parts = np.concatenate([spent, absent], axis=2)
    row, place, column = np.nonzero(parts)
    is_off_cpu = column >= spent.shape[2]
    edges = bins.edges_ns
    return Bars(
        thread=np.array(threads, dtype=np.int64)[row],
        state=np.where(is_off_cpu, 0, np.maximum(column - len(keys), 0)),
        off_cpu=np.where(is_off_cpu, column - spent.shape[2] + 1, 0),
        key=np.array([*keys, *[OTHERS] * (len(STATES) + 2)], dtype=np.int64)[column],
        begin_ns=edges[place],
        end_ns=edges[place + 1],
        before_ns=before[row, place, column],
        part_ns=parts[row, place, column],
    )


def _no_bars() -> Bars:
    import numpy as np

    return Bars(*[np.zeros(0, dtype=np.int64)] * 8)


DIMENSIONS: Final = ("state", "construct", "home", "depth", "kernel", "absent")
"""Names of the dimensions, by their number in the core."""


def open_pyramid(path: Path, *, keep: bool = True) -> Pyramid:
    """Returns the pyramid of a trace; `keep` saves it in the run directory, if possible, for the next time.

    Raises RunNotFoundError, DamagedRunError (also if the run has no trace).
    """
    check_directory(path)
    with core_errors(path):
        return _core.Pyramid(str(path), keep)
