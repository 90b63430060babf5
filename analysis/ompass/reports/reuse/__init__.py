# SPDX-License-Identifier: Apache-2.0
"""The report on reuse distances of one or more runs. It computes no figures."""

from ompass.reports.reuse.content import Progress, ReuseContent, ReuseOptions, collect_reuse
from ompass.reports.reuse.report import CSV_TABLES, csv_reuse, json_reuse, reuse_report

__all__ = [
    "CSV_TABLES",
    "Progress",
    "ReuseContent",
    "ReuseOptions",
    "collect_reuse",
    "csv_reuse",
    "json_reuse",
    "reuse_report",
]
