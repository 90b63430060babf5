# SPDX-License-Identifier: Apache-2.0
"""How often `ompass top` looks: so that a program that wants all processors keeps them."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import Final

from ompass.processor_time import busy_ns

_SHARE: Final = 0.002
"""Of the time of all processors: what looking may take where none is free."""
_LONGEST_S: Final = 10.0
"""But somebody looks on."""


@dataclass(frozen=True)
class Used:
    """Up to a moment, in seconds: what this process used, and how long its processors were busy in all."""

    at_s: float
    own_s: float
    busy_s: float | None  # None: the system does not tell
    n_processors: int


def used() -> Used:
    """Up to now."""
    usable = os.sched_getaffinity(0)
    busy = busy_ns(usable)
    return Used(time.monotonic(), time.process_time(), None if busy is None else busy / 1e9, len(usable))


def until_next_s(before: Used, now: Used, asked_s: float) -> float:
    """How long to wait after a look that began at `before`: what is asked for, or longer if none is free."""
    if before.busy_s is not None and now.busy_s is not None:
        idle_s = now.n_processors * (now.at_s - before.at_s) - (now.busy_s - before.busy_s)
        if idle_s > (now.at_s - before.at_s) / 2:
            return asked_s
    return max(asked_s, min((now.own_s - before.own_s) / (_SHARE * now.n_processors), _LONGEST_S))
