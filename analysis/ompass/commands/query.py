# SPDX-License-Identifier: Apache-2.0
"""`ompass query`: queries a run in SQL; `ompass export`: writes its tables as Parquet."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from ompass.commands.options import TablesArgument, file_option, new_folder
from ompass.commands.streams import console_for, say, waiting
from ompass.errors import OutputError, UsageError
from ompass.keeping.names import resolver_for
from ompass.plain_text import HARMFUL_PATTERN, REPLACEMENT, visible
from ompass.readers.run import open_run
from ompass.readers.tables import TABLES, Tables
from ompass.reports.terminal import plain_grid
from ompass.units import plural

if TYPE_CHECKING:
    import polars

_EPILOG = """
[bold]Examples[/bold]

  ompass query t.ompass "SELECT construct, count(*), sum(work_ns) FROM tasks GROUP BY construct"

  ompass query t.ompass "SELECT thread, sum(idle_ns) FROM waits GROUP BY thread"

  ompass query t.ompass "SELECT * FROM waits WHERE kind = 'critical'" -o locks.csv

  ompass query t.ompass --tables                         tables, columns and their meaning

See also `ompass docs query`. Queries use the SQL dialect of polars.
"""

_EXPORT_EPILOG = """
[bold]Examples[/bold]

  ompass export t.ompass --parquet t-tables

  ompass export t.ompass --parquet t-tables --table tasks --table constructs
"""

_SINKS = {".csv": "sink_csv", ".jsonl": "sink_ndjson", ".ndjson": "sink_ndjson", ".parquet": "sink_parquet"}


def register(app: typer.Typer) -> None:
    app.command("query", epilog=_EPILOG)(query)
    app.command("export", epilog=_EXPORT_EPILOG)(export)


def query(
    directory: TablesArgument,
    sql: Annotated[str, typer.Argument(metavar="SELECT", help="The SQL query.")] = "",
    tables: Annotated[bool, typer.Option("--tables", help="List the tables and their columns.")] = False,
    limit: Annotated[
        int, typer.Option("--limit", metavar="N", help="Largest number of rows on the terminal.", min=1)
    ] = 100,
    as_csv: Annotated[bool, typer.Option("--csv", help="CSV instead, all rows.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="JSON instead, an object per line, all rows.")
    ] = False,
    output: Annotated[
        Path | None, file_option("--output", "-o", help="Write all rows to a .csv, .jsonl or .parquet file.")
    ] = None,
) -> None:
    """Query a run in SQL: tasks, stretches, waits, kernels, accesses, constructs, regions, threads."""
    if tables:
        _print_tables()
        return
    if not sql:
        raise UsageError(
            "ompass query", "the query is missing", "write it after the directory, or see --tables"
        )
    if as_csv + as_json + (output is not None) > 1:
        raise UsageError(
            "--csv, --json and -o", "only one form can be written at a time", "call ompass twice"
        )
    if output is not None and output.suffix.lower() not in _SINKS:
        raise UsageError(
            f"{output}", "the format is unknown", f"name a file that ends in {', '.join(_SINKS)}"
        )
    of_run = _tables(directory)
    found = of_run.sql(sql)
    if output is not None:
        _write(of_run, found, output)
        say(f"wrote {output}")
    elif as_csv or as_json:
        printed = _harmless(found)
        sink = printed.sink_csv if as_csv else printed.sink_ndjson
        of_run.finish(lambda: sink(sys.stdout.buffer, engine="streaming"))
    else:
        with waiting(f"reading {directory}"):
            frame = of_run.finish(lambda: found.head(limit + 1).collect(engine="streaming"))
        _print(frame, limit)


def export(
    directory: TablesArgument,
    parquet: Annotated[
        Path,
        typer.Option(
            "--parquet",
            callback=new_folder,
            metavar="OUT",
            help="New directory, with one file TABLE.parquet per table.",
        ),
    ],
    table: Annotated[
        list[str] | None, typer.Option("--table", metavar="NAME", help="Only this table; may be repeated.")
    ] = None,
) -> None:
    """Write the tables of a run as Parquet files; the tables of events need a trace."""
    of_run = _tables(directory)
    run_is_trace = open_run(directory).mode == "trace"
    names = table or [name for name, each in TABLES.items() if run_is_trace or not each.needs_trace]
    frames = {name: of_run.scan(name) for name in names}
    try:
        parquet.mkdir(parents=True)
    except FileExistsError:
        raise OutputError(f"{parquet} cannot be written", "it exists", "name a new directory") from None
    except OSError as error:
        raise OutputError(f"{parquet} cannot be written", error.strerror or str(error)) from error
    try:
        for name, frame in frames.items():
            _write(of_run, frame, parquet / f"{name}.parquet")
    except BaseException:
        shutil.rmtree(parquet, ignore_errors=True)  # an incomplete export would look complete
        raise
    say(f"wrote {plural(len(frames), 'table')} into {parquet}")


def _tables(directory: Path) -> Tables:
    run = open_run(directory)
    resolver = resolver_for(run)
    return Tables(run, lambda construct: resolver.locate(run.definitions[construct]))


def _harmless(frame: polars.LazyFrame) -> polars.LazyFrame:
    """Returns the frame with harmful characters in its texts replaced."""
    import polars as pl

    return frame.with_columns(pl.col(pl.String).str.replace_all(HARMFUL_PATTERN, REPLACEMENT))


def _write(of_run: Tables, frame: polars.LazyFrame, path: Path) -> None:
    kind = path.suffix.lower()
    sink: Any = getattr(_harmless(frame) if kind == ".csv" else frame, _SINKS[kind])
    try:
        with waiting(f"writing {path}"):
            of_run.finish(lambda: sink(path, engine="streaming"))
    except OSError as error:
        raise OutputError(f"{path} cannot be written", error.strerror or str(error)) from error


def _print(frame: polars.DataFrame, most: int) -> None:
    table = plain_grid()
    for name, kind in frame.schema.items():
        table.add_column(Text(name), justify="right" if kind.is_numeric() else "left", overflow="fold")
    for row in frame.head(most).iter_rows():
        table.add_row(*("" if value is None else visible(_cell(value)) for value in row))
    console_for().print(table)
    if frame.height > most:
        say(f"these are the first {plural(most, 'row')}; --limit N shows more, -o FILE writes all")


def _cell(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _print_tables() -> None:
    console = console_for()
    for each in TABLES.values():
        trace = " (traces only)" if each.needs_trace else ""
        console.print(Text.assemble((each.name, "bold"), f": {each.meaning}{trace}"))
        table = plain_grid()
        for _ in range(3):
            table.add_column(overflow="fold")
        for column in each.columns:
            table.add_row(column.name, "text" if column.labels else column.type, column.meaning)
        console.print(table)
