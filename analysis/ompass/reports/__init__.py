# SPDX-License-Identifier: Apache-2.0
"""Reports: a run's figures as a terminal page, JSON, CSV or SVG. They compute no figure."""

from ompass.reports.as_csv import CSV_TABLES, csv_table
from ompass.reports.as_json import SCHEMA_VERSION, json_report
from ompass.reports.content import ReportContent, collect, select_regions
from ompass.reports.picture import svg_report
from ompass.reports.terminal import print_report

__all__ = [
    "CSV_TABLES",
    "SCHEMA_VERSION",
    "ReportContent",
    "collect",
    "csv_table",
    "json_report",
    "print_report",
    "select_regions",
    "svg_report",
]
