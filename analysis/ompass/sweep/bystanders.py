# SPDX-License-Identifier: Apache-2.0
"""How much other programs, and the hypervisor, used the CPUs of a run during the run.

From the kernel's time per CPU (/proc/stat) minus the run's own CPU time. The kernel counts in steps of 10 ms,
so one step per CPU is attributed to the run. For short runs, only large disturbances are visible. A run that
shared its CPUs shows idle, schedule and inflated time that are not the program's fault.
"""

from __future__ import annotations

import time
from collections.abc import Collection

from ompass.processor_time import busy_ns, step_ns


class Watch:
    """Created before a run, read after it."""

    def __init__(self, cpus: Collection[int]) -> None:
        self._cpus = cpus
        self._before = busy_ns(cpus)
        self._started = time.monotonic_ns()

    def others_share(self, own_cpu_ns: int) -> float | None:
        """Part of the CPUs' time used by others, 0 to 1; None if unknown."""
        after, wall_ns = busy_ns(self._cpus), time.monotonic_ns() - self._started
        if self._before is None or after is None or wall_ns <= 0:
            return None
        others_ns = after - self._before - own_cpu_ns - step_ns() * len(self._cpus)
        return min(max(others_ns / (wall_ns * len(self._cpus)), 0.0), 1.0)
