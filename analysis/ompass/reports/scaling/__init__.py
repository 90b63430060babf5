# SPDX-License-Identifier: Apache-2.0
"""Reports of a sweep: terminal page, JSON and CSV. They compute no figure."""

from ompass.reports.scaling.as_json import json_scaling
from ompass.reports.scaling.content import ScalingContent, collect_scaling, default_scope, read_sweep
from ompass.reports.scaling.tables import CSV_TABLES, csv_scaling
from ompass.reports.scaling.terminal import notes_on_scaling, print_scaling

__all__ = [
    "CSV_TABLES",
    "ScalingContent",
    "collect_scaling",
    "csv_scaling",
    "default_scope",
    "json_scaling",
    "notes_on_scaling",
    "print_scaling",
    "read_sweep",
]
