# SPDX-License-Identifier: Apache-2.0
"""The report on a check: the verdict, the times of both sides, the exact counts.

docs/check.md lists the fields of the JSON form.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, Final

from ompass import __version__
from ompass.check.content import CheckContent, Figure, signed
from ompass.comparison.report import counts_table
from ompass.reports.model import Advice, Column, Kind, Report, Section, Table, data
from ompass.units import plural

SCHEMA_VERSION: Final = 1

TITLES: Final = {
    "worse": "Worse",
    "better": "Better",
    "not worse": "Not worse",
    "disturbed": "Cannot be determined: the machine was disturbed",
    "noisy": "Cannot be determined: too much noise",
    "single": "Cannot be determined: a single run",
}


def check_report(content: CheckContent) -> Report:
    """Returns the whole report."""
    evidence, verdict = content.evidence, content.verdict
    return Report(
        title=f"ompass check · {content.name}",
        facts=(f"before: {content.before}", f"after: {content.after}"),
        sections=tuple(_sections(content)),
        notes=content.notes,
        values={
            "schema": "ompass-check",
            "schema_version": SCHEMA_VERSION,
            "ompass_version": __version__,
            "name": content.name,
            "before": content.before,
            "after": content.after,
            "status": verdict.status,
            "verdict": verdict.kind,
            "because": verdict.because,
            "cure": verdict.cure,
            "runs_before": evidence.n_before,
            "runs_after": evidence.n_after,
            "alternating": evidence.in_rounds,
            "disturbed_runs": evidence.n_disturbed,
            "times": times_table(evidence.figures),
            "traced_times": times_table(evidence.traced),
            "parallelism": _parallelism(content),
            "counts": counts_table(evidence.counts),
            "notes": content.notes,
        },
    )


def _sections(content: CheckContent) -> Iterator[Section]:
    evidence, verdict = content.evidence, content.verdict
    advice = Advice(TITLES[verdict.kind], verdict.because, verdict.cure, good=verdict.status == 0)
    yield Section("verdict", "Verdict", (advice,))
    if evidence.figures:
        runs = (
            f"{plural(evidence.n_before, 'round')}, both sides alternately"
            if evidence.in_rounds
            else f"{evidence.n_before} against {plural(evidence.n_after, 'run')}"
        )
        yield Section("times", f"Times, {runs}", (times_table(evidence.figures),))
    if evidence.traced:
        found = evidence.parallelism
        lines = (f"Parallelism: {found[0]:.2f} before, {found[1]:.2f} after.",) if found else ()
        yield Section("traces", "From traces", (times_table(evidence.traced), *lines))
    if evidence.counts:
        yield Section("counts", "Exact counts", (counts_table(evidence.counts),))


def times_table(figures: Sequence[Figure]) -> Table:
    """Returns the medians of both sides, and the ratio with its interval."""
    return Table.of(
        "",
        (
            Column("figure", "time", Kind.NAME, "name"),
            Column("before_ns", "before", Kind.TIME, "before_median"),
            Column("after_ns", "after", Kind.TIME, "after_median"),
            Column("", "change", Kind.FIGURE, lambda f: None if f.ratio is None else signed(f.ratio)),
            Column("", "between", Kind.FIGURE, _between),
            Column("", "verdict", Kind.TEXT, lambda f: f.judgement.verdict if f.judgement else None),
            data("ratio"),
            data("ratio_interval", _interval),
            data("minimum_difference", lambda f: _finite(f.judgement.minimum) if f.judgement else None),
            data("verdict", lambda f: f.judgement.verdict if f.judgement else None),
            data("values_before_ns", "before"),
            data("values_after_ns", "after"),
        ),
        figures,
        word="time",
    )


def _finite(value: float) -> float | None:
    return None if math.isinf(value) else value


def _interval(figure: Figure) -> tuple[float | None, float | None] | None:
    return figure.judgement.ratio.limits if figure.judgement else None


def _between(figure: Figure) -> str | None:
    low, high = _interval(figure) or (None, None)
    if low is None:
        return f"? and {signed(high)}" if high is not None else None
    return f"{signed(low)} and {'?' if high is None else signed(high)}"


def _parallelism(content: CheckContent) -> dict[str, Any] | None:
    found = content.evidence.parallelism
    return {"before": found[0], "after": found[1]} if found else None
