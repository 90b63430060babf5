# SPDX-License-Identifier: Apache-2.0
"""Compares the figures of two performance records, as `ompass compare` compares runs.

Each figure has samples on both sides, without pairs: the test is Wilcoxon's rank-sum test, corrected for the
number of figures. A difference must also exceed the drift within each record.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ompass.comparison.metrics import VERDICTS, Change
from ompass.errors import UsageError
from ompass.metrics.significance import adjusted_for_many
from performance.record import FORMAT, Record


def read_record(path: Path) -> Record:
    """Returns the record in a file. Raises UsageError if the file is not a record."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(str(path), str(error), "give two files that ./run performance wrote") from error
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise UsageError(str(path), "not a record of performance", f"its format must be {FORMAT}")
    return record


def changes_of(before: Record, after: Record, least: float | None = None) -> list[Change[str]]:
    """Returns the tested change of each common figure; `least`: the relative difference that counts."""
    tested = [
        Change("time", name, tuple(samples), tuple(after["figures"][name]), 0, least=least).tested()
        for name, samples in before["figures"].items()
        if name in after["figures"]
    ]
    adjusted = adjusted_for_many([change.p_value or 0.0 for change in tested])
    return [replace(change, adjusted_p=p) for change, p in zip(tested, adjusted, strict=True)]


def table(changes: Sequence[Change[str]]) -> str:
    """Returns the changes as a table in Markdown."""
    lines = ["| figure | before | after | after / before | verdict |", "|---|--:|--:|--:|---|"]
    for change in changes:
        interval, ratio = change.interval, change.ratio
        shown = "" if ratio is None else f"{ratio:.3f}"
        if interval:
            shown += f" ({interval.low:.3f} to {interval.high:.3f})"
        lines.append(
            f"| {change.key} | {change.before_median:.4g} | {change.after_median:.4g} | {shown} "
            f"| {VERDICTS[change.verdict]} |"
        )
    return "\n".join(lines)


def notes(before: Record, after: Record) -> list[str]:
    """Returns sentences on differences that make the comparison doubtful: other machines, missing figures."""
    found = []
    if before["machine"] != after["machine"]:
        found.append(f"The machines differ: {before['machine']}; {after['machine']}.")
    only = sorted(before["figures"].keys() ^ after["figures"].keys())
    if only:
        found.append(f"Only one record has: {', '.join(only)}.")
    return found
