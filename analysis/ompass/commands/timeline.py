# SPDX-License-Identifier: Apache-2.0
"""`ompass timeline`: exports the timeline of threads for other viewers, or as a Gantt figure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from ompass.commands.options import (
    OUTPUT,
    Colour,
    ColourOption,
    FormerFromOption,
    FormerToOption,
    ThreadOption,
    TraceArgument,
    WindowOption,
    check_threads,
    file_option,
    new_folder,
    parse_from_to,
)
from ompass.commands.streams import say, waiting
from ompass.errors import NothingToShowError, UsageError
from ompass.exports import write_otf2, write_perfetto
from ompass.figures.render import render
from ompass.figures.schedule import gantt, picture_intervals
from ompass.keeping.names import resolver_for
from ompass.model import Run
from ompass.readers.run import open_run
from ompass.readers.schedule import read_schedule
from ompass.readers.timeline import check_has_events, read_timeline
from ompass.reports.content import collect
from ompass.symbols.resolver import construct_name
from ompass.units import plural

_EPILOG = """
[bold]Examples[/bold]

  ompass timeline t.ompass --perfetto t.pftrace          open it in ui.perfetto.dev

  ompass timeline t.ompass --otf2 t-otf2                 otf2-print t-otf2/traces.otf2

  ompass timeline t.ompass --figure gantt.pdf            the whole run, at the resolution of the figure

  ompass timeline t.ompass --figure gantt.svg --window 1ms:2ms --colour home
"""


def register(app: typer.Typer) -> None:
    app.command("timeline", epilog=_EPILOG)(timeline)


def timeline(
    directory: TraceArgument,
    perfetto: Annotated[Path | None, file_option("--perfetto", help="Write a Perfetto trace.")] = None,
    otf2: Annotated[
        Path | None,
        typer.Option(
            "--otf2",
            callback=new_folder,
            metavar="DIR",
            help="Write an OTF2 archive into a new directory.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    figure: Annotated[
        Path | None,
        file_option("--figure", help="Draw a Gantt figure (.svg, .pdf, .png)."),
    ] = None,
    colour: ColourOption = Colour.CONSTRUCT,
    window: WindowOption = "",
    thread: ThreadOption = None,
    limit: Annotated[
        int, typer.Option("--limit", metavar="N", help="Refuse to export more than N slices.", min=1)
    ] = 1_000_000,
    start: FormerFromOption = "",
    end: FormerToOption = "",
) -> None:
    """Export the timeline of all threads: regions, tasks, waits, locks, creations and kernels."""
    exported = [path for path in (perfetto, otf2) if path]
    if not (exported or figure):
        raise UsageError(
            "ompass timeline", "no output was named", "add --perfetto FILE, --otf2 DIR or --figure FILE"
        )
    start_ns, end_ns = parse_from_to(window, start, end)
    run = open_run(directory)
    check_has_events(run)
    check_threads(run, thread)
    if figure:
        with waiting(f"drawing {figure}"):
            _draw(run, figure, colour, thread or (), start_ns, end_ns)
        say(f"wrote {figure}")
    if not exported:
        return
    with waiting(f"reading {directory}"):
        slices = read_timeline(run, threads=thread or (), start_ns=start_ns, end_ns=end_ns, limit=limit)
        resolver = resolver_for(run)
        places = {definition.id: resolver.locate(definition) for definition in run.definitions}
        names = {each.id: construct_name(each, places[each.id]) for each in run.definitions}
    with waiting(f"writing {', '.join(map(str, exported))}"):
        if perfetto:
            write_perfetto(slices, names, perfetto)
        if otf2:
            write_otf2(slices, names, places, otf2)
    say(f"{plural(len(slices), 'slice')} of {plural(len(slices.by_thread), 'thread')} exported")


def _draw(run: Run, path: Path, colour: Colour, threads: Sequence[int], start_ns: int, end_ns: int) -> None:
    by_home = colour is Colour.HOME
    schedule = read_schedule(
        run.path,
        start_ns=start_ns,
        end_ns=end_ns,
        limit=picture_intervals(run),
        by_home=by_home,
        n_bins=0,
        threads=threads,
    )
    spec = gantt(collect(run), schedule, by_home=by_home)
    if spec is None:
        raise NothingToShowError(
            f"{run.path} has nothing in this window", "no thread was in a parallel region"
        )
    render(spec, path)
