# SPDX-License-Identifier: Apache-2.0
"""Hot functions, lines and libraries inside each construct, counted from samples.

A sample has an owner: the kernel, task, implicit task or serial part in which the thread worked, or the
state in which it did not. Counts are of samples, and shares are of processor time in user code.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from ompass.metrics.shares import share

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose time it was: `kind` is kernel, task, implicit, serial, or one of the states without work."""

    kind: str
    construct: int  # of the kernel, task or region; of a state, the task that the thread was in; -1: none


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the source, in a function; file and line are empty where they are not known."""

    function: str
    file: str
    line: int
    module: str
    place: str  # for people: `fib.c:12`


@dataclass(frozen=True, slots=True)
class LocatedSample:
    """Samples of one owner with the same calls."""

    thread: int
    owner: Owner
    calls: tuple[Line, ...]  # where the thread was, inlined functions apart, and outwards to what called it
    library: str  # the group of libraries that was called; empty: the program's own code
    weight: int


@dataclass(frozen=True, slots=True)
class Hot(Generic[Key]):
    """How many samples of an owner fell on one thing."""

    owner: Owner
    what: Key
    n: int
    share: float  # of the owner's samples
    share_of_all: float

    @property
    def error(self) -> float:
        """The standard error of `share`, which is a count of independent samples."""
        of_owner = self.n / self.share if self.share else 0
        return math.sqrt(self.share * (1 - self.share) / of_owner) if of_owner else 0.0


def owners_by_samples(samples: Sequence[LocatedSample]) -> tuple[tuple[Owner, int], ...]:
    """How many samples each owner has, most first."""
    counts: Counter[Owner] = Counter()
    for sample in samples:
        counts[sample.owner] += sample.weight
    return tuple(sorted(counts.items(), key=lambda item: (-item[1], item[0].kind, item[0].construct)))


def hot_lines(samples: Sequence[LocatedSample]) -> tuple[Hot[Line], ...]:
    """Returns the lines on which samples fell, by owner and count."""
    return _hottest(samples, lambda sample: sample.calls[:1])


def samples_by_line(samples: Sequence[LocatedSample]) -> dict[tuple[str, int], int]:
    """How many samples fell on each line of a file, whoever they belong to."""
    counts: Counter[tuple[str, int]] = Counter()
    for sample in samples:
        if sample.calls and sample.calls[0].line:
            counts[sample.calls[0].file, sample.calls[0].line] += sample.weight
    return dict(counts)


@dataclass(frozen=True, slots=True)
class SampleNode:
    """Samples of an owner, of a function in it, or of a line of that; the rest is in no known one."""

    what: Owner | str
    n: int
    parts: tuple[SampleNode, ...] = ()


def samples_tree(samples: Sequence[LocatedSample], most: int = 12) -> tuple[SampleNode, ...]:
    """Owners, functions and lines by samples; of each the `most` with most of them."""
    counts: Counter[tuple[Owner, str, str]] = Counter()
    for sample in samples:
        call = sample.calls[0] if sample.calls else None
        function = (call.function or call.place) if call else ""
        counts[sample.owner, function, call.place if call and call.line else ""] += sample.weight

    def grouped(of: Counter[tuple[str, ...]]) -> tuple[SampleNode, ...]:
        sums: Counter[str] = Counter()
        inner: dict[str, Counter[tuple[str, ...]]] = {}
        for (first, *rest), n in of.items():
            sums[first] += n
            if rest:
                inner.setdefault(first, Counter())[tuple(rest)] += n
        return tuple(
            SampleNode(name, n, grouped(inner.get(name, Counter())))
            for name, n in sums.most_common(most)
            if name
        )

    by_owner: dict[Owner, Counter[tuple[str, ...]]] = {}
    for (owner, *rest), n in counts.items():
        by_owner.setdefault(owner, Counter())[tuple(rest)] += n
    return tuple(SampleNode(owner, n, grouped(by_owner[owner])) for owner, n in owners_by_samples(samples))


def hot_functions(samples: Sequence[LocatedSample]) -> tuple[Hot[tuple[str, str]], ...]:
    """Returns the functions, with their modules, in which samples fell."""
    return _hottest(samples, lambda sample: [(c.function or c.place, c.module) for c in sample.calls[:1]])


def hot_calls(samples: Sequence[LocatedSample]) -> tuple[Hot[tuple[str, str]], ...]:
    """The same with all that the functions call."""
    return _hottest(samples, lambda sample: {(c.function or c.place, c.module) for c in sample.calls})


def hot_libraries(samples: Sequence[LocatedSample]) -> tuple[Hot[str], ...]:
    """Returns the libraries that were called, by purpose; empty: the program's own code."""
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
