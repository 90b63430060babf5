# SPDX-License-Identifier: Apache-2.0
"""Reports: computed once as sections of sentences and tables, then written for people and for programs.

`collect` gathers the content of a run, `run_report` makes its report. `print_report`, `svg_report`, `plain`
(JSON) and `csv_report` write any report. They compute no figures.
"""

from collections.abc import Sequence

from ompass.reports.as_csv import csv_rows
from ompass.reports.content import ReportContent, collect, select_regions
from ompass.reports.model import Report, plain
from ompass.reports.picture import svg_report
from ompass.reports.run import CSV_TABLES, SCHEMA_VERSION, run_report
from ompass.reports.terminal import print_report

__all__ = [
    "CSV_TABLES",
    "SCHEMA_VERSION",
    "Report",
    "ReportContent",
    "collect",
    "csv_report",
    "plain",
    "print_report",
    "run_report",
    "select_regions",
    "svg_report",
]


def csv_report(reports: Sequence[Report], field: str = "") -> str:
    """Returns the rows of a field of reports, or the reports themselves; the directory comes first."""
    rows = []
    for report in reports:
        values = report.values
        records = plain(values[field]) if field else [plain(values)]
        rows += [{"directory": values["directory"], **row} for row in records]
    return csv_rows(rows, ("directory",))
