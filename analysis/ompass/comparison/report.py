# SPDX-License-Identifier: Apache-2.0
"""The report on a comparison: changes of the time, the states and the constructs at each number of threads.

docs/comparison.md lists the fields of the JSON form.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any, Final

from ompass import __version__
from ompass.comparison.metrics import (
    MINIMUM_OF_ALL,
    SIGNIFICANT_P,
    STATE_NAMES,
    VERDICTS,
    Change,
    Count,
    Repeat,
    changes,
    counts,
)
from ompass.comparison.pairing import Pair, SourceLines, pairs_of
from ompass.comparison.structure import counts_of, further_times
from ompass.metrics import thresholds
from ompass.metrics.breakdown import Scope, program_ns
from ompass.reports.content import ReportContent
from ompass.reports.model import Column, Kind, Report, Section, Table, data, fields, sentence
from ompass.scaling.content import Place, work_of
from ompass.units import count, duration, percent, plural, ratio


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a comparison: repeated runs of one program, by number of threads."""

    name: str
    is_sweep: bool
    repeats: Mapping[int, tuple[Repeat[Place], ...]]
    n_disturbed: int = 0  # runs whose processors other programs used
    lines: SourceLines = field(default_factory=dict)  # known lines of its source


@dataclass(frozen=True, slots=True)
class Compared:
    """The changes at one number of threads; if the sides are not sweeps, at one number for each side."""

    threads_before: int
    threads_after: int
    n_before: int
    n_after: int
    changes: tuple[Change[Place], ...]
    counts: tuple[Count, ...] = ()
    pairs: tuple[Pair, ...] = ()  # the constructs that are on both sides
    program_ns: tuple[float, float] = (0.0, 0.0)  # median times of the whole program; 0: unknown

    @property
    def alternating(self) -> bool:
        return self.time.alternating

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
        sum(
            any(f.kind == "disturbed" for f in content.findings)
            for those in runs.values()
            for content, _ in those
        ),
        {
            file: lines
            for those in runs.values()
            for content, _ in those
            for file, lines in content.source_lines.items()
        },
    )


def compare_sides(before: Side, after: Side, scope: Scope, least: float | None = None) -> ComparisonContent:
    """Returns the changes between two sides. `least` is a minimum difference in place of the default one.

    Raises ValueError if they share no number of threads.
    """
    if before.is_sweep and after.is_sweep:
        pairs = [(n, n) for n in sorted(before.repeats.keys() & after.repeats.keys())]
    elif not before.is_sweep and not after.is_sweep:
        pairs = list(zip(sorted(before.repeats), sorted(after.repeats), strict=False))[:1]
    else:
        pairs = []
    if not pairs:
        raise ValueError("the sides share no number of threads")
    compared = tuple(_compared(before, after, n, m, least) for n, m in pairs)
    return ComparisonContent(before.name, after.name, scope, compared, tuple(_notes(before, after, compared)))


def _repeat(content: ReportContent, time_ns: int) -> Repeat[Place]:
    return Repeat(
        time_ns,
        content.breakdown.states,
        content.breakdown.n_tasks,
        work_of(content),
        content.run.start_epoch_ns,
        counts_of(content.run, content.breakdown),
        further_times(content.run, content.breakdown),
        program_ns(content.run),
    )


def _compared(before: Side, after: Side, n: int, m: int, least: float | None) -> Compared:
    first, second = before.repeats[n], after.repeats[m]
    pairs = pairs_of(_places(first), _places(second), before.lines, after.lines)
    renamed = _renamed(first, pairs, _places(second))
    return Compared(
        n,
        m,
        len(first),
        len(second),
        changes(renamed, second, least),
        counts([r.counts for r in first], [r.counts for r in second]),
        pairs,
        (median(r.program_ns for r in first), median(r.program_ns for r in second)),
    )


def _renamed(
    repeats: Iterable[Repeat[Place]], pairs: Iterable[Pair], after: Iterable[Place]
) -> list[Repeat[Place]]:
    """Returns the runs of the first side; their constructs have the places of their partners.

    A removed construct must not count as the one that is now at its place.
    """
    name = {pair.before: pair.after for pair in pairs}
    used = set(after)

    def named(place: Place) -> Place:
        return name.get(place) or (replace(place, offset=-1) if place in used else place)

    return [replace(r, parts={named(place): part for place, part in r.parts.items()}) for r in repeats]


def _places(repeats: Iterable[Repeat[Place]]) -> list[Place]:
    return list(dict.fromkeys(place for repeat in repeats for place in repeat.parts))


def headline(one: Compared) -> str:
    """Returns the change of the time as a sentence."""
    time = one.time
    threads = (
        f"on {plural(one.threads_after, 'thread')}"
        if one.threads_before == one.threads_after
        else f"on {one.threads_after} threads instead of {one.threads_before}"
    )
    took = f"{threads}: {duration(time.before_median)} before, {duration(time.after_median)} after"
    change = (time.ratio or 0.0) - 1
    size = (
        f"{percent(abs(change))} {'more' if change > 0 else 'less'} time"
        if time.before_median
        else "no time before"
    )
    found = time.interval
    if found and 0 < found.low < math.inf and time.p_value is not None:
        size += f" (98% interval {_signed(found.low)} to {_signed(found.high)})"
    n_runs = f"{one.n_before} against {plural(one.n_after, 'run')}"
    tested = f"p = {time.p_value or 0:.2g} ({n_runs})"
    word = {
        "more": f"slower: {size}, {tested}",
        "less": f"faster: {size}, {tested}",
        "same": f"no difference shown: {size}, {tested}",
        "slight": f"{size}, {tested}, which is less than the minimum difference, {_minimum(time)}",
        "few": f"{size}, but {n_runs} are too few for a test",
        "single": f"{size}, more than single runs usually vary"
        if time.is_manifold
        else f"{size}; with a single run on a side, it may be chance",
        "noise": f"{size}; with a single run on a side, only {_minimum(time)} or more is worth a second look",
    }[time.verdict]
    return f"{took}; {word}{_of_program(one)}"


def _of_program(one: Compared) -> str:
    """Returns the times of the whole program if the compared times changed differently; else an empty
    text."""
    before, after = one.program_ns
    if not (before and after and one.time.before_median):
        return ""
    ratio = after / before
    if abs(ratio - (one.time.ratio or 0.0)) < thresholds.UNLIKE_PROGRAM:
        return ""
    size = f"{percent(abs(ratio - 1))} {'more' if ratio > 1 else 'less'} time"
    times = f"{duration(before)} before, {duration(after)} after; {size}"
    return f". The whole program, with its serial parts: {times}"


def _minimum(change: Change[Place]) -> str:
    return "an infinite one" if math.isinf(change.minimum) else percent(change.minimum)


def _signed(quotient: float) -> str:
    return f"{'+' if quotient >= 1 else '-'}{percent(abs(quotient - 1))}"


_PER_FIGURE: Final = (
    "p: probability that equal sides differ this much (rank test). The p of all figures but the time are "
    "adjusted for their number: if nothing changed, 98% of comparisons call no figure different."
)


def _notes(before: Side, after: Side, compared: Sequence[Compared]) -> list[str]:
    notes = []
    single = [one for one in compared if min(one.n_before, one.n_after) < 2]
    repeated = [one for one in compared if one not in single]
    if single:
        notes.append(
            "a single run does not show the noise of the machine: times are not tested, and a difference "
            f"below {_minimum(single[0].time)} is called noise. Counts are exact. Name directories of runs, "
            "or sweeps with --repeat 5 or more."
        )
    elif any(one.time.least_p > SIGNIFICANT_P for one in compared):
        notes.append("these runs are too few for this test: p <= 0.02 needs 5 on each side.")
    else:
        notes.append(_PER_FIGURE)
    if not before.is_sweep and compared[0].threads_before != compared[0].threads_after:
        notes.append(
            "the sides ran on different numbers of threads: `ompass scale` explains why programs do "
            "not scale."
        )
    only = sorted(before.repeats.keys() ^ after.repeats.keys())
    if before.is_sweep and only:
        notes.append(f"numbers of threads on one side only: {', '.join(map(str, only))}.")
    in_series = [one for one in repeated if not one.alternating]
    if in_series:
        notes.append(
            "the sides did not run alternately, so a machine that became slower looks like a change. "
            f"Times count as different from {_minimum(in_series[0].time)} on: 2%, or twice the typical "
            "distance between two runs of a side. `ompass check` alternates."
        )
    elif repeated:
        notes.append(
            f"the sides ran alternately: times count as different from {_minimum(repeated[0].time)} on."
        )
    disturbed = [one for one in (before, after) if one.n_disturbed]
    for side in disturbed:
        notes.append(
            f"other programs used the processors in {plural(side.n_disturbed, 'run')} of {side.name}."
        )
    return notes


SCHEMA_VERSION: Final = 2

_MOST_ROWS: Final = 12
_MOST_BRIEF_ROWS: Final = 5
_MANY_TIMES: Final = 10.0


def comparison_report(content: ComparisonContent) -> Report:
    """Returns the whole comparison."""
    return Report(
        title=f"ompass compare · {content.before} to {content.after}",
        facts=(),
        sections=tuple(section for one in content.compared for section in _sections(one)),
        notes=content.notes,
        values={
            "schema": "ompass-compare",
            "schema_version": SCHEMA_VERSION,
            "ompass_version": __version__,
            "before": content.before,
            "after": content.after,
            "scope": content.scope.value,
            "compared": [
                {
                    "threads_before": one.threads_before,
                    "threads_after": one.threads_after,
                    "runs_before": one.n_before,
                    "runs_after": one.n_after,
                    "alternating": one.alternating,
                    "headline": headline(one),
                    "counts": counts_table(one.counts),
                    "changes": _changes("", one.changes),
                    "pairs": pairs_table(one.pairs, _MOST_ROWS),
                }
                for one in content.compared
            ],
            "notes": content.notes,
        },
    )


def brief_comparison(content: ComparisonContent) -> Report:
    """Returns the part of the report that most readers need: only the changes."""
    return replace(
        comparison_report(content),
        sections=tuple(section for one in content.compared for section in _brief_sections(one)),
        notes=content.notes[:1],
        commands=(
            (f"ompass report {shlex.quote(content.after)}", "what slows the program now"),
            (
                f"ompass compare {shlex.quote(content.before)} {shlex.quote(content.after)} --full",
                "all figures and notes",
            ),
        ),
    )


def _brief_sections(one: Compared) -> Iterator[Section]:
    threads = one.threads_after
    states = [change for change in one.changes if change.figure in ("time", *STATE_NAMES)]
    whole = [change for change in states if change.key is None]
    whole += [change for change in one.changes if change.key is None and _is_further(change)]
    different = [
        f"{each.figure} {value_range(each.before)} before, {value_range(each.after)} after"
        for each in one.counts
        if each.verdict != "equal"
    ]
    equal = [each.figure for each in one.counts if each.verdict == "equal"]
    parts: list[str | Table] = [_brief_changes("figure", whole)]
    if different:
        parts.append(f"Different counts: {'; '.join(different)}.")
    if equal:
        parts.append(f"Equal counts: {', '.join(equal)}.")
    yield Section(f"time-{threads}", sentence(headline(one)), tuple(parts))
    constructs = [change for change in one.changes if change.key is not None and change.is_large]
    if constructs:
        title = "Constructs, the largest change first"
        yield Section(f"constructs-{threads}", title, (_brief_changes("construct", constructs),))
    yield from _moved(one, _MOST_BRIEF_ROWS)


def _is_further(change: Change[Place]) -> bool:
    """True for a figure that changed and is neither a time nor a state."""
    return change.is_large and change.figure not in ("time", "thread-time", *STATE_NAMES)


def _brief_changes(title: str, changes: Sequence[Change[Place]]) -> Table:
    """Returns both values, their relation, and the verdicts if any figure could be tested."""
    columns = [
        Column("", title, Kind.NAME, _name),
        Column("", "before", Kind.TIME, "before_median"),
        Column("", "after", Kind.TIME, "after_median"),
        Column("", "change", Kind.FIGURE, _relative),
    ]
    if any(change.verdict != "single" for change in changes):
        columns.append(Column("", "verdict", Kind.TEXT, _verdict))
    most = len(changes) if title == "figure" else _MOST_BRIEF_ROWS
    return Table.of(title, columns, changes, word="figure", more="--full", most=most)


def _verdict(change: Change[Place]) -> str:
    if change.verdict == "noise" and change.is_manifold:
        return f"below {percent(MINIMUM_OF_ALL)} of the thread-time"
    return VERDICTS[change.verdict]


def _sections(one: Compared) -> Iterator[Section]:
    threads = one.threads_after
    whole = [change for change in one.changes if change.key is None]
    constructs = [change for change in one.changes if change.key is not None]
    yield Section(f"time-{threads}", sentence(headline(one)), (_changes("figure", whole),))
    if one.counts:
        yield Section(f"counts-{threads}", "Counts, which are exact", (counts_table(one.counts),))
    if constructs:
        title = "Constructs, the largest change first"
        yield Section(f"constructs-{threads}", title, (_changes("construct", constructs),))
    yield from _moved(one, _MOST_ROWS)


def _moved(one: Compared, most: int) -> Iterator[Section]:
    """Yields the pairs of constructs whose places look different, if there are any."""
    if moved := [pair for pair in one.pairs if pair.has_moved and pair.before.label() != pair.after.label()]:
        title = "Constructs that have moved"
        yield Section(f"pairs-{one.threads_after}", title, (pairs_table(moved, most),))


def _changes(title: str, changes: Sequence[Change[Place]]) -> Table:
    return Table.of(
        title,
        (
            Column("", title, Kind.NAME, _name),
            data("figure"),
            data("construct", lambda change: _construct_fields(change.key)),
            Column("before_ns", "before", Kind.TIME, "before_median"),
            Column("after_ns", "after", Kind.TIME, "after_median"),
            Column("", "change", Kind.FIGURE, _difference),
            Column("", "relative", Kind.FIGURE, _relative),
            Column("", "p", Kind.FIGURE, lambda c: None if c.adjusted_p is None else f"{c.adjusted_p:.2g}"),
            Column("", "verdict", Kind.TEXT, _verdict),
            *fields(
                "difference_ns=difference ratio values_before_ns=before values_after_ns=after noise_ns=noise"
            ),
            data("ratio_interval", _interval),
            data("minimum_difference", lambda c: None if math.isinf(c.minimum) else c.minimum),
            *fields("p_value adjusted_p verdict"),
        ),
        changes,
        word="figure",
        more="--json (with less change)",
        most=_MOST_ROWS,
    )


def pairs_table(pairs: Sequence[Pair], most: int) -> Table:
    """Returns the places of constructs on both sides."""
    return Table.of(
        "",
        (
            Column("", "before", Kind.NAME, lambda pair: pair.before.label()),
            Column("", "after", Kind.NAME, lambda pair: pair.after.label()),
            Column("", "same source", Kind.FIGURE, lambda pair: _alike(pair.similarity)),
            data("before", lambda pair: _construct_fields(pair.before)),
            data("after", lambda pair: _construct_fields(pair.after)),
            *fields("similarity"),
        ),
        pairs,
        word="construct",
        more="--json (with all constructs of both sides)",
        most=most,
    )


def _alike(similarity: float | None) -> str:
    return "unknown" if similarity is None else percent(similarity)


def counts_table(those: Sequence[Count]) -> Table:
    """Returns the counts of both sides."""
    return Table.of(
        "",
        (
            Column("figure", "count", Kind.NAME),
            Column("", "before", Kind.FIGURE, lambda one: value_range(one.before)),
            Column("", "after", Kind.FIGURE, lambda one: value_range(one.after)),
            data("values_before", "before"),
            data("values_after", "after"),
            Column("verdict", "verdict", Kind.TEXT),
        ),
        those,
        word="count",
        most=_MOST_ROWS,
    )


def value_range(values: Sequence[int]) -> str:
    """Returns the value of all runs, or the smallest and the largest."""
    low, high = min(values), max(values)
    return count(low) if low == high else f"{count(low)} to {count(high)}"


def _name(change: Change[Place]) -> str:
    return change.figure if change.key is None else f"{change.key.label()}, {change.figure}"


def _construct_fields(key: Place | None) -> dict[str, Any] | None:
    if key is None:
        return None
    return {
        "kind": key.kind,
        "label": key.label(),
        "function": key.function or None,
        "file": key.file or None,
        "line": key.line or None,
    }


def _interval(change: Change[Place]) -> list[float] | None:
    """Returns the 98% interval of the ratio; None if there is none."""
    found = change.interval
    return [found.low, found.high] if found and change.p_value is not None and found.low else None


def _difference(change: Change[Place]) -> str:
    sign = "+" if change.difference > 0 else "-" if change.difference < 0 else ""
    return f"{sign}{duration(abs(change.difference))}"


def _relative(change: Change[Place]) -> str:
    if change.ratio is None:
        return "new" if change.after_median else "-"
    if change.after_median == 0:
        return "gone"
    if change.ratio >= _MANY_TIMES:
        return f"{ratio(change.ratio)} times"
    return f"{'+' if change.ratio > 1 else '-' if change.ratio < 1 else ''}{percent(abs(change.ratio - 1))}"
