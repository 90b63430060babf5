# SPDX-License-Identifier: Apache-2.0
"""Reuse distances as CSV: the rows of the JSON form, a line each."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any, Final

from ompass.reports.reuse.as_json import json_reuse
from ompass.reports.reuse.content import ReuseContent

CSV_TABLES: Final = ("bins", "classes", "kernels")
_CLASSES: Final = ("close", "near", "far", "coherence", "cold")


def csv_reuse(contents: Sequence[ReuseContent], table: str) -> str:
    """One table of one or more runs; ValueError for another table.

    bins: bytes by distance, and cold and coherence ones, per group and in total; classes: one line per group
    and for the total; kernels: one line per kernel, all groups together.
    """
    if table not in CSV_TABLES:
        raise ValueError(f"no table is named {table}")
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    if table == "bins":
        writer.writerow(("directory", "group", "class", "up_to_bytes", "bytes"))
    else:
        scope = ("kernel", "accesses") if table == "kernels" else ("group",)
        writer.writerow(("directory", *scope, "accessed_bytes", *(f"{name}_bytes" for name in _CLASSES)))
    for content in contents:
        value = json_reuse([content])
        scopes = [("total", value["total"]), *((group["name"], group) for group in value["groups"])]
        if table == "kernels":
            for kernel in value["kernels"]:
                writer.writerow(
                    (value["directory"], kernel["name"], kernel["accesses"], *_class_bytes(kernel))
                )
        elif table == "classes":
            for name, histogram in scopes:
                writer.writerow((value["directory"], name, *_class_bytes(histogram)))
        else:
            for name, histogram in scopes:
                for row in histogram["bins"]:
                    writer.writerow((value["directory"], name, "reuse", row["up_to_bytes"], row["bytes"]))
                for kind in ("coherence", "cold"):
                    writer.writerow((value["directory"], name, kind, "", histogram[f"{kind}_bytes"]))
    return out.getvalue()


def _class_bytes(histogram: dict[str, Any]) -> list[int]:
    return [histogram["accessed_bytes"], *(histogram[f"{name}_bytes"] for name in _CLASSES)]
