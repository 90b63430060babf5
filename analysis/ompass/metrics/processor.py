# SPDX-License-Identifier: Apache-2.0
"""Processor times of threads, for findings. Where they are unknown, threads count as running all the time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ompass.metrics.presence import Presence
from ompass.model import StateTimes


class Timed(Protocol):
    """A breakdown, a region or a thread's share."""

    @property
    def states(self) -> StateTimes: ...
    @property
    def presence(self) -> Presence | None: ...


@dataclass(frozen=True, slots=True)
class ProcessorTime:
    """Processor times of a scope, region or thread."""

    running_ns: int
    preempted_ns: int
    work_running_ns: int  # part of running_ns
    work_blocked_ns: int

    @property
    def other_running_ns(self) -> int:
        """Running time outside of work."""
        return max(self.running_ns - self.work_running_ns, 0)


def processor_time(part: Timed) -> ProcessorTime:
    """Returns the processor times of `part`."""
    whole = part.presence.whole if part.presence else None
    work = part.presence.work if part.presence else None
    return ProcessorTime(
        running_ns=whole.running_ns if whole else part.states.total_ns,
        preempted_ns=whole.preempted_ns if whole else 0,
        work_running_ns=work.running_ns if work else part.states.work_ns,
        work_blocked_ns=work.blocked_ns if work else 0,
    )
