# SPDX-License-Identifier: Apache-2.0
"""`ompass report --html`: gathers the content of the page of runs and sweeps.

Separate from the command, because it imports most of the package, which is slow.
"""

from __future__ import annotations

from typing import Final

from ompass.commands.options import parse_window
from ompass.commands.streams import say
from ompass.errors import DamagedRunError, NothingToShowError
from ompass.figures.render import BrowserScript
from ompass.graph.content import GraphContent, collect_graph
from ompass.jobs.content import job_of_reports
from ompass.page.assemble import RunPart, html_report
from ompass.page.timeline import Timeline
from ompass.readers.schedule import Pyramid, Schedule, open_pyramid, schedule_of
from ompass.reports.content import ReportContent
from ompass.reports.job import ranks_to_show
from ompass.reuse.reader import check_has_accesses
from ompass.reuse.report import ReuseContent, collect_reuse
from ompass.scaling.content import ScalingContent

_MOST_TASKS_DRAWN: Final = 2_000_000
"""The page omits the task graph of traces with more tasks; `ompass graph` and `ompass view` have no limit."""


def page_of(
    contents: list[ReportContent],
    sweeps: list[ScalingContent],
    window: str,
    each: bool,
    sources: bool,
    script: BrowserScript | None,
) -> str:
    """Returns the page. For a job, it shows an overview of all ranks, and two ranks in full (`each`: all)."""
    start_ns, end_ns = parse_window(window)
    job = job_of_reports(contents)
    shown = ranks_to_show(job, contents) if job and not each else contents
    pyramids = [_pyramid(content) for content in shown]
    parts = [
        RunPart(content, _schedule(pyramid, start_ns, end_ns), _reuse(content), _graph(content, pyramid))
        for content, pyramid in zip(shown, pyramids, strict=True)
    ]
    traces = [(content, pyramid) for content, pyramid in zip(shown, pyramids, strict=True) if pyramid]
    timeline = Timeline(traces, window=(start_ns, end_ns)) if traces else None
    return html_report(parts, sweeps, contents, timeline, sources=sources, script=script)


def _pyramid(content: ReportContent) -> Pyramid | None:
    """Returns the pyramid of a trace; None if its events are damaged or missing."""
    if content.run.mode != "trace":
        return None
    try:
        return open_pyramid(content.run.path, keep=False)
    except DamagedRunError as error:
        say(f"no timeline on the page: {error.one_line()}")
        return None


def _schedule(pyramid: Pyramid | None, start_ns: int, end_ns: int) -> Schedule | None:
    return schedule_of(pyramid, start_ns=start_ns, end_ns=end_ns) if pyramid else None


def _graph(content: ReportContent, pyramid: Pyramid | None) -> GraphContent | None:
    """Returns the task graph of a trace; None if it is incomplete or damaged, or has no tasks or too many."""
    if pyramid is None or content.run.trace_begin_ns or not 0 < content.n_tasks <= _MOST_TASKS_DRAWN:
        return None
    try:
        return collect_graph(content.run)
    except DamagedRunError as error:
        say(f"no task graph on the page: {error.one_line()}")
        return None


def _reuse(content: ReportContent) -> ReuseContent | None:
    """Returns the reuse distances of a trace; None if it is damaged, or no kernel declares its data."""
    try:
        check_has_accesses(content.run)
        return collect_reuse(content.run)
    except NothingToShowError:
        return None
    except DamagedRunError as error:
        say(f"no reuse distances on the page: {error.one_line()}")
        return None
