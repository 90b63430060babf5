# SPDX-License-Identifier: Apache-2.0
"""`ompass plot`: draws a figure of runs as SVG, PDF or PNG, or writes its Vega-Lite specification."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from ompass.commands.options import (
    Colour,
    ColourOption,
    ScopeName,
    WindowOption,
    choice_option,
    file_option,
    parse_window,
    runs_argument,
)
from ompass.commands.streams import say, waiting
from ompass.errors import NothingToShowError, UsageError
from ompass.figures.render import render
from ompass.figures.run import RUN_FIGURES
from ompass.figures.schedule import gantt, over_time, picture_intervals, who_ran_whose
from ompass.figures.style import Spec
from ompass.metrics.breakdown import Scope
from ompass.readers.meta import traced_run
from ompass.readers.run import is_sweep_directory, open_run
from ompass.readers.schedule import read_schedule
from ompass.readers.timeline import check_has_events
from ompass.reports.content import collect
from ompass.reuse.figure import reuse_figure
from ompass.reuse.report import collect_reuse
from ompass.scaling.content import read_sweep
from ompass.scaling.figure import SWEEP_FIGURES

_TRACE_FIGURES = {
    "schedule": "schedule of every thread (Gantt), from one trace",
    "over-time": "threads in each state over time, from one trace",
    "matrix": "tasks by creating and executing threads, from one trace",
    "reuse": "kernel reuse distances, from traces with kernels",
}
_TRACE_OPTIONS = {
    "schedule": ("--window", "--colour"),
    "over-time": ("--window",),
    "matrix": ("--window",),
    "reuse": (),
}
_EPILOG = (
    """
[bold]Figures[/bold]

"""
    + "\n\n".join(
        f"  {name:12}  {title}"
        for name, title in (
            *((each.name, each.title) for each in RUN_FIGURES.values()),
            *_TRACE_FIGURES.items(),
            *((each.name, each.title) for each in SWEEP_FIGURES.values()),
        )
    )
    + """

[bold]Examples[/bold]

  ompass plot breakdown fib-1234.ompass

  ompass plot breakdown health-1.ompass health-2.ompass -o threads.pdf

  ompass plot granularity fib-1234.ompass -o granularity.png

  ompass plot constructs fib-1234.ompass -o constructs.json      to change it in a Vega editor

  ompass plot schedule fib-1234.ompass --window 10ms:12ms --colour home -o gantt.pdf

  ompass plot scaling sort.sweep -o scaling.pdf
"""
)

FigureName = Enum(  # type: ignore[misc]
    "FigureName", {name.upper(): name for name in (*RUN_FIGURES, *_TRACE_FIGURES, *SWEEP_FIGURES)}, type=str
)


def register(app: typer.Typer) -> None:
    app.command("plot", epilog=_EPILOG)(plot)


def plot(
    which: Annotated[
        FigureName, typer.Argument(metavar="FIGURE", help="The name of the figure; the list is below.")
    ],
    directories: Annotated[list[Path], runs_argument("Run directories or packed runs, or one sweep.")],
    output: Annotated[
        Path | None,
        file_option("--output", "-o", help="Output file: .svg, .pdf, .png or .json (default: FIGURE.svg)."),
    ] = None,
    scope: Annotated[
        ScopeName | None,
        choice_option(
            ScopeName, "--scope", help="All parallel regions together (default), or the whole program."
        ),
    ] = None,
    window: WindowOption = "",
    colour: ColourOption = Colour.CONSTRUCT,
    program: Annotated[bool, typer.Option("--program", hidden=True)] = False,
) -> None:
    """Draw one figure of one or more runs, or of a sweep, for a paper, with the data of the report."""
    name = str(which.value)
    if program:
        scope = ScopeName.PROGRAM
    _check_options(name, scope is not None, bool(window), colour is not Colour.CONSTRUCT)
    chosen = Scope(scope.value) if scope else None
    path = output or Path(f"{name}.svg")
    with waiting(f"drawing {path}"):
        if name in SWEEP_FIGURES:
            spec = _of_sweep(name, directories, chosen)
        elif name in _TRACE_FIGURES:
            spec = _of_traces(name, _runs_only(name, directories), window, colour)
        else:
            spec = _of_runs(name, _runs_only(name, directories), chosen)
        render(spec, path)
    say(f"wrote {path}")


def _check_options(name: str, scope: bool, window: bool, colour: bool) -> None:
    """Raises UsageError for an option that is given, but does not change this figure."""
    given = {"--scope": scope, "--window": window, "--colour": colour}
    for option, is_given in given.items():
        if is_given and option not in _TRACE_OPTIONS.get(name, ("--scope",)):
            raise UsageError(option, f"the figure {name} does not depend on it", "leave it out")


def _runs_only(name: str, directories: list[Path]) -> list[Path]:
    for path in directories:
        if is_sweep_directory(path):
            raise UsageError(
                f"{path}", f"it is a sweep, and {name} is a figure of runs", f"see {', '.join(SWEEP_FIGURES)}"
            )
    return directories


def _of_runs(name: str, directories: list[Path], scope: Scope | None) -> Spec:
    chosen = RUN_FIGURES[name]
    spec = chosen.make([collect(open_run(path), scope=scope or Scope.REGIONS) for path in directories])
    if spec is None:
        raise NothingToShowError(
            f"there is nothing for the figure {name}",
            f"the runs contain no {chosen.title.partition(',')[0]}",
            "see ompass report",
        )
    return spec


def _of_traces(name: str, directories: list[Path], window: str, colour: Colour) -> Spec:
    directories = list(map(traced_run, directories))
    if name == "reuse":
        return reuse_figure([collect_reuse(open_run(path)) for path in directories])
    if len(directories) != 1:
        raise UsageError(f"figure {name}", "it shows one trace", "name a single directory")
    run = open_run(directories[0])
    check_has_events(run)
    start_ns, end_ns = parse_window(window)
    by_home = colour is Colour.HOME
    limit = picture_intervals(run) if name == "schedule" else 0
    schedule = read_schedule(run.path, start_ns=start_ns, end_ns=end_ns, limit=limit, by_home=by_home)
    spec = {
        "schedule": lambda: gantt(collect(run), schedule, by_home=by_home),
        "over-time": lambda: over_time(schedule),
        "matrix": lambda: who_ran_whose(schedule),
    }[name]()
    if spec is None:
        raise NothingToShowError(
            f"there is nothing for the figure {name}", "no thread was in a parallel region or deferred task"
        )
    return spec


def _of_sweep(name: str, directories: list[Path], scope: Scope | None) -> Spec:
    if len(directories) != 1:
        raise UsageError(f"figure {name}", "it shows one sweep", "name a single directory")
    return SWEEP_FIGURES[name].make(read_sweep(directories[0], scope))
