# SPDX-License-Identifier: Apache-2.0
"""`ompass top`: watches a recorded program while it runs."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Final

import typer

from ompass.commands.streams import say
from ompass.errors import CannotRecordError, UsageError
from ompass.launch.produced import absolute_pattern, candidates, choose_directory, find_produced, new_launch
from ompass.launch.rank_start import LAUNCH
from ompass.readers.run import is_run_directory

_EPILOG = """
[bold]Examples[/bold]

  ompass top fib-1234.ompass            a run directory

  ompass top solver-r*.ompass           the ranks of an MPI job

  ompass top 1234                       the process with this id

  ompass top -- ./fib 40                start and record a program
"""
_PATIENCE_S: Final = 3.0
_LOOK_S: Final = 0.05


def register(app: typer.Typer) -> None:
    app.command("top", epilog=_EPILOG, context_settings={"ignore_unknown_options": True})(top)


def top(
    what: Annotated[
        list[str],
        typer.Argument(
            metavar="DIR...|PID|PROGRAM [ARG...]",
            help="Run directories or a process to watch, or a program to start.",
        ),
    ],
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", metavar="DIR", help="Run directory of a started program, as in ompass run."
        ),
    ] = "",
) -> None:
    """Watch a recorded program while it runs: states, threads, constructs and findings, every second.

    Updates less often if the program leaves no processor idle. Reads only the logs that the program writes
    anyway. The bottom line lists the keys; q closes the view, and the program continues. If ompass top
    started the program, the program's output is printed after both have ended.
    """
    if not sys.stdout.isatty():
        raise UsageError("ompass top", "it needs a terminal", "use ompass report for the figures")
    if all(is_run_directory(Path(word)) for word in what):
        _show([Path(word) for word in what])
    elif len(what) == 1 and what[0].isdigit():
        from ompass.live.watch import directories_of

        _show(directories_of(int(what[0])))
    else:
        _start_and_show(what, output)


def _show(directories: list[Path]) -> None:
    # Textual is large, and only this command needs it.
    from ompass.live.screen import Top
    from ompass.live.watch import Watch

    Top(Watch(directories)).run()


def _start_and_show(command: list[str], output: str) -> None:
    """Starts and records the program, and shows it. After the view, waits until the program ends."""
    pattern = absolute_pattern(output or choose_directory(Path(command[0]), os.environ, os.getpid()))
    launch = new_launch(os.environ)
    before = candidates(pattern)
    run: Path | None = None
    with tempfile.TemporaryFile() as written:
        program = subprocess.Popen(
            [sys.executable, "-m", "ompass", "run", "--no-report", "-o", pattern, "--", *command],
            stdin=subprocess.DEVNULL,
            stdout=written,
            stderr=subprocess.STDOUT,
            env={**os.environ, LAUNCH: launch},
        )
        try:
            run = _wait_for_run(program, lambda: find_produced(pattern, before, program.pid, launch).main)
            _show([run])
            if program.poll() is None:
                say("the program is still running; Ctrl-C ends it")
            program.wait()
        except KeyboardInterrupt:
            program.wait()
        finally:
            written.seek(0)
            sys.stdout.flush()
            sys.stdout.buffer.write(written.read())
            sys.stdout.flush()
    if run:
        say(f"recorded in {run}")
    if program.returncode:
        raise typer.Exit(program.returncode)


def _wait_for_run(program: subprocess.Popen[bytes], find: Callable[[], Path | None]) -> Path:
    """Returns the run when it exists. Raises CannotRecordError if the program ends without one."""
    began_s = time.monotonic()
    is_patient = False
    while True:
        has_ended = program.poll() is not None  # before the search: the run may appear just before the end
        run = find()
        if run and (run / "process.log").exists():
            return run
        if has_ended:
            raise CannotRecordError("nothing was recorded", "the program ended before it used OpenMP")
        if not is_patient and time.monotonic() - began_s > _PATIENCE_S:
            is_patient = True
            say("waiting until the program uses OpenMP for the first time; Ctrl-C ends it")
        time.sleep(_LOOK_S)
