# SPDX-License-Identifier: Apache-2.0
"""The figures of a run that the noise of the machine changes little: counts, span and simulated time.

Counts come from the profile. A trace gives the span, and the time of a simulated run on as many threads.
"""

from __future__ import annotations

from typing import Final

from ompass.errors import OmpassError
from ompass.metrics.processors import knows_switches
from ompass.model import Run
from ompass.readers.run import read_task_graph
from ompass.reports.content import ReportContent
from ompass.simulation.runs import simulate

_MOST_TRACE_BYTES: Final = 256 << 20
"""Larger traces take too long to read: their span and simulated time are left out."""


def counts_of(content: ReportContent) -> dict[str, int]:
    """Returns the counts of a run, by name."""
    run = content.run
    return {
        "threads": content.breakdown.n_threads,
        "tasks": content.n_tasks,
        "undeferred tasks": sum(task.n_undeferred for task in content.tasks),
        "regions": sum(region.n_instances for region in content.regions),
        "loops": sum(loop.n_led for loop in run.loops),
        "iterations": sum(loop.n_taken for loop in run.loops),
        "executions of kernels": sum(kernel.n_completed for kernel in content.kernels),
    }


def further_times(content: ReportContent) -> dict[str, int]:
    """Returns the times of a run that preemption does not change, in ns; empty if none is known."""
    presence = content.breakdown.presence
    work = presence.work if presence else None
    on_processors = {"work on processors": work.running_ns} if work else {}
    return on_processors | _traced_times(content.run)


def _traced_times(run: Run) -> dict[str, int]:
    """Returns span and simulated time; empty without a trace."""
    if run.mode != "trace" or run.log_bytes > _MOST_TRACE_BYTES:
        return {}
    try:
        graph = read_task_graph(run.path, depth=1, on_processors=knows_switches(run))
        times = {"span": graph.span_ns}
        times["simulated time"] = simulate(run.path).predictions[0].run.wall_ns
    except OmpassError:  # a damaged trace, or one without tasks: the profile is enough to compare
        return {}
    return times
