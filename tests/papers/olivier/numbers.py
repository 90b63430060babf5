# SPDX-License-Identifier: Apache-2.0
"""Computes our numbers for Olivier et al. All times cover the measured parallel region only."""

from __future__ import annotations

from statistics import median
from typing import Final

from papers.model import Values
from papers.olivier.plan import STRICT, Program, Scheduler
from papers.recordings import simulated

CLOCK_GHZ: Final = 2.0


def _runs(values: Values, program: Program, scheduler: Scheduler, threads: int) -> list[dict[str, int]]:
    return simulated(values, program.trace_of(scheduler), scheduler.policy, threads)


def time_ns(values: Values, program: Program, scheduler: Scheduler, threads: int) -> float:
    """Returns the elapsed time, the median over the seeds."""
    return median(run["wall_ns"] - run["serial_ns"] for run in _runs(values, program, scheduler, threads))


def work_ns(values: Values, program: Program, scheduler: Scheduler, threads: int) -> float:
    """Returns the work of all threads."""
    return median(run["work_ns"] - run["serial_ns"] for run in _runs(values, program, scheduler, threads))


def sequential_ns(values: Values, program: Program, scheduler: Scheduler = STRICT) -> float:
    """Returns the sequential equivalent time: the work on one thread of the recording for this scheduler."""
    runs = simulated(values, program.trace_of(scheduler), scheduler.policy, 1)
    return median(run["work_ns"] - run["serial_ns"] for run in runs)


def speedup(values: Values, program: Program, scheduler: Scheduler, threads: int) -> float:
    return sequential_ns(values, program, scheduler) / time_ns(values, program, scheduler, threads)


def inflation(values: Values, program: Program, scheduler: Scheduler, threads: int) -> float:
    """Returns r of section 3, the work over the sequential equivalent time."""
    return work_ns(values, program, scheduler, threads) / sequential_ns(values, program, scheduler)


def other_time(values: Values, program: Program, scheduler: Scheduler, threads: int) -> float:
    """Returns the idle time and the overhead of all threads over the sequential equivalent time."""
    spent = threads * time_ns(values, program, scheduler, threads) - work_ns(
        values, program, scheduler, threads
    )
    return spent / sequential_ns(values, program, scheduler)


def decrease(values: Values, program: Program, over: Scheduler, scheduler: Scheduler, threads: int) -> float:
    """Returns by which part the elapsed time is shorter than under the scheduler `over`."""
    first, second = (speedup(values, program, one, threads) for one in (over, scheduler))
    return 1 - first / second


def traffic_bytes(values: Values, program: Program, scheduler: Scheduler, threads: int) -> float:
    """Returns the data that cross between sockets, from memory or from caches."""
    return median(run["remote_bytes"] for run in _runs(values, program, scheduler, threads))


def read_bytes(values: Values, program: Program, scheduler: Scheduler, threads: int) -> float:
    """Returns the data that the last-level caches fetch, from any memory or other cache."""
    runs = _runs(values, program, scheduler, threads)
    return median(run["remote_bytes"] + run["local_bytes"] for run in runs)


def memory_share(values: Values, program: Program, scheduler: Scheduler, threads: int) -> float:
    """Returns the time of the data over the work."""
    runs = _runs(values, program, scheduler, threads)
    return median(run["memory_ns"] / (run["work_ns"] - run["serial_ns"]) for run in runs)


RANGES: Final = ("L2", "L3", "local memory", "other sockets")


def found_in(values: Values, program: Program, scheduler: Scheduler, threads: int) -> dict[str, float]:
    """Returns the share of the accessed blocks that are found in each range of latencies."""
    found = [_found_in(run) for run in _runs(values, program, scheduler, threads)]
    return {name: median(one[name] for one in found) for name in RANGES}


def _found_in(run: dict[str, int]) -> dict[str, float]:
    l2, l3, missed = (run[name] for name in ("found_0", "found_1", "llc_misses"))
    remote = missed * run["remote_bytes"] / max(1, run["remote_bytes"] + run["local_bytes"])
    blocks = dict(zip(RANGES, (l2, l3, missed - remote, remote), strict=True))
    return {name: number / sum(blocks.values()) for name, number in blocks.items()}
