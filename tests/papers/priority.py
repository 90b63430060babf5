# SPDX-License-Identifier: Apache-2.0
"""Runs measured programs before all other programs of the machine, where the system allows it."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache

_COMMAND = ("chrt", "--fifo", "5")


@cache
def prefix() -> tuple[str, ...]:
    """Returns the words before a command that give it real-time priority; none if this is not allowed."""
    if shutil.which(_COMMAND[0]) is None:
        return ()
    done = subprocess.run([*_COMMAND, "true"], capture_output=True, check=False)
    return _COMMAND if done.returncode == 0 else ()


def described() -> str:
    return f"real-time priority (`{' '.join(_COMMAND)}`)" if prefix() else "the usual priority"
