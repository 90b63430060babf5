# SPDX-License-Identifier: Apache-2.0
"""`ompass top`: watches a recorded program while it runs."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Final

import typer

from ompass.commands.streams import say
from ompass.errors import CannotRecordError, RunNotFoundError, UsageError
from ompass.readers.run import is_run_directory

_EPILOG = """
[bold]Examples[/bold]

  ompass top fib-1234.ompass            a run directory

  ompass top solver-r*.ompass           the ranks of an MPI job

  ompass top 1234                       the process with this id

  ompass top -- ./fib 40                start and record a program
"""
_START_S: Final = 10.0


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
        Path | None,
        typer.Option("--output", "-o", metavar="DIR", help="Run directory, for a program to start."),
    ] = None,
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
        with _started(what, output) as directory:
            _show([directory])


def _show(directories: list[Path]) -> None:
    # Textual is large, and only this command needs it.
    from ompass.live.screen import Top
    from ompass.live.watch import Watch

    Top(Watch(directories)).run()


@contextmanager
def _started(command: list[str], output: Path | None) -> Iterator[Path]:
    """Starts and records the program; after the view, waits until the program ends."""
    directory = output or Path(f"{Path(command[0]).name}-{time.time_ns() // 1_000_000}.ompass")
    with tempfile.TemporaryFile() as written:
        program = subprocess.Popen(
            [sys.executable, "-m", "ompass", "run", "--no-report", "-o", str(directory), "--", *command],
            stdin=subprocess.DEVNULL,
            stdout=written,
            stderr=subprocess.STDOUT,
        )
        try:
            _wait_for(directory, program)
            yield directory
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
    say(f"recorded in {directory}")
    if program.returncode:
        raise typer.Exit(program.returncode)


def _wait_for(directory: Path, program: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _START_S
    while not (directory / "process.log").exists():
        if program.poll() is not None:
            raise CannotRecordError("nothing was recorded", "the program ended before it used OpenMP")
        if time.monotonic() > deadline:
            program.terminate()
            raise RunNotFoundError(
                f"{directory}", "the program has not begun to record", "does it use OpenMP?"
            )
        time.sleep(0.05)
