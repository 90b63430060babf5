# SPDX-License-Identifier: Apache-2.0
"""Slices of a window of a trace: nested intervals of threads, and the order of entering and leaving them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Final

from ompass import _core
from ompass.errors import NothingToShowError, UsageError
from ompass.model import LOCKS, WAITS, Run, device_of, operation_name
from ompass.readers.run import core_errors
from ompass.units import count


class SliceKind(IntEnum):
    """Kinds of slices, as numbered by the core."""

    REGION = 0
    IMPLICIT = 1
    TASK = 2
    WAIT = 3
    LOCK = 4
    CREATE = 5
    KERNEL = 6
    CREATED = 7
    PREEMPTED = 8
    BLOCKED = 9
    CALL = 10
    DATA = 12
    LAUNCH = 13


_WORDS: Final = {
    SliceKind.REGION: "parallel",
    SliceKind.IMPLICIT: "implicit task",
    SliceKind.TASK: "task",
    SliceKind.LAUNCH: "launch",
}
"""The words before the name of a slice's construct."""
_RESUMED, _UNTIMED = 1, 2
_PARTS: Final = 1 << 14
_OPEN: Final = 64  # most slices that are open at once in a thread
_FULL: Final = 0.5  # a dense window has at least this part of the fullest window's events


@dataclass(frozen=True, slots=True)
class Slice:
    """An interval of a thread.

    `task`: the id of a task or creation (0: undeferred), or the number of a data operation.
    """

    begin_ns: int
    end_ns: int
    thread: int
    kind: SliceKind
    construct: int
    task: int
    depth: int
    resumed: bool  # True if a suspended task resumes
    untimed: bool  # True for an undeferred task with the time of the preceding event

    def label(self, names: Mapping[int, str]) -> str:
        """Returns the label in viewers; `names`: names by construct."""
        if self.kind is SliceKind.WAIT:
            return WAITS.get(self.construct, "wait")
        if self.kind is SliceKind.LOCK:
            return LOCKS.get(self.construct, "lock")
        if self.kind in (SliceKind.CREATE, SliceKind.PREEMPTED, SliceKind.BLOCKED):
            return self.kind.name.lower()
        if self.kind is SliceKind.IMPLICIT and self.construct < 0:
            return "initial task"
        name = names.get(self.construct, "?")
        if self.kind is SliceKind.DATA:
            return f"{operation_name(self.task)} {name}"
        text = f"{_WORDS[self.kind]} {name}" if self.kind in _WORDS else name
        return f"{text} (resumed)" if self.resumed else text


@dataclass(frozen=True)
class Timeline:
    """Slices of a window, by thread; each list in the order in which the slices ended."""

    run: Run
    start_ns: int
    end_ns: int
    by_thread: Mapping[int, Sequence[Slice]]

    def __len__(self) -> int:
        return sum(map(len, self.by_thread.values()))

    def by_device(self) -> dict[int, list[Slice]]:
        """Returns the host's intervals of each device, by its number: data operations and launches, in order.

        Where several threads use a device at once, an interval loses its overlap with earlier intervals.
        """
        found: dict[int, list[Slice]] = {}
        for slices in self.by_thread.values():
            for one in slices:
                if one.kind in (SliceKind.DATA, SliceKind.LAUNCH):
                    device = device_of(self.run.definitions[one.construct].flags)
                    found.setdefault(device, []).append(replace(one, depth=0))
        return {device: _apart(slices) for device, slices in sorted(found.items())}


def _apart(slices: list[Slice]) -> list[Slice]:
    """Returns the slices in the order of their begins, without their overlaps with earlier slices."""
    ordered: list[Slice] = []
    now = 0
    for one in sorted(slices, key=lambda each: (each.begin_ns, each.end_ns)):
        if one.end_ns > now or one.begin_ns == one.end_ns >= now:
            ordered.append(replace(one, begin_ns=max(one.begin_ns, now)))
            now = one.end_ns
    return ordered


def check_has_events(run: Run) -> None:
    """Raises NothingToShowError, with advice, for a run without a trace."""
    if run.mode != "trace":
        raise NothingToShowError(
            f"{run.path} holds no events", "it was recorded in profile mode", "record it with --mode trace"
        )


def read_timeline(
    run: Run, *, threads: Sequence[int] = (), start_ns: int = 0, end_ns: int = -1, limit: int = 1_000_000
) -> Timeline:
    """Returns the slices of `threads` (empty: all) in [start_ns, end_ns) (-1: to the end).

    Raises NothingToShowError without a trace or for an empty window, UsageError for more slices than
    `limit`, DamagedRunError.
    """
    check_has_events(run)
    with core_errors(run.path):
        _refuse_too_many(run, threads, start_ns, end_ns, limit)
        columns = _core.slices_of_run(str(run.path), threads, start_ns, end_ns, limit)
        if columns is None:
            raise _too_many(run, threads, limit)
    rows = zip(*(column.tolist() for column in columns.as_dict().values()), strict=True)
    by_thread: dict[int, list[Slice]] = {}
    for begin, end, thread, kind, construct, task, depth, flags in rows:
        resumed, untimed = bool(flags & _RESUMED), bool(flags & _UNTIMED)
        by_thread.setdefault(thread, []).append(
            Slice(begin, end, thread, SliceKind(kind), construct, task, depth, resumed, untimed)
        )
    if not by_thread:
        raise NothingToShowError(
            f"{run.path} has nothing in this window", "no thread was in a task, a region or a kernel"
        )
    last_ns = max(s.end_ns for slices in by_thread.values() for s in slices)
    return Timeline(run, start_ns, end_ns if end_ns >= 0 else last_ns, by_thread)


def _refuse_too_many(run: Run, threads: Sequence[int], start_ns: int, end_ns: int, limit: int) -> None:
    """Raises UsageError for too many slices. Each deferred task has two: itself and its creation."""
    chosen = set(threads) or {thread.thread for thread in run.threads}
    tasks = [row for row in run.constructs if run.kind_of(row.construct) == "task" and row.thread in chosen]
    n_slices = sum(row.n_completed - row.n_undeferred + row.n_created - row.n_undeferred for row in tasks)
    if start_ns == 0 and end_ns < 0 and n_slices > limit:
        raise _too_many(run, threads, limit)


def _too_many(run: Run, threads: Sequence[int], limit: int) -> UsageError:
    """Returns the error, which names windows that fit."""
    last_ns = max([run.wall_ns, *(thread.last_ns for thread in run.threads)])
    counts = _core.events_over_time(str(run.path), threads, last_ns, _PARTS).tolist()
    part_ns = last_ns // _PARTS + 1
    # A window also contains slices that are open at its begin: the calls and waits around it.
    room = limit - min(limit // 4, _OPEN * len(threads or run.threads))
    windows = [
        f"{name} window that fits is --window {_time(first * part_ns)}:{_time(end * part_ns)}"
        for name, (first, end) in zip(
            ("the longest", "the densest"), fitting_windows(counts, room), strict=False
        )
    ]
    return UsageError(
        f"{run.path} has more than {count(limit)} slices in this window",
        "the export and viewers would take very long",
        "; ".join([*windows, "or name fewer threads with --thread, or raise --limit"]),
    )


def _time(ns: int) -> str:
    """Returns the time in the form of --window."""
    return f"{ns / 1e6:.6f}".rstrip("0").rstrip(".") + "ms"


def fitting_windows(counts: Sequence[int], limit: int) -> list[tuple[int, int]]:
    """Returns windows [first, end) of a run with at most `limit` events: the longest, and the densest.

    The densest has the most events per time among windows with at least half as many events as the fullest.
    Returns nothing if no window fits.
    """
    found: list[tuple[int, int, int]] = []  # first, end, events
    first = n_events = 0
    for end, n in enumerate(counts, 1):
        n_events += n
        while n_events > limit:
            n_events -= counts[first]
            first += 1
        if first < end:
            found.append((first, end, n_events))
    if not found:
        return []
    longest = max(found, key=lambda window: window[1] - window[0])
    fullest = max(n for _, _, n in found)
    full = [window for window in found if window[2] >= _FULL * fullest]
    densest = min(full, key=lambda window: (window[1] - window[0]) / max(window[2], 1))
    return [longest[:2], densest[:2]]


def walk(slices: Sequence[Slice]) -> Iterator[tuple[int, Slice, bool]]:
    """Yields (time, slice, entered) of one thread in order: twice for each slice. Times never decrease.

    `slices` are in the order of their ends, as in a Timeline. A slice contains the slices one level deeper
    that ended since the preceding slice of its level.
    """
    waiting: dict[int, list[int]] = {}
    parts: list[list[int]] = []
    for index, one in enumerate(slices):
        parts.append(waiting.pop(one.depth + 1, []))
        waiting.setdefault(one.depth, []).append(index)
    roots = sorted((index for rest in waiting.values() for index in rest), key=lambda i: slices[i].begin_ns)
    now = 0
    stack = [(index, True) for index in reversed(roots)]
    while stack:
        index, entered = stack.pop()
        one = slices[index]
        now = max(now, one.begin_ns if entered else one.end_ns)
        yield now, one, entered
        if entered:
            stack.append((index, False))
            stack += [(part, True) for part in reversed(parts[index])]
