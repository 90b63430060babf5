# SPDX-License-Identifier: Apache-2.0
"""Writes the confusion matrix as Markdown into docs/findings.md, between two comments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from diseases.labels import HEALTHY
from diseases.matrix import CURED, Judged, column_of, row_of, rows, share_of, way_of

BEGIN = "<!-- ./run diseases --write-docs: begin -->"
END = "<!-- ./run diseases --write-docs: end -->"


def write(document: Path, judged: Sequence[Judged]) -> None:
    """Replaces the text between the comments. Raises ValueError if the document lacks them."""
    before, _, rest = document.read_text(encoding="utf-8").partition(BEGIN)
    _, found, after = rest.partition(END)
    if not found:
        raise ValueError(f"{document} lacks {BEGIN} or {END}")
    document.write_text(f"{before}{BEGIN}\n\n{markdown(judged)}\n{END}{after}", encoding="utf-8")


def markdown(judged: Sequence[Judged]) -> str:
    """Returns two tables: the totals, and a row per label with the right and the wrong results.

    Both distinguish the runs by their number of threads and their condition.
    """
    columns = sorted({_column(j) for j in judged}, key=_order)
    totals = ["| threads | condition | right |", "|---|---|---|"]
    totals += [
        f"| {threads} | {way} | {share_of([j for j in judged if _column(j) == (threads, way)])} |"
        for threads, way in columns
    ]
    header = ["label", *(f"{threads}, {way}" for threads, way in columns)]
    matrix = [_line(header), "|---" * len(header) + "|"]
    for row in rows():
        cells = [
            _cell([j for j in judged if row_of(j) == row and _column(j) == column]) for column in columns
        ]
        if any(cells):
            matrix.append(_line([f"*{row}*" if row in (HEALTHY, CURED) else f"`{row}`", *cells]))
    return "\n".join([*totals, "", *matrix, ""])


def _column(judged: Judged) -> tuple[int, str]:
    return judged.case.threads, way_of(judged.case)


def _order(column: tuple[int, str]) -> tuple[int, int]:
    return ["quiet", "sweep", "hog", "pinned"].index(column[1]), column[0]


def _cell(judged: Sequence[Judged]) -> str:
    """Returns text such as "5 of 6: starved 1".

    It means that 5 of 6 undisturbed runs are right, and that the findings call the other one starved.
    """
    chosen = [j for j in judged if not j.spoilt]
    if not chosen:
        return ""
    wrong = Counter(column_of(j) for j in chosen if not j.right)
    others = ", ".join(f"{'nothing' if kind == HEALTHY else kind} {n}" for kind, n in wrong.most_common())
    return f"{len(chosen) - sum(wrong.values())} of {len(chosen)}" + (f": {others}" if others else "")


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
