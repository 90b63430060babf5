# SPDX-License-Identifier: Apache-2.0
"""Progress for people: a bar during measurements, elapsed seconds during other work.

Shown on stderr, on a terminal only, and removed when the work is done.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from ompass.commands.streams import console_for
from ompass.plain_text import visible

_PATIENCE_S = 1.0
_BETWEEN_S = 0.25


def measuring_bar(shown: bool, transient: bool = False) -> Progress:
    """Returns a bar that is drawn only on request: a drawing thread would disturb measurements."""
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
    """Shows `what` and the elapsed seconds, from the first second on. Meanwhile, nothing else may be printed.

    A thread draws it, so work inside of the core shows as well.
    """
    if not sys.stderr.isatty():
        yield
        return
    done = threading.Event()
    drawer = threading.Thread(target=_draw, args=(visible(what), done), name="ompass-waiting", daemon=True)
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
