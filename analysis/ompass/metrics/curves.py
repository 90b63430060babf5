# SPDX-License-Identifier: Apache-2.0
"""Interpretation of factored speed-up curves: the four gaps and the bends (Acar et al., 2.4 and 2.5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ompass.metrics import thresholds
from ompass.metrics.scaling import ScalingPoint
from ompass.units import percent


@dataclass(frozen=True, slots=True)
class Gap:
    """One gap between two curves at one number of threads, in units of speed-up."""

    name: str  # "A", "B", "C", "D"
    upper: str  # names of CURVES
    lower: str
    size: float
    meaning: str


def gaps(point: ScalingPoint) -> tuple[Gap, ...]:
    """Returns the four gaps, from the top of the plot to its bottom."""
    value = {name: point.curve(name) or 0.0 for name in ("linear", "maximal", "idle", "inflation", "actual")}
    serial = "the serial program" if point.has_baseline else "its own work"
    one = point.one_time_ns / point.serial_ns if point.serial_ns else 0.0
    idle = point.states.idle_ns / point.thread_time_ns if point.thread_time_ns else 0.0
    grown = point.inflation_ns / point.one_time_ns if point.one_time_ns else 0.0
    user = point.work_inflation_ns / point.one_time_ns if point.one_time_ns else 0.0
    lost = value["maximal"] - value["actual"]

    def gap(name: str, upper: str, lower: str, meaning: str) -> Gap:
        return Gap(name, upper, lower, value[upper] - value[lower], meaning)

    return (
        gap(
            "A",
            "linear",
            "maximal",
            f"price of being parallel: on one thread the program takes {one:.2f} times {serial}",
        ),
        gap(
            "B",
            "maximal",
            "idle",
            f"idle time, scarce parallelism: {percent(idle)} of the thread-time had no task to run",
        ),
        gap(
            "C",
            "maximal",
            "inflation",
            f"inflation: busy threads took {_signed(grown)} more time than one thread, "
            f"{_signed(user)} in the program's own code, the rest in the runtime",
        ),
        gap(
            "D",
            "maximal",
            "actual",
            f"idle time and inflation together: {lost:.2f} of a speed-up of {value['maximal']:.2f} "
            "that the program could have",
        ),
    )


def bends(points: Sequence[ScalingPoint]) -> tuple[str, ...]:
    """Returns sentences on the shapes of the curves; empty below three numbers of threads above one."""
    ordered = sorted((p for p in points if p.threads > 1), key=lambda p: p.threads)
    if len(ordered) < 3:
        return ()
    found = []
    slope = {name: _last_slope(ordered, name) for name in ("maximal", "idle", "inflation")}
    if slope["maximal"] < thresholds.BENT_SLOPE:
        found.append(
            "The maximal curve bends: total work grows with the number of threads, so overhead "
            "grows, too (for instance if a cut-off depends on that number)."
        )
    if slope["inflation"] < 0:
        found.append(
            "The inflation curve falls: more threads slow the program down, for instance by contended "
            "atomics, locks or false sharing."
        )
    elif slope["inflation"] < thresholds.FLAT_SLOPE:
        found.append(
            "The inflation curve flattens: the time of more threads becomes inflated work, for instance when "
            "memory is the bottleneck."
        )
    if slope["idle"] < thresholds.FLAT_SLOPE <= slope["maximal"]:
        found.append(
            "The idle-time curve flattens: more threads find no work, so the program lacks parallelism."
        )
    return tuple(found)


def _last_slope(ordered: Sequence[ScalingPoint], name: str) -> float:
    """Returns the slope between the last two points, over the speed-up per thread at the first point."""
    before, last = ordered[-2], ordered[-1]
    first = (ordered[0].curve(name) or 0.0) / ordered[0].threads
    gained = ((last.curve(name) or 0.0) - (before.curve(name) or 0.0)) / (last.threads - before.threads)
    return gained / first if first else 0.0


def _signed(share: float) -> str:
    return f"{'-' if share < 0 else ''}{percent(abs(share))}"
