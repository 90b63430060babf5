# SPDX-License-Identifier: Apache-2.0
"""The conditions under which a program of the corpus runs: left alone, with a hog, or on one processor.

A program that is left alone gets the highest priority if permitted (to root), so the rest of the machine
need not be idle.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Condition:
    """The load and the processors of a run: QUIET, HOG or PINNED."""

    name: str
    hogged: bool = False
    pinned: bool = False

    @property
    def n_cpus(self) -> int:
        """Returns the number of processors that the program may use."""
        return 1 if self.pinned else len(os.sched_getaffinity(0))

    def environment(self, threads: int) -> dict[str, str]:
        """Returns variables that bind the threads, if no hog runs and each thread can have a processor."""
        return {} if self.hogged or threads > self.n_cpus else {"OMP_PROC_BIND": "true"}

    @contextlib.contextmanager
    def __call__(self) -> Iterator[None]:
        """Applies the condition to programs that start in this context."""
        own = os.sched_getaffinity(0)
        hog = None
        try:
            if self.hogged:
                hog = subprocess.Popen([sys.executable, "-c", "while True: pass"])
            else:
                _set_niceness(-20)
            if self.pinned:
                os.sched_setaffinity(0, {min(own)})
            yield
        finally:
            os.sched_setaffinity(0, own)
            if hog is not None:
                hog.kill()
                hog.wait()
            else:
                _set_niceness(0)


def _set_niceness(niceness: int) -> None:
    """Sets the niceness of the calling thread and of its session, which may be scheduled as a group."""
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, niceness)
        Path("/proc/self/autogroup").write_text(str(niceness), encoding="ascii")


QUIET = Condition("quiet")
HOG = Condition("hog", hogged=True)
PINNED = Condition("pinned", pinned=True)
CONDITIONS = (QUIET, HOG, PINNED)
