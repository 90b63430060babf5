# SPDX-License-Identifier: Apache-2.0
"""The pace of `ompass top`: it leaves the processors to a program that uses them all."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import Final

from ompass.processor_time import busy_ns

_SHARE: Final = 0.002
"""Part of all processors' time for updates if no processor is idle."""
_LONGEST_S: Final = 10.0
"""Longest time between updates, for the person who watches."""


@dataclass(frozen=True)
class Used:
    """Totals up to a moment, in seconds: this process's time, and its processors' busy time."""

    at_s: float
    own_s: float
    busy_s: float | None  # None: unknown
    n_processors: int


def used() -> Used:
    """Returns the totals up to now."""
    usable = os.sched_getaffinity(0)
    busy = busy_ns(usable)
    return Used(time.monotonic(), time.process_time(), None if busy is None else busy / 1e9, len(usable))


def until_next_s(before: Used, now: Used, asked_s: float) -> float:
    """Returns the time to wait after an update that began at `before`; longer if no processor is idle."""
    if before.busy_s is not None and now.busy_s is not None:
        idle_s = now.n_processors * (now.at_s - before.at_s) - (now.busy_s - before.busy_s)
        if idle_s > (now.at_s - before.at_s) / 2:
            return asked_s
    return max(asked_s, min((now.own_s - before.own_s) / (_SHARE * now.n_processors), _LONGEST_S))
