# SPDX-License-Identifier: Apache-2.0
"""`ompass scale`: runs a program on several numbers of threads, and explains why it does not scale.

Owns the order of steps: check everything, execute the missing runs, report. The same command resumes a sweep
that was interrupted or killed. Also reports on MPI jobs, and on runs that were recorded one by one.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from ompass.commands.options import (
    OUTPUT,
    RUNNING,
    CsvOption,
    EditorForm,
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
from ompass.commands.report import write_remarks
from ompass.commands.streams import console_for, measuring_bar, say, to_json, waiting, write_result
from ompass.errors import RunNotFoundError, UsageError
from ompass.figures.render import render
from ompass.jobs.content import jobs_of as jobs_of_reports
from ompass.jobs.report import job_scaling_report
from ompass.jobs.scaling import job_scaling
from ompass.launch.launchers import position_of_program
from ompass.launch.program import inspect_program
from ompass.launch.tool import scratch_directory
from ompass.metrics.breakdown import Scope
from ompass.page.assemble import html_report
from ompass.readers.run import is_run_directory, runs_in
from ompass.reports.content import ReportContent, collect_runs
from ompass.reports.model import csv_rows, plain
from ompass.reports.terminal import print_report
from ompass.scaling.content import ScalingContent, collect_scaling, default_scope, load_runs, recorded_sweep
from ompass.scaling.directory import SweepDirectory
from ompass.scaling.execute import Executor
from ompass.scaling.figure import both
from ompass.scaling.plan import RANKS, Job, SweepSpec, allowed_cpus, jobs_of, users_own
from ompass.scaling.report import CSV_TABLES, brief_scaling, csv_scaling, scaling_report, sweep_remarks
from ompass.units import plural

_EPILOG = """
[bold]Examples[/bold]

  ompass scale --threads 1,2,4 -- ./health

  ompass scale -t 1,2,4 --baseline "./sort-serial" -- ./sort-tasks

  ompass scale -t 2,4,8 --repeat 5 -o s.sweep -- ./sort --grain {threads}000

  ompass scale -t 1,2 --baseline "./sort-serial" --seconds "seconds +([0-9.]+)" -- ./sort-tasks

  ompass scale -o s.sweep --figure curves.pdf          report on a sweep again

  ompass scale -t 1,2 --ranks 1,2,4 -- mpirun -n {ranks} ./solver

  ompass scale --from batch/*.ompass                   runs that were recorded one by one

Runs on different numbers of threads alternate; threads are pinned. The same command resumes a killed sweep.
"""

Table = Enum("Table", {name.upper(): name for name in CSV_TABLES}, type=str)  # type: ignore[misc]


def register(app: typer.Typer) -> None:
    app.command("scale", epilog=_EPILOG, context_settings={"allow_interspersed_args": False})(scale)


def scale(
    command: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PROGRAM]",
            help="The program and its arguments; {threads} stands for the number of threads, {ranks} for "
            "the number of ranks. Without a program, run nothing and report on the sweep in DIR (-o).",
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
    ranks: Annotated[
        str,
        typer.Option(
            "--ranks",
            metavar="N,...",
            help="Numbers of ranks of an MPI job, which replace {ranks} in the command.",
            rich_help_panel=RUNNING,
        ),
    ] = "",
    baseline: Annotated[
        str,
        typer.Option(
            "--baseline",
            metavar="COMMAND",
            help="The best serial program, the reference of speed-ups.",
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
            help="Number of rounds; each round runs everything once.",
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
            help="The sweep's directory (default: PROGRAM.sweep).",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    scope: Annotated[
        ScopeName | None,
        choice_option(
            ScopeName,
            "--scope",
            help="The timed part: all parallel regions (default), or the whole process (default with "
            "--baseline or --elision, but without --seconds).",
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
    recorded: Annotated[
        list[Path] | None,
        typer.Option(
            "--from",
            metavar="PATH",
            help="Run nothing: report on these runs, or the runs in these folders. Further paths may follow.",
            rich_help_panel=RUNNING,
        ),
    ] = None,
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
    adds overhead (OVR), work time inflation (WTI), factored speed-up curves with their gaps, and the lines
    that take longer and why. For an MPI job (mpirun -n 2 PROGRAM), shows its efficiencies by ranks and
    threads.
    """
    check_form(as_json, as_csv, None, "", form)
    shown = Shown(as_json, as_csv, str(table.value), figure, html, form, full)
    wanted = Scope(scope.value) if scope else None
    if recorded:
        shown.runs([*recorded, *map(Path, command or ())], wanted or Scope.REGIONS)
        return
    counts = _counts("--threads", threads)
    n_ranks = _ranks(ranks, command)
    if command and not counts:
        counts = doubled(len(allowed_cpus()))
    directory = _directory(output, command)
    spec = _spec(command, baseline, elision, wrappers, pin, seconds, libomp) if command else None
    program = inspect_program(_program(command), os.environ).path if command else None
    if command and position_of_program(command, os.environ):
        shown.check_jobs()
    with SweepDirectory.open(directory, spec, program) as sweep:
        if command:
            _run_all(sweep, list(jobs_of(sweep.spec, counts, repeat, unrecorded, n_ranks)), quiet)
        chosen = wanted or default_scope(sweep.spec)
        jobs = [sweep.ranks_of(done) for done in sweep.done().values() if done.ranks]
        with waiting(f"reading {directory}"):
            if jobs:
                shown.jobs([collect_runs(ranks) for ranks in jobs], str(directory))
                return
            runs = load_runs(sweep, chosen, counts)
            content = collect_scaling(runs, sweep.spec, chosen, str(directory))
    shown.sweep(content)


@dataclass(frozen=True, slots=True)
class Shown:
    """The forms of the report that the user requested."""

    as_json: bool
    as_csv: bool
    table: str
    figure: Path | None
    html: Path | None
    form: EditorForm | None
    full: bool

    def runs(self, paths: Sequence[Path], scope: Scope) -> None:
        """Shows separately recorded runs: as MPI jobs if some are ranks of one job, else as a sweep."""
        with waiting("reading the runs"):
            contents = collect_runs(run_directories(paths))
        jobs = jobs_of_reports(contents)
        if any(len(job) > 1 for job in jobs):
            self.jobs(jobs, "")
            return
        runs, spec = recorded_sweep(contents, scope)
        self.sweep(collect_scaling(runs, spec, scope, f"--from {shlex.join(map(str, paths))}"))

    def check_jobs(self) -> None:
        """Raises UsageError for a form that the report on MPI jobs lacks."""
        others = {"--figure": self.figure, "--html": self.html, "--format": self.form}
        for name, value in others.items():
            if value is not None:
                raise UsageError(
                    name, "the report on an MPI job has no such form", "use --json, --csv or none"
                )

    def jobs(self, jobs: Sequence[Sequence[ReportContent]], directory: str) -> None:
        """Shows MPI jobs."""
        self.check_jobs()
        report = job_scaling_report(job_scaling(jobs), directory)
        if self.as_json:
            write_result(to_json(plain(report)), None)
        elif self.as_csv:
            write_result(csv_rows(plain(report)["points"]), None)
        else:
            print_report(console_for(), report)

    def sweep(self, content: ScalingContent) -> None:
        if self.figure is not None:
            render(both(content), self.figure)
        if self.html is not None:
            write_result(html_report([], [content]), self.html)
        if self.as_json:
            write_result(to_json(plain(scaling_report(content))), None)
        elif self.as_csv:
            write_result(csv_scaling(content, self.table), None)
        elif self.form is not None:
            write_remarks(sweep_remarks(content), self.form, None)
        else:
            print_report(console_for(), scaling_report(content) if self.full else brief_scaling(content))


def _program(command: Sequence[str]) -> str:
    """Returns the name of the measured program, without the launcher that starts it."""
    return command[position_of_program(command, os.environ)]


def doubled(most: int) -> tuple[int, ...]:
    """Returns the powers of two up to `most`, and `most` itself."""
    return (*(n for n in (2**k for k in range(most.bit_length())) if n < most), most)


def _ranks(text: str, command: list[str] | None) -> tuple[int, ...]:
    """Returns the numbers of ranks; empty if the command does not depend on them."""
    counts = _counts("--ranks", text)
    depends = any(RANKS in word for word in command or ())
    if command and depends != bool(counts):
        why = "the command has no {ranks} to replace" if counts else "missing, but the command has {ranks}"
        raise UsageError("--ranks", why, "write, for example, --ranks 1,2,4 -- mpirun -n {ranks} ./solver")
    return counts


def _counts(option: str, text: str) -> tuple[int, ...]:
    if not text:
        return ()
    if not re.fullmatch(r"[1-9]\d*(,[1-9]\d*)*", text):
        raise UsageError(f"{option} {text}", "not a list of numbers", "write numbers such as 1,2,4")
    return tuple(sorted({int(word) for word in text.split(",")}))


def _directory(output: Path | None, command: list[str] | None) -> Path:
    if output is not None:
        return output
    if not command:
        raise UsageError(
            "ompass scale", "neither a program nor a sweep (-o) was given", "see ompass scale --help"
        )
    return Path(f"{Path(_program(command)).name}.sweep")


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


def run_directories(paths: Iterable[Path]) -> list[Path]:
    """Returns these paths, with the runs in a folder in place of the folder. Raises RunNotFoundError."""
    found: list[Path] = []
    for path in paths:
        if is_run_directory(path) or not path.is_dir():
            found.append(path)
            continue
        runs = runs_in(path)
        if not runs:
            raise RunNotFoundError(
                f"{path}", "it contains no runs", "name run directories, or a folder of them"
            )
        found += runs
    return found
