# SPDX-License-Identifier: Apache-2.0
"""The report on a sweep. It computes no figures."""

from ompass.reports.scaling.content import ScalingContent, collect_scaling, default_scope, read_sweep
from ompass.reports.scaling.report import CSV_TABLES, csv_scaling, scaling_report

__all__ = [
    "CSV_TABLES",
    "ScalingContent",
    "collect_scaling",
    "csv_scaling",
    "default_scope",
    "read_sweep",
    "scaling_report",
]
