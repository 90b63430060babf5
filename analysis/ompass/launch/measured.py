# SPDX-License-Identifier: Apache-2.0
"""Runs a program to measure it: on CPUs of its own, for a limited time, timed, its output in files.

Sweeps and suites start all their programs here. They give measurements their meaning.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ompass.launch.child import Ending, run_child


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a program ended, and how long its process took."""

    ending: Ending
    wall_ns: int


def run_measured(
    path: str,
    argv: Sequence[str],
    environ: Mapping[str, str],
    *,
    stdout: int,
    stderr: int,
    cpus: Collection[int] = (),
    held: int = -1,
    timeout_s: float = float("inf"),
) -> Outcome:
    """Run `path` to its end. Its input is empty; `stdout` and `stderr` are descriptors that take its output.

    `cpus`: where it may run (none: where we may); `held`: a descriptor that it inherits, so that a lock on it
    is held as long as the program lives. KeyboardInterrupt when we were told to end meanwhile: the program
    was told as well, and has ended. Errors as in run_child.
    """
    with _inherited(held), _on(cpus), Path(os.devnull).open("rb") as nothing:
        streams = {0: nothing.fileno(), 1: stdout, 2: stderr}
        started = time.monotonic_ns()
        ending = run_child(path, argv, environ, streams, timeout_s)
        wall_ns = time.monotonic_ns() - started
    if ending.told:
        raise KeyboardInterrupt
    return Outcome(ending, wall_ns)


@contextlib.contextmanager
def _on(cpus: Collection[int]) -> Iterator[None]:
    own = os.sched_getaffinity(0)
    try:
        if cpus:
            os.sched_setaffinity(0, cpus)  # inherited
        yield
    finally:
        os.sched_setaffinity(0, own)


@contextlib.contextmanager
def _inherited(descriptor: int) -> Iterator[None]:
    if descriptor < 0:
        yield
        return
    os.set_inheritable(descriptor, True)
    try:
        yield
    finally:
        os.set_inheritable(descriptor, False)
