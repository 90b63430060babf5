# SPDX-License-Identifier: Apache-2.0
"""Shared code of the long commands: progress, exit, and the option for the number of simultaneous runs."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable
from typing import NoReturn, TypeVar

from ompass.errors import OmpassError

_Outcome = TypeVar("_Outcome")


def with_progress(
    outcomes: Iterable[_Outcome], total: int, complaint: Callable[[_Outcome], str]
) -> list[_Outcome]:
    """Returns all outcomes. Writes complaints and the number of finished runs to stderr."""
    begin, ended = time.monotonic(), []
    for number, outcome in enumerate(outcomes, 1):
        ended.append(outcome)
        if text := complaint(outcome):
            _say(text)
        if number % 100 == 0 or number == total:
            _say(f"{number} of {total} runs, {time.monotonic() - begin:.0f} s")
    return ended


def run_command(main: Callable[[], int]) -> NoReturn:
    """Exits with the status of `main`, or with one line if it fails or is interrupted.

    SIGTERM acts like SIGINT: `main` ends the programs that it has started.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        sys.exit(main())
    except OmpassError as error:
        sys.exit(f"error: {error.one_line()}")
    except KeyboardInterrupt:
        sys.exit("interrupted; the same command resumes")


def add_at_once(parser: argparse.ArgumentParser) -> None:
    """Adds the option for the number of simultaneous runs."""
    parser.add_argument(
        "--at-once",
        type=int,
        default=os.cpu_count() or 1,
        metavar="N",
        help="runs side by side (one per processor)",
    )


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
