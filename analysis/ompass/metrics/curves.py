# SPDX-License-Identifier: Apache-2.0
"""What the factored speed-up curves say in words: the four gaps and the bends (Acar et al., 2.4 and 2.5)."""

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
            f"inflation: busy threads took {_signed(grown)} of the time on one thread more, "
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
    """Sentences on the shape of the curves; none with fewer than three numbers of threads above one."""
    ordered = sorted((p for p in points if p.threads > 1), key=lambda p: p.threads)
    if len(ordered) < 3:
        return ()
    found = []
    slope = {name: _last_slope(ordered, name) for name in ("maximal", "idle", "inflation")}
    if slope["maximal"] < thresholds.BENT_SLOPE:
        found.append(
            "The maximal curve bends: the program does more work the more threads it has, so its overhead "
            "grows with them (a cut-off that depends on their number does this)."
        )
    if slope["inflation"] < 0:
        found.append(
            "The inflation curve falls: further threads make the program slower, as contended atomics, locks "
            "or false sharing do."
        )
    elif slope["inflation"] < thresholds.FLAT_SLOPE:
        found.append(
            "The inflation curve flattens: the time of further threads goes into inflated work, as when the "
            "memory is the bottleneck."
        )
    if slope["idle"] < thresholds.FLAT_SLOPE <= slope["maximal"]:
        found.append(
            "The idle-time curve flattens: further threads find nothing to run, so the program lacks "
            "parallelism for them."
        )
    return tuple(found)


def _last_slope(ordered: Sequence[ScalingPoint], name: str) -> float:
    """Speed-up gained per thread between the last two points, against speed-up per thread at the first."""
    before, last = ordered[-2], ordered[-1]
    first = (ordered[0].curve(name) or 0.0) / ordered[0].threads
    gained = ((last.curve(name) or 0.0) - (before.curve(name) or 0.0)) / (last.threads - before.threads)
    return gained / first if first else 0.0


def _signed(share: float) -> str:
    return f"{'-' if share < 0 else ''}{percent(abs(share))}"
