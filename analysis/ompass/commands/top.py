# SPDX-License-Identifier: Apache-2.0
"""`ompass top`: a recorded program while it runs."""

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
from ompass.readers.rundir import is_run_directory

_EPILOG = """
[bold]Examples[/bold]

  ompass top fib-1234.ompass            a run directory

  ompass top solver-r*.ompass           the ranks of an MPI job

  ompass top 1234                       the process of this number

  ompass top -- ./fib 40                starts the program, and records it
"""
_START_S: Final = 10.0


def register(app: typer.Typer) -> None:
    app.command("top", epilog=_EPILOG, context_settings={"ignore_unknown_options": True})(top)


def top(
    what: Annotated[
        list[str], typer.Argument(metavar="DIR...|PID|PROGRAM [ARG...]", help="What to watch, or to start.")
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="DIR", help="Run directory of a program that is started."),
    ] = None,
) -> None:
    """Watch a recorded program while it runs: states, threads, constructs and findings, once a second.

    It looks less often where the program leaves no processor free. What the program records anyway is read
    from its logs. Keys are shown at the bottom; q ends the view, and the program goes on. A program that was
    started here writes to a file meanwhile, which is shown when it and the view have ended.
    """
    if not sys.stdout.isatty():
        raise UsageError("ompass top", "it draws on a terminal", "use ompass report for the figures alone")
    if all(is_run_directory(Path(word)) for word in what):
        _show([Path(word) for word in what])
    elif len(what) == 1 and what[0].isdigit():
        from ompass.live.watch import directories_of

        _show(directories_of(int(what[0])))
    else:
        with _started(what, output) as directory:
            _show([directory])


def _show(directories: list[Path]) -> None:
    # Textual is large, and loaded for this command alone.
    from ompass.live.screen import Top
    from ompass.live.watch import Watch

    Top(Watch(directories)).run()


@contextmanager
def _started(command: list[str], output: Path | None) -> Iterator[Path]:
    """Starts the program, recorded; waits for it after the view."""
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
                say("the program goes on; Ctrl-C ends it")
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
