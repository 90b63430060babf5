# SPDX-License-Identifier: Apache-2.0
"""How often `ompass top` looks: so that a program that wants all processors keeps them."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_SHARE: Final = 0.002
"""Of the time of all processors: what looking may take where none is free."""
_LONGEST_S: Final = 10.0
"""But somebody looks on."""


@dataclass(frozen=True)
class Used:
    """Up to a moment, in seconds: what this process used, and what nobody used of any processor."""

    at_s: float
    own_s: float
    idle_s: float


def used() -> Used:
    """Up to now. Where the system does not tell, no processor was idle."""
    try:
        words = Path("/proc/stat").read_text(encoding="ascii").split(maxsplit=6)
        idle_s = (int(words[4]) + int(words[5])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        idle_s = 0.0
    return Used(time.monotonic(), time.process_time(), idle_s)


def until_next_s(before: Used, now: Used, asked_s: float, n_processors: int) -> float:
    """How long to wait after a look that began at `before`: what is asked for, or longer if none is free."""
    is_free = now.idle_s - before.idle_s > (now.at_s - before.at_s) / 2
    if is_free:
        return asked_s
    return max(asked_s, min((now.own_s - before.own_s) / (_SHARE * n_processors), _LONGEST_S))
