# SPDX-License-Identifier: Apache-2.0
"""The part of `ompass scale` for MPI jobs, and for runs that were recorded one by one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from ompass.commands.streams import console_for, to_json, write_result
from ompass.errors import RunNotFoundError, UsageError
from ompass.jobs.report import job_scaling_report
from ompass.jobs.scaling import job_scaling
from ompass.packed import is_packed, unpacked
from ompass.readers.run import is_run_directory
from ompass.reports.content import ReportContent
from ompass.reports.model import csv_rows, plain
from ompass.reports.terminal import print_report


def run_directories(paths: Iterable[Path]) -> list[Path]:
    """Returns the run directories among these paths and in folders among them. Raises RunNotFoundError."""
    found: list[Path] = []
    for path in paths:
        if is_run_directory(path) or not path.is_dir():
            found.append(path)
            continue
        entries = [unpacked(each) if is_packed(each) else each for each in sorted(path.iterdir())]
        runs = [each for each in entries if is_run_directory(each)]
        if not runs:
            raise RunNotFoundError(
                f"{path}", "it contains no runs", "name run directories, or a folder of them"
            )
        found += runs
    return found


def show_jobs(
    jobs: Sequence[Sequence[ReportContent]], directory: str, *, as_json: bool, as_csv: bool, others: str
) -> None:
    """Prints the scaling of jobs. `others` names another form that was requested; jobs do not have it."""
    if others:
        raise UsageError(others, "the report on an MPI job has no such form", "use --json, --csv or none")
    report = job_scaling_report(job_scaling(jobs), directory)
    if as_json:
        write_result(to_json(plain(report)), None)
    elif as_csv:
        write_result(csv_rows(plain(report)["points"]), None)
    else:
        print_report(console_for(), report)
