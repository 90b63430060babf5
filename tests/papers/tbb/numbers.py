# SPDX-License-Identifier: Apache-2.0
"""Computes our numbers for Contreras and Martonosi. All times cover the parallel regions only."""

from __future__ import annotations

from statistics import median
from typing import Final

from papers import recordings
from papers.model import Values
from papers.recordings import best_trace, profiled, simulated
from papers.tbb.plan import ATTEMPT, BACK_OFF, CYCLES_PER_NS, N_SWAPTIONS, RANDOM, measured_name

CATEGORIES: Final = ("creation", "scheduler", "stealing", "synchronization", "waiting")


def regions_ns(values: Values, program: str, threads: int, policy: str = RANDOM) -> float:
    """Returns the simulated time of the parallel regions."""
    return recordings.regions_ns(values, program, policy, threads)


def speedup(values: Values, program: str, threads: int, policy: str = RANDOM) -> float:
    return regions_ns(values, program, 1) / regions_ns(values, program, threads, policy)


def gain(values: Values, program: str, policy: str, threads: int) -> float:
    """Returns the gain in speed over random stealing."""
    return regions_ns(values, program, threads) / regions_ns(values, program, threads, policy) - 1


def gain_range(values: Values, program: str, policy: str, threads: int) -> tuple[float, float]:
    """Returns the least and the greatest gain over single runs of random stealing, one per seed."""
    gains = [
        random["wall_ns"] - random["serial_ns"]
        for random in simulated(values, program, RANDOM, threads)
    ]  # fmt: skip
    ours = regions_ns(values, program, threads, policy)
    return min(gains) / ours - 1, max(gains) / ours - 1


def success(values: Values, program: str, threads: int, policy: str = RANDOM) -> float:
    """Returns successful steals over attempts."""
    runs = simulated(values, program, policy, threads)
    attempts = sum(run["n_steals_attempted"] for run in runs)
    return sum(run["n_steals_successful"] for run in runs) / attempts if attempts else 0.0


def false_negatives(values: Values, program: str, threads: int, policy: str = RANDOM) -> float:
    """Returns failed attempts over attempts. Counts only attempts during which some queue held a task."""
    runs = simulated(values, program, policy, threads)
    failed = sum(run["n_steals_false_negative"] for run in runs)
    attempts = failed + sum(run["n_steals_successful"] for run in runs)
    return failed / attempts if attempts else 0.0


def attempts_with_tasks(values: Values, program: str, threads: int) -> float:
    """Returns the share of the attempts that are made while some queue holds a task."""
    runs = simulated(values, program, RANDOM, threads)
    made = sum(run["n_steals_successful"] + run["n_steals_false_negative"] for run in runs)
    return made / sum(run["n_steals_attempted"] for run in runs)


def attempts(values: Values, program: str, threads: int) -> float:
    return median(run["n_steals_attempted"] for run in simulated(values, program, RANDOM, threads))


def steal_share(values: Values, program: str, threads: int) -> float:
    """Returns the part of the thread-time that successful steals take."""
    runs = simulated(values, program, RANDOM, threads)
    return median(run["steal_ns"] / _capacity_ns(run) for run in runs)


def shares(values: Values, program: str, threads: int) -> dict[str, float]:
    """Returns the parts of the thread-time that are not work, by category."""
    found = [_shares(run) for run in simulated(values, program, RANDOM, threads)]
    return {name: median(one[name] for one in found) for name in CATEGORIES}


def overhead(values: Values, program: str, threads: int) -> float:
    """Returns the part of the thread-time that is not work."""
    return sum(shares(values, program, threads).values())


def procedures_share(values: Values, program: str, threads: int) -> float:
    """Returns the part of the overhead that creation, scheduler and stealing take."""
    found = shares(values, program, threads)
    return sum(found[name] for name in CATEGORIES[:3]) / sum(found.values())


def work_share(values: Values, case: str, threads: int) -> float:
    return 1 - overhead(values, case, threads)


def _shares(run: dict[str, int]) -> dict[str, float]:
    searching = run["steal_ns"] + run["failed_steal_ns"]
    pauses = run["failed_steal_ns"] * (1 - ATTEMPT / BACK_OFF)  # waiting, in the paper's categories (VI.B)
    others_idle = (run["threads"] - 1) * run["serial_ns"]  # outside of regions, one thread runs
    times = {
        "creation": run["create_ns"],
        "scheduler": run["dequeue_ns"],
        "stealing": searching - pauses,
        "synchronization": run["sync_ns"] + run["schedule_ns"] - run["dequeue_ns"] - searching,
        "waiting": run["idle_ns"] - others_idle + pauses,
    }
    return {name: max(0.0, ns / _capacity_ns(run)) for name, ns in times.items()}


def _capacity_ns(run: dict[str, int]) -> int:
    return run["threads"] * (run["wall_ns"] - run["serial_ns"])


def static_speedup(threads: int) -> float:
    """Returns the speed-up of swaptions in equal blocks (the paper's Fig. 3). The last core has the rest."""
    block = N_SWAPTIONS // threads
    return N_SWAPTIONS / (N_SWAPTIONS - (threads - 1) * block)


def task_cycles(values: Values, case: str) -> float:
    """Returns the mean work of a task."""
    best = best_trace(values, case)
    return best["work_ns"] / best["n_tasks"] * CYCLES_PER_NS


def speedup_over(values: Values, base: str, case: str, threads: int) -> float:
    """Returns the speed-up of a case over another case on one core."""
    return regions_ns(values, base, 1) / regions_ns(values, case, threads)


def measured_attempts(values: Values, program: str, threads: int) -> float:
    """Returns the most attempts to steal, successful or not, in a measured run."""
    runs = profiled(values, measured_name(program, threads))
    return max(run["n_steals"] + run["n_failed_steals"] for run in runs)


OPERATIONS: Final = ("create", "take", "steal")


def costs_ns(values: Values, program: str, threads: int, operation: str) -> list[float]:
    """Returns the measured cost of an operation in each round that has the operation."""
    found = []
    for run in profiled(values, measured_name(program, threads)):
        count, ns = _cost(run, operation)
        if count:
            found.append(max(0.0, ns) / count)
    return found


def least_ns(values: Values, program: str, threads: int, operation: str) -> float:
    """Returns the least cost of all rounds, because other programs can only increase it."""
    return min(costs_ns(values, program, threads, operation), default=0.0)


def _cost(run: dict[str, int], operation: str) -> tuple[int, float]:
    if operation == "create":
        return run["n_tasks"], run["create_ns"]
    if operation == "steal":
        return run["n_steals"], run["steal_ns"]
    searching = run["steal_ns"] + run["failed_steal_ns"] + run["schedule_preempted_ns"]
    return run["n_tasks"], run["schedule_ns"] - searching
