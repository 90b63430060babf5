# SPDX-License-Identifier: Apache-2.0
"""`ompass scale`: runs a program on several numbers of threads, and explains why it does not scale.

Owns the order of steps: check everything, execute the missing runs, report. The same command resumes a sweep
that was interrupted or killed.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from ompass.commands.options import (
    OUTPUT,
    RUNNING,
    CsvOption,
    FormatOption,
    FullOption,
    HtmlOption,
    LibompOption,
    QuietOption,
    ScopeName,
    check_form,
    choice_option,
    file_option,
    json_option,
    output_folder,
    table_option,
)
from ompass.commands.remarks import write_remarks
from ompass.commands.streams import console_for, measuring_bar, say, to_json, waiting, write_result
from ompass.errors import UsageError
from ompass.figures.render import render
from ompass.launch.program import inspect_program
from ompass.launch.tool import scratch_directory
from ompass.metrics.breakdown import Scope
from ompass.page.assemble import html_report
from ompass.reports.model import plain
from ompass.reports.terminal import print_report
from ompass.scaling.content import collect_scaling, default_scope, load_runs
from ompass.scaling.directory import SweepDirectory
from ompass.scaling.execute import Executor
from ompass.scaling.exports import sweep_remarks
from ompass.scaling.figure import both
from ompass.scaling.plan import Job, SweepSpec, allowed_cpus, jobs_of, users_own
from ompass.scaling.report import CSV_TABLES, brief_scaling, csv_scaling, scaling_report
from ompass.units import plural

_EPILOG = """
[bold]Examples[/bold]

  ompass scale --threads 1,2,4 -- ./health

  ompass scale -t 1,2,4 --baseline "./sort-serial" -- ./sort-tasks

  ompass scale -t 2,4,8 --repeat 5 -o s.sweep -- ./sort --grain {threads}000

  ompass scale -t 1,2 --baseline "./sort-serial" --seconds "seconds +([0-9.]+)" -- ./sort-tasks

  ompass scale -o s.sweep --figure curves.pdf          report on a sweep again

Runs with different numbers of threads alternate, and are pinned. The same command resumes a killed sweep.
"""

Table = Enum("Table", {name.upper(): name for name in CSV_TABLES}, type=str)  # type: ignore[misc]


def register(app: typer.Typer) -> None:
    app.command("scale", epilog=_EPILOG, context_settings={"allow_interspersed_args": False})(scale)


def scale(
    command: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PROGRAM]",
            help="The program and its arguments; {threads} stands for the number of threads. Without "
            "a program: report on the sweep of -o.",
        ),
    ] = None,
    threads: Annotated[
        str,
        typer.Option(
            "--threads",
            "-t",
            metavar="N,...",
            help="Numbers of threads, separated by commas (default: 1, 2, 4, ... up to all CPUs).",
            rich_help_panel=RUNNING,
        ),
    ] = "",
    baseline: Annotated[
        str,
        typer.Option(
            "--baseline",
            metavar="COMMAND",
            help="The best serial program, for T_s.",
            rich_help_panel=RUNNING,
        ),
    ] = "",
    elision: Annotated[
        str,
        typer.Option(
            "--elision",
            metavar="COMMAND",
            help="The program with its OpenMP constructs left out.",
            rich_help_panel=RUNNING,
        ),
    ] = "",
    repeat: Annotated[
        int,
        typer.Option(
            "--repeat",
            "-r",
            metavar="N",
            min=1,
            help="Rounds; each runs everything once.",
            rich_help_panel=RUNNING,
        ),
    ] = 3,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            callback=output_folder,
            metavar="DIR",
            help="The sweep's directory (PROGRAM.sweep).",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    scope: Annotated[
        ScopeName | None,
        choice_option(
            ScopeName,
            "--scope",
            help="The timed part: all parallel regions, or the whole process (default with a baseline or "
            "an elision, unless --seconds gives their times for the same part).",
        ),
    ] = None,
    seconds: Annotated[
        str,
        typer.Option(
            "--seconds",
            metavar="REGEX",
            help="Pattern whose group ( ) matches the seconds in the output of unrecorded programs.",
            rich_help_panel=RUNNING,
        ),
    ] = "",
    unrecorded: Annotated[
        bool,
        typer.Option("--unrecorded", help="Also time everything without the tool.", rich_help_panel=RUNNING),
    ] = False,
    wrappers: Annotated[
        bool,
        typer.Option(
            "--wrappers/--no-wrappers",
            help="Measure task creation (default), or estimate it.",
            rich_help_panel=RUNNING,
        ),
    ] = True,
    pin: Annotated[
        bool,
        typer.Option("--pin/--no-pin", help="Give each thread a separate core.", rich_help_panel=RUNNING),
    ] = True,
    libomp: LibompOption = None,
    as_json: Annotated[bool, json_option("scaling")] = False,
    as_csv: CsvOption = False,
    table: Annotated[Table, table_option(Table)] = Table.POINTS,  # type: ignore[attr-defined]
    figure: Annotated[
        Path | None,
        file_option("--figure", help="Draw the curves and the breakdown (.svg, .pdf, .png)."),
    ] = None,
    html: HtmlOption = None,
    form: FormatOption = None,
    full: FullOption = False,
    quiet: QuietOption = False,
) -> None:
    """Run a program on several numbers of threads, and explain why it does not scale.

    Shows a verdict (the cause, its line, and the cure), speed-up, and the breakdown of thread-time. --full
    adds OVR, WTI, factored speed-up curves with their gaps, and the lines that take longer and why.
    """
    check_form(as_json, as_csv, None, "", form)
    counts = _counts(threads)
    if command and not counts:
        counts = doubled(len(allowed_cpus()))
    directory = _directory(output, command)
    spec = _spec(command, baseline, elision, wrappers, pin, seconds, libomp) if command else None
    program = inspect_program(command[0], os.environ).path if command else None
    with SweepDirectory.open(directory, spec, program) as sweep:
        if counts:
            _run_all(sweep, list(jobs_of(sweep.spec, counts, repeat, unrecorded)), quiet)
        chosen = Scope(scope.value) if scope else default_scope(sweep.spec)
        with waiting(f"reading {directory}"):
            runs = load_runs(sweep, chosen, counts)
            content = collect_scaling(runs, sweep.spec, chosen, str(directory), len(allowed_cpus()))
    if figure is not None:
        render(both(content), figure)
    if html is not None:
        write_result(html_report([], [content]), html)
    if as_json:
        write_result(to_json(plain(scaling_report(content))), None)
    elif as_csv:
        write_result(csv_scaling(content, str(table.value)), None)
    elif form is not None:
        write_remarks(sweep_remarks(content), form, None)
    else:
        print_report(console_for(), scaling_report(content) if full else brief_scaling(content))


def doubled(most: int) -> tuple[int, ...]:
    """Returns the powers of two up to `most`, and `most` itself."""
    return (*(n for n in (2**k for k in range(most.bit_length())) if n < most), most)


def _counts(text: str) -> tuple[int, ...]:
    if not text:
        return ()
    if not re.fullmatch(r"[1-9]\d*(,[1-9]\d*)*", text):
        raise UsageError(f"--threads {text}", "not a list of numbers", "write numbers such as 1,2,4")
    return tuple(sorted({int(word) for word in text.split(",")}))


def _directory(output: Path | None, command: list[str] | None) -> Path:
    if output is not None:
        return output
    if not command:
        raise UsageError(
            "ompass scale", "neither a program nor a sweep (-o) was given", "see ompass scale --help"
        )
    return Path(f"{Path(command[0]).name}.sweep")


def _spec(
    command: list[str],
    baseline: str,
    elision: str,
    wrappers: bool,
    pin: bool,
    seconds: str,
    libomp: Path | None,
) -> SweepSpec:
    if seconds:
        try:
            pattern = re.compile(seconds)
        except re.error as error:
            raise UsageError(f"--seconds {seconds}", f"not a regular expression: {error}") from error
        if pattern.groups != 1:
            raise UsageError(
                f"--seconds {seconds}",
                "it must have one group",
                "write ( ) around the number, as in time ([0-9.]+)",
            )
    return SweepSpec(
        command=tuple(command),
        baseline=_words("--baseline", baseline),
        elision=_words("--elision", elision),
        working_directory=str(Path.cwd()),
        brackets=wrappers,
        pinned=pin,
        seconds=seconds,
        libomp=str(libomp.absolute()) if libomp else "",
    )


def _words(option: str, text: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise UsageError(f"{option} {text}", str(error), "quote it as for a shell") from error


def _run_all(sweep: SweepDirectory, jobs: list[Job], quiet: bool) -> None:
    """Executes the missing runs, in order."""
    done = sweep.done()
    left = [job for job in jobs if job not in done]
    if not left:
        return
    if str(Path.cwd()) != sweep.spec.working_directory:
        raise UsageError(
            f"{sweep.path}",
            f"the sweep was started in {sweep.spec.working_directory}",
            "resume it from there",
        )
    with contextlib.ExitStack() as stack:
        scratch = stack.enter_context(scratch_directory())
        executor = Executor.prepare(sweep.spec, os.environ, scratch)
        if not quiet:
            _announce(executor, sweep, len(jobs), len(left))
        progress = stack.enter_context(
            measuring_bar(not quiet and console_for(stderr=True).is_terminal, transient=True)
        )
        bar = progress.add_task("", total=len(jobs), completed=len(jobs) - len(left))
        for job in left:
            progress.update(bar, description=job.key, refresh=True)
            sweep.finish(executor.run(job, sweep))
            progress.update(bar, advance=1, refresh=True)


def _announce(executor: Executor, sweep: SweepDirectory, n_jobs: int, n_left: int) -> None:
    for warning in executor.plan.warnings:
        say(f"warning: {warning}")
    if n_left < n_jobs:
        say(f"resuming {sweep.path}: {n_jobs - n_left} of {plural(n_jobs, 'run')} are done")
    own = users_own(os.environ)
    if sweep.spec.pinned and own:
        say(f"{own} is set and determines the pinning")
