# SPDX-License-Identifier: Apache-2.0
"""The figures of a run that the noise of the machine changes little: counts, span and simulated time.

Counts come from the profile. A trace gives the span, and the time of a simulated run on the recorded number
of threads.
"""

from __future__ import annotations

from typing import Final

from ompass.errors import OmpassError
from ompass.metrics.breakdown import Breakdown
from ompass.metrics.constructs import construct_totals
from ompass.metrics.processors import knows_switches
from ompass.model import Run
from ompass.readers.run import read_task_graph
from ompass.simulation.runs import simulate

WORK_ON_PROCESSORS: Final = "work on processors"
SPAN: Final = "span"
SIMULATED: Final = "simulated time"

_MOST_TRACE_BYTES: Final = 256 << 20
"""Larger traces take too long to read: their span and simulated time are left out."""


def counts_of(run: Run, breakdown: Breakdown) -> dict[str, int]:
    """Returns the counts of a run, by name."""
    tasks, kernels = construct_totals(run, "task"), construct_totals(run, "kernel")
    return {
        "threads": breakdown.n_threads,
        "tasks": sum(task.n_completed for task in tasks),
        "undeferred tasks": sum(task.n_undeferred for task in tasks),
        "regions": sum(region.n_instances for region in breakdown.regions),
        "loops": sum(loop.n_led for loop in run.loops),
        "iterations": sum(loop.n_taken for loop in run.loops),
        "executions of kernels": sum(kernel.n_completed for kernel in kernels),
    }


def further_times(run: Run, breakdown: Breakdown) -> dict[str, int]:
    """Returns the times of a run that preemption does not change, in ns; empty if none is known."""
    presence = breakdown.presence
    work = presence.work if presence else None
    on_processors = {WORK_ON_PROCESSORS: work.running_ns} if work else {}
    return on_processors | _traced_times(run)


def _traced_times(run: Run) -> dict[str, int]:
    """Returns the span of the regions and the simulated time; empty without a whole trace."""
    if (
        run.mode != "trace"
        or run.trace_end
        or run.trace_begin_ns
        or not run.complete
        or run.log_bytes > _MOST_TRACE_BYTES
    ):
        return {}
    try:
        graph = read_task_graph(run.path, depth=1, on_processors=knows_switches(run))
        return {SPAN: graph.region_span_ns, SIMULATED: simulate(run.path).predictions[0].run.wall_ns}
    except OmpassError:  # a damaged trace, or one without tasks: the profile is enough to compare
        return {}
