# SPDX-License-Identifier: Apache-2.0
"""`ompass krd`: kernel reuse distances, per last-level cache of the recorded or another machine."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from ompass.commands.options import (
    SHOWN,
    CsvOption,
    DaskOption,
    FigureOption,
    JobsOption,
    OutputOption,
    TracesArgument,
    check_form,
    choice_option,
    json_option,
    table_option,
)
from ompass.commands.streams import console_for, say, to_json, write_result
from ompass.errors import UsageError
from ompass.figures.render import render
from ompass.readers.run import open_run
from ompass.reports.terminal import print_report
from ompass.reuse.figure import reuse_figure
from ompass.reuse.reader import check_has_accesses
from ompass.reuse.report import (
    CSV_TABLES,
    Progress,
    ReuseContent,
    ReuseOptions,
    collect_reuse,
    csv_reuse,
    json_reuse,
    reuse_report,
)
from ompass.topology import synthetic_topology
from ompass.units import parse_size
from ompass.workers import Workers

_EPILOG = """
[bold]Examples[/bold]

  ompass krd matmul.ompass

  ompass krd matmul.ompass --topology "pack:4 l3:1(size=18874368) core:6 pu:1"

  ompass krd one-core.ompass two-cores.ompass --figure krd.pdf   several runs in one figure

  ompass krd huge.ompass --share 0.01

  ompass krd matmul.ompass --json -o krd.json

  ompass krd *.ompass --csv --table kernels > kernels.csv

The run must be a trace (--mode trace) of a program that declares the data of its kernels with ompass.h.
`ompass docs reuse-distance` defines distances, classes and the error bound of a sample.
"""

Table = Enum("Table", {name.upper(): name for name in CSV_TABLES}, type=str)  # type: ignore[misc]


class Place(str, Enum):
    """How threads are assigned to the CPUs of --topology."""

    COMPACT = "compact"
    SCATTER = "scatter"


def register(app: typer.Typer) -> None:
    app.command("krd", epilog=_EPILOG)(krd)


def krd(
    directories: TracesArgument,
    topology: Annotated[
        str,
        typer.Option(
            "--topology",
            metavar="SYNTHETIC",
            help="Another machine, as an hwloc synthetic string; --place assigns the threads to its CPUs.",
            rich_help_panel=SHOWN,
        ),
    ] = "",
    place: Annotated[
        Place,
        choice_option(
            Place,
            "--place",
            help="With --topology: fill one cache after the other, or use all caches in turn.",
        ),
    ] = Place.COMPACT,
    l2: Annotated[
        str,
        typer.Option(
            "--l2", metavar="SIZE", help="Longest close distance (default: the L2).", rich_help_panel=SHOWN
        ),
    ] = "",
    llc: Annotated[
        str,
        typer.Option(
            "--llc",
            metavar="SIZE",
            help="Longest near distance (default: the last-level cache).",
            rich_help_panel=SHOWN,
        ),
    ] = "",
    coherence: Annotated[
        bool,
        typer.Option(
            "--coherence/--no-coherence",
            help="Count bytes that another cache group wrote since the last access "
            "as coherence misses (default), or by their distance.",
            rich_help_panel=SHOWN,
        ),
    ] = True,
    share: Annotated[
        float,
        typer.Option(
            "--share",
            metavar="RATE",
            help="Analyse only this share of the address space (0 < RATE <= 1).",
            rich_help_panel=SHOWN,
        ),
    ] = 1.0,
    as_json: Annotated[bool, json_option("reuse-distance")] = False,
    as_csv: CsvOption = False,
    table: Annotated[Table, table_option(Table)] = Table.BINS,  # type: ignore[attr-defined]
    figure: FigureOption = None,
    output: OutputOption = None,
    dask: DaskOption = "",
    jobs: JobsOption = 0,
) -> None:
    """Show the reuse distances of the program's kernels, for each last-level cache.

    Close reuse fits in the L2, near reuse in the last-level cache, far reuse in neither. Cold bytes were not
    accessed under that cache before. Coherence misses are bytes that another cache group wrote since the last
    access.
    """
    check_form(as_json, as_csv, output, "--figure FILE")
    if not 0 < share <= 1:
        raise UsageError(f"--share {share:g}", "it must be above 0 and at most 1", "try --share 0.01")
    l2_bytes, llc_bytes = _size("--l2", l2), _size("--llc", llc)
    machine = synthetic_topology(topology) if topology else None
    workers = Workers(dask, jobs)
    threads = workers.processors_each(directories)
    options = ReuseOptions(machine, place.value, l2_bytes, llc_bytes, coherence, share, threads)
    if len(directories) == 1 and not dask:
        with _progress(directories[0].name) as progress:
            contents = [_content(directories[0], options, progress)]
    else:
        contents = workers.map(partial(_content, options=options), directories)
    if figure is not None:
        render(reuse_figure(contents), figure)
        say(f"wrote {figure}")
    if as_json:
        write_result(to_json(json_reuse(contents)), output)
    elif as_csv:
        write_result(csv_reuse(contents, str(table.value)), output)
    elif figure is None:
        console = console_for()
        for content in contents:
            print_report(console, reuse_report(content))


def _size(option: str, text: str) -> int:
    if not text:
        return 0
    try:
        return parse_size(text)
    except ValueError as error:
        raise UsageError(f"{option} {text}", str(error)) from error


def _content(path: Path, options: ReuseOptions, progress: Progress | None = None) -> ReuseContent:
    """Returns the content of one run; runs in a worker."""
    run = open_run(path)
    check_has_accesses(run)
    return collect_reuse(run, options, progress)


@contextmanager
def _progress(name: str) -> Iterator[Progress | None]:
    """Shows a progress bar while a long trace is read, on a terminal only."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import Progress as Bar

    with Bar(console=console_for(stderr=True), transient=True) as bar:
        task = bar.add_task(name, total=1.0)
        yield lambda share: bar.update(task, completed=share)
