# SPDX-License-Identifier: Apache-2.0
"""Divides the inflation of work, W_P - W_1, among its causes, and names the lines that grew.

Owns the division. Clocks give the time in which threads were blocked or preempted. Samples divide the rest:
the time of a line is the running time of the work times the line's share of its samples. The parts add up to
the inflation, because the last one, `memory_bound`, is the remainder.

Times are means over the rounds of a sweep, in ns.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Final

from ompass.model import share
from ompass.sampled import ATOMIC, COMPUTE, FIXED, MEMORY, MEMORY_USE, MUTEX, OWN, RUNTIME, WAITING

CAUSES: Final = (
    "blocked", "preempted", "page_faults", "system_calls", "allocator", "mutex", "runtime", "library",
    "replicated_work", "busy_waiting", "atomic_contention", "false_sharing", "memory_bound",
)  # fmt: skip
"""All causes, in the order in which they are subtracted."""

_CONFIDENT: Final = 1.96
"""Standard errors on each side of a value in its 95% interval."""

_SAME_TASKS: Final = 0.2
"""Tasks of one construct count as the same tasks if their mean work differs by at most this part."""

_REPLICATED: Final = 0.1
"""A line is replicated if its time on each of P threads differs by at most this part from its time on one."""

_EQUAL: Final = 0.15
"""On several processors, equal work may take this part more or less time than on one (clock, caches)."""

_NOTHING: Final = 0.1
"""Work on one thread below this part of the work on P threads may lack samples."""

_GROWN: Final = 1.3
"""A line with a fixed address must grow by this factor before its cache line counts as shared."""

_UNSEEN: Final = 3
"""A line without samples takes, with a probability of 95%, at most the time of this many samples."""

_SLEEPING: Final = 0.1
"""If threads are blocked for this part of the inflation, sleep causes their system calls."""

_BEYOND_BANDWIDTH: Final = 1.15
"""A line that memory limits, or that each thread repeats, takes at most P times its time on one thread, times
this margin."""


@dataclass(frozen=True, slots=True)
class Spot:
    """A line of the program, in one construct; for a library, the line that calls it."""

    owner: Hashable  # the construct, with the same name in all runs
    is_shared: bool  # True for the implicit tasks of a region: each thread runs them
    function: str
    file: str
    line: int
    label: str  # for people: `fib.c:12 (fib)`, with the library that it calls
    library: str = OWN


@dataclass(frozen=True, slots=True)
class WorkParts:
    """The work of one run: its times, and the samples of its running part."""

    work_ns: int
    preempted_ns: int
    blocked_ns: int
    counts: Mapping[tuple[Spot, str], Mapping[int, int]]  # by spot and behaviour, by thread
    kernel_ns: float = 0.0  # part of the running time in the kernel
    n_faults: int | None = None  # page faults; None: unknown
    frequency_hz: int = 0  # samples per second; 0: none
    undivided_ns: int = 0  # part of the work in implicit tasks, outside of loops
    shared_lines: frozenset[tuple[str, int]] = frozenset()  # lines with false sharing: file, number

    @property
    def user_ns(self) -> float:
        return max(self.work_ns - self.preempted_ns - self.blocked_ns - self.kernel_ns, 0.0)


@dataclass(frozen=True, slots=True)
class Growth:
    """The time of a line, or of a cause, on one thread and on P threads."""

    one_ns: float
    ns: float
    error_ns: float  # standard error of the difference

    @property
    def excess_ns(self) -> float:
        return self.ns - self.one_ns

    @property
    def interval_ns(self) -> tuple[float, float]:
        """The 95% interval of the excess."""
        return self.excess_ns - _CONFIDENT * self.error_ns, self.excess_ns + _CONFIDENT * self.error_ns

    @property
    def factor(self) -> float:
        """The ratio of the times; 0 if it took no time on one thread."""
        return share(self.ns, self.one_ns)


@dataclass(frozen=True, slots=True)
class LineThatGrew:
    """A line that takes longer with more threads: the interval of its excess lies above 0."""

    spot: Spot
    cause: str
    growth: Growth
    share: float  # of the inflation


@dataclass(frozen=True, slots=True)
class Cause:
    """A part of the inflation."""

    kind: str  # one of CAUSES
    ns: float
    low_ns: float  # 95% interval
    high_ns: float
    basis: str  # "clock", "samples" or "rest"
    line: LineThatGrew | None  # the line that grew most for this cause


@dataclass(frozen=True, slots=True)
class Causes:
    """The inflation of work on P threads, divided among its causes."""

    inflation_ns: float
    parts: tuple[Cause, ...]  # their sum is the inflation; largest first, without those below 1 ns
    lines: tuple[LineThatGrew, ...]  # by excess, largest first
    has_samples: bool  # False: only clocks divide the inflation
    n_samples: int  # on P threads
    one_n_samples: int
    frequency_hz: int
    enough_hz: int  # rate at which the samples would suffice; 0: they suffice

    def of(self, kind: str) -> Cause | None:
        return next((part for part in self.parts if part.kind == kind), None)


@dataclass(frozen=True, slots=True)
class Runs:
    """The number of executions of a construct, and its total work."""

    n: float
    one_n: float
    work_ns: float
    one_work_ns: float

    @property
    def ratio(self) -> float:
        """The executions on P threads over the executions on one; 1 if their mean work differs."""
        if not self.n or not self.one_n or not self.one_work_ns:
            return 1.0
        means = (self.work_ns / self.n) / (self.one_work_ns / self.one_n)
        return self.n / self.one_n if abs(means - 1) <= _SAME_TASKS else 1.0


def divide(
    threads: int, at_p: Sequence[WorkParts], at_one: Sequence[WorkParts], runs: Mapping[Hashable, Runs]
) -> Causes:
    """Returns the causes of the inflation between runs on one thread and on `threads` threads.

    `runs` lists the constructs whose executions are counted: tasks and kernels.
    """
    inflation_ns = _mean(at_p, "work_ns") - _mean(at_one, "work_ns")
    spots = _Spots(threads, at_p, at_one)
    found: dict[str, _Part] = defaultdict(_Part)
    lines: list[LineThatGrew] = []
    for spot in spots.all:
        for cause, growth in spots.causes_of(spot, runs):
            found[cause].add(growth)
            if growth.interval_ns[0] > 0 and spots.of_line(spot).interval_ns[0] > 0:
                lines.append(LineThatGrew(spot, cause, growth, share(growth.excess_ns, inflation_ns)))
    lines.sort(key=lambda line: -line.growth.excess_ns)
    found.pop("memory_bound", None)
    parts = [_clock(kind, at_p, at_one, f"{kind}_ns") for kind in ("blocked", "preempted")]
    parts.append(_clock(_kernel_cause(at_p, at_one), at_p, at_one, "kernel_ns"))
    parts = _with_calls_that_sleep(parts, inflation_ns)
    for kind, in_kernel in _AT_LOCKS.items():
        if _grows_most(kind, found):
            found[kind].ns += sum(part.ns for part in parts if part.kind in in_kernel)
            parts = [part for part in parts if part.kind not in in_kernel]
    parts += [
        Cause(kind, part.ns, part.ns - part.half_ns, part.ns + part.half_ns, "samples", _most(lines, kind))
        for kind, part in found.items()
    ]
    rest_ns = inflation_ns - sum(part.ns for part in parts)
    half_ns = math.hypot(*(part.half_ns for part in found.values()))
    rest = Cause(
        "memory_bound", rest_ns, rest_ns - half_ns, rest_ns + half_ns, "rest", _most(lines, "memory_bound")
    )
    hz = max((work.frequency_hz for work in at_p), default=0)
    return Causes(
        inflation_ns=inflation_ns,
        parts=tuple(sorted((p for p in (*parts, rest) if abs(p.ns) >= 1), key=lambda part: -part.ns)),
        lines=tuple(lines),
        has_samples=bool(spots.all),
        n_samples=spots.n,
        one_n_samples=spots.one_n,
        frequency_hz=hz,
        enough_hz=_enough_hz(hz, half_ns, inflation_ns) if spots.all else 0,
    )


@dataclass(slots=True)
class _Part:
    ns: float = 0.0
    variance: float = 0.0

    @property
    def half_ns(self) -> float:
        return _CONFIDENT * math.sqrt(self.variance)

    def add(self, growth: Growth) -> None:
        self.ns += growth.excess_ns
        self.variance += growth.error_ns**2


def _is_repeated(threads: int, at_p: Sequence[WorkParts], at_one: Sequence[WorkParts]) -> bool:
    """True if each thread does all the work that one thread does outside of loops, and little else grows.

    Clocks show this more precisely than samples do.
    """
    ns, one_ns = _mean(at_p, "undivided_ns"), _mean(at_one, "undivided_ns")
    grown_ns = _mean(at_p, "work_ns") - _mean(at_one, "work_ns")
    if (
        not one_ns
        or one_ns < _NOTHING * _mean(at_one, "work_ns")
        or abs(ns / (threads * one_ns) - 1) > _EQUAL
    ):
        return False
    return abs(grown_ns - (ns - one_ns)) <= 0.25 * (ns - one_ns)


_AT_LOCKS: Final = {"mutex": ("system_calls",), "allocator": ("blocked", "system_calls")}
"""For each kind of lock, the causes without samples that belong to it. Threads sleep at the lock of malloc.
A mutex that threads take from each other calls the system, even if no thread sleeps. If threads sleep at a
mutex, it is held for long, which is another cause."""


def _grows_most(kind: str, found: Mapping[str, _Part]) -> bool:
    """True if this cause accounts for at least half of the growth that samples show."""
    least_ns = found[kind].ns - found[kind].half_ns if kind in found else 0.0
    return least_ns > 0 and found[kind].ns >= 0.5 * sum(max(p.ns, 0.0) for p in found.values())


def _with_calls_that_sleep(parts: list[Cause], inflation_ns: float) -> list[Cause]:
    """Adds the growth of system calls to `blocked` if threads sleep: sleeping and waking are system calls."""
    blocked = next(part for part in parts if part.kind == "blocked")
    calls = next((part for part in parts if part.kind == "system_calls" and part.ns > 0), None)
    if calls is None or blocked.ns < _SLEEPING * inflation_ns:
        return parts
    ns = blocked.ns + calls.ns
    both = replace(blocked, ns=ns, low_ns=ns, high_ns=ns)
    return [both, *(part for part in parts if part not in (blocked, calls))]


def _enough_hz(hz: int, half_ns: float, inflation_ns: float) -> int:
    """Returns the sampling rate that narrows the interval to +-20% of the inflation; 0 if none is needed."""
    if inflation_ns <= 0 or half_ns <= 0.2 * inflation_ns:
        return 0
    return math.ceil(hz * (half_ns / (0.2 * inflation_ns)) ** 2 / 100) * 100


def _mean(works: Sequence[WorkParts], name: str) -> float:
    return fmean(getattr(work, name) for work in works)


def _clock(kind: str, at_p: Sequence[WorkParts], at_one: Sequence[WorkParts], name: str) -> Cause:
    ns = _mean(at_p, name) - _mean(at_one, name)
    return Cause(kind, ns, ns, ns, "clock", None)


_FAULT_NS: Final = 20_000
"""If there is less than one page fault in this much kernel time, something else used the time."""


def _kernel_cause(at_p: Sequence[WorkParts], at_one: Sequence[WorkParts]) -> str:
    """Returns the cause to name for more time in the kernel: page faults or system calls."""
    faults = [work.n_faults for work in (*at_p, *at_one)]
    kernel_ns = _mean(at_p, "kernel_ns")
    n_faults = sum(n or 0 for n in faults[: len(at_p)]) / len(at_p)
    return "page_faults" if None not in faults and n_faults * _FAULT_NS >= kernel_ns else "system_calls"


def _most(lines: Sequence[LineThatGrew], cause: str) -> LineThatGrew | None:
    return next((line for line in lines if line.cause == cause), None)


class _Spots:
    """The samples of all rounds, by spot."""

    def __init__(self, threads: int, at_p: Sequence[WorkParts], at_one: Sequence[WorkParts]) -> None:
        self._threads = threads
        self._all_repeated = _is_repeated(threads, at_p, at_one)
        self._at_p, self._by_thread = _by_spot(at_p)
        self._at_one, _ = _by_spot(at_one)
        self._ns = _mean(at_p, "user_ns")
        self._one_ns = _mean(at_one, "user_ns")
        self.n = sum(counts.total() for counts in self._at_p.values())
        self.one_n = sum(counts.total() for counts in self._at_one.values())
        # Work that takes hardly any time on one thread needs no samples there.
        known = self.n and (self.one_n or self._one_ns < _NOTHING * self._ns)
        self._per = self._ns / self.n if known else 0.0
        self._one_per = self._one_ns / self.one_n if self.one_n else 0.0
        self.all = tuple({**self._at_p, **self._at_one}) if known else ()
        self._shared_lines = frozenset().union(*(work.shared_lines for work in at_p))
        self._of_lines: dict[Spot, list[int]] = defaultdict(lambda: [0, 0])
        for spot in self.all:
            for k, counts in enumerate((self._at_p, self._at_one)):
                self._of_lines[_anywhere(spot)][k] += counts[spot].total() if spot in counts else 0

    def of_line(self, spot: Spot) -> Growth:
        """Returns the growth of the line in all constructs, because its work may move between them."""
        return self._growth(*self._of_lines[_anywhere(spot)])

    def causes_of(self, spot: Spot, runs: Mapping[Hashable, Runs]) -> list[tuple[str, Growth]]:
        """Returns the growth of a spot by cause.

        A construct that ran more often has the cause `replicated_work` in addition to its own.
        """
        n, one_n = self._at_p.get(spot, Counter()).total(), self._at_one.get(spot, Counter()).total()
        whole = self._growth(n, one_n)
        ratio = runs[spot.owner].ratio if spot.owner in runs else 1.0
        if ratio > 1.01:
            expected_ns = whole.one_ns * ratio
            return [
                ("replicated_work", Growth(whole.one_ns, expected_ns, 0.0)),
                (
                    self._cause(spot, Growth(expected_ns, whole.ns, whole.error_ns)),
                    Growth(expected_ns, whole.ns, whole.error_ns),
                ),
            ]
        return [(self._cause(spot, whole), whole)]

    def _growth(self, n: int, one_n: int) -> Growth:
        per, one_per = self._per, self._one_per
        return Growth(one_n * one_per, n * per, math.sqrt(n * per**2 + one_n * one_per**2))

    def _cause(self, spot: Spot, growth: Growth) -> str:
        behaviours = self._at_p.get(spot) or self._at_one.get(spot, Counter())
        behaviour = behaviours.most_common(1)[0][0] if behaviours else ""
        if behaviour == WAITING:
            return "busy_waiting"
        if spot.library == MEMORY:
            return "allocator"
        if spot.library == MUTEX:
            return "mutex"
        if spot.library == RUNTIME:
            return "runtime"
        if behaviour == ATOMIC and spot.library == OWN:
            return "atomic_contention"
        is_shared = spot.library == OWN and (spot.file, spot.line) in self._shared_lines
        if is_shared and growth.interval_ns[0] > 0:
            return "false_sharing"
        repeated = self._all_repeated or self._is_replicated(spot, growth, behaviour)
        if spot.is_shared and repeated and not self._is_beyond_bandwidth(growth):
            return "replicated_work"
        if spot.library != OWN:
            return "library"
        line = self.of_line(spot)
        grown = line.interval_ns[0] > 0
        if behaviour == FIXED and grown and line.ns >= _GROWN * line.one_ns:
            return "false_sharing"
        if behaviour in (FIXED, MEMORY_USE) and grown and self._is_beyond_bandwidth(line):
            return "false_sharing"
        return "memory_bound"

    def _is_beyond_bandwidth(self, growth: Growth) -> bool:
        """True if neither limited memory bandwidth nor repeated work can explain the growth."""
        # A line without samples on one thread may still have taken the time of a few.
        most_ns = max(growth.one_ns, _UNSEEN * self._one_per)
        return growth.interval_ns[0] > (_BEYOND_BANDWIDTH * self._threads - 1) * most_ns

    def _is_replicated(self, spot: Spot, growth: Growth, behaviour: str) -> bool:
        """True if each thread spends as long on the line as one thread alone does."""
        if growth.one_ns <= 0 or growth.interval_ns[0] <= 0:
            return False
        by_thread = self._by_thread.get(spot, Counter())
        per_ns = self._per
        # With few samples, only large differences show.
        for thread_ns in (by_thread[thread] * per_ns for thread in by_thread):
            error_ns = _CONFIDENT * math.hypot(
                math.sqrt(thread_ns * per_ns), math.sqrt(growth.one_ns * self._one_per)
            )
            allowed_ns = max(_REPLICATED * growth.one_ns, error_ns)
            if abs(thread_ns - growth.one_ns) > allowed_ns:
                return False
        if behaviour == FIXED or len(by_thread) != self._threads:
            return False
        tolerance = _REPLICATED if behaviour != COMPUTE else 2 * _REPLICATED
        return abs(growth.factor / self._threads - 1) <= tolerance


def _anywhere(spot: Spot) -> Spot:
    """Returns the line of a spot, whichever construct runs it."""
    return replace(spot, owner=None, is_shared=False, label="")


def _by_spot(works: Sequence[WorkParts]) -> tuple[dict[Spot, Counter[str]], dict[Spot, Counter[int]]]:
    """Returns the samples of each spot over all rounds, by behaviour and by thread."""
    by_behaviour: dict[Spot, Counter[str]] = defaultdict(Counter)
    by_thread: dict[Spot, Counter[int]] = defaultdict(Counter)
    for work in works:
        for (spot, behaviour), counts in work.counts.items():
            by_behaviour[spot][behaviour] += sum(counts.values())
            by_thread[spot].update(counts)
    return by_behaviour, by_thread
