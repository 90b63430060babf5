# SPDX-License-Identifier: Apache-2.0
"""Changes between two groups of runs, figure by figure, with their significance.

Owns the compared figures and the words for their changes. The caller decides which constructs of two programs
are the same.

A permutation test of the means (Fisher; two-sided) decides the significance. If the labels (before, after)
had no meaning, all assignments of labels to the measurements would be equally likely. The p-value is the
share of assignments whose means differ at least as much as the measured means. The test assumes no
distribution, and is exact for few repeats.
"""

from __future__ import annotations

import functools
import itertools
import math
import random
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final, Generic, TypeVar

from ompass.metrics import thresholds
from ompass.model import StateTimes
from ompass.scaling.metrics import WorkOf

Key = TypeVar("Key", bound=Hashable)

VERDICTS: Final = {
    "more": "more",
    "less": "less",
    "same": "no difference shown",
    "few": "too few runs to decide",
    "single": "one run: not tested",
    "noise": "within recording's noise",
}

STATE_NAMES = ("work", "create", "schedule", "sync", "idle")


@dataclass(frozen=True, slots=True)
class Repeat(Generic[Key]):
    """One run of a group, in the compared scope."""

    time_ns: int
    states: StateTimes
    n_tasks: int
    parts: Mapping[Key, WorkOf]


@dataclass(frozen=True, slots=True)
class Change(Generic[Key]):
    """One figure in both groups, with one value per run, in nanoseconds."""

    figure: str  # "time", "thread-time", a state, "work" or "create" of a construct
    key: Key | None  # the construct; None for figures of the whole run
    before: tuple[float, ...]
    after: tuple[float, ...]
    n_events: float  # clock readings in the figure: the larger number of both groups

    @property
    def before_mean(self) -> float:
        return fmean(self.before)

    @property
    def after_mean(self) -> float:
        return fmean(self.after)

    @property
    def difference(self) -> float:
        return self.after_mean - self.before_mean

    @property
    def ratio(self) -> float | None:
        """after / before; None when it was 0 before."""
        return self.after_mean / self.before_mean if self.before_mean else None

    @property
    def noise(self) -> float:
        """The largest change that recording alone can cause, in the unit of the values."""
        return self.n_events * thresholds.NOISE_PER_EVENT_NS

    @property
    def p_value(self) -> float | None:
        """The p-value of the difference of means; None when a group has a single run."""
        return _p_value(self.before, self.after) if min(len(self.before), len(self.after)) > 1 else None

    @property
    def verdict(self) -> str:
        """The conclusion: one of VERDICTS."""
        p = self.p_value
        if p is None:
            return "noise" if abs(self.difference) <= self.noise else "single"
        if p <= SIGNIFICANT_P:
            return "more" if self.difference > 0 else "less"
        return "few" if least_p(len(self.before), len(self.after)) > SIGNIFICANT_P else "same"


@functools.lru_cache(maxsize=4096)
def _p_value(before: tuple[float, ...], after: tuple[float, ...]) -> float:
    return permutation_p(before, after)


def changes(before: Sequence[Repeat[Key]], after: Sequence[Repeat[Key]]) -> tuple[Change[Key], ...]:
    """Returns changes of time, thread-time and states, then of constructs by decreasing difference.

    Raises ValueError for an empty group.
    """
    if not before or not after:
        raise ValueError("no runs to compare")

    def whole(figure: str, value: str) -> Change[Key]:
        n_tasks = max(fmean(r.n_tasks for r in side) for side in (before, after))
        events = 2.0 if figure == "time" else n_tasks * thresholds.EVENTS_PER_TASK
        return Change(
            figure,
            None,
            tuple(float(_figure(r, value)) for r in before),
            tuple(float(_figure(r, value)) for r in after),
            events,
        )

    found = [whole("time", "time_ns"), whole("thread-time", "total_ns")]
    found += [whole(name, f"{name}_ns") for name in STATE_NAMES]
    keys: dict[Key, None] = {}
    for repeat in (*before, *after):
        keys.update(dict.fromkeys(repeat.parts))
    parts = []
    nothing = WorkOf(0, 0)
    for key in keys:
        for figure in ("work", "create"):
            values = [
                tuple(float(getattr(r.parts.get(key, nothing), f"{figure}_ns")) for r in side)
                for side in (before, after)
            ]
            if not any(values[0]) and not any(values[1]):
                continue
            n_runs = max(fmean(r.parts.get(key, nothing).n_runs for r in side) for side in (before, after))
            parts.append(Change(figure, key, values[0], values[1], 2 * n_runs))
    parts.sort(key=lambda change: -abs(change.difference))
    return (*found, *parts)


def _figure(repeat: Repeat[Key], name: str) -> int:
    value: int = getattr(repeat if name == "time_ns" else repeat.states, name)
    return value


SIGNIFICANT_P: Final = 0.05

_EXACT_WAYS: Final = 100_000
_DRAWN_WAYS: Final = 20_000


def least_p(n_before: int, n_after: int) -> float:
    """Returns the smallest possible p-value: one extreme assignment, or two in groups of equal size."""
    ways = math.comb(n_before + n_after, n_before)
    return (2 if n_before == n_after else 1) / ways


def permutation_p(before: Sequence[float], after: Sequence[float]) -> float:
    """Returns the two-sided p-value of the difference of means. Raises ValueError for an empty group.

    The value is exact up to 100,000 assignments; above, it is estimated from a fixed random sample.
    """
    if not before or not after:
        raise ValueError("no measurements to compare")
    everything = [*before, *after]
    n, total = len(before), math.fsum(everything)
    mean = total / len(everything)

    def distance(part: Sequence[float]) -> float:
        """Returns the distance between the mean of a group and the mean of all values."""
        return abs(math.fsum(part) / n - mean)

    # Sums of the same values in another order may differ in their last bits.
    measured = distance(before) * (1 - 1e-9)
    if math.comb(len(everything), n) <= _EXACT_WAYS:
        ways = list(itertools.combinations(everything, n))
        return sum(distance(way) >= measured for way in ways) / len(ways)
    chance = random.Random(0)
    hits = sum(distance(chance.sample(everything, n)) >= measured for _ in range(_DRAWN_WAYS))
    return (hits + 1) / (_DRAWN_WAYS + 1)  # counts the measured assignment, too
