# SPDX-License-Identifier: Apache-2.0
"""Judges recordings, and prints confusion matrices of diseases and first findings."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from diseases.labels import HEALTHY, NOTHING, SCALES, all_labels
from diseases.runs import Case
from ompass.readers.run import open_run
from ompass.reports.content import collect
from ompass.scaling.content import read_sweep

CURED = "cured"
WITH_PROBLEM = "with a problem"
_NEAR_LINES = 1  # a construct and its call may be a line apart


@dataclass(frozen=True, slots=True)
class Judged:
    """The findings of one run, or the verdict of one sweep."""

    case: Case
    found: str  # kind of the first problem or of the verdict, or NOTHING
    line: int  # the line that the finding or verdict names; 0: none
    problems: tuple[str, ...]  # kinds, in order
    wall_ns: int = 0  # of the program; for a sweep: of its scope, at the judged number of threads

    @property
    def spoilt(self) -> bool:
        """True if other programs disturbed a run without a hog. Such a run is not judged."""
        return "disturbed" in self.problems and not self.case.condition.hogged

    @property
    def right(self) -> bool:
        case = self.case
        if case.sweep:
            return case.label.accepts_verdict(
                self.found, case.compiler, case.condition, case.threads, well=case.is_well
            )
        return case.label.accepts(self.found, case.compiler, case.condition, case.threads, well=case.is_well)

    @property
    def line_right(self) -> bool | None:
        """True if a right finding names a marked line; None if there is nothing to judge."""
        label = self.case.label
        marked = label.marked_lines("DISEASE", "HOT")
        named = {label.disease, *label.findings, *label.verdicts} - {NOTHING, SCALES}
        if not marked or self.case.is_well or self.found not in named:
            return None
        return any(abs(self.line - line) <= _NEAR_LINES for line in marked)


def judge(case: Case, run_dir: Path) -> Judged:
    """Returns the findings of a recording's report, or the verdict of a sweep's report."""
    if case.sweep:
        return _judge_sweep(case, run_dir)
    content = collect(open_run(run_dir))
    problems = [finding for finding in content.findings if finding.severity == "problem"]
    first = problems[0] if problems else None
    return Judged(
        case,
        first.kind if first else NOTHING,
        content.place_of(first).line if first else 0,
        tuple(finding.kind for finding in problems),
        content.run.wall_ns,
    )


def _judge_sweep(case: Case, sweep_dir: Path) -> Judged:
    column = read_sweep(sweep_dir).judged
    assert column is not None and column.verdict is not None, f"{case.key} has no verdict"
    verdict = column.verdict
    found = verdict.finding.kind if verdict.finding else verdict.kind
    place = re.search(r":(\d+)", column.finding_place)
    line = verdict.line.spot.line if verdict.line else int(place[1]) if place else 0
    return Judged(case, found, line, (found,), int(column.point.time_ns))


def row_of(judged: Judged) -> str:
    """Returns the row of a confusion matrix to which a run belongs: its disease, HEALTHY or CURED."""
    return CURED if judged.case.cured else judged.case.label.disease


def column_of(judged: Judged) -> str:
    """Returns the column of a confusion matrix to which a run belongs: its finding, or HEALTHY."""
    return HEALTHY if judged.found in (NOTHING, SCALES) else judged.found


def rows() -> list[str]:
    """Returns all rows of a confusion matrix, in order."""
    return [*dict.fromkeys(label.disease for label in all_labels()), CURED]


def table(judged: Sequence[Judged], title: str) -> str:
    """Returns the matrix of these runs: a line per label, a column per finding."""
    chosen = [j for j in judged if not j.spoilt]
    found = Counter((row_of(j), column_of(j)) for j in chosen)
    present = {row_of(j) for j in chosen}
    labels = [name for name in rows() if name in present]
    kinds = [*labels, *sorted({column for _, column in found} - set(labels))]
    if not kinds:
        return f"{title}: {share_of(judged)}"
    width = max(map(len, kinds))
    lines = [f"{title}: {share_of(judged)}"]
    lines.append(" " * (width + 4) + "".join(f"{number:4}" for number in range(1, len(kinds) + 1)))
    lines += [
        f"{kind:>{width}} {number:2} " + "".join(f"{found[kind, column] or '.':>4}" for column in kinds)
        for number, kind in enumerate(kinds, 1)
        if kind in labels
    ]
    unlabelled = [f"{number} {kind}" for number, kind in enumerate(kinds, 1) if kind not in labels]
    return "\n".join([*lines, *([f"columns without a label: {', '.join(unlabelled)}"] if unlabelled else [])])


def share_of(judged: Sequence[Judged]) -> str:
    """Returns text with the number of right judgements: of programs with a problem, cured and healthy."""
    parts, n_spoilt = [], sum(j.spoilt for j in judged)
    judged = [j for j in judged if not j.spoilt]
    for name in (WITH_PROBLEM, CURED, HEALTHY):
        group = [j for j in judged if state_of(j.case) == name]
        if group:
            n_right = sum(j.right for j in group)
            parts.append(f"{name} {n_right} of {len(group)} right ({100 * n_right / len(group):.1f} %)")
    if n_spoilt:
        parts.append(f"{n_spoilt} disturbed by others, omitted")
    return ", ".join(parts)


def state_of(case: Case) -> str:
    """Returns WITH_PROBLEM, CURED or HEALTHY."""
    return CURED if case.cured else HEALTHY if case.label.is_healthy else WITH_PROBLEM


def misses(judged: Iterable[Judged]) -> list[str]:
    """Returns a line for each program, compiler, number of threads and condition with a wrong finding."""
    wrong = Counter(
        (j.case.label.program, row_of(j), j.case.compiler, j.case.threads, way_of(j.case), j.found)
        for j in judged
        if not j.right and not j.spoilt
    )
    return [
        f"{program} ({label}), {compiler}, {threads} threads, {condition}: {found}"
        + (f" x {n}" if n > 1 else "")
        for (program, label, compiler, threads, condition, found), n in sorted(wrong.items())
    ]


def way_of(case: Case) -> str:
    """Returns the name of the condition of a run, or "sweep"."""
    return "sweep" if case.sweep else case.condition.name


def as_values(judged: Sequence[Judged]) -> dict[str, Any]:
    """Returns all results as values for JSON."""
    return {
        "schema": "ompass-diseases",
        "schema_version": 2,
        "cpus": len(os.sched_getaffinity(0)),
        "runs": [
            {
                "program": j.case.label.program,
                "label": j.case.label.disease,
                "compiler": j.case.compiler,
                "threads": j.case.threads,
                "condition": way_of(j.case),
                "cured": j.case.cured,
                "round": j.case.round_number,
                "found": j.found,
                "right": j.right,
                "spoilt": j.spoilt,
                "line_right": j.line_right,
                "problems": list(j.problems),
                "wall_ns": j.wall_ns,
            }
            for j in judged
        ],
    }
