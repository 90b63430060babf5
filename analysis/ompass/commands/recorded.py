# SPDX-License-Identifier: Apache-2.0
"""The report of `ompass run`, on the screen and as JSON.

Slow to load, so `run` loads this file only after the program has ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ompass.commands.second_run import with_advice
from ompass.commands.streams import console_for, to_json, waiting, write_result
from ompass.jobs.content import job_of_reports
from ompass.launch.second_run import FirstRun, Limits
from ompass.readers.run import open_run
from ompass.reports.content import ReportContent, collect, collect_runs
from ompass.reports.job import printed_job_report, reports_values
from ompass.reports.model import plain
from ompass.reports.run import brief_report, run_report
from ompass.reports.terminal import print_report
from ompass.units import plural


def show_report(
    main: Path,
    ranks: Sequence[Path],
    first: FirstRun,
    limits: Limits,
    json_file: Path | None,
    *,
    on_screen: bool,
    is_full: bool,
) -> None:
    """Reports on the ranks of a job; without ranks, on the main run."""
    if ranks:
        with waiting(f"reading {plural(len(ranks), 'rank')}"):
            contents = collect_runs(ranks)
        _show_job(contents, json_file, on_screen=on_screen, is_full=is_full)
        return
    with waiting(f"reading {main}"):
        content = collect(open_run(main))
    if on_screen:
        content = with_advice(content, first, limits)
    if json_file is not None:
        write_result(to_json(plain(run_report(content))), json_file)
    if on_screen:
        console = console_for(stderr=True)
        console.print()
        print_report(console, run_report(content) if is_full else brief_report(content))


def _show_job(
    contents: Sequence[ReportContent], json_file: Path | None, *, on_screen: bool, is_full: bool
) -> None:
    if json_file is not None:
        write_result(to_json(reports_values(contents)), json_file)
    job = job_of_reports(contents)
    if on_screen and job is not None:
        console = console_for(stderr=True)
        console.print()
        print_report(console, printed_job_report(job, contents, full=is_full))
