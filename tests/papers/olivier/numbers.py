# SPDX-License-Identifier: Apache-2.0
"""Computes our numbers for Olivier et al. All times cover the measured parallel region only."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from statistics import median
from typing import Final

from papers.model import Values
from papers.olivier.plan import REFERENCE_MEMORY, SERIAL, STRICT, TASKS, Program, Scheduler, profile_name
from papers.recordings import profiled, regions_ns, regions_work_ns, simulated
from papers.timings import repeatability


def _runs(values: Values, program: Program, scheduler: Scheduler, threads: int) -> list[dict[str, int]]:
    return simulated(values, program.trace_of(scheduler), scheduler.policy, threads)


def time_ns(values: Values, program: Program, scheduler: Scheduler, threads: int) -> float:
    """Returns the elapsed time."""
    return regions_ns(values, program.trace_of(scheduler), scheduler.policy, threads)


def work_ns(values: Values, program: Program, scheduler: Scheduler, threads: int) -> float:
    """Returns the work of all threads."""
    return regions_work_ns(values, program.trace_of(scheduler), scheduler.policy, threads)


def sequential_ns(values: Values, program: Program, scheduler: Scheduler = STRICT) -> float:
    """Returns the sequential equivalent time: the work on one thread of the recording for this scheduler."""
    return work_ns(values, program, scheduler, 1)


def speedup(values: Values, program: Program, scheduler: Scheduler, threads: int) -> float:
    return sequential_ns(values, program, scheduler) / time_ns(values, program, scheduler, threads)


def inflation(values: Values, program: Program, scheduler: Scheduler, threads: int) -> float:
    """Returns r of section 3, the work over the sequential equivalent time."""
    return work_ns(values, program, scheduler, threads) / sequential_ns(values, program, scheduler)


def with_reference_memory(
    of: Callable[[Values, Program, Scheduler, int], float],
    values: Values,
    program: Program,
    scheduler: Scheduler,
    threads: int,
) -> float:
    """Returns one of the figures above with the reference machine's costs of caches and memory."""
    variant = {
        key.removesuffix(REFERENCE_MEMORY): value
        for key, value in values.items()
        if key.endswith(REFERENCE_MEMORY)
    }
    return of({**values, **variant}, program, scheduler, threads)


def other_time(values: Values, program: Program, scheduler: Scheduler, threads: int) -> float:
    """Returns the idle time and the overhead of all threads over the sequential equivalent time."""
    spent = threads * time_ns(values, program, scheduler, threads) - work_ns(
        values, program, scheduler, threads
    )
    return spent / sequential_ns(values, program, scheduler)


def decrease(values: Values, program: Program, over: Scheduler, scheduler: Scheduler, threads: int) -> float:
    """Returns the saved share of the time: 1 - speed-up under `over` / speed-up under `scheduler`."""
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
    """Returns the part of the work in which threads access declared data."""
    runs = _runs(values, program, scheduler, threads)
    return median(run["memory_ns"] / (run["work_ns"] - run["serial_ns"]) for run in runs)


PLACES: Final = ("L2", "L3", "own memory", "other sockets")
LIMITS: Final = (16, 64, 256, 512, 1024)
"""The longest latency of each range in the paper, in cycles; the last one stands for all longer ones."""
RANGES: Final = (*(f"up to {limit} cycles" for limit in LIMITS[:-1]), "more cycles")
_LOW_ENDS: Final = (9, 33, 129, 257, 513)


def found_in(values: Values, program: Program, scheduler: Scheduler, threads: int) -> dict[str, float]:
    """Returns the share of the accessed blocks that are found in each place."""
    found = [_found_in(run) for run in _runs(values, program, scheduler, threads)]
    return {name: median(one[name] for one in found) for name in PLACES}


def by_latency(values: Values, program: Program, scheduler: Scheduler, threads: int) -> dict[str, float]:
    """Returns the share of the accessed blocks in each range of latencies."""
    found = [_by_latency(run) for run in _runs(values, program, scheduler, threads)]
    return {name: median(one[name] for one in found) for name in RANGES}


def contributions(values: Values, program: Program, scheduler: Scheduler, threads: int) -> dict[str, float]:
    """Returns the share of each range in the latency: the number of blocks times the low end of the range."""
    found = by_latency(values, program, scheduler, threads)
    cycles = {name: share * low for (name, share), low in zip(found.items(), _LOW_ENDS, strict=True)}
    return {name: number / sum(cycles.values()) for name, number in cycles.items()}


def contribution_above(
    values: Values, program: Program, scheduler: Scheduler, threads: int, cycles: int
) -> float:
    """Returns the share of the latency in the ranges above `cycles`, which is one of LIMITS."""
    parts = contributions(values, program, scheduler, threads)
    return sum(parts[name] for name in RANGES[LIMITS.index(cycles) + 1 :])


def within(values: Values, program: Program, scheduler: Scheduler, threads: int, cycles: int) -> float:
    """Returns the share of the blocks that are found within `cycles`, which is one of LIMITS."""
    found = list(by_latency(values, program, scheduler, threads).values())
    return sum(found[: LIMITS.index(cycles) + 1])


def _found_in(run: dict[str, int]) -> dict[str, float]:
    l2, l3, missed = (run[name] for name in ("found_0", "found_1", "llc_misses"))
    remote = missed * run["remote_bytes"] / max(1, run["remote_bytes"] + run["local_bytes"])
    blocks = dict(zip(PLACES, (l2, l3, missed - remote, remote), strict=True))
    return {name: number / sum(blocks.values()) for name, number in blocks.items()}


def _by_latency(run: dict[str, int]) -> dict[str, float]:
    """Returns the share of the blocks in each range.

    Where memory is busy, a thread has as many loads under way as elsewhere. Each takes longer by the ratio of
    the times with and without waits (Little's law).
    """
    busy = run["memory_ns"] / (run["memory_ns"] - run["busy_ns"])
    shares = dict.fromkeys(RANGES, 0.0)
    for (place, share), low in zip(_found_in(run).items(), _LOW_ENDS[: len(PLACES)], strict=True):
        cycles = low * busy if place in PLACES[2:] else low
        shares[RANGES[min(bisect_left(LIMITS, cycles), len(LIMITS) - 1)]] += share
    return shares


def measured_inflation(values: Values, program: Program, version: str) -> float:
    """Returns the measured work of a version, on all threads, over that of version TASKS on one thread.

    Both are the least of all rounds.
    """
    work, alone = (_work_ns(values, program, one) for one in (version, f"{TASKS} 1"))
    return work / alone


def _work_ns(values: Values, program: Program, version: str) -> int:
    """Returns the least work of all rounds, without the time in which other programs used the processor."""
    found = profiled(values, profile_name(program, version))
    return min(one["work_ns"] - one["work_preempted_ns"] for one in found)


def placed_share(values: Values, name: str) -> float:
    """Returns the share of tasks or pages at home in the virtual machine; 0 if they were not measured."""
    held, of = values["placement"].get(name, (0, 1))
    return float(held / of)


def overhead(values: Values, program: Program, scheduler: Scheduler, threads: int) -> float:
    """Returns the time of creation and scheduling of all threads over the sequential equivalent time."""
    runs = _runs(values, program, scheduler, threads)
    spent = median(run["create_ns"] + run["schedule_ns"] for run in runs)
    return spent / sequential_ns(values, program, scheduler)


def idle_time(values: Values, program: Program, scheduler: Scheduler, threads: int) -> float:
    """Returns the idle time of all threads over the sequential equivalent time."""
    spent = other_time(values, program, scheduler, threads)
    return spent - overhead(values, program, scheduler, threads)


def latency(values: Values, program: Program, scheduler: Scheduler, threads: int) -> float:
    """Returns the mean latency of a block in cycles. The latency of each is the low end of its range."""
    found = by_latency(values, program, scheduler, threads)
    return sum(share * low for share, low in zip(found.values(), _LOW_ENDS, strict=True))


def busy_share(values: Values, program: Program, scheduler: Scheduler, threads: int) -> float:
    """Returns the part of the work in which accesses wait for busy memory."""
    runs = _runs(values, program, scheduler, threads)
    return median(run["busy_ns"] / (run["work_ns"] - run["serial_ns"]) for run in runs)


def measured_error(values: Values, program: Program) -> float:
    """Returns the largest ratio of the two best rounds of a version on one thread."""
    return max(repeatability(values, program.name, version) for version in (SERIAL, f"{TASKS} 1"))
