# SPDX-License-Identifier: Apache-2.0
"""The faults, and how the program and its recording end by each.

faulty.c makes the first ones, surroundings.py the others:
killed: SIGKILL at a moment of real time; full-disk, few-files: a file system without room for data or files;
as, nofile, fsize: limits (setrlimit); removed: the run directory is removed while the program runs; read: the
readers read while it runs; two: two programs record into one directory.
"""

from __future__ import annotations

import signal
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Kind:
    """A fault.

    status: exit status of the program, without the tool too.
    ends: how the program ends: "whole" (it runs to its end), "exit" (exit() before) or "cut" (at once).
    misses: whether the recording may lack tasks, if it states that.
    pauses: whether the program pauses the recording, which then lacks the tasks of the pauses.
    runs: the argument of faulty.c; None: the name.
    """

    name: str
    status: int = 0
    ends: str = "whole"
    misses: bool = False
    pauses: bool = False
    runs: str | None = None

    @property
    def is_inside(self) -> bool:
        """True if the program makes the fault itself."""
        return self.runs is None


STATUS: Final = 7  # of faulty.c

KINDS: Final = {
    kind.name: kind
    for kind in (
        Kind("nothing"),
        Kind("kill", -signal.SIGKILL, "cut"),
        Kind("term", -signal.SIGTERM, "cut"),
        Kind("segv", -signal.SIGSEGV, "cut"),
        Kind("abort", -signal.SIGABRT, "cut"),
        Kind("_exit", STATUS, "cut"),
        Kind("quick_exit", STATUS, "cut"),
        Kind("exit", STATUS, "exit"),
        Kind("exits", STATUS, "exit"),
        Kind("exec", STATUS, "cut"),
        Kind("fork"),
        Kind("fork-exec"),
        Kind("vfork"),
        Kind("dlclose"),
        Kind("threads"),
        Kind("regions"),
        Kind("pauses", pauses=True),
        Kind("end", pauses=True),
        Kind("killed", -signal.SIGKILL, "cut", runs="regions"),
        Kind("full-disk", misses=True, runs="nothing"),
        Kind("few-files", misses=True, runs="nothing"),
        Kind("read-only", misses=True, runs="nothing"),
        Kind("as", misses=True, runs="nothing"),
        Kind("nofile", misses=True, runs="nothing"),
        Kind("fsize", misses=True, runs="nothing"),
        Kind("removed", misses=True, runs="regions"),
        Kind("read", runs="regions"),
        Kind("two", runs="nothing"),
    )
}
