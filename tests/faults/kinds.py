# SPDX-License-Identifier: Apache-2.0
"""The faults, and how each of them ends the program and its recording.

faulty.c makes the first faults itself. surroundings.py and one_run.py make the others:

- killed: SIGKILL at a random time
- full-disk, few-files: a file system without room for data or for files
- read-only: a read-only file system
- as, nofile, fsize: limits (setrlimit)
- removed: the run directory is removed while the program runs
- read: the readers read the run directory while the program runs
- two: two programs record into one directory
"""

from __future__ import annotations

import signal
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Kind:
    """A fault.

    status: exit status of the recorded program. Without the tool, it is the same if `is_inside`, otherwise 0.
    ends: "whole" (the program runs to its end), "exit" (it calls exit() earlier) or "cut" (it stops earlier
    without exit()).
    misses: True if the recording may lack tasks. It must then state this.
    pauses: True if the program pauses or ends the recording, which then lacks tasks.
    runs: the FAULT argument of faulty.c; None: `name`.
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
