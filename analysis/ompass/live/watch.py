# SPDX-License-Identifier: Apache-2.0
"""The progress of running programs: in total, and since the last look. Reads only their logs.

Owns the search for a run directory by its process id, and the time between looks, which is longer if the
program uses all processors.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final

from ompass.errors import RunNotFoundError
from ompass.metrics.breakdown import Scope
from ompass.model import StateTimes, state_values
from ompass.readers.run import has_ended, open_run
from ompass.reports.content import ReportContent, collect
from ompass.symbols.resolver import Resolver
from ompass.system import busy_ns

_LOG: Final = re.compile(r"(/.*)/process\.log( \(deleted\))?$")
_SHARE: Final = 0.002
"""Share of all processors' time that updates may take while no processor is idle."""
_LONGEST_S: Final = 10.0
"""Longest time between updates."""
Thread = tuple[int, int]
"""Number of the run, and of the thread within it."""


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of a construct, over all runs and threads."""

    n_tasks: int = 0
    work_ns: int = 0
    create_ns: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.n_tasks + other.n_tasks, self.work_ns + other.work_ns, self.create_ns + other.create_ns
        )

    def since(self, before: Cost) -> Cost:
        """Returns the increase since `before`; decreases (of sampled work) count as 0."""
        return Cost(
            max(self.n_tasks - before.n_tasks, 0),
            max(self.work_ns - before.work_ns, 0),
            max(self.create_ns - before.create_ns, 0),
        )


@dataclass(frozen=True)
class Look:
    """One look at all runs."""

    contents: tuple[ReportContent, ...]
    at_s: float = 0.0
    threads: Mapping[Thread, StateTimes] = field(default_factory=dict)
    constructs: Mapping[str, Cost] = field(default_factory=dict)
    has_ended: bool = False  # True if all runs have ended: the figures are final

    @cached_property
    def states(self) -> StateTimes:
        """The sum over all threads, as in the report."""
        return sum((content.breakdown.states for content in self.contents), StateTimes())

    @property
    def n_tasks(self) -> int:
        return sum(content.n_tasks for content in self.contents)


@dataclass(frozen=True)
class Change:
    """The increase from one look to the next."""

    seconds: float
    states: StateTimes
    threads: Mapping[Thread, StateTimes]
    constructs: Mapping[str, Cost]
    n_tasks: int


class Watch:
    """Reads the runs in these directories repeatedly."""

    def __init__(self, directories: Sequence[Path]) -> None:
        self.directories = tuple(directories)
        self._resolvers: dict[Path, tuple[int, Resolver]] = {}

    def look(self) -> Look:
        """Returns the current state of the runs. Raises RunNotFoundError, DamagedRunError."""
        contents = tuple(self._content(path) for path in self.directories)
        ended = all(has_ended(content.run) for content in contents)
        if ended:  # reads again, because a run may have ended during the first read
            contents = tuple(self._content(path, with_samples=True) for path in self.directories)
        threads: dict[Thread, StateTimes] = {}
        constructs: dict[str, Cost] = {}
        for number, content in enumerate(contents):
            for share in content.breakdown.threads:
                threads[number, share.thread] = share.states
            for task in content.tasks:
                label = content.location(task.construct).label()
                cost = Cost(task.n_completed, task.work_ns, task.create_ns)
                constructs[label] = constructs.get(label, Cost()) + cost
        return Look(contents, time.monotonic(), threads, constructs, ended)

    # Omits the samples of running programs: unwinding them at each look would take too much processor time.
    def _content(self, path: Path, *, with_samples: bool = False) -> ReportContent:
        run = open_run(path)
        known = self._resolvers.get(path)
        if known is None or known[0] != len(run.definitions):  # looks up symbols only after new definitions
            known = self._resolvers[path] = (len(run.definitions), Resolver.of_run(run))
        return collect(run, known[1], Scope.REGIONS, with_samples=with_samples)


def change(before: Look, now: Look) -> Change:
    """Returns the changes between two looks."""
    threads = {
        thread: _since(states, before.threads.get(thread, StateTimes()))
        for thread, states in now.threads.items()
    }
    return Change(
        seconds=max(now.at_s - before.at_s, 1e-9),
        states=sum(threads.values(), StateTimes()),
        threads=threads,
        constructs={
            label: cost.since(before.constructs.get(label, Cost())) for label, cost in now.constructs.items()
        },
        n_tasks=max(now.n_tasks - before.n_tasks, 0),
    )


def directories_of(pid: int) -> list[Path]:
    """Returns the run directories into which a process writes. Raises RunNotFoundError."""
    try:
        lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
    except OSError as error:
        raise RunNotFoundError(
            f"process {pid}", error.strerror or str(error), "name its run directory"
        ) from None
    found = _logs_in(lines)
    if not found:
        raise RunNotFoundError(
            f"process {pid}",
            "it is not being recorded",
            "start it with ompass run, or with libompass.so loaded",
        )
    return found


def _logs_in(maps: Iterable[str]) -> list[Path]:
    directories = {match[1]: None for line in maps if (match := _LOG.search(line)) and not match[2]}
    return [Path(name) for name in directories]


def _since(now: StateTimes, before: StateTimes) -> StateTimes:
    pairs = zip(state_values(now), state_values(before), strict=True)
    return StateTimes(*(max(after_ns - before_ns, 0) for after_ns, before_ns in pairs))


@dataclass(frozen=True)
class Used:
    """Totals up to a moment, in seconds: this process's time, and its processors' busy time."""

    at_s: float
    own_s: float
    busy_s: float | None  # None: unknown
    n_processors: int


def used() -> Used:
    """Returns the totals up to now."""
    usable = os.sched_getaffinity(0)
    busy = busy_ns(usable)
    return Used(time.monotonic(), time.process_time(), None if busy is None else busy / 1e9, len(usable))


def until_next_s(before: Used, now: Used, asked_s: float) -> float:
    """Returns the time to wait until the next update; longer if all processors were busy.

    `before` and `now`: the totals at the end of the preceding update and of this one.
    """
    if before.busy_s is not None and now.busy_s is not None:
        idle_s = now.n_processors * (now.at_s - before.at_s) - (now.busy_s - before.busy_s)
        if idle_s > (now.at_s - before.at_s) / 2:
            return asked_s
    return max(asked_s, min((now.own_s - before.own_s) / (_SHARE * now.n_processors), _LONGEST_S))
