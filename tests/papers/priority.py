# SPDX-License-Identifier: Apache-2.0
"""Runs measured programs before all other programs of the machine, where the system allows it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from typing import Final

_COMMANDS: Final[Mapping[tuple[str, ...], str]] = {
    ("chrt", "--fifo", "5"): "os.sched_getscheduler(0) == os.SCHED_FIFO",
    ("nice", "-n", "-10"): "os.nice(0) < 0",
}
"""Commands that raise the priority, the strongest first, and the condition that shows their effect."""


@cache
def prefix() -> tuple[str, ...]:
    """Returns the words before a command that raise its priority most; none if nothing raises it."""
    return next((words for words, holds in _COMMANDS.items() if _works(words, holds)), ())


def _works(words: tuple[str, ...], condition: str) -> bool:
    if shutil.which(words[0]) is None:
        return False
    check = [*words, sys.executable, "-c", f"import os, sys; sys.exit(not ({condition}))"]
    return subprocess.run(check, capture_output=True, check=False).returncode == 0


def described() -> str:
    return f"raised priority (`{' '.join(prefix())}`)" if prefix() else "the usual priority"
