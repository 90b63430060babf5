# SPDX-License-Identifier: Apache-2.0
"""The report on a comparison: changes of the time, the states and the constructs at each number of threads.

docs/comparison.md lists the fields of the JSON form.
"""

from __future__ import annotations

import math
import shlex
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from ompass import __version__
from ompass.comparison.content import Compared, ComparisonContent, minimum_text
from ompass.comparison.metrics import MINIMUM_OF_ALL, VERDICTS, Change, Count
from ompass.comparison.pairing import Pair
from ompass.metrics import thresholds
from ompass.model import STATES
from ompass.readers.run import is_run_directory, is_sweep_directory
from ompass.reports.model import Column, Figure, Kind, Report, Section, Table, data, fields, sentence
from ompass.scaling.content import Place
from ompass.units import count, duration, percent, plural, ratio


def headline(one: Compared) -> str:
    """Returns the change of the time as a sentence."""
    return f"{times(one)}; {judgement(one)}{_of_program(one)}"


def times(one: Compared) -> str:
    """Returns the compared times in words."""
    threads = (
        f"on {plural(one.threads_after, 'thread')}"
        if one.threads_before == one.threads_after
        else f"on {one.threads_after} threads instead of {one.threads_before}"
    )
    return f"{threads}: {duration(one.time.before_median)} before, {duration(one.time.after_median)} after"


def judgement(one: Compared) -> str:
    """Returns the change of the time and its certainty. If the work decides, its change comes first."""
    time = one.time
    size = _size(time, "time") if time.before_median else "no time before"
    n_runs = f"{one.n_before} against {plural(one.n_after, 'run')}"
    of_time = {
        "more": f"slower: {size}{_certain(time)} ({n_runs})",
        "less": f"faster: {size}{_certain(time)} ({n_runs})",
        "same": f"{size}, which may be chance: the runs of a side differ as much ({n_runs})",
        "slight": f"about equal: {size}, below the minimum difference of {minimum_text(time)} ({n_runs})",
        "few": f"{size}, which may be chance: {n_runs} are too few to decide",
        "single": f"{size}, more than single runs usually vary"
        if time.is_manifold
        else f"{size}, which may be chance: a side has a single run",
        "noise": f"{size}, which may be chance: single runs differ by up to {minimum_text(time)}",
    }[time.verdict]
    if one.deciding is time:
        return of_time
    work = one.deciding
    return f"{_size(work, 'work')}{_certain(work)}, without preempted time; the time itself: {of_time}"


def _size(change: Change[Place], name: str) -> str:
    relative = (change.ratio or 0.0) - 1
    return f"{percent(abs(relative))} {'more' if relative > 0 else 'less'} {name}"


def _certain(time: Change[Place]) -> str:
    """Returns the interval of the relative change, if it is known."""
    found = time.interval
    if found is None or found.limits is None:
        return ""
    return f", {_signed(found.low)} to {_signed(found.high)} with 98% certainty"


def _of_program(one: Compared) -> str:
    """Returns the times of the whole program if the compared times changed differently; else empty."""
    before, after = one.program_ns
    if not (before and after and one.time.before_median):
        return ""
    ratio = after / before
    if abs(ratio - (one.time.ratio or 0.0)) < thresholds.UNLIKE_PROGRAM:
        return ""
    size = f"{percent(abs(ratio - 1))} {'more' if ratio > 1 else 'less'} time"
    times = f"{duration(before)} before, {duration(after)} after; {size}"
    return f". The whole program, with its serial parts: {times}"


def _signed(quotient: float) -> str:
    return f"{'+' if quotient >= 1 else '-'}{percent(abs(quotient - 1))}"


SCHEMA_VERSION: Final = 2

_MOST_ROWS: Final = 12
_MOST_BRIEF_ROWS: Final = 5
_MANY_TIMES: Final = 10.0


def comparison_report(content: ComparisonContent) -> Report:
    """Returns the whole comparison."""
    return Report(
        title=f"ompass compare · {content.before} to {content.after}",
        facts=(),
        sections=tuple(section for one in content.compared for section in compared_sections(one)),
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
                    "verdict": one.deciding.verdict,
                    "headline": headline(one),
                    "counts": counts_table(one.counts),
                    "changes": _changes("", one.changes),
                    "pairs": pairs_table(one.pairs, _MOST_ROWS),
                    "efficiencies": _efficiencies(one),
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
        # The note on p concerns columns that only the full report has.
        notes=content.notes[:1] if any(one.is_undecided for one in content.compared) else (),
        commands=(
            (f"ompass report {_reported(content.after)}", "what slows the program now"),
            (
                f"ompass compare {shlex.quote(content.before)} {shlex.quote(content.after)} --full",
                "all figures and notes",
            ),
        ),
    )


def _reported(side: str) -> str:
    """Returns the arguments of `ompass report` for a side: its path or, for a folder, all runs in it."""
    path = Path(side)
    is_folder = path.is_dir() and not is_run_directory(path) and not is_sweep_directory(path)
    return f"{shlex.quote(side)}/*.ompass" if is_folder else shlex.quote(side)


def _brief_sections(one: Compared) -> Iterator[Section]:
    threads = one.threads_after
    states = [change for change in one.changes if change.figure in ("time", *STATES)]
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
    if one.efficiencies:
        yield Section(f"efficiencies-{threads}", "Efficiencies of the jobs", (_efficiencies(one),))
    constructs = [change for change in one.changes if change.key is not None and change.is_large]
    if constructs:
        title = "Constructs, the largest change first"
        yield Section(f"constructs-{threads}", title, (_brief_changes("construct", constructs),))
    yield from _moved(one, _MOST_BRIEF_ROWS)


def _is_further(change: Change[Place]) -> bool:
    """True for a large change of another time, such as the span."""
    return change.is_large and change.figure not in ("time", "thread-time", *STATES)


def _brief_changes(title: str, changes: Sequence[Change[Place]]) -> Table:
    """Returns a table of both values, the relative change, and the verdicts if any figure could be tested."""
    columns = [
        Column("", title, Kind.NAME, _name),
        Column("", "before", Kind.TIME, "before_median"),
        Column("", "after", Kind.TIME, "after_median"),
        Column("", "change", Kind.FIGURE, relative),
    ]
    if any(change.verdict != "single" for change in changes):
        columns.append(Column("", "verdict", Kind.TEXT, _verdict))
    most = len(changes) if title == "figure" else _MOST_BRIEF_ROWS
    return Table.of(title, columns, changes, word="figure", more="--full", most=most)


def _verdict(change: Change[Place]) -> str:
    if change.before == change.after:
        return "equal"
    if change.verdict == "noise" and change.is_manifold:
        return f"below {percent(MINIMUM_OF_ALL)} of the thread-time"
    return VERDICTS[change.verdict]


def compared_sections(one: Compared) -> Iterator[Section]:
    """Yields all sections at one number of threads."""
    threads = one.threads_after
    whole = [change for change in one.changes if change.key is None]
    constructs = [change for change in one.changes if change.key is not None]
    yield Section(f"time-{threads}", sentence(headline(one)), (_changes("figure", whole),))
    if one.efficiencies:
        yield Section(f"efficiencies-{threads}", "Efficiencies of the jobs", (_efficiencies(one),))
    if one.counts:
        yield Section(f"counts-{threads}", "Exact counts", (counts_table(one.counts),))
    if constructs:
        title = "Constructs, the largest change first"
        yield Section(f"constructs-{threads}", title, (_changes("construct", constructs),))
    yield from _moved(one, _MOST_ROWS)


def _efficiencies(one: Compared) -> Table:
    return Table.of(
        "Efficiencies",
        (
            Column("name", "efficiency", Kind.NAME, lambda row: row[0]),
            Column("before", "before", Kind.SHARE, lambda row: row[1]),
            Column("after", "after", Kind.SHARE, lambda row: row[2]),
        ),
        one.efficiencies,
        word="efficiency",
    )


def _moved(one: Compared, most: int) -> Iterator[Section]:
    """Yields a section on the constructs whose labels differ between the sides, if there are any."""
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
            Column("", "relative", Kind.FIGURE, relative),
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
        more="--json (smaller changes)",
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
    """Returns the common value of all runs, or the smallest and the largest value."""
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


def _interval(change: Change[Place]) -> tuple[float | None, float | None] | None:
    """Returns the 98% interval of the ratio; None if there is none."""
    found = change.interval
    return found.limits if found and change.p_value is not None else None


def _difference(change: Change[Place]) -> Figure:
    sign = "+" if change.difference > 0 else "-" if change.difference < 0 else ""
    return Figure(f"{sign}{duration(abs(change.difference))}", change.difference)


def relative(change: Change[Place]) -> Figure:
    """Returns a change in percent, as a factor if it is large, or `new` or `gone`."""
    if change.ratio is None:
        return Figure("new", sys.float_info.max) if change.after_median else Figure("-", 0.0)
    by = change.ratio - 1
    if change.after_median == 0:
        return Figure("gone", by)
    if change.ratio >= _MANY_TIMES:
        return Figure(f"{ratio(change.ratio)} times", by)
    return Figure(f"{'+' if by > 0 else '-' if by < 0 else ''}{percent(abs(by))}", by)
