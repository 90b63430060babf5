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
from papers.reuse.plan import ALONE, SERIAL, TRACED, speed_name, traced_name
from papers.timings import ratio


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


def misses(values: Values, program: str, policy: str, cores: int) -> float:
    """Returns the misses of all last-level caches."""
    return _median(values, program, policy, cores, lambda run: run["llc_misses"])


def time_ns(values: Values, program: str, policy: str, cores: int) -> float:
    """Returns the time of the parallel regions."""
    return _median(values, program, policy, cores, lambda run: run["wall_ns"] - run["serial_ns"])


def measured_overhead(values: Values, program: str, runtime: str) -> float:
    """Returns OVR_1 x WTI_1: the time on one thread divided by the time of the serial program."""
    return ratio(values, speed_name(program), runtime, SERIAL)


def tracing_cost(values: Values, program: str) -> float:
    """Returns the additional time of a program on one thread with the tool's trace, as a share."""
    return ratio(values, traced_name(program), TRACED, ALONE) - 1
