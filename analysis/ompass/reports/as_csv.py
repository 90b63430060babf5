# SPDX-License-Identifier: Apache-2.0
"""The tables of the report as CSV: the rows of the JSON report without what is nested in them."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ompass.reports.as_json import json_report
from ompass.reports.content import ReportContent

# CSV name -> field of the JSON report that holds its rows
_FIELDS: Final = {
    "constructs": "constructs",
    "regions": "regions",
    "threads": "thread_breakdown",
    "kernels": "kernels",
    "histogram": "granularity",
    "findings": "findings",
    "summary": "",
}
CSV_TABLES: Final = tuple(_FIELDS)


def csv_table(contents: Sequence[ReportContent], table: str) -> str:
    """One table of one or more runs as CSV, a `directory` column first; ValueError for another table."""
    if table not in _FIELDS:
        raise ValueError(f"no table is named {table}")
    rows: list[dict[str, Any]] = []
    for content in contents:
        report = json_report(content)
        source = report[_FIELDS[table]] if _FIELDS[table] else [report]
        rows += [{"directory": report["directory"], **_flat(row)} for row in source]
    return csv_rows(rows, "directory")


def csv_rows(rows: Sequence[Mapping[str, Any]], *first: str) -> str:
    """Rows under a heading of all their keys, the `first` ones first; what a row lacks is empty."""
    columns = dict.fromkeys(first)
    for row in rows:
        columns.update(dict.fromkeys(row))
    out = io.StringIO()
    writer = csv.DictWriter(out, fieldnames=list(columns), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    """Scalars as they are, counters and numbers as columns of their own, other nested values left out."""
    flat: dict[str, Any] = {}
    for key, value in row.items():
        if isinstance(value, dict):
            flat.update({f"{key}.{name}": number for name, number in value.items()})
        elif not isinstance(value, list):
            flat[key] = value
    return flat
