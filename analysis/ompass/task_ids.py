# SPDX-License-Identifier: Apache-2.0
"""The bits of a deferred task's id: the creating thread in the high ones, its counter in the low 40.

The tool makes them so (format.h); nothing else in Python takes them apart.
"""

from __future__ import annotations

from typing import Final

_COUNTER_BITS: Final = 40


def creator_of(task: int) -> int:
    """Returns the number of the thread that created the task."""
    return task >> _COUNTER_BITS


def task_name(task: int) -> str:
    """`2.17`: the 17th task that thread 2 created; `-` for 0, which is none."""
    return f"{creator_of(task)}.{task & ((1 << _COUNTER_BITS) - 1)}" if task else "-"
