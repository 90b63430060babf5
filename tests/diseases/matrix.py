# SPDX-License-Identifier: Apache-2.0
"""Judges recordings, and prints confusion matrices of diseases and first findings."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from diseases.labels import HEALTHY, NOTHING, all_labels
from diseases.runs import VERDICT, Case
from ompass.readers.run import open_run
from ompass.reports.content import collect

_NEAR_LINES = 1  # a construct and its call may be a line apart


@dataclass(frozen=True, slots=True)
class Judged:
    """The findings of one run."""

    case: Case
    found: str  # kind of the first problem, or NOTHING
    line: int  # the line that this finding names; 0: none
    problems: tuple[str, ...]  # kinds, in order

    @property
    def spoilt(self) -> bool:
        """True if other programs disturbed a quiet run, which then shows nothing."""
        return "disturbed" in self.problems and not self.case.condition.hogged

    @property
    def right(self) -> bool:
        case = self.case
        return case.label.accepts(self.found, case.compiler, case.condition, case.threads)

    @property
    def line_right(self) -> bool | None:
        """True if the right finding names the marked line; None: nothing to judge."""
        marked = self.case.label.marked_line
        if not marked or self.found != self.case.label.disease:
            return None
        return abs(self.line - marked) <= _NEAR_LINES


def judge(case: Case, run_dir: Path) -> Judged:
    """Returns the findings of a recording's report."""
    if case.label.needs_sweep:
        verdict = json.loads((run_dir / VERDICT).read_text(encoding="utf-8"))["verdict"]["kind"]
        found = {"memory_bound": case.label.disease, "scales": NOTHING, "mixed": NOTHING}.get(
            verdict, verdict
        )
        return Judged(case, found, case.label.marked_line, (found,))
    content = collect(open_run(run_dir))
    problems = [finding for finding in content.findings if finding.severity == "problem"]
    first = problems[0] if problems else None
    return Judged(
        case,
        first.kind if first else NOTHING,
        content.location(first.construct).line if first else 0,
        tuple(finding.kind for finding in problems),
    )


def table(judged: Sequence[Judged], threads: int, condition: str) -> str:
    """Returns the matrix for a number of threads and a condition: a line per label, a column per finding."""
    asked = [j for j in judged if j.case.threads == threads and j.case.condition.name == condition]
    chosen = [j for j in asked if not j.spoilt]
    found = Counter((j.case.label.disease, HEALTHY if j.found == NOTHING else j.found) for j in chosen)
    present = {j.case.label.disease for j in chosen}
    labels = [name for name in dict.fromkeys(label.disease for label in all_labels()) if name in present]
    kinds = [*labels, *sorted({column for _, column in found} - set(labels))]
    width = max(map(len, kinds))
    lines = [f"{threads} threads, {condition}: {share_of(asked)}"]
    lines.append(" " * (width + 4) + "".join(f"{number:4}" for number in range(1, len(kinds) + 1)))
    lines += [
        f"{kind:>{width}} {number:2} " + "".join(f"{found[kind, column] or '.':>4}" for column in kinds)
        for number, kind in enumerate(kinds, 1)
        if kind in labels
    ]
    unlabelled = [f"{number} {kind}" for number, kind in enumerate(kinds, 1) if kind not in labels]
    return "\n".join([*lines, *([f"columns of no label: {', '.join(unlabelled)}"] if unlabelled else [])])


def share_of(judged: Sequence[Judged]) -> str:
    """Returns text with the number of sick and of healthy runs that were judged right."""
    parts, n_spoilt = [], sum(j.spoilt for j in judged)
    judged = [j for j in judged if not j.spoilt]
    for name, healthy in (("sick", False), ("healthy", True)):
        group = [j for j in judged if (j.case.label.disease == HEALTHY) is healthy]
        if group:
            n_right = sum(j.right for j in group)
            parts.append(f"{n_right} of {len(group)} {name} right ({100 * n_right / len(group):.1f} %)")
    if n_spoilt:
        parts.append(f"{n_spoilt} disturbed by others, omitted")
    return ", ".join(parts)


def misses(judged: Iterable[Judged]) -> list[str]:
    """Returns a line per program, compiler, number of threads and condition that was judged wrong."""
    wrong = Counter(
        (j.case.label.program, j.case.label.disease, j.case.compiler, j.case.threads, j.case.condition.name,
         j.found) for j in judged if not j.right and not j.spoilt
    )  # fmt: skip
    return [
        f"{program} ({label}), {compiler}, {threads} threads, {condition}: {found}"
        + (f" x {n}" if n > 1 else "")
        for (program, label, compiler, threads, condition, found), n in sorted(wrong.items())
    ]


def as_values(judged: Sequence[Judged]) -> dict[str, Any]:
    """Returns all results as values for JSON."""
    return {
        "schema": "ompass-diseases",
        "schema_version": 1,
        "cpus": len(os.sched_getaffinity(0)),
        "runs": [
            {
                "program": j.case.label.program,
                "label": j.case.label.disease,
                "compiler": j.case.compiler,
                "threads": j.case.threads,
                "condition": j.case.condition.name,
                "round": j.case.round_number,
                "found": j.found,
                "right": j.right,
                "spoilt": j.spoilt,
                "line_right": j.line_right,
                "problems": list(j.problems),
            }
            for j in judged
        ],
    }
