# SPDX-License-Identifier: Apache-2.0
"""`ompass view`: shows report and timeline of runs in a browser, at every zoom."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from ompass.commands.options import JobsOption, RunsArgument
from ompass.commands.streams import say, waiting
from ompass.readers.meta import traced_run
from ompass.readers.run import open_run
from ompass.reports.content import ReportContent, collect
from ompass.serving.runs import ServedRuns
from ompass.serving.server import PageServer
from ompass.units import plural
from ompass.workers import Workers

_EPILOG = """
[bold]Examples[/bold]

  ompass view t.ompass

  ompass view solver-r*.ompass                 the ranks of an MPI job

  ompass view t.ompass --no-browser            only print the address, for a browser elsewhere (ssh -L)
"""


def register(app: typer.Typer) -> None:
    app.command("view", epilog=_EPILOG)(view)


def view(
    directories: RunsArgument,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page in the default browser.")
    ] = True,
    jobs: JobsOption = 0,
) -> None:
    """Show runs in a browser: their reports and, for traces, the timeline at every zoom.

    Serves the page from this machine (127.0.0.1), only at the printed address. The first view of a trace
    stores a summary in the run directory (pyramid.cache). Ends with Ctrl-C, or when the page is closed.
    """
    with waiting(f"reading {plural(len(directories), 'directory', 'directories')}"):
        runs = ServedRuns(Workers("", jobs).map(_content, directories))
        _ = runs.timeline
    server = PageServer(runs.page, runs.answers, runs.files)
    say(f"{server.url}  (Ctrl-C ends it)")
    if browser:
        webbrowser.open(server.url)
    try:
        server.serve()
    except KeyboardInterrupt:
        return
    say("the page was closed")


def _content(path: Path) -> ReportContent:
    return collect(open_run(traced_run(path)))
