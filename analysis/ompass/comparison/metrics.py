# SPDX-License-Identifier: Apache-2.0
"""Changes between two groups of runs, figure by figure, with their significance.

Owns the compared figures, the minimum differences, and the words for changes. The caller decides which
constructs of two programs are the same.

A figure differs if a rank test shows a difference (metrics/significance.py) that is large enough. The
time is tested alone; the p-values of the other figures are adjusted for their number. The minimum
difference depends on the design. Runs that alternate share the drift of the machine. Between two series of
runs, one after the other, the machine may have changed, and more runs do not remove that change.
docs/comparison.md has the error rates.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean, median
from typing import Final, Generic, Protocol, TypeVar

from ompass.metrics import significance, thresholds
from ompass.model import StateTimes, shown_states
from ompass.scaling.metrics import WorkOf

Key = TypeVar("Key", bound=Hashable)

SIGNIFICANT_P: Final = 0.02
"""At this level, more than 5 of 100 pairs of equal builds are called different only with probability 1.5%."""

MINIMUM_ALTERNATING: Final = 0.01
"""Least relative difference of alternating runs. Equal builds differ by some tenths of a percent, because
their code and data lie at other addresses."""

MINIMUM_IN_SERIES: Final = 0.02
"""Least relative difference of two series of runs, one after the other."""

SPREADS_IN_SERIES: Final = 2.0
"""Least difference of two series, in typical distances between two runs of one side. A drift of the machine
may be as large, and does not shrink with the number of runs."""

MINIMUM_OF_ALL: Final = 0.001
"""Least difference of a figure, as a part of the thread-time."""

MINIMUM_SINGLE: Final = 0.10
"""Least relative difference of single runs that is not called noise."""

MANIFOLD: Final = 2.0
"""Both sides include the cost of recording, so this cost alone does not change a figure by this factor."""

LEAST_ROUNDS: Final = 10
"""With fewer rounds, the test of groups decides more often than the test of rounds, and stays valid:
alternating sides share drift, so their means are closer together than the test assumes."""

VERDICTS: Final = {
    "more": "more",
    "less": "less",
    "same": "may be chance",
    "slight": "about equal",
    "few": "may be chance: few runs",
    "single": "single run",
    "noise": "may be chance",
}


@dataclass(frozen=True, slots=True)
class Repeat(Generic[Key]):
    """One run of a group, in the compared scope."""

    time_ns: int
    states: StateTimes
    n_tasks: int
    parts: Mapping[Key, WorkOf]
    start_ns: int = 0  # start of the run, since 1970
    counts: Mapping[str, int] = field(default_factory=dict)  # of tasks, regions, ...; the same in equal runs
    further: Mapping[str, int] = field(default_factory=dict)  # other times of the whole run, in ns
    program_ns: int = 0  # time of the program, also outside of the compared scope; 0: unknown


@dataclass(frozen=True, slots=True)
class Change(Generic[Key]):
    """One figure in both groups, with one value per run, in nanoseconds.

    If the runs alternate, values with the same index belong to one round.
    """

    figure: str  # "time", "thread-time", a state, a further time, "work" or "create" of a construct
    key: Key | None  # the construct; None for figures of the whole run
    before: tuple[float, ...]
    after: tuple[float, ...]
    n_events: float  # clock readings in the figure: the larger number of both groups
    alternating: bool = False
    whole_ns: float = 0.0  # the thread-time of a run
    least: float | None = None  # the requested minimum difference, relative
    p_value: float | None = None  # None when a group has a single run
    adjusted_p: float | None = None  # p-value adjusted for the number of figures; unadjusted for the time

    @property
    def before_median(self) -> float:
        return median(self.before)

    @property
    def after_median(self) -> float:
        return median(self.after)

    @property
    def difference(self) -> float:
        return self.after_median - self.before_median

    @property
    def interval(self) -> significance.Ratio | None:
        """The ratio with its 98% interval; None if a value is 0."""
        if min(*self.before, *self.after) <= 0:
            return None
        of = significance.rounds_ratio if self._in_rounds else significance.groups_ratio
        return of(self.before, self.after, SIGNIFICANT_P / 2)

    @property
    def ratio(self) -> float | None:
        """The ratio after / before; None if the median before is 0."""
        if found := self.interval:
            return found.estimate
        return self.after_median / self.before_median if self.before_median else None

    @property
    def noise(self) -> float:
        """The largest change that recording alone can cause, in the unit of the values."""
        return self.n_events * thresholds.NOISE_PER_EVENT_NS

    @property
    def minimum(self) -> float:
        """The least relative difference that counts."""
        if min(len(self.before), len(self.after)) < 2:
            return MINIMUM_SINGLE if self.least is None else self.least
        if self.alternating:
            return MINIMUM_ALTERNATING if self.least is None else self.least
        drift = possible_drift(self.before, self.after)
        return max(MINIMUM_IN_SERIES if self.least is None else self.least, drift)

    @property
    def is_large(self) -> bool:
        """True if the difference reaches the minimum."""
        if abs(self.difference) < MINIMUM_OF_ALL * self.whole_ns:
            return False
        ratio = self.ratio
        if not ratio:  # new or gone
            return self.difference != 0
        return abs(math.log(ratio)) >= math.log1p(self.minimum)

    @property
    def is_manifold(self) -> bool:
        """True if one side is at least MANIFOLD times the other, or only one side has the figure."""
        low, high = sorted((self.before_median, self.after_median))
        return high >= MANIFOLD * low and high > 0

    @property
    def verdict(self) -> str:
        """The conclusion: one of VERDICTS."""
        p = self.adjusted_p
        if p is None:
            explained = abs(self.difference) <= self.noise and not self.is_manifold
            return "single" if self.is_large and not explained else "noise"
        if p <= SIGNIFICANT_P:
            if not self.is_large:
                return "slight"
            ratio = self.ratio
            grew = self.difference > 0 if ratio is None else ratio > 1
            return "more" if grew else "less"
        return "few" if self.least_p > SIGNIFICANT_P else "same"

    @property
    def _in_rounds(self) -> bool:
        return self.alternating and len(self.before) >= LEAST_ROUNDS

    @property
    def least_p(self) -> float:
        """The smallest p-value that this number of runs can have."""
        if self._in_rounds:
            return significance.least_rounds_p(len(self.before))
        return significance.least_groups_p(len(self.before), len(self.after))

    def tested(self) -> Change[Key]:
        """Returns the change with its p-value."""
        if min(len(self.before), len(self.after)) < 2:
            return self
        test = significance.rounds_p if self._in_rounds else significance.groups_p
        p = test(self.before, self.after)
        return replace(self, p_value=p, adjusted_p=p)


@dataclass(frozen=True, slots=True)
class Count:
    """A number that depends on the program and its input, not on time: one value per run."""

    figure: str
    before: tuple[int, ...]
    after: tuple[int, ...]

    @property
    def verdict(self) -> str:
        """`equal`, `different` (no value is on both sides), or `varies` (from run to run)."""
        sides = set(self.before), set(self.after)
        if sides[0].isdisjoint(sides[1]):
            return "different"
        return "equal" if len(sides[0] | sides[1]) == 1 else "varies"


def counts(before: Sequence[Mapping[str, int]], after: Sequence[Mapping[str, int]]) -> tuple[Count, ...]:
    """Returns all counts of the runs, except those that are 0 in every run."""
    figures = dict.fromkeys(name for run in (*before, *after) for name in run)
    found = (
        Count(name, *(tuple(run.get(name, 0) for run in side) for side in (before, after)))
        for name in figures
    )
    return tuple(one for one in found if any((*one.before, *one.after)))


def possible_drift(before: Sequence[float], after: Sequence[float]) -> float:
    """Returns the relative difference that a drift of the machine may cause between two series of runs."""
    return SPREADS_IN_SERIES * max(_typical_distance(side) for side in (before, after))


def _typical_distance(values: Sequence[float]) -> float:
    """Returns the median relative distance between two values; infinite if one is 0."""
    if min(values) <= 0:
        return math.inf if any(values) else 0.0
    return median(max(a, b) / min(a, b) - 1 for a, b in itertools.combinations(values, 2))


class Started(Protocol):
    """A run with the time of its start."""

    @property
    def start_ns(self) -> int: ...


Run = TypeVar("Run", bound=Started)


def in_rounds(before: Sequence[Run], after: Sequence[Run]) -> tuple[tuple[Run, ...], tuple[Run, ...]] | None:
    """Returns both sides in the order of rounds; None unless the runs alternate.

    They alternate if the first two runs are of different sides, and the next two, and so on, in at least two
    rounds.
    """
    order = sorted(
        [(r.start_ns, 0, r) for r in before] + [(r.start_ns, 1, r) for r in after], key=lambda run: run[:2]
    )
    sides = [side for _, side, _ in order]
    starts = {start for start, _, _ in order}
    pairs = list(zip(sides[::2], sides[1::2], strict=False))
    if (
        len(pairs) < 2
        or len(before) != len(after)
        or len(starts) < len(order)
        or any(a == b for a, b in pairs)
    ):
        return None
    first, second = (tuple(r for _, side, r in order if side == k) for k in (0, 1))
    return first, second


def changes(
    before: Sequence[Repeat[Key]], after: Sequence[Repeat[Key]], least: float | None = None
) -> tuple[Change[Key], ...]:
    """Returns changes of time, thread-time, states and further times, then of constructs, the largest first.

    `least` is a minimum difference in place of the default one. Raises ValueError for an empty group.
    """
    if not before or not after:
        raise ValueError("no runs to compare")
    rounds = in_rounds(before, after)
    before, after = rounds or (before, after)
    whole_ns = median(r.states.total_ns for r in (*before, *after))

    def change(
        figure: str, key: Key | None, sides: Sequence[Sequence[float]], n_events: float
    ) -> Change[Key]:
        return Change(
            figure,
            key,
            tuple(map(float, sides[0])),
            tuple(map(float, sides[1])),
            n_events,
            alternating=rounds is not None,
            whole_ns=0.0 if figure == "time" else whole_ns,
            least=least,
        ).tested()

    def whole(figure: str, value: str) -> Change[Key]:
        n_tasks = max(fmean(r.n_tasks for r in side) for side in (before, after))
        events = 2.0 if figure == "time" else n_tasks * thresholds.EVENTS_PER_TASK
        return change(figure, None, [[_figure(r, value) for r in side] for side in (before, after)], events)

    time = whole("time", "time_ns")
    states = shown_states(*(r.states for r in (*before, *after)))
    found = [whole("thread-time", "total_ns"), *(whole(name, f"{name}_ns") for name in states)]
    for name in before[0].further:
        if all(name in r.further for r in (*before, *after)):
            values = [[r.further[name] for r in side] for side in (before, after)]
            n_tasks = max(r.n_tasks for r in (*before, *after))
            found.append(change(name, None, values, n_tasks * thresholds.EVENTS_PER_TASK))
    keys: dict[Key, None] = {}
    for repeat in (*before, *after):
        keys.update(dict.fromkeys(repeat.parts))
    parts = []
    nothing = WorkOf(0, 0)
    for key in keys:
        for figure in ("work", "create"):
            values = [
                [getattr(r.parts.get(key, nothing), f"{figure}_ns") for r in side] for side in (before, after)
            ]
            if not any(values[0]) and not any(values[1]):
                continue
            n_runs = max(fmean(r.parts.get(key, nothing).n_runs for r in side) for side in (before, after))
            parts.append(change(figure, key, values, 2 * n_runs))
    parts.sort(key=lambda change: -abs(change.difference))
    return (time, *_adjusted([*found, *parts]))


def _adjusted(those: Sequence[Change[Key]]) -> list[Change[Key]]:
    """Returns the changes with p-values adjusted for their number; figures that are always 0 do not count."""
    tested = [k for k, one in enumerate(those) if one.p_value is not None and any((*one.before, *one.after))]
    p_values = significance.adjusted_for_many([those[k].p_value or 0.0 for k in tested])
    found = list(those)
    for k, p in zip(tested, p_values, strict=True):
        found[k] = replace(found[k], adjusted_p=p)
    return found


def _figure(repeat: Repeat[Key], name: str) -> int:
    value: int = getattr(repeat if name == "time_ns" else repeat.states, name)
    return value
