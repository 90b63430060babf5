# SPDX-License-Identifier: Apache-2.0
"""`ompass run`: records a program and reports.

Owns the order of steps: inspect, plan, run, find the recordings, report. The program keeps its streams,
signals and exit status. Messages of ompass go to stderr, before the program starts and after it has ended.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from ompass.commands.options import (
    OUTPUT,
    RUNNING,
    FullOption,
    LibompOption,
    choice_option,
    refuse_output,
)
from ompass.commands.streams import say
from ompass.errors import CannotRecordError, OmpassError, UsageError
from ompass.files import file_problem
from ompass.launch.child import end_as
from ompass.launch.launchers import inspect_command, position_of_program
from ompass.launch.plan import Plan, RunOptions, plan_here
from ompass.launch.produced import (
    ProducedRuns,
    absolute_pattern,
    candidates,
    check_place,
    choose_directory,
    dumps_of,
    find_produced,
    new_launch,
    remove_existing,
    why_nothing,
)
from ompass.launch.program import (
    Program,
    ProgramNotExecutableError,
    ProgramNotFoundError,
)
from ompass.launch.rank_start import LAUNCH, publish_failure, publish_plan, rank_variables, withdraw
from ompass.launch.second_run import MOST_BYTES, FirstRun, Limits
from ompass.launch.tool import scratch_directory
from ompass.readers.run import have_ended
from ompass.units import parse_duration, parse_limit, plural

_EXIT_NOT_RECORDED = 125
_MOST_HZ = 10_000
_DUMP_SIGNALS = ("USR1", "USR2", "HUP", "QUIT", "URG")  # as in ompt_tool/src/options.cpp
_MOST_LINES = 4
_MOST_SECONDS = 10  # for storing names (a later command stores the rest), and for the end of other ranks
_MOST_SECONDS_TO_BEGIN = 1  # from the end of this rank until all others have a run directory
_THREADS = re.compile(r"[1-9]\d*(,[1-9]\d*)*")

_EPILOG = """
[bold]Examples[/bold]

  ompass run -- ./fib 30

  ompass run --threads 8 --mode trace -o fib.ompass -- ./fib 30

  ompass run -- mpirun -n 4 ./solver                   all ranks of an MPI job

  ompass run --no-wrappers --no-report -- ./fib 30     lowest overhead; report later

  ompass run --report-json fib.json -q -- ./fib 30     in scripts

The report goes to stderr after the program has ended. Output and exit status are the program's; 125 if it
could not be started for recording.
"""


class Mode(str, Enum):
    """The amount of detail that a run records."""

    PROFILE = "profile"
    TRACE = "trace"


def register(app: typer.Typer) -> None:
    # Options after the program's name belong to the program.
    app.command("run", epilog=_EPILOG, context_settings={"allow_interspersed_args": False})(run)


def run(
    command: Annotated[
        list[str], typer.Argument(metavar="PROGRAM", help="The program to record, and its arguments.")
    ],
    mode: Annotated[
        Mode | None,
        choice_option(
            Mode,
            "--mode",
            panel=RUNNING,
            help="profile: statistics of constant size (default); trace: every event.",
        ),
    ] = None,
    threads: Annotated[
        str,
        typer.Option(
            "--threads",
            "-t",
            metavar="N,...",
            help="Number of threads (OMP_NUM_THREADS); a list for nested regions.",
            rich_help_panel=RUNNING,
        ),
    ] = "",
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="DIR",
            help="Run directory; %e program, %p process, %r rank, %h host. "
            "If the directory exists, the new one ends in -2, -3 ...",
            rich_help_panel=OUTPUT,
        ),
    ] = "",
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="Remove the run directory of -o if it exists and contains only files of a run.",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
    wrappers: Annotated[
        bool | None,
        typer.Option(
            "--wrappers/--no-wrappers",
            help="Measure task creation (default), or estimate it for less overhead.",
            rich_help_panel=RUNNING,
        ),
    ] = None,
    counters: Annotated[
        str,
        typer.Option(
            "--counters",
            metavar="NAMES",
            help="PAPI events to count, separated by commas.",
            rich_help_panel=RUNNING,
        ),
    ] = "",
    sample: Annotated[
        str,
        typer.Option(
            "--sample",
            metavar="HZ|loads[:HZ]",
            help="Samples of each thread per second of processor time (default 100), or off. loads: sample "
            "the loads from memory (`ompass latency`).",
            rich_help_panel=RUNNING,
        ),
    ] = "",
    limit_mb: Annotated[
        str,
        typer.Option(
            "--limit",
            metavar="SIZE",
            help="Largest trace, in megabytes or with a unit (500, 500M, 1.5G). Beyond it, only the profile "
            "is recorded.",
            rich_help_panel=RUNNING,
        ),
    ] = "",
    keep_last: Annotated[
        str,
        typer.Option(
            "--keep-last",
            metavar="TIME|SIZE",
            help="Record a trace, but keep only its last part: 30s, or 200M of disk space. The profile "
            "covers the whole run.",
            rich_help_panel=RUNNING,
        ),
    ] = "",
    dump_on: Annotated[
        str,
        typer.Option(
            "--dump-on",
            metavar="SIGNAL",
            help="Signal, such as SIGUSR1, that makes the tool copy the part kept by --keep-last into a run "
            "of its own, while the program continues.",
            rich_help_panel=RUNNING,
        ),
    ] = "",
    dump_if_longer: Annotated[
        str,
        typer.Option(
            "--dump-if-longer",
            metavar="TIME",
            help="Also copy the kept part after each parallel region longer than TIME.",
            rich_help_panel=RUNNING,
        ),
    ] = "",
    libomp: LibompOption = None,
    report: Annotated[
        bool,
        typer.Option(
            "--report/--no-report",
            help="Print the report after the program has ended.",
            rich_help_panel=OUTPUT,
        ),
    ] = True,
    json_file: Annotated[
        Path | None,
        typer.Option(
            "--report-json", metavar="FILE", help="Write the report as JSON.", rich_help_panel=OUTPUT
        ),
    ] = None,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict", help="Exit with 125 if nothing was recorded, whatever the program's status."
        ),
    ] = False,
    twice: Annotated[
        bool | None,
        typer.Option(
            "--twice/--once",
            show_default=False,
            help="Always, or never, run the program a second time, with a trace, to predict the gain of "
            "changes (default: if it took at most --within and is safe to repeat).",
            rich_help_panel=RUNNING,
        ),
    ] = None,
    within: Annotated[
        str,
        typer.Option(
            "--within",
            metavar="TIME",
            help="Without --twice, run a program a second time only if it took at most TIME.",
            rich_help_panel=RUNNING,
        ),
    ] = "30s",
    full: FullOption = False,
    quiet: Annotated[
        bool,
        typer.Option(
            "--quiet", "-q", help="Print only errors, and the program's output.", rich_help_panel=OUTPUT
        ),
    ] = False,
) -> None:
    """Record PROGRAM and show where its time went.

    Sets up everything for the OpenMP runtime that the program uses. Runs a program built with gcc on LLVM's
    runtime, which supports OMPT. If recording is impossible, explains why and what to do.
    """
    options = RunOptions(
        mode=mode.value if mode else None,
        threads=_checked_threads(threads),
        wrappers=wrappers,
        counters=counters,
        sample=_checked_sample(sample),
        limit_mb=_checked_limit(limit_mb),
        keep_last=_checked_part(keep_last, mode),
        dump_on=_checked_signal(dump_on, keep_last),
        dump_if_longer=_checked_threshold(dump_if_longer, keep_last),
        libomp=libomp,
    )
    lost = False
    shown = Shown(report and not quiet, json_file, full, quiet)
    first_word = position_of_program(command, os.environ)
    limits = Limits(
        # A job does not run again: it may use many hosts.
        twice
        if mode is None and not keep_last and "OMPASS_MODE" not in os.environ and not first_word
        else False,
        _checked_time(within),
        _most_bytes(options.limit_mb or os.environ.get("OMPASS_LIMIT_MB", "")),
    )
    with scratch_directory() as scratch:
        try:
            if json_file is not None:  # checked before the program runs for hours
                refuse_output("--report-json", json_file, file_problem(json_file), "name another file")
            # A launcher of MPI jobs passes its environment on to the program.
            started = inspect_command(command, os.environ)
            program, path = started.program, started.path
            _, plan = plan_here(program, options, os.environ, scratch)
            wanted, named = _place(output, program, started.has_launcher)
            directory = absolute_pattern(wanted)
            check_place(directory, named)
            if force:
                remove_existing(directory, os.environ)
            launch = new_launch(os.environ)
            before = candidates(directory)
            if not quiet:
                for warning in plan.warnings:
                    say(f"warning: {warning}")
            environment = _environment(plan, directory) | {LAUNCH: launch}
            publish_plan(sys.argv[1:], command, str(path), _changed(environment))
            first = FirstRun.started(path, command, program, plan, environment)
        except (ProgramNotFoundError, ProgramNotExecutableError, UsageError) as error:
            publish_failure(error.exit_code)
            raise
        except OmpassError as error:
            say(f"error: {error.one_line()}")
            publish_failure(_EXIT_NOT_RECORDED)
            raise typer.Exit(_EXIT_NOT_RECORDED) from None
        withdraw()
        try:
            produced = _produced(directory, before, first.ending.pid, launch)
            lost = strict and produced.main is None
            is_read = _after(produced, first, limits, shown)  # reading a run also stores its names
            _keep_names(produced.others if is_read else (produced.main, *produced.others))
        except OmpassError as error:
            # A script must see the program's exit status, even if the report fails.
            say(f"error: {error.one_line()}")
    sys.stdout.flush()
    sys.stderr.flush()
    if lost:
        raise typer.Exit(_EXIT_NOT_RECORDED)
    end_as(first.ending)


@dataclass(frozen=True, slots=True)
class Shown:
    """The output of the command after the end of the program."""

    report: bool
    json_file: Path | None
    full: bool
    quiet: bool


def _checked_time(text: str) -> int:
    try:
        return parse_duration(text)
    except ValueError as error:
        raise UsageError(f"--within {text}", *str(error).split("; ")) from None


def _checked_threads(text: str) -> str:
    if text and not _THREADS.fullmatch(text):
        raise UsageError(
            f"--threads {text}", "not a number of threads", "write a number such as 4, or a list such as 4,2"
        )
    return text


def _checked_sample(text: str) -> str:
    what, colon, number = text.partition(":") if text.startswith("loads") else ("", "", text)
    if text in ("", "off", "loads"):
        return text
    if number.isdecimal() and bool(colon) <= int(number) <= _MOST_HZ and what in ("", "loads"):
        return text
    raise UsageError(
        f"--sample {text}",
        "not a number of samples per second",
        f"write 0 to {_MOST_HZ}, off, loads or loads:{_MOST_HZ}",
    )


def _checked_limit(text: str) -> str:
    try:
        return str(parse_limit(text)) + "B" if text else ""
    except ValueError as error:
        raise UsageError(f"--limit {text}", *str(error).split("; ")) from None


def _most_bytes(text: str) -> int:
    """Returns the limit for the trace of a second run; the default if `text` is empty or invalid."""
    try:
        return parse_limit(text) if text else MOST_BYTES
    except ValueError:
        return MOST_BYTES


def _checked_part(text: str, mode: Mode | None) -> str:
    if not text:
        return ""
    if mode is Mode.PROFILE:
        raise UsageError("--keep-last", "it keeps a part of a trace", "leave out --mode profile")
    try:
        return f"{parse_duration(text)}ns" if text.strip().endswith(("s", "m")) else f"{parse_limit(text)}B"
    except ValueError:
        raise UsageError(
            f"--keep-last {text}",
            "neither a time nor a size",
            "write a time such as 30s, or a size such as 200M",
        ) from None


def _checked_signal(text: str, keep_last: str) -> str:
    if not text:
        return ""
    name = text.upper().removeprefix("SIG")
    if name not in _DUMP_SIGNALS:
        known = ", ".join(_DUMP_SIGNALS)
        raise UsageError(f"--dump-on {text}", "not a signal for dumps", f"name one of {known}")
    _check_dumps("--dump-on", keep_last)
    return name


def _checked_threshold(text: str, keep_last: str) -> str:
    if not text:
        return ""
    try:
        ns = parse_duration(text)
    except ValueError as error:
        raise UsageError(f"--dump-if-longer {text}", *str(error).split("; ")) from None
    _check_dumps("--dump-if-longer", keep_last)
    return f"{ns}ns"


def _check_dumps(option: str, keep_last: str) -> None:
    if not keep_last and not os.environ.get("OMPASS_KEEP_LAST"):
        raise UsageError(
            option, "a dump holds the part that --keep-last keeps", "add --keep-last, such as 30s"
        )


def _place(output: str, program: Program, has_launcher: bool) -> tuple[str, str]:
    """Returns the pattern of the run directory, and the option or variable that sets it."""
    variable = os.environ.get("OMPASS_DIR", "")
    if output:
        return output, f"-o {output}"
    if variable:
        return variable, f"OMPASS_DIR={variable}"
    chosen = choose_directory(program.path, os.environ, os.getpid(), ranks=has_launcher)
    return chosen, f"default, as -o {chosen}"


def _environment(plan: Plan, directory: str) -> dict[str, str]:
    # The report replaces the tool's summary, unless the user asks for the summary.
    defaults = {"OMPASS_SUMMARY": "off"}
    return {**defaults, **os.environ, **plan.variables, "OMPASS_DIR": directory}


def _changed(environment: Mapping[str, str]) -> dict[str, str]:
    """Returns the variables that this process lacks or sets differently."""
    return {name: value for name, value in environment.items() if os.environ.get(name) != value}


def _produced(directory: str, before: set[Path], pid: int, launch: str) -> ProducedRuns:
    """Returns the runs of this launch. In a job, waits a moment for the runs of all ranks."""
    n_ranks = int(rank_variables(os.environ)[2] or 0)
    end_s = time.monotonic() + _MOST_SECONDS_TO_BEGIN
    while True:
        produced = find_produced(directory, before, pid, launch)
        if len(produced.ranks or (0,)) >= n_ranks or time.monotonic() > end_s:
            return produced
        time.sleep(0.02)


def _after(produced: ProducedRuns, first: FirstRun, limits: Limits, shown: Shown) -> bool:
    """Shows the run as the user requested. Returns True if it has read the main run, or all ranks."""
    if produced.main is None:
        reason = why_nothing(first.program, first.plan, first.ending, os.environ)
        raise CannotRecordError("nothing was recorded", *reason)
    ranks = _whole_job(produced)
    if not shown.quiet:
        if first.ending.signal or first.ending.exit_code:
            say(f"the program {first.ending.describe()}")
        if first.ending.signal == signal.SIGSEGV:
            say(
                "if it runs without ompass, try a larger stack (`ulimit -s unlimited`, OMP_STACKSIZE=64M): "
                "with a tool, libomp needs a third more for nested tasks"
            )
        _say_recorded(produced, shown)
        for dump in dumps_of(produced.main):
            say(f"the program dumped the kept part of the trace, in {_shown(dump)}")
    # Only the first rank prints a report, on the whole job.
    with_report = shown.report and not rank_variables(os.environ)[0].lstrip("0")
    if not with_report and shown.json_file is None:
        return False
    from ompass.commands.recorded import show_report  # slow to load, so loaded after the program has ended

    show_report(
        produced.main, ranks, first, limits, shown.json_file, on_screen=with_report, is_full=shown.full
    )
    return not ranks or len(ranks) == 1 + len(produced.others)


def _whole_job(produced: ProducedRuns) -> tuple[Path, ...]:
    """Waits until all ranks have ended, and returns their runs; empty if some are elsewhere, or still run."""
    rank, _, size = rank_variables(os.environ)
    if not rank:
        return produced.ranks  # their launcher has ended
    if not produced.ranks or (size and len(produced.ranks) < int(size)):
        return ()
    return produced.ranks if have_ended(produced.ranks, _MOST_SECONDS) else ()


def _say_recorded(produced: ProducedRuns, shown: Shown) -> None:
    ranks = produced.ranks or tuple(filter(None, [produced.main]))
    name = _shown(ranks[0])
    if len(ranks) > 1:
        say(f"recorded {plural(len(ranks), 'rank')} in {name} to {_shown(ranks[-1])}")
    else:
        again = "" if shown.report else f"; `ompass report {name}` shows it"
        say(f"recorded in {name}{again}")
    say_others([path for path in produced.others if path not in ranks])


def _keep_names(directories: Iterable[Path | None]) -> None:
    """Stores the names of functions and lines of recorded runs, before the program is rebuilt.

    Stops at an interrupt.
    """
    from ompass.keeping.names import keep_names_of  # slow to load

    with contextlib.suppress(KeyboardInterrupt):
        keep_names_of(filter(None, directories), _MOST_SECONDS)


def say_others(others: Sequence[Path]) -> None:
    """Prints a line for each run, or a single line if there are many."""
    if len(others) <= _MOST_LINES:
        for other in others:
            say(f"a child process was also recorded, in {_shown(other)}")
    else:
        first, last = _shown(others[0]), _shown(others[-1])
        say(f"{len(others)} child processes were also recorded, in {first} to {last}")


def _shown(path: Path) -> str:
    """Returns the path; relative to the working directory if the path lies in it."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)
