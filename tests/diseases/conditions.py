# SPDX-License-Identifier: Apache-2.0
"""The machine on which a program of the corpus runs: left alone, beside a hog, or on one processor."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Condition:
    """One of QUIET, HOG and PINNED."""

    name: str
    hogged: bool = False
    pinned: bool = False

    @property
    def n_cpus(self) -> int:
        """Processors that the program may use."""
        return 1 if self.pinned else len(os.sched_getaffinity(0))

    @contextlib.contextmanager
    def __call__(self) -> Iterator[None]:
        """Programs that start meanwhile run under this condition."""
        own = os.sched_getaffinity(0)
        hog = None
        try:
            if self.hogged:
                hog = subprocess.Popen([sys.executable, "-c", "while True: pass"])
            if self.pinned:
                os.sched_setaffinity(0, {min(own)})
            yield
        finally:
            os.sched_setaffinity(0, own)
            if hog is not None:
                hog.kill()
                hog.wait()


QUIET = Condition("quiet")
HOG = Condition("hog", hogged=True)
PINNED = Condition("pinned", pinned=True)
CONDITIONS = (QUIET, HOG, PINNED)
