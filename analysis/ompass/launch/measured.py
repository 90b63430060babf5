# SPDX-License-Identifier: Apache-2.0
"""Runs a program to measure it: on given CPUs, with a time limit, with its output in files.

Sweeps and suites start all their programs here, and interpret the measurements.
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
    """How a program ended, and the wall time of its process."""

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
    """Runs `path` to its end, with empty input; `stdout` and `stderr` are descriptors for its output.

    `cpus`: CPUs for the program (empty: ours). `held`: a descriptor that it inherits, so it holds the
    descriptor's lock until it ends. Raises KeyboardInterrupt if we received an ending signal meanwhile, which
    the program received, too. Otherwise raises the errors of run_child.
    """
    with _inherited(held), _on(cpus), Path(os.devnull).open("rb") as nothing:
        streams = {0: nothing.fileno(), 1: stdout, 2: stderr}
        started = time.monotonic_ns()
        ending = run_child(path, argv, environ, streams, timeout_s)
        wall_ns = time.monotonic_ns() - started
    if ending.interrupt:
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
