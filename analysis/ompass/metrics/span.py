# SPDX-License-Identifier: Apache-2.0
"""Work and span: what the longest chain allows on other numbers of threads, and which constructs it has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ompass.model_graph import TaskGraph


@dataclass(frozen=True, slots=True)
class SpeedupBounds:
    """Speed-up of the parallel regions on `threads`, if work did not grow."""

    threads: int
    most: float  # min(P, work / span): no schedule does better
    least: float  # work / (work / P + burdened span): what a greedy scheduler reaches (Brent), with its costs


@dataclass(frozen=True, slots=True)
class CriticalConstruct:
    """One construct's part of the critical path and of the work."""

    construct: int
    kind: str  # "program", "parallel", "task"
    critical_ns: int
    n_steps: int
    work_ns: int
    n_tasks: int


def speedup_bounds(
    graph: TaskGraph, threads: tuple[int, ...] = (2, 4, 8, 16, 32, 64, 128)
) -> tuple[SpeedupBounds, ...]:
    """Bounds for each number of threads; none without a span."""
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
    """Returns all constructs, the one that most of the critical path belongs to first.

    `groups` maps construct numbers to the one that stands for them, as in time_breakdown.
    """
    groups = groups or {}
    sums: dict[tuple[str, int], list[int]] = {}
    for group in graph.groups:
        entry = sums.setdefault((group.kind, groups.get(group.construct, group.construct)), [0, 0, 0, 0])
        for k, value in enumerate((group.critical_ns, group.n_critical, group.work_ns, group.n_tasks)):
            entry[k] += value
    rows = [CriticalConstruct(construct, kind, *entry) for (kind, construct), entry in sums.items()]
    return tuple(sorted(rows, key=lambda row: (-row.critical_ns, -row.work_ns, row.construct)))
