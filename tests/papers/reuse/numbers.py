# SPDX-License-Identifier: Apache-2.0
"""The factors OVR_N and WTI_N of Pericàs et al. (section I.A) and speed-ups, from simulated runs.

A thread's time in parallel regions is work or non-work. With W(N) the work of all threads on N cores and T(N)
the time of the regions:

    OVR_N = N T(N) / W(N)        WTI_N = W(N) / W(1)        speed-up = N / (OVR_N WTI_N)
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import median

from papers.model import Values
from papers.recordings import simulated


def _median(
    values: Values, program: str, policy: str, cores: int, of: Callable[[dict[str, int]], float]
) -> float:
    return median(of(run) for run in simulated(values, program, policy, cores))


def _work_ns(run: dict[str, int]) -> int:
    return run["work_ns"] - run["serial_ns"]


def overhead(values: Values, program: str, policy: str, cores: int) -> float:
    """Returns OVR_N, the time of all threads over their work."""
    return _median(
        values, program, policy, cores,
        lambda run: cores * (run["wall_ns"] - run["serial_ns"]) / _work_ns(run),
    )  # fmt: skip


def inflation(values: Values, program: str, policy: str, cores: int) -> float:
    """Returns WTI_N, the work over that on one core."""
    alone = _median(values, program, policy, 1, _work_ns)
    return _median(values, program, policy, cores, _work_ns) / alone


def speedup(values: Values, program: str, policy: str, cores: int) -> float:
    """Returns the speed-up over the work on one core."""
    return cores / (overhead(values, program, policy, cores) * inflation(values, program, policy, cores))
