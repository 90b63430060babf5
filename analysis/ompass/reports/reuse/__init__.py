# SPDX-License-Identifier: Apache-2.0
"""Reuse distances of one or more runs: on the terminal, as JSON and CSV. They compute no figure."""

from ompass.reports.reuse.as_csv import CSV_TABLES, csv_reuse
from ompass.reports.reuse.as_json import json_reuse
from ompass.reports.reuse.content import Progress, ReuseContent, ReuseOptions, collect_reuse
from ompass.reports.reuse.terminal import print_reuse

__all__ = [
    "CSV_TABLES",
    "Progress",
    "ReuseContent",
    "ReuseOptions",
    "collect_reuse",
    "csv_reuse",
    "json_reuse",
    "print_reuse",
]
