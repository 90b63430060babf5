# SPDX-License-Identifier: Apache-2.0
"""`ompass report`: where the time of recorded runs went, on the terminal or as a page, JSON, CSV, SVG."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from ompass.commands.streams import console_for, to_json, write_result
from ompass.errors import UsageError
from ompass.metrics import Scope
from ompass.page import html_report
from ompass.readers import open_run
from ompass.readers.schedule import Schedule, read_schedule
from ompass.reports import (
    CSV_TABLES,
    SCHEMA_VERSION,
    ReportContent,
    collect,
    csv_table,
    json_report,
    print_report,
    svg_report,
)
from ompass.units import parse_duration

_EPILOG = """
[bold]Examples[/bold]

  ompass report fib-1234.ompass

  ompass report fib-1234.ompass --scope program

  ompass report fib-1234.ompass --region fib.c:40

  ompass report fib-1234.ompass --json -o fib.json

  ompass report *.ompass --csv --table summary > runs.csv

  ompass report fib-1234.ompass --html report.html

  ompass report fib-1234.ompass --html report.html --window 10ms:12ms

  ompass report fib-1234.ompass --svg report.svg
"""

Table = Enum("Table", {name.upper(): name for name in CSV_TABLES}, type=str)  # type: ignore[misc]


class ScopeName(str, Enum):
    """What the thread-time covers."""

    REGIONS = "regions"
    PROGRAM = "program"


class Source(str, Enum):
    """What the figures are computed from."""

    PROFILE = "profile"
    EVENTS = "events"


def register(app: typer.Typer) -> None:
    app.command("report", epilog=_EPILOG)(report)


def report(
    directories: Annotated[
        list[Path], typer.Argument(metavar="DIR...", help="Run directories (NAME.ompass).")
    ],
    scope: Annotated[
        ScopeName, typer.Option("--scope", help="All parallel regions together, or the whole program.")
    ] = ScopeName.REGIONS,
    region: Annotated[
        str,
        typer.Option("--region", metavar="WHICH", help="One parallel region: file:line, function, or id."),
    ] = "",
    source: Annotated[
        Source, typer.Option("--from", help="The profile that the tool kept, or the events of a trace.")
    ] = Source.PROFILE,
    as_json: Annotated[bool, typer.Option("--json", help="JSON instead (docs/report-schema.md).")] = False,
    as_csv: Annotated[
        bool, typer.Option("--csv", help="CSV instead, of the table that --table names.")
    ] = False,
    table: Annotated[Table, typer.Option("--table", help="Table for --csv.")] = Table.CONSTRUCTS,  # type: ignore[attr-defined]
    svg: Annotated[
        Path | None, typer.Option("--svg", metavar="FILE", help="Write the report as a picture to FILE.")
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Write the report as one self-contained page to FILE."),
    ] = None,
    window: Annotated[
        str,
        typer.Option(
            "--window", metavar="FROM:TO", help="Schedule on the page, such as 10ms:12ms since the start."
        ),
    ] = "",
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Where JSON or CSV goes (default: stdout)."),
    ] = None,
) -> None:
    """Say where the time of a run went: thread-time, regions, tasks by cost, granularity, findings."""
    if as_json and as_csv:
        raise UsageError("--json and --csv", "only one form can be written at a time", "call ompass twice")
    if output is not None and not (as_json or as_csv):
        raise UsageError("-o", "it says where JSON or CSV goes", "add --json or --csv, or use --html FILE")
    if window and html is None:
        raise UsageError("--window", "it chooses the schedule on the HTML page", "add --html FILE")
    if region and scope is ScopeName.PROGRAM:
        raise UsageError("--region and --scope program", "they exclude each other", "drop one of them")
    wanted = Scope.REGION if region else Scope(scope.value)
    contents = [collect(open_run(path, source.value), scope=wanted, region=region) for path in directories]
    if svg is not None:
        write_result(svg_report(contents), svg)
    if html is not None:
        write_result(html_report(contents, _schedules(contents, window)), html)
    if as_json:
        write_result(to_json(_json_of(contents)), output)
    elif as_csv:
        write_result(csv_table(contents, str(table.value)), output)
    elif svg is None and html is None:
        console = console_for()
        for content in contents:
            print_report(console, content)


def _schedules(contents: list[ReportContent], window: str) -> list[Schedule | None]:
    """The schedule of each run that was traced."""
    start_ns, end_ns = _parse_window(window)
    return [
        read_schedule(content.run.path, start_ns=start_ns, end_ns=end_ns)
        if content.run.mode == "trace"
        else None
        for content in contents
    ]


def _parse_window(window: str) -> tuple[int, int]:
    """Nanoseconds of `FROM:TO`; either may be left out. The end is -1 when it is the run's."""
    if not window:
        return 0, -1
    first, colon, last = window.partition(":")
    try:
        start_ns = parse_duration(first) if first else 0
        end_ns = parse_duration(last) if last else -1
    except ValueError as error:
        raise UsageError(f"--window {window}", str(error), "write it as 10ms:12ms") from None
    if not colon or 0 <= end_ns <= start_ns:
        raise UsageError(
            f"--window {window}", "it is not FROM:TO with FROM before TO", "write it as 10ms:12ms"
        )
    return start_ns, end_ns


def _json_of(contents: list[ReportContent]) -> object:
    """One run: its report; several: a list of reports in an object."""
    reports = [json_report(content) for content in contents]
    return (
        reports[0]
        if len(reports) == 1
        else {"schema": "ompass-reports", "schema_version": SCHEMA_VERSION, "runs": reports}
    )
