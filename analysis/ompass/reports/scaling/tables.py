# SPDX-License-Identifier: Apache-2.0
"""The report on a sweep as CSV: one row per number of threads, or per construct and number of threads."""

from __future__ import annotations

from typing import Any, Final

from ompass.reports.as_csv import csv_rows
from ompass.reports.scaling.as_json import json_point
from ompass.reports.scaling.content import ScalingContent

CSV_TABLES: Final = ("points", "constructs")


def csv_scaling(content: ScalingContent, table: str) -> str:
    """One of CSV_TABLES; ValueError for another."""
    if table not in CSV_TABLES:
        raise ValueError(f"no table is named {table}")
    rows: list[dict[str, Any]] = []
    for column in content.columns:
        point = json_point(column)
        constructs = point.pop("constructs")
        if table == "points":
            rows.append(_flat(point))
        else:
            rows += [{"threads": point["threads"], **row} for row in constructs]
    return csv_rows(rows)


def _flat(values: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested objects as columns of their own: spread.speedup.low."""
    flat: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, dict):
            flat |= _flat(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value
    return flat
