# SPDX-License-Identifier: Apache-2.0
"""Output of commands: messages and progress on stderr, results on stdout or in a file.

Owns the replacement of characters that the terminal lacks, and the interpretation of NO_COLOR. Shows progress
only on a terminal, and removes it after the work.
"""

from __future__ import annotations

import codecs
import io
import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ompass.errors import OutputError
from ompass.packed import shown_text
from ompass.plain_text import json_text, visible

if TYPE_CHECKING:  # slow to load, so only the functions that need them import them
    from rich.progress import Progress

    from ompass.reports.terminal import TerminalConsole

_NEAREST = {"µ": "u", "·": "-", "█": "#", "─": "-"}
_PLAIN_COLUMNS = 110


def _replace_nearest(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    return "".join(_NEAREST.get(c, "?") for c in text), error.end


def prepare_streams() -> None:
    """Makes the streams replace characters that they cannot encode. Called once, at the start."""
    codecs.register_error("ompass-nearest", _replace_nearest)
    if sys.stdout is None:  # closed by the caller: output is discarded without an error
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="ompass-nearest")


def say(message: str) -> None:
    """Prints one line on stderr, with the prefix `ompass:`."""
    print(f"ompass: {visible(shown_text(message))}", file=sys.stderr, flush=True)


def console_for(stderr: bool = False) -> TerminalConsole:
    """Returns a console on stdout or stderr. In a file or pipe, lines are wide and have no colours.

    NO_COLOR (https://no-color.org) switches off every attribute, including bold and dim.
    """
    from ompass.reports.terminal import TerminalConsole

    stream = sys.stderr if stderr else sys.stdout
    known = stream.isatty() or "COLUMNS" in os.environ
    return TerminalConsole(
        stderr=stderr,
        width=None if known else _PLAIN_COLUMNS,
        soft_wrap=False,
        color_system=None if os.environ.get("NO_COLOR") else "auto",
    )


def write_result(result: str | bytes, path: Path | None) -> None:
    """Writes a result to a file, or to stdout when `path` is None or `-`. Raises OutputError."""
    if path is None or str(path) == "-":
        if isinstance(result, bytes):
            sys.stdout.buffer.write(result)
        else:
            sys.stdout.write(result)
        sys.stdout.flush()
        return
    try:
        path.write_bytes(result if isinstance(result, bytes) else result.encode("utf-8"))
    except OSError as error:
        raise OutputError(
            f"{path} cannot be written", error.strerror or str(error), "name another file"
        ) from error


def to_json(value: Any) -> str:
    return json_text(json.dumps(value, indent=2, ensure_ascii=False)) + "\n"


@contextmanager
def ending_at_closed_pipe() -> Iterator[None]:
    """Ends the block, and discards further output, if the reader of our output, such as `head`, is gone."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        discard_stdout()
    except SystemExit as end:
        # Rich and typer turn the error into an exit with status 1.
        if not isinstance(end.__context__, BrokenPipeError):
            raise
        discard_stdout()


def discard_stdout() -> None:
    """Discards buffered output, so that Python's flush at exit does not fail a second time."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


_PATIENCE_S = 1.0
_BETWEEN_S = 0.25


def measuring_bar(shown: bool, transient: bool = False) -> Progress:
    """Returns a progress bar that is drawn only on request: a drawing thread would disturb measurements."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    return Progress(
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.description}", markup=False),
        console=console_for(stderr=True),
        auto_refresh=False,
        disable=not shown,
        transient=transient,
    )


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """After a second, shows `what` and the elapsed seconds. Nothing else may print in the meantime.

    A thread draws this line, so the seconds also advance during calls of the C++ core.
    """
    if not sys.stderr.isatty():
        yield
        return
    done = threading.Event()
    drawer = threading.Thread(
        target=_draw, args=(visible(shown_text(what)), done), name="ompass-waiting", daemon=True
    )
    drawer.start()
    try:
        yield
    finally:
        done.set()
        drawer.join()


def _draw(what: str, done: threading.Event) -> None:
    began = time.monotonic()
    if done.wait(_PATIENCE_S):
        return
    while not done.wait(_BETWEEN_S):
        line = f"{what} ... {time.monotonic() - began:.0f} s"
        sys.stderr.write(f"\r\x1b[2K{line[: console_for(stderr=True).width - 1]}")
        sys.stderr.flush()
    sys.stderr.write("\r\x1b[2K")
    sys.stderr.flush()
