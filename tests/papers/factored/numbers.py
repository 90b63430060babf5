# SPDX-License-Identifier: Apache-2.0
"""The speed-ups of Acar et al. (section 2.3), from simulated times of regions and a measured baseline."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from statistics import median
from typing import Final

from papers.factored import plan
from papers.factored.plan import BASELINE, CELLS, GAP, POLICY, baseline_name, shrinking_name, walk_name
from papers.model import Values
from papers.recordings import best_trace, regions_ns, regions_work_ns, simulated
from papers.timings import shortest


def elision_ns(values: Values, case: str) -> float:
    """Returns the time without tasks (section 2.8), the work of a simulated run on one core."""
    return regions_work_ns(values, case, POLICY, 1)


def baseline_ns(values: Values, case: str) -> float:
    """Returns T_s, the shortest time of a quicksort of the whole array."""
    size, _ = plan.CHARTS.get(case, (plan.LARGE, 0))
    return 1e9 * shortest(values, baseline_name(size), BASELINE)


def time_ns(values: Values, case: str, threads: int) -> float:
    return regions_ns(values, case, POLICY, threads)


def _idle_ns(values: Values, case: str, threads: int) -> float:
    """Returns I_P, the time in which cores have no task."""
    return median(
        run["idle_ns"] + run["sync_ns"] - (threads - 1) * run["serial_ns"]
        for run in simulated(values, case, POLICY, threads)
    )


def maximal(values: Values, case: str, threads: int) -> float:
    return threads * baseline_ns(values, case) / time_ns(values, case, 1)


def idle_specific(values: Values, case: str, threads: int) -> float:
    spent_ns = time_ns(values, case, 1) + _idle_ns(values, case, threads)
    return threads * baseline_ns(values, case) / spent_ns


def inflation_specific(values: Values, case: str, threads: int) -> float:
    busy_ns = threads * time_ns(values, case, threads) - _idle_ns(values, case, threads)
    return threads * baseline_ns(values, case) / busy_ns


def actual(values: Values, case: str, threads: int) -> float:
    return baseline_ns(values, case) / time_ns(values, case, threads)


CURVES: Final[Mapping[str, Callable[[Values, str, int], float]]] = {
    "maximal": maximal,
    "idle-time specific": idle_specific,
    "inflation specific": inflation_specific,
    "actual": actual,
}


def shrinking(values: Values, curve: str, threads: int) -> float:
    """Returns a speed-up of chart (f), where each number of cores has a cut-off of its own."""
    return CURVES[curve](values, shrinking_name(threads), threads)


def cell_ns(values: Values, cells: int, gap: int = GAP) -> float:
    """Returns the time of a visit to a cell on one core."""
    return best_trace(values, walk_name(cells, gap))["work_ns"] / CELLS[-1]


def walk_speedup(values: Values, threads: int) -> float:
    """Returns the speed-up of a walk over an array that a last-level cache holds."""
    case = walk_name(plan.SCALED_CELLS)
    return elision_ns(values, case) / time_ns(values, case, threads)


def walk_idle(values: Values, threads: int) -> float:
    """Returns the share of idle time in the time of all cores in the walk of `walk_speedup`."""
    case = walk_name(plan.SCALED_CELLS)
    return _idle_ns(values, case, threads) / (threads * time_ns(values, case, threads))
