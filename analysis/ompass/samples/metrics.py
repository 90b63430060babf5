# SPDX-License-Identifier: Apache-2.0
"""Hot functions, lines and libraries inside each construct, counted from samples.

A sample's owner is the kernel, task, implicit task or serial part in which the thread worked, or its state
without work. Counts are numbers of samples; shares are shares of processor time in user code.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise, takewhile
from typing import Final, Generic, TypeVar

from ompass.model import share
from ompass.sampled import FIXED, MEMORY_USE, OWN, RUNTIME, TOOL

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Owner:
    """The owner of samples: `kind` is kernel, task, implicit, serial, or a state without work."""

    kind: str
    construct: int  # construct of the kernel, task or region; in a state, of the thread's task; -1: none


@dataclass(frozen=True, slots=True)
class Line:
    """A source line; a whole function if lines are unknown, a whole module if names are unknown."""

    function: str  # empty if unknown
    file: str  # empty if unknown
    line: int  # 0 if unknown
    module: str
    place: str  # for people: `fib.c:12`; without a line, the name of the file or module
    label: str = ""  # for people: `fib.c:12 (fib)`, with a shortened function
    library: str = OWN  # group of its library


_INTERNAL: Final = re.compile(r"^(__GI_|__libc_|_+)+|_(internal|usercnt|optimized)$|\(.*")
"""The parts that libraries add to the names of their functions, and C++ arguments."""
_SYSTEM_HEADERS: Final = ("/usr/include/", "/usr/lib/", "/usr/lib64/")


def is_system_header(file: str) -> bool:
    """True for a source file that came with a compiler or a library."""
    return file.startswith(_SYSTEM_HEADERS)


@dataclass(frozen=True, slots=True)
class BlockingPlace:
    """A call of the program that may put a thread to sleep."""

    line: Line
    function: str  # the called function
    kind: str  # SLEEP, WAIT, LOCK, DISK or IO


@dataclass(frozen=True, slots=True)
class LocatedSample:
    """Samples of one owner with the same calls."""

    thread: int
    owner: Owner
    calls: tuple[Line, ...]  # innermost first; inlined functions are separate
    library: str  # group of the called libraries; empty: the program's own code
    weight: int
    behaviour: str = ""  # behaviour of the instruction, as in symbols.instructions

    @property
    def own_calls(self) -> tuple[Line, ...]:
        """The calls in the program's own code with known lines, innermost first.

        Omits functions of system headers, such as templates, unless all calls are in such headers.
        """
        own = tuple(call for call in self.calls if call.line and call.library == OWN)
        return tuple(call for call in own if not is_system_header(call.file)) or own

    @property
    def own_line(self) -> Line | None:
        """The innermost of own_calls; None if there is none."""
        return next(iter(self.own_calls), None)

    @property
    def called(self) -> str:
        """The library function that the program's own code called; empty if it is unknown."""
        library = tuple(takewhile(lambda call: call.library != OWN, self.calls))
        return _INTERNAL.sub("", library[-1].function) if library else ""

    @property
    def shown_line(self) -> Line | None:
        """The line for people: the innermost line of the program's own code; else the name of the library."""
        if not self.calls:
            return None
        inner = self.calls[0]
        if inner.library == OWN and not inner.line:
            return inner
        if own := self.own_line or next((call for call in self.calls if call.library == OWN), None):
            return own
        group = RECORDING if inner.library == TOOL else inner.library
        return Line("", "", 0, inner.module, group, group, inner.library)


@dataclass(frozen=True, slots=True)
class Hot(Generic[Key]):
    """The number of an owner's samples in one function, line or library."""

    owner: Owner
    what: Key
    n: int
    share: float  # share of the owner's samples
    share_of_all: float

    @property
    def error(self) -> float:
        """Standard error of `share` if samples are independent."""
        of_owner = self.n / self.share if self.share else 0
        return math.sqrt(self.share * (1 - self.share) / of_owner) if of_owner else 0.0


def owners_by_samples(samples: Sequence[LocatedSample]) -> tuple[tuple[Owner, int], ...]:
    """Returns the number of samples of each owner, largest first."""
    counts: Counter[Owner] = Counter()
    for sample in samples:
        counts[sample.owner] += sample.weight
    return tuple(sorted(counts.items(), key=lambda item: (-item[1], item[0].kind, item[0].construct)))


WORKING: Final = ("task", "kernel", "implicit")
"""The kinds of owners whose samples are work in parallel regions."""


def with_merged_states(samples: Iterable[LocatedSample]) -> tuple[LocatedSample, ...]:
    """Returns the samples with one owner for each state without work, whatever task the thread was in."""
    return tuple(
        sample if sample.owner.kind in WORKING else replace(sample, owner=Owner(sample.owner.kind, -1))
        for sample in samples
    )


@dataclass(frozen=True, slots=True)
class MainWork:
    """The function with the most work, and its accesses to memory; shares are of all sampled work."""

    line: Line  # the hottest line
    share: float  # of the function
    line_share: float
    fixed_share: float  # at addresses that stay the same in a loop
    memory_share: float  # other accesses to memory, and loops with them


def main_work(samples: Iterable[LocatedSample]) -> tuple[MainWork | None, int]:
    """Returns the function with the most work (None without lines), and the number of samples of all work."""
    n, lines, behaviours = 0, Counter[Line](), Counter[tuple[str, str, str]]()
    for sample in samples:
        if sample.owner.kind not in WORKING:
            continue
        n += sample.weight
        if sample.library == OWN and (line := sample.own_line):
            lines[line] += sample.weight
            behaviours[line.file, line.function, sample.behaviour] += sample.weight
    functions = Counter[tuple[str, str]]()
    for line, weight in lines.items():
        functions[line.file, line.function] += weight
    if not functions:
        return None, n
    ((file, function), in_function), *_ = functions.most_common(1)
    inside = [line for line in lines if (line.file, line.function) == (file, function)]
    hottest = max(inside, key=lambda line: lines[line])
    fixed, memory = (share(behaviours[file, function, kind], n) for kind in (FIXED, MEMORY_USE))
    return MainWork(hottest, share(in_function, n), share(lines[hottest], n), fixed, memory), n


def main_use_of_memory(samples: Iterable[LocatedSample], least: int) -> tuple[Line | None, float]:
    """Returns the line with most of the uses of memory, itself or in a function that it calls, and its part.

    Prefers the innermost such line. Returns None instead of a line with fewer than `least` samples, or with
    less than half of the uses.

    The kernel takes no samples while it handles page faults, so the line with the most uses of memory
    represents them.
    """
    users = [
        replace(sample, calls=sample.own_calls[:2])
        for sample in samples
        if sample.behaviour in (FIXED, MEMORY_USE) or sample.library not in (OWN, RUNTIME)
    ]
    n_all = sum(sample.weight for sample in users)
    line = shared_line(users, max(least, n_all / 2))
    n = sum(sample.weight for sample in users if line in sample.calls)
    return line, share(n, n_all)


@dataclass(frozen=True, slots=True)
class UsedBytes:
    """Bytes of memory that one line of the program accesses."""

    first: int  # address
    end: int
    stores: bool
    line: Line  # of the instruction

    @property
    def cache_line(self) -> int:
        return self.first // CACHE_LINE


@dataclass(frozen=True, slots=True)
class UsedData:
    """The data that the program's own code accesses at one sample of work."""

    thread: int
    time_ns: int
    weight: int
    owner: Owner
    used: tuple[UsedBytes, ...]
    behaviour: str = ""  # behaviour of the instruction, as in symbols.instructions


@dataclass(frozen=True, slots=True)
class FalseSharing:
    """Cache lines that hold data of one thread beside data that another thread writes."""

    n: int  # samples of work in these lines
    n_lines: int
    n_threads: int
    construct: int  # the construct with most of the samples
    lines: tuple[Line, ...]  # the source lines, the one with most of the samples first
    of_line: float  # share of the first source line


CACHE_LINE: Final = 64  # bytes
_LEAST_OF_LINE: Final = 4  # samples of each thread
_LEAST_SHARE_OF_LINE: Final = 0.05  # of each thread's samples: a line that all threads use at all times
_LEAST_SWITCHES: Final = 3  # from one thread to another: more than a phase of each thread
_MOSTLY_APART: Final = 0.8  # share of a line's samples at bytes that only one thread uses


def samples_of_work(samples: Iterable[LocatedSample]) -> Counter[int]:
    """Returns the number of samples of work of each thread."""
    counts: Counter[int] = Counter()
    for sample in samples:
        if sample.owner.kind in WORKING:
            counts[sample.thread] += sample.weight
    return counts


def false_sharing(data: Iterable[UsedData], n_of_thread: Mapping[int, int]) -> FalseSharing | None:
    """Returns the false sharing that samples of work show; None if they show none.

    `n_of_thread`: the result of samples_of_work().
    """
    data = tuple(data)
    counts: dict[int, Counter[int]] = defaultdict(Counter)
    for one in data:
        for cache_line in {used.cache_line for used in one.used}:
            counts[cache_line][one.thread] += one.weight
    frequent = {line for line, n in counts.items() if len(_frequent(n, n_of_thread)) > 1}
    by_line: dict[int, list[UsedData]] = defaultdict(list)
    for one in data:
        for cache_line in {used.cache_line for used in one.used} & frequent:
            inside = tuple(used for used in one.used if used.cache_line == cache_line)
            by_line[cache_line].append(replace(one, used=inside))
    shared = [uses for uses in by_line.values() if _is_false(uses, n_of_thread)]
    if not shared:
        return None
    constructs, lines, samples = Counter[int](), Counter[Line](), {}
    for one in chain.from_iterable(shared):
        samples[one.thread, one.time_ns] = one
    for one in samples.values():
        constructs[one.owner.construct] += one.weight
        lines[max(one.used, key=lambda used: used.stores).line] += one.weight
    ordered = sorted(lines, key=lambda line: (-lines[line], line.place))
    return FalseSharing(
        lines.total(),
        len(shared),
        len({one.thread for one in samples.values()}),
        max(constructs, key=lambda construct: (constructs[construct], -construct)),
        tuple(ordered),
        share(lines[ordered[0]], lines.total()),
    )


def share_at_common_lines(data: Iterable[UsedData]) -> tuple[int, float]:
    """Returns the number of samples with a write, and the share of them at cache lines of several threads."""
    threads: dict[int, set[int]] = defaultdict(set)
    n_of_lines: Counter[frozenset[int]] = Counter()
    for one in data:
        lines = frozenset(used.cache_line for used in one.used if used.stores)
        for line in lines:
            threads[line].add(one.thread)
        if lines:
            n_of_lines[lines] += one.weight
    n_common = sum(n for lines, n in n_of_lines.items() if any(len(threads[line]) > 1 for line in lines))
    return n_of_lines.total(), share(n_common, n_of_lines.total())


def _is_false(uses: Sequence[UsedData], n_of_thread: Mapping[int, int]) -> bool:
    """True if several threads often use different bytes of one cache line, and one of them writes."""
    counts = _weights(uses)
    threads = _frequent(counts, n_of_thread)
    turns = [one.thread for one in sorted(uses, key=lambda one: one.time_ns) if one.thread in threads]
    if sum(a != b for a, b in pairwise(turns)) < _LEAST_SWITCHES:
        return False
    users: dict[int, set[int]] = defaultdict(set)
    for one in uses:
        for byte in _bytes_of(one):
            users[byte].add(one.thread)
    apart = [one for one in uses if all(len(users[byte]) == 1 for byte in _bytes_of(one))]
    n_apart = _weights(apart)
    is_apart = n_apart.total() >= _MOSTLY_APART * counts.total() and len(threads & n_apart.keys()) >= 2
    return is_apart and any(used.stores for one in apart for used in one.used)


def _frequent(counts: Mapping[int, int], n_of_thread: Mapping[int, int]) -> set[int]:
    """Returns the threads with many of these samples of one cache line."""
    return {
        thread
        for thread, n in counts.items()
        if n >= max(_LEAST_OF_LINE, _LEAST_SHARE_OF_LINE * n_of_thread.get(thread, 0))
    }


def _weights(uses: Iterable[UsedData]) -> Counter[int]:
    """Returns the number of samples of each thread."""
    counts: Counter[int] = Counter()
    for one in uses:
        counts[one.thread] += one.weight
    return counts


def _bytes_of(one: UsedData) -> Iterator[int]:
    for used in one.used:
        yield from range(used.first, used.end)


def shared_line(samples: Sequence[LocatedSample], least: float) -> Line | None:
    """Returns the line that is most often the innermost candidate; None if there are no candidates.

    The candidates are the lines in the calls of `least` or more samples.
    """
    counts: Counter[Line] = Counter()
    for sample in samples:
        for line in set(sample.own_calls):
            counts[line] += sample.weight
    shared = {line for line, n in counts.items() if n >= least}
    innermost: Counter[Line] = Counter()
    for sample in samples:
        if (found := next((call for call in sample.own_calls if call in shared), None)) is not None:
            innermost[found] += sample.weight
    return max(innermost, key=lambda line: innermost[line], default=None)


RECORDING: Final = "recording"
"""The place of samples in Ompass's own libraries that have no caller in the program."""


def shown_lines(samples: Sequence[LocatedSample]) -> tuple[Hot[Line], ...]:
    """Returns the program's lines with samples; a sample in a library belongs to the line that calls it."""
    return _hottest(samples, lambda sample: [line] if (line := sample.shown_line) else [])


def hot_lines(samples: Sequence[LocatedSample]) -> tuple[Hot[Line], ...]:
    """Returns the innermost lines with samples, whether in the program or in a library."""
    return _hottest(samples, lambda sample: sample.calls[:1])


def samples_by_line(samples: Sequence[LocatedSample]) -> dict[tuple[str, int], int]:
    """Returns the number of samples of each line, over all owners. Lines are as in shown_lines()."""
    counts: Counter[tuple[str, int]] = Counter()
    for sample in samples:
        if (line := sample.shown_line) and line.line:
            counts[line.file, line.line] += sample.weight
    return dict(counts)


def hot_functions(samples: Sequence[LocatedSample]) -> tuple[Hot[tuple[str, str]], ...]:
    """Returns the functions with samples, with their modules."""
    return _hottest(samples, lambda sample: [(c.function or c.place, c.module) for c in sample.calls[:1]])


def hot_calls(samples: Sequence[LocatedSample]) -> tuple[Hot[tuple[str, str]], ...]:
    """Returns the functions with samples in them or in their callees, with their modules."""
    return _hottest(samples, lambda sample: {(c.function or c.place, c.module) for c in sample.calls})


def hot_libraries(samples: Sequence[LocatedSample]) -> tuple[Hot[str], ...]:
    """Returns the called libraries by purpose; an empty name is the program's own code."""
    return _hottest(samples, lambda sample: [sample.library])


def _hottest(
    samples: Sequence[LocatedSample], keys: Callable[[LocatedSample], Iterable[Key]]
) -> tuple[Hot[Key], ...]:
    counts: Counter[tuple[Owner, Key]] = Counter()
    for sample in samples:
        for key in keys(sample):
            counts[sample.owner, key] += sample.weight
    of_owner = dict(owners_by_samples(samples))
    total = sum(of_owner.values())
    found = [
        Hot(owner, key, n, share(n, of_owner[owner]), share(n, total)) for (owner, key), n in counts.items()
    ]
    return tuple(sorted(found, key=lambda hot: (-hot.n, hot.owner.kind, hot.owner.construct, str(hot.what))))
