# SPDX-License-Identifier: Apache-2.0
"""`ompass report`: shows where the time of runs went, in the terminal or as page, JSON, CSV, SVG."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ompass.commands.options import (
    SHOWN,
    CsvOption,
    DaskOption,
    EachOption,
    EditorForm,
    FormatOption,
    FullOption,
    HtmlOption,
    JobsOption,
    OutputOption,
    ScopeName,
    ScopeOption,
    SourcesOption,
    check_form,
    check_sources,
    choice_option,
    file_option,
    json_option,
    parse_window,
    runs_argument,
    table_option,
)
from ompass.commands.streams import console_for, say, to_json, waiting, write_result
from ompass.errors import UsageError
from ompass.jobs.content import job_of_reports
from ompass.metrics.breakdown import Scope
from ompass.readers.run import is_sweep_directory, open_run
from ompass.reports.content import ReportContent, collect
from ompass.reports.job import printed_job_report, reports_values
from ompass.reports.model import Report, csv_report, plain
from ompass.reports.run import CSV_TABLES, brief_report, run_report
from ompass.reports.terminal import print_report, svg_report
from ompass.units import plural
from ompass.workers import Workers

if TYPE_CHECKING:
    from ompass.reports.remarks import Remark
    from ompass.scaling.content import ScalingContent


_EPILOG = """
[bold]Examples[/bold]

  ompass report fib-1234.ompass

  ompass report fib-1234.ompass --scope program

  ompass report fib-1234.ompass --region fib.c:40

  ompass report fib-1234.ompass --source events --window 10ms:12ms

  ompass report fib-1234.ompass --json -o fib.json

  ompass report *.ompass --csv --table summary > runs.csv

  ompass report fib-1234.ompass --html report.html

  ompass report fib-1234.ompass --html report.html --sources

  ompass report fib-1234.ompass --html report.html --window 10ms:12ms

  ompass report fib-1234.ompass fib.sweep --html report.html

  ompass report fib-1234.ompass --figure report.svg

  ompass report fib-1234.ompass --format gcc                findings as compiler messages

  ompass report solver-r*.ompass                            the ranks of an MPI job

  ompass report solver-r*.ompass --dask tcp://node1:8786    read on a cluster
"""

Table = Enum("Table", {name.upper(): name for name in CSV_TABLES}, type=str)  # type: ignore[misc]


class Source(str, Enum):
    """The source of the figures."""

    PROFILE = "profile"
    EVENTS = "events"


def register(app: typer.Typer) -> None:
    app.command("report", epilog=_EPILOG)(report)


def report(
    directories: Annotated[
        list[Path], runs_argument("Run directories (NAME.ompass), packed runs, or sweeps.")
    ],
    scope: ScopeOption = ScopeName.REGIONS,
    region: Annotated[
        str,
        typer.Option(
            "--region",
            metavar="WHICH",
            help="One parallel region: file:line, function, or id.",
            rich_help_panel=SHOWN,
        ),
    ] = "",
    source: Annotated[
        Source,
        choice_option(
            Source, "--source", help="Compute figures from the profile, or from the events of a trace."
        ),
    ] = Source.PROFILE,
    as_json: Annotated[bool, json_option("report-schema")] = False,
    as_csv: CsvOption = False,
    table: Annotated[Table, table_option(Table)] = Table.CONSTRUCTS,  # type: ignore[attr-defined]
    svg: Annotated[Path | None, file_option("--figure", help="Write the report as a picture (.svg).")] = None,
    html: HtmlOption = None,
    window: Annotated[
        str,
        typer.Option(
            "--window",
            metavar="FROM:TO",
            help="With --source events: only this part of the run, such as 10ms:12ms since the start. "
            "With --html: the window of the timeline on the page.",
            rich_help_panel=SHOWN,
        ),
    ] = "",
    sources: SourcesOption = False,
    form: FormatOption = None,
    output: OutputOption = None,
    full: FullOption = False,
    each: EachOption = False,
    dask: DaskOption = "",
    jobs: JobsOption = 0,
) -> None:
    """Show where the time of a run went: verdict, worst findings, states and constructs.

    --full shows all tables. For the ranks of an MPI job, also shows how evenly the work is distributed.
    """
    check_form(as_json, as_csv, output, "--format FORM or --html FILE", form)
    check_sources(sources, html)
    start_ns, end_ns = parse_window(window)
    if window and html is None and source is not Source.EVENTS:
        raise UsageError(
            "--window", "a profile covers only the whole run", "add --source events, or --html FILE"
        )
    if region and scope is ScopeName.PROGRAM:
        raise UsageError("--region and --scope program", "they exclude each other", "drop one of them")
    wanted = Scope.REGION if region else Scope(scope.value)
    read = partial(_content, source=source.value, scope=wanted, region=region, window=(start_ns, end_ns))
    runs = [path for path in directories if not is_sweep_directory(path)]
    if len(runs) < len(directories) and (as_csv or svg):
        raise UsageError("--csv and --figure", "sweeps have other tables", "use ompass scale -o SWEEP")
    page = _page_maker() if html is not None else None
    with waiting(f"reading {plural(len(directories), 'directory', 'directories')}"):
        sweeps = _read_sweeps([path for path in directories if is_sweep_directory(path)])
        contents = Workers(dask, jobs).map(read, runs)
    if svg is not None:
        shape = run_report if full else brief_report
        write_result(svg_report([shape(content) for content in contents]), svg)
    if page is not None:
        write_result(page(contents, sweeps, window, each, sources), html)
    if as_json:
        write_result(to_json(_json_of(contents, sweeps)), output)
    elif as_csv:
        rows = csv_report([run_report(content) for content in contents], CSV_TABLES[str(table.value)])
        write_result(rows, output)
    elif form is not None:
        _write_remarks(contents, sweeps, form, output)
    elif svg is None and html is None:
        _print(contents, sweeps, each, full)


def _content(path: Path, source: str, scope: Scope, region: str, window: tuple[int, int]) -> ReportContent:
    """Returns the content of one run; runs in a worker."""
    return collect(open_run(path, source, window), scope=scope, region=region)


def _read_sweeps(directories: list[Path]) -> list[ScalingContent]:
    if not directories:
        return []
    from ompass.scaling.content import read_sweep  # slow to load, like the imports below

    return list(map(read_sweep, directories))


def _report_on(sweep: ScalingContent, *, brief: bool) -> Report:
    from ompass.scaling.report import brief_scaling, scaling_report

    return brief_scaling(sweep) if brief else scaling_report(sweep)


def _page_maker() -> Callable[..., str]:
    """Returns the function that makes the page; builds the page's script while the runs are read."""
    from ompass.commands.report_page import page_of
    from ompass.figures.render import BrowserScript

    return partial(page_of, script=BrowserScript())


def _write_remarks(
    contents: list[ReportContent], sweeps: list[ScalingContent], form: EditorForm, output: Path | None
) -> None:
    from ompass.reports.remarks import remarks_of
    from ompass.scaling.report import sweep_remarks

    of_sweeps = (remark for sweep in sweeps for remark in sweep_remarks(sweep))
    write_remarks((*remarks_of(contents), *of_sweeps), form, output)


def _print(contents: list[ReportContent], sweeps: list[ScalingContent], each: bool, full: bool) -> None:
    console = console_for()
    for sweep in sweeps:
        print_report(console, _report_on(sweep, brief=not full))
    job = job_of_reports(contents)
    if job is not None:
        print_report(console, printed_job_report(job, contents, full=full))
    if job is None or each:
        for content in contents:
            print_report(console, run_report(content) if full else brief_report(content))


def _json_of(contents: list[ReportContent], sweeps: list[ScalingContent]) -> object:
    """Returns a single report, or an object with all reports and, for ranks, the report on their job."""
    scalings = [_report_on(sweep, brief=False) for sweep in sweeps]
    if len(contents) + len(scalings) == 1:
        return plain(scalings[0] if scalings else run_report(contents[0]))
    return reports_values(contents, scalings)


def write_remarks(remarks: Iterable[Remark], form: EditorForm, output: Path | None) -> None:
    """Writes remarks to a file or to stdout. Prints on stderr how many problems gcc's form omits."""
    from ompass.reports.editors import gcc_messages, sarif
    from ompass.reports.remarks import NOTE, SourceTree, merged

    found = merged(remarks)
    if form is EditorForm.SARIF:
        write_result(to_json(sarif(found, SourceTree.of_repository(Path.cwd()))), output)
        return
    write_result(gcc_messages(found, SourceTree(Path.cwd())), output)
    without = sum(1 for remark in found if remark.level != NOTE and not remark.location.line)
    if without:
        say(f"omitted {plural(without, 'finding')} without a line: compile with -g, or see `ompass report`")
