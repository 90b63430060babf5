# SPDX-License-Identifier: Apache-2.0
"""`ompass check`: decides whether a program became worse, for continuous integration."""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from ompass.check.content import collect_check
from ompass.check.execute import Limits, Source, gather, is_recorded, recorded_directories
from ompass.check.exports import bencher_check, benchmark_check, junit_check, markdown_check
from ompass.check.report import check_report
from ompass.check.verdict import LEAST_REPEATS, MINIMUM, MOST_ROUNDS
from ompass.commands.options import (
    OUTPUT,
    RUNNING,
    LibompOption,
    QuietOption,
    file_option,
    json_option,
    new_folder,
    parse_minimum,
)
from ompass.commands.streams import (
    console_for,
    ending_at_closed_pipe,
    measuring_bar,
    say,
    to_json,
    write_result,
)
from ompass.errors import RunNotFoundError, UsageError
from ompass.launch.plan import RunOptions
from ompass.launch.recorder import Recorder
from ompass.launch.tool import scratch_directory
from ompass.reports.model import plain
from ompass.reports.terminal import print_report
from ompass.units import parse_duration

_EPILOG = """
[bold]Examples[/bold]

  ompass check "./fib-old 30" -- ./fib-new 30

  ompass check main/ -- ./fib 30                       against recorded runs: less certain

  ompass check before.ompass -- after.ompass           recorded runs: compares counts, not times

  ompass check "./old 30" --markdown check.md --junit check.xml -- ./new 30

  ompass check "./old 30" --min-difference 5% --time-limit 2m -- ./new 30

[bold]Exit codes[/bold]

  0   not worse
  1   worse
  2   cannot be determined (disturbed, too noisy), or wrong usage
  9   a program failed

`ompass help` lists the others.
"""


def register(app: typer.Typer) -> None:
    # The words after -- belong to the program; options may follow BASELINE.
    app.command("check", epilog=_EPILOG)(check)


def check(
    baseline: Annotated[
        str,
        typer.Argument(
            metavar="BASELINE",
            help="The program to compare with, and its arguments, as one word; or a recorded run; or a "
            "directory of recorded runs.",
        ),
    ],
    command: Annotated[
        list[str],
        typer.Argument(
            metavar="-- PROGRAM", help="The program to check, and its arguments; or recorded runs of it."
        ),
    ],
    repeat: Annotated[
        int,
        typer.Option(
            "--repeat",
            "-r",
            metavar="N",
            min=LEAST_REPEATS,
            help="Largest number of rounds; each runs both sides.",
            rich_help_panel=RUNNING,
        ),
    ] = MOST_ROUNDS,
    time: Annotated[
        str,
        typer.Option(
            "--time-limit",
            metavar="TIME",
            help="Longest time for all rounds, such as 30s.",
            rich_help_panel=RUNNING,
        ),
    ] = "10m",
    threads: Annotated[
        int,
        typer.Option(
            "--threads",
            "-t",
            metavar="N",
            min=0,
            show_default=False,
            help="Number of threads (OMP_NUM_THREADS).",
            rich_help_panel=RUNNING,
        ),
    ] = 0,
    minimum: Annotated[
        str,
        typer.Option(
            "--min-difference", metavar="PERCENT", help="Least difference of times that counts, such as 5%."
        ),
    ] = f"{MINIMUM:.0%}",
    name: Annotated[
        str, typer.Option("--name", metavar="TEXT", help="Name in reports (default: the command line).")
    ] = "",
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            callback=new_folder,
            metavar="DIR",
            help="Keep the recorded runs in DIR.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    traces: Annotated[
        bool,
        typer.Option(
            "--traces/--no-traces",
            help="Also record three traces of each side, for span and simulated time.",
            rich_help_panel=RUNNING,
        ),
    ] = True,
    libomp: LibompOption = None,
    as_json: Annotated[bool, json_option("check")] = False,
    markdown: Annotated[
        Path | None, file_option("--markdown", help="Write a comment for a pull request.")
    ] = None,
    junit: Annotated[Path | None, file_option("--junit", help="Write JUnit XML.")] = None,
    benchmark: Annotated[
        Path | None, file_option("--benchmark", help="Write JSON for github-action-benchmark.")
    ] = None,
    bencher: Annotated[Path | None, file_option("--bencher", help="Write Bencher Metric Format.")] = None,
    quiet: QuietOption = False,
) -> None:
    """Decide whether PROGRAM is worse than BASELINE. Exits with 0 (not worse), 1 (worse) or 2 (unknown).

    Records both sides alternately until the result is certain or a limit is reached. Compares times by
    confidence intervals, and counts of tasks, regions and loops exactly.
    """
    options = RunOptions(threads=str(threads) if threads else "", sample="off", libomp=libomp)
    limits = Limits(repeat, _seconds(time), parse_minimum(minimum) or MINIMUM, traces)
    with ExitStack() as stack:
        scratch = stack.enter_context(scratch_directory())
        sources = [
            _source("BASELINE", _words(baseline), options, scratch),
            _source("PROGRAM", command, options, scratch),
        ]
        if not quiet:
            _warn(sources)
        folder = output or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ompass-check-")))
        bar = stack.enter_context(
            measuring_bar(not quiet and console_for(stderr=True).is_terminal, transient=True)
        )
        shown = bar.add_task("", total=repeat)

        def progress(n: int, what: str) -> None:
            bar.update(shown, completed=n, description=what, refresh=True)

        evidence = gather(sources, limits, folder, progress, keep=output is not None)
    content = collect_check(name or sources[1].name, sources[0].name, sources[1].name, evidence)
    report = check_report(content)
    for file, form in (
        (markdown, markdown_check),
        (junit, junit_check),
        (benchmark, benchmark_check),
        (bencher, bencher_check),
    ):
        if file is not None:
            with ending_at_closed_pipe():
                write_result(form(content), file)
    with ending_at_closed_pipe():
        if as_json:
            write_result(to_json(plain(report)), None)
        elif Path("-") not in (markdown, junit, benchmark, bencher):
            print_report(console_for(), report)
    raise typer.Exit(content.verdict.status)


def _seconds(text: str) -> float:
    try:
        return parse_duration(text) / 1e9
    except ValueError as error:
        raise UsageError(f"--time-limit {text}", str(error)) from None


def _words(baseline: str) -> list[str]:
    """Returns the command line of BASELINE; the path of recorded runs stays one word."""
    if baseline and is_recorded(Path(baseline)):
        return [baseline]
    try:
        words = shlex.split(baseline)
    except ValueError as error:
        raise UsageError(f"BASELINE {baseline}", str(error), "quote it as for a shell") from None
    if not words:
        raise UsageError("BASELINE", "it is empty", "name a program or recorded runs")
    return words


def _source(side: str, words: list[str], options: RunOptions, scratch: Path) -> Source:
    path = Path(words[0])
    if not is_recorded(path):
        recorder = Recorder.prepare(words, options, os.environ, scratch)
        return Source(shlex.join(words), recorder)
    if len(words) > 1:
        raise UsageError(f"{side} {path}", "recorded runs have no arguments", "name only the run")
    directories = recorded_directories(path)
    if not directories:
        raise RunNotFoundError(
            f"{path}", "it is not a run, and contains no runs", "name a directory that contains recordings"
        )
    return Source(str(path), None, directories)


def _warn(sources: Sequence[Source]) -> None:
    warnings = [w for source in sources if source.recorder for w in source.recorder.plan.warnings]
    for warning in dict.fromkeys(warnings):
        say(f"warning: {warning}")
