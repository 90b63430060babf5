# SPDX-License-Identifier: Apache-2.0
"""`ompass graph`: shows work, span and critical path of a trace, and its folded task graph."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from ompass.commands.options import (
    DaskOption,
    EachOption,
    JobsOption,
    JsonOutputOption,
    TracesArgument,
    check_json_output,
    choice_option,
    file_option,
    json_option,
)
from ompass.commands.streams import console_for, to_json, waiting, write_result
from ompass.errors import NothingToShowError, UsageError
from ompass.graph.content import GraphContent, TimeKind, collect_graph
from ompass.graph.exports import dot_graph, graphml_graph
from ompass.graph.report import graph_report, graphs_report
from ompass.readers.run import open_run
from ompass.reports.model import plain
from ompass.reports.terminal import print_report
from ompass.units import plural
from ompass.workers import Workers

_EPILOG = """
[bold]Examples[/bold]

  ompass graph t.ompass

  ompass graph t.ompass --dot t.dot                 then: dot -Tsvg t.dot -o t.svg

  ompass graph t.ompass --depth 4 --graphml t.graphml

  ompass graph t.ompass --expand health.c:40 --dot t.dot     its tasks one by one

  ompass graph t.ompass --clock wall                including preemption

  ompass graph t.ompass --json > t.json

  ompass graph solver-r*.ompass                     the ranks of an MPI job
"""


def register(app: typer.Typer) -> None:
    app.command("graph", epilog=_EPILOG)(graph)


def graph(
    directories: TracesArgument,
    depth: Annotated[
        int | None,
        typer.Option(
            "--depth",
            metavar="N",
            min=1,
            max=30,
            help="Levels of task nesting to show; deeper tasks are folded (default: as many as "
            "stay readable).",
        ),
    ] = None,
    expand: Annotated[
        list[str] | None,
        typer.Option(
            "--expand",
            metavar="WHICH",
            help="Show the tasks of a group one by one; name its number, file:line or function.",
        ),
    ] = None,
    dot: Annotated[Path | None, file_option("--dot", help="Write the graph as DOT.")] = None,
    graphml: Annotated[Path | None, file_option("--graphml", help="Write the graph as GraphML.")] = None,
    time: Annotated[
        TimeKind | None,
        choice_option(
            TimeKind,
            "--clock",
            help="cpu excludes preempted time from work and span (default, if it was recorded); "
            "wall includes it.",
        ),
    ] = None,
    as_json: Annotated[bool, json_option("task-graph")] = False,
    output: JsonOutputOption = None,
    each: EachOption = False,
    dask: DaskOption = "",
    jobs: JobsOption = 0,
) -> None:
    """Show work, span, parallelism, the critical path, and the task graph with folded siblings."""
    check_json_output(as_json, output)
    if len(directories) > 1 and (dot or graphml or expand):
        raise UsageError(
            "--dot, --graphml and --expand", "they need one graph", "name a single run directory"
        )
    read = partial(_content, depth=depth, expand=tuple(expand or ()), time=time)
    with waiting(f"reading {plural(len(directories), 'trace')}"):
        contents = Workers(dask, jobs).map(read, directories)
    if dot is not None:
        write_result(dot_graph(contents[0]), dot)
    if graphml is not None:
        write_result(graphml_graph(contents[0]), graphml)
    report = graph_report(contents[0]) if len(contents) == 1 else graphs_report(contents)
    if as_json:
        write_result(to_json(plain(report)), output)
    elif dot is None and graphml is None:
        console = console_for()
        print_report(console, report)
        if len(contents) > 1 and each:
            for content in contents:
                print_report(console, graph_report(content))


def _content(path: Path, depth: int | None, expand: tuple[str, ...], time: TimeKind | None) -> GraphContent:
    """Returns the content of one run; called by a worker."""
    run = open_run(path)
    if run.mode != "trace":
        raise NothingToShowError(
            f"{path} holds no events", "it was recorded in profile mode", "record it with --mode trace"
        )
    return collect_graph(run, depth, expand, time)
