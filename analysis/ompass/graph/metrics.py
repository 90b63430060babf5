# SPDX-License-Identifier: Apache-2.0
"""Computes speed-up bounds and critical constructs of a task graph, and folds the graph until it is readable.

Folding merges each group deeper than `depth` into a group at that depth: into its ancestor if both have the
same construct (a recursion), else into the ancestor's sibling with the group's construct. Folding adds this
sibling if necessary. Folding preserves all sums.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ompass.model import GraphGroup, GroupDependence, TaskGraph


@dataclass(frozen=True, slots=True)
class SpeedupBounds:
    """Bounds of the speed-up of the parallel regions on a number of threads, if work does not grow."""

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
    """Returns all constructs, the largest part of the critical path first.

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


def fold(
    graph: TaskGraph, depth: int, same: Mapping[int, int] | None = None
) -> tuple[TaskGraph, tuple[int, ...]]:
    """Returns the graph without groups deeper than `depth`, and each old group's new number.

    `same` maps construct numbers to a representative, as in time_breakdown. Expanded tasks and
    the critical path of the returned graph refer to the new groups.
    """
    same = same or {}
    kept: list[GraphGroup] = []
    place: list[int] = []
    below: dict[tuple[int, int], int] = {}  # (parent, construct) of kept groups
    for raw in graph.groups:  # parents come before their children
        group = raw.replace(construct=same.get(raw.construct, raw.construct))
        parent = place[group.parent] if group.number else 0
        number, folded = _representative(group, parent, kept, below, depth)
        if number == len(kept):
            above = parent if not folded else kept[parent].parent
            level = kept[above].depth + 1 if number else 0
            kept.append(
                group.replace(number=number, parent=above, depth=level, folded=folded or group.folded)
            )
            if number:
                below[above, group.construct] = number
        else:
            both = kept[number] + group
            kept[number] = both.replace(folded=True) if folded else both
        place.append(number)
    counts: dict[tuple[int, int], int] = {}
    for d in graph.dependences:
        key = place[d.from_group], place[d.to_group]
        counts[key] = counts.get(key, 0) + d.n
    return (
        graph.replace(
            groups=tuple(kept),
            dependences=tuple(
                GroupDependence(from_group=before, to_group=after, n=n)
                for (before, after), n in sorted(counts.items())
            ),
            critical=tuple(step.replace(group=place[step.group]) for step in graph.critical),
            tasks=tuple(task.replace(group=place[task.group]) for task in graph.tasks),
        ),
        tuple(place),
    )


def fold_to(
    graph: TaskGraph, most_groups: int, same: Mapping[int, int] | None = None
) -> tuple[TaskGraph, tuple[int, ...]]:
    """Returns the deepest folding with at most `most_groups` groups; if none exists, one level of tasks."""
    deepest = max(group.depth for group in graph.groups)
    for depth in range(deepest, 2, -1):
        folded, place = fold(graph, depth, same)
        if len(folded.groups) <= most_groups:
            return folded, place
    return fold(graph, min(deepest, 2), same)


def _representative(
    group: GraphGroup,
    parent: int,
    kept: Sequence[GraphGroup],
    below: dict[tuple[int, int], int],
    depth: int,
) -> tuple[int, bool]:
    """Returns the number of the group that represents `group` (len(kept): a new one), and True if folded."""
    if not kept or kept[parent].depth < depth:
        return below.get((parent, group.construct), len(kept)), False
    if kept[parent].construct == group.construct and kept[parent].kind == group.kind:
        return parent, True
    return below.get((kept[parent].parent, group.construct), len(kept)), True
