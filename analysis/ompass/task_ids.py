# SPDX-License-Identifier: Apache-2.0
"""The bits of a deferred task's id: the creating thread in the high ones, its counter in the low 40.

The tool makes ids (format.h); in Python only this file decodes them.
"""

from __future__ import annotations

from typing import Final

_COUNTER_BITS: Final = 40


def creator_of(task: int) -> int:
    """Returns the number of the thread that created the task."""
    return task >> _COUNTER_BITS


def task_name(task: int) -> str:
    """Returns `2.17` for the 17th task that thread 2 created; `-` for 0, which is not a task."""
    return f"{creator_of(task)}.{task & ((1 << _COUNTER_BITS) - 1)}" if task else "-"
