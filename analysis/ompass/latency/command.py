# SPDX-License-Identifier: Apache-2.0
"""`ompass latency`: shows the latency of the loads of each construct, and the sources of their data."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

import typer

from ompass.commands.options import (
    CsvOption,
    FigureOption,
    OutputOption,
    RunArgument,
    check_form,
    json_option,
    table_option,
)
from ompass.commands.streams import console_for, say, to_json, waiting, write_result
from ompass.errors import NothingToShowError
from ompass.figures.render import render
from ompass.latency.figure import latency_figure
from ompass.latency.report import CSV_TABLES, csv_latency, latency_report
from ompass.reports.model import plain
from ompass.reports.terminal import print_report
from ompass.samples.command import samples_of
from ompass.samples.content import SampleContent

_EPILOG = """
[bold]Examples[/bold]

  ompass run --sample loads ./solver

  ompass latency solver.ompass

  ompass latency solver.ompass --figure latency.svg
"""

Table = Enum("Table", {name.upper(): name for name in CSV_TABLES}, type=str)  # type: ignore[misc]


def register(app: typer.Typer) -> None:
    app.command("latency", epilog=_EPILOG)(latency)


def latency(
    directory: RunArgument,
    as_json: Annotated[bool, json_option("latency")] = False,
    as_csv: CsvOption = False,
    table: Annotated[Table, table_option(Table)] = Table.CONSTRUCTS,  # type: ignore[attr-defined]
    figure: FigureOption = None,
    output: OutputOption = None,
) -> None:
    """Show how long loads from memory took in each construct, and which cache or node served them.

    Needs a run recorded with --sample loads, on a processor that can sample loads.
    """
    check_form(as_json, as_csv, output, "--figure FILE")
    with waiting(f"reading {directory}"):
        content = samples_of(directory)
    if not content.loads:
        raise NothingToShowError(
            f"{directory} holds no sampled loads",
            _why_not(content),
            "record it with --sample loads on a processor that can sample loads, at a higher rate "
            "(--sample loads:10000)",
        )
    if figure is not None:
        render(latency_figure(content), figure)
        say(f"wrote {figure}")
    if as_json:
        write_result(to_json(plain(latency_report(content))), output)
    elif as_csv:
        write_result(csv_latency(content, str(table.value)), output)
    elif figure is None:
        print_report(console_for(), latency_report(content))


def _why_not(content: SampleContent) -> str:
    refusal = content.refusal() or content.loads_refusal()
    if refusal:
        return refusal.rstrip(".")
    return "it was too short" if content.wants_loads else "it was recorded without --sample loads"
