# SPDX-License-Identifier: Apache-2.0
"""Work and span: bounds of the speed-up on other numbers of threads, and constructs on the critical path."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ompass.model_graph import TaskGraph


@dataclass(frozen=True, slots=True)
class SpeedupBounds:
    """Bounds of the speed-up of the parallel regions on `threads`, if work does not grow."""

    threads: int
    most: float  # min(P, work / span): no schedule is faster
    least: float  # work / (work / P + burdened span): reached by a greedy scheduler (Brent), with overhead


@dataclass(frozen=True, slots=True)
class CriticalConstruct:
    """One construct's parts of the critical path and of the work."""

    construct: int
    kind: str  # "program", "parallel", "task"
    critical_ns: int
    n_steps: int
    work_ns: int
    n_tasks: int


def speedup_bounds(
    graph: TaskGraph, threads: tuple[int, ...] = (2, 4, 8, 16, 32, 64, 128)
) -> tuple[SpeedupBounds, ...]:
    """Returns bounds for each number of threads; empty without a span."""
    if not graph.region_span_ns:
        return ()
    return tuple(
        SpeedupBounds(
            p,
            min(float(p), graph.parallelism),
            graph.work_ns / (graph.work_ns / p + max(graph.region_burdened_ns, graph.region_span_ns)),
        )
        for p in threads
    )


def critical_constructs(
    graph: TaskGraph, groups: Mapping[int, int] | None = None
) -> tuple[CriticalConstruct, ...]:
    """Returns all constructs by decreasing part of the critical path.

    `groups` maps construct numbers to a representative, as in time_breakdown.
    """
    groups = groups or {}
    sums: dict[tuple[str, int], list[int]] = {}
    for group in graph.groups:
        entry = sums.setdefault((group.kind, groups.get(group.construct, group.construct)), [0, 0, 0, 0])
        for k, value in enumerate((group.critical_ns, group.n_critical, group.work_ns, group.n_tasks)):
            entry[k] += value
    rows = [CriticalConstruct(construct, kind, *entry) for (kind, construct), entry in sums.items()]
    return tuple(sorted(rows, key=lambda row: (-row.critical_ns, -row.work_ns, row.construct)))
