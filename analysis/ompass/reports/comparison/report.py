# SPDX-License-Identifier: Apache-2.0
"""The report on a comparison: changes of the time, the states, and the constructs.

docs/comparison.md lists the fields of its JSON form.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from ompass import __version__
from ompass.metrics.comparison import VERDICTS, Change
from ompass.reports.comparison.content import Compared, ComparisonContent, headline
from ompass.reports.model import Column, Kind, Report, Section, Table, data, fields, sentence
from ompass.reports.scaling.content import Place
from ompass.units import duration, percent

SCHEMA_VERSION: Final = 1

_MOST_ROWS: Final = 12


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
                    "headline": headline(one),
                    "changes": _changes("", one.changes),
                }
                for one in content.compared
            ],
            "notes": content.notes,
        },
    )


def _sections(one: Compared) -> Iterator[Section]:
    threads = one.threads_after
    whole = [change for change in one.changes if change.key is None]
    constructs = [change for change in one.changes if change.key is not None]
    yield Section(f"time-{threads}", sentence(headline(one)), (_changes("figure", whole),))
    if constructs:
        title = "Constructs, the largest change first"
        yield Section(f"constructs-{threads}", title, (_changes("construct", constructs),))


def _changes(title: str, changes: Sequence[Change[Place]]) -> Table:
    return Table.of(
        title,
        (
            Column("", title, Kind.NAME, _name),
            data("figure"),
            data("construct", lambda change: _construct_fields(change.key)),
            Column("before_ns", "before", Kind.TIME, "before_mean"),
            Column("after_ns", "after", Kind.TIME, "after_mean"),
            Column("", "change", Kind.FIGURE, _difference),
            Column("", "of it", Kind.FIGURE, _relative),
            Column("", "p", Kind.FIGURE, lambda c: None if c.p_value is None else f"{c.p_value:.2g}"),
            Column("", "verdict", Kind.TEXT, lambda change: VERDICTS[change.verdict]),
            *fields(
                "difference_ns=difference ratio values_before_ns=before values_after_ns=after noise_ns=noise"
            ),
            *fields("p_value verdict"),
        ),
        changes,
        word="figure",
        more="--json (with less change)",
        most=_MOST_ROWS,
    )


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


def _difference(change: Change[Place]) -> str:
    sign = "+" if change.difference > 0 else "-" if change.difference < 0 else ""
    return f"{sign}{duration(abs(change.difference))}"


def _relative(change: Change[Place]) -> str:
    if change.ratio is None:
        return "new" if change.after_mean else "-"
    if change.after_mean == 0:
        return "gone"
    return f"{'+' if change.ratio > 1 else '-' if change.ratio < 1 else ''}{percent(abs(change.ratio - 1))}"
