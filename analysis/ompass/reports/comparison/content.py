# SPDX-License-Identifier: Apache-2.0
"""The content of every form of a comparison: both sides at each number of threads, and changes of figures.

Owns the rule by which constructs of two programs match: same kind, function, file and line. After an edit of
the source, the remaining ones are paired by kind, function and file, in the order of their lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ompass.metrics import Scope
from ompass.metrics.comparison import Change, Repeat, changes
from ompass.metrics.significance import SIGNIFICANT_P, least_p
from ompass.reports.content import ReportContent
from ompass.reports.scaling.content import Place, work_of
from ompass.units import duration, percent, plural


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a comparison: repeated runs of one program, by number of threads."""

    name: str
    is_sweep: bool
    repeats: Mapping[int, tuple[Repeat[Place], ...]]


@dataclass(frozen=True, slots=True)
class Compared:
    """One number of threads on both sides (for single runs, the number of each)."""

    threads_before: int
    threads_after: int
    n_before: int
    n_after: int
    changes: tuple[Change[Place], ...]

    @property
    def time(self) -> Change[Place]:
        return self.changes[0]


@dataclass(frozen=True, slots=True)
class ComparisonContent:
    """The content of a comparison of two sides."""

    before: str
    after: str
    scope: Scope
    compared: tuple[Compared, ...]
    notes: tuple[str, ...]


def side_of(name: str, runs: Mapping[int, Sequence[tuple[ReportContent, int]]], is_sweep: bool) -> Side:
    """Returns a side from the reports of its runs, each with its time."""
    return Side(
        name,
        is_sweep,
        {
            threads: tuple(_repeat(content, time_ns) for content, time_ns in those)
            for threads, those in runs.items()
        },
    )


def compare_sides(before: Side, after: Side, scope: Scope) -> ComparisonContent:
    """Returns the changes from `before` to `after`. ValueError if the sides share no number of threads."""
    if before.is_sweep and after.is_sweep:
        pairs = [(n, n) for n in sorted(before.repeats.keys() & after.repeats.keys())]
    elif not before.is_sweep and not after.is_sweep:
        pairs = list(zip(sorted(before.repeats), sorted(after.repeats), strict=False))[:1]
    else:
        pairs = []
    if not pairs:
        raise ValueError("the sides share no number of threads")
    compared = tuple(_compared(before, after, n, m) for n, m in pairs)
    return ComparisonContent(before.name, after.name, scope, compared, tuple(_notes(before, after, compared)))


def _repeat(content: ReportContent, time_ns: int) -> Repeat[Place]:
    return Repeat(time_ns, content.breakdown.states, content.breakdown.n_tasks, work_of(content))


def _compared(before: Side, after: Side, n: int, m: int) -> Compared:
    first, second = before.repeats[n], after.repeats[m]
    moved = paired_places(_places(first), _places(second))
    renamed = [replace(r, parts={moved.get(k, k): part for k, part in r.parts.items()}) for r in first]
    return Compared(n, m, len(first), len(second), changes(renamed, second))


def _places(repeats: Iterable[Repeat[Place]]) -> list[Place]:
    return list(dict.fromkeys(place for repeat in repeats for place in repeat.parts))


def paired_places(before: Sequence[Place], after: Sequence[Place]) -> dict[Place, Place]:
    """Returns constructs that moved: the same kind and function in a file of the same name.

    They are paired in the order of their lines, if both sides have equally many; others are new or gone.
    """
    left: dict[tuple[str, str, str], tuple[list[Place], list[Place]]] = {}
    for side, here, there in ((0, before, set(after)), (1, after, set(before))):
        for place in here:
            if place not in there:
                key = (place.kind, place.function, Path(place.file).name)
                left.setdefault(key, ([], []))[side].append(place)

    def line(place: Place) -> tuple[str, int, int]:
        return place.file, place.line, place.offset

    moved: dict[Place, Place] = {}
    for gone, new in left.values():
        if len(gone) == len(new):
            moved |= zip(sorted(gone, key=line), sorted(new, key=line), strict=True)
    return moved


def headline(one: Compared) -> str:
    """Returns the change of the time as a sentence."""
    time = one.time
    threads = (
        f"on {plural(one.threads_after, 'thread')}"
        if one.threads_before == one.threads_after
        else f"on {one.threads_after} threads instead of {one.threads_before}"
    )
    took = f"{threads}: {duration(time.before_mean)} before, {duration(time.after_mean)} after"
    ratio = time.ratio or 0.0
    size = (
        f"{percent(abs(ratio - 1))} {'more' if ratio > 1 else 'less'} time"
        if time.before_mean
        else "no time before"
    )
    p = time.p_value
    n_runs = f"{one.n_before} against {plural(one.n_after, 'run')}"
    word = {
        "more": f"slower: {size}, p = {p or 0:.2g} ({n_runs})",
        "less": f"faster: {size}, p = {p or 0:.2g} ({n_runs})",
        "same": f"no difference shown: {size}, p = {p or 0:.2g} ({n_runs})",
        "few": f"{size}, but {n_runs} are too few for a test",
        "single": f"{size}; with a single run on a side, it may be chance",
        "noise": f"{size}, no more than recording itself may cause",
    }[time.verdict]
    return f"{took}; {word}"


def _notes(before: Side, after: Side, compared: Sequence[Compared]) -> list[str]:
    notes = []
    sizes = {(one.n_before, one.n_after) for one in compared}
    if any(min(pair) < 2 for pair in sizes):
        notes.append(
            "a side with a single run has no spread, so changes are not tested: even a change above "
            "recording's noise may be chance. Name directories of runs, or sweeps with --repeat 4 or more."
        )
    elif any(least_p(*pair) > SIGNIFICANT_P for pair in sizes):
        notes.append("these runs are too few for this test: p <= 0.05 needs 4 on each side.")
    else:
        notes.append(
            "p: probability that chance alone separates runs this far (permutation test of the means). Of 20 "
            "unchanged figures, one is expected below 0.05."
        )
    if not before.is_sweep and compared[0].threads_before != compared[0].threads_after:
        notes.append(
            "the sides ran on different numbers of threads: `ompass scale` explains why programs do "
            "not scale."
        )
    only = sorted(before.repeats.keys() ^ after.repeats.keys())
    if before.is_sweep and only:
        notes.append(f"numbers of threads on one side only: {', '.join(map(str, only))}.")
    if max(one.n_before for one in compared) > 1:
        notes.append(
            "the sides were not measured alternately: a machine that slowed down meanwhile shows as a change."
        )
    return notes
