# SPDX-License-Identifier: Apache-2.0
"""Rows of a report as CSV: the rows of its JSON form, without nested lists."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ompass.plain_text import csv_cell


def csv_rows(rows: Sequence[Mapping[str, Any]], first: Iterable[str] = ()) -> str:
    """Returns rows under a heading of all their keys, `first` ones first; missing values are empty."""
    flat_rows = [dict(_flat(row)) for row in rows]
    columns = dict.fromkeys(first)
    for row in flat_rows:
        columns.update(dict.fromkeys(row))
    out = io.StringIO()
    writer = csv.DictWriter(out, fieldnames=list(columns), lineterminator="\n")
    writer.writerow({name: csv_cell(name) for name in columns})
    writer.writerows({name: csv_cell(value) for name, value in row.items()} for row in flat_rows)
    return out.getvalue()


def _flat(row: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, Any]]:
    """Yields keys and values; nested objects become columns such as counters.PAPI_L3_TCM."""
    for key, value in row.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        elif not isinstance(value, list):
            yield f"{prefix}{key}", value
