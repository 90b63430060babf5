# SPDX-License-Identifier: Apache-2.0
"""Computes our numbers for Duran et al. from timed runs and from simulations of recorded ones."""

from __future__ import annotations

from statistics import median
from typing import Final

from papers.bots.plan import (
    LOOPS,
    MANUAL,
    POLICY,
    RUNTIMES,
    SERIAL,
    THREADS,
    Program,
    traced_name,
    variant,
    wide_name,
)
from papers.model import Values
from papers.recordings import regions_ns, regions_work_ns, simulated
from papers.timings import ratio

SHARES: Final = ("work", "overhead", "idle")


def untied_ratio(values: Values, program: str, cutoff: str, runtime: str, threads: int) -> float:
    """Returns the measured time with untied tasks divided by the time with tied ones."""
    untied, tied = (variant(runtime, threads, cutoff, kind) for kind in (False, True))
    return ratio(values, program, untied, tied)


def generators_ratio(values: Values, program: Program, runtime: str, threads: int) -> float:
    """Returns the measured time with a single generator divided by the time with multiple ones."""
    name = variant(runtime, threads, program.usual)
    return ratio(values, program.group, name, name, LOOPS.group)


def measured_speedup(values: Values, program: Program, runtime: str, threads: int, cutoff: str = "") -> float:
    """Returns the speed-up over the serial version. clang builds that version and libomp's programs."""
    return ratio(values, program.group, SERIAL, variant(runtime, threads, cutoff or program.usual))


def runtime_spread(values: Values, program: str, cutoff: str, threads: int) -> float:
    """Returns the time on the slowest runtime divided by the time on the fastest."""
    times = [
        ratio(values, program, variant(runtime, threads, cutoff), variant("libomp", threads, cutoff))
        for runtime in RUNTIMES
    ]
    return max(times) / min(times)


def _regions_ns(values: Values, case: str, threads: int) -> float:
    return regions_ns(values, case, POLICY, threads)


def predicted_threads(values: Values, program: str, cutoff: str) -> list[int]:
    """Returns the numbers of threads for which the simulation did not refuse the recording."""
    return [n for n in THREADS if simulated(values, traced_name(program, cutoff), POLICY, n)]


def predicted_speed(values: Values, program: str, cutoff: str, threads: int) -> float:
    """Returns the simulated speed relative to the manual cut-off on one core."""
    base = _regions_ns(values, traced_name(program, MANUAL), 1)
    return base / _regions_ns(values, traced_name(program, cutoff), threads)


def predicted_speedup(values: Values, program: str, threads: int) -> float:
    """Returns the simulated speed-up of a wide case over its work on one core."""
    case = wide_name(program)
    return regions_work_ns(values, case, POLICY, 1) / _regions_ns(values, case, threads)


def shares(values: Values, case: str, threads: int) -> dict[str, float]:
    """Returns the parts of the simulated thread-time of a recorded case, outside of serial parts."""
    found = [_shares(run) for run in simulated(values, case, POLICY, threads)]
    return {name: median(one[name] for one in found) for name in SHARES}


def loss(values: Values, program: str, threads: int) -> float:
    """Returns the part of the thread-time that is overhead or idle."""
    parts = shares(values, wide_name(program), threads)
    return parts["overhead"] + parts["idle"]


def time_of(values: Values, program: str, cutoff: str, name: str, threads: int) -> float:
    """Returns the overhead or idle time of all threads in ns, with a cut-off, outside of serial parts."""
    runs = simulated(values, traced_name(program, cutoff), POLICY, threads)
    return median(_shares(run)[name] * threads * (run["wall_ns"] - run["serial_ns"]) for run in runs)


def _shares(run: dict[str, int]) -> dict[str, float]:
    capacity = run["threads"] * (run["wall_ns"] - run["serial_ns"])
    idle = run["idle_ns"] + run["sync_ns"] - (run["threads"] - 1) * run["serial_ns"]
    overhead = run["create_ns"] + run["schedule_ns"]
    work = capacity - idle - overhead
    return {"work": work / capacity, "overhead": overhead / capacity, "idle": idle / capacity}
