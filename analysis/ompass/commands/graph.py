# SPDX-License-Identifier: Apache-2.0
"""`ompass graph`: work, span and critical path of a trace, and its tasks as a graph that can be read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ompass.commands.streams import console_for, to_json, write_result
from ompass.errors import NothingToShowError
from ompass.readers import open_run
from ompass.reports.graph import collect_graph, dot_graph, graphml_graph, json_graph, print_graph

_EPILOG = """
[bold]Examples[/bold]

  ompass graph t.ompass

  ompass graph t.ompass --dot t.dot                 then: dot -Tsvg t.dot -o t.svg

  ompass graph t.ompass --depth 4 --graphml t.graphml

  ompass graph t.ompass --expand health.c:40 --dot t.dot     its tasks one by one

  ompass graph t.ompass --json > t.json
"""


def register(app: typer.Typer) -> None:
    app.command("graph", epilog=_EPILOG)(graph)


def graph(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="A run directory recorded with --mode trace.")
    ],
    depth: Annotated[
        int | None,
        typer.Option(
            "--depth",
            metavar="N",
            min=1,
            max=30,
            help="Levels of task nesting told apart; deeper tasks are folded (default: what can be read).",
        ),
    ] = None,
    expand: Annotated[
        list[str] | None,
        typer.Option(
            "--expand",
            metavar="WHICH",
            help="Show a group's tasks one by one: its number, file:line, function.",
        ),
    ] = None,
    dot: Annotated[Path | None, typer.Option("--dot", metavar="FILE", help="Write the graph as DOT.")] = None,
    graphml: Annotated[
        Path | None, typer.Option("--graphml", metavar="FILE", help="Write the graph as GraphML.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON instead (docs/task-graph.md).")] = False,
) -> None:
    """Work, span, parallelism and the critical path, and the task graph with siblings folded into groups."""
    run = open_run(directory)
    if run.mode != "trace":
        raise NothingToShowError(
            f"{directory} holds no events", "it was recorded in profile mode", "record it with --mode trace"
        )
    content = collect_graph(run, depth, tuple(expand or ()))
    if dot is not None:
        write_result(dot_graph(content), dot)
    if graphml is not None:
        write_result(graphml_graph(content), graphml)
    if as_json:
        write_result(to_json(json_graph(content)), None)
    elif dot is None and graphml is None:
        print_graph(console_for(), content)
