# SPDX-License-Identifier: Apache-2.0
"""Folds a task graph until it can be read: below a depth, groups of one construct become one.

A group deeper than `depth` is counted in the group at that depth: in its ancestor when that has its construct
(a recursion), else in the ancestor's sibling of its construct. All sums are kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ompass.model_graph import GroupDependence, TaskGraph, TaskGroup


def fold(
    graph: TaskGraph, depth: int, same: Mapping[int, int] | None = None
) -> tuple[TaskGraph, tuple[int, ...]]:
    """The graph with at most `depth` levels of groups below the program, and each old group's new number.

    `same` maps construct numbers to the one that stands for them, as in time_breakdown. Expanded tasks and
    the critical path name the new groups.
    """
    same = same or {}
    kept: list[TaskGroup] = []
    place: list[int] = []
    below: dict[tuple[int, int], int] = {}  # (parent, construct) of kept groups
    for raw in graph.groups:  # parents come before their children
        group = replace(raw, construct=same.get(raw.construct, raw.construct))
        parent = place[group.parent] if group.number else 0
        number, folded = _representative(group, parent, kept, below, depth)
        if number == len(kept):
            above = parent if not folded else kept[parent].parent
            level = kept[above].depth + 1 if number else 0
            kept.append(
                replace(group, number=number, parent=above, depth=level, folded=folded or group.folded)
            )
            if number:
                below[above, group.construct] = number
        else:
            kept[number] = _sum(kept[number], group, folded)
        place.append(number)
    counts: dict[tuple[int, int], int] = {}
    for d in graph.dependences:
        key = place[d.from_group], place[d.to_group]
        counts[key] = counts.get(key, 0) + d.n
    return (
        replace(
            graph,
            groups=tuple(kept),
            dependences=tuple(GroupDependence(*key, n) for key, n in sorted(counts.items())),
            critical=tuple(replace(step, group=place[step.group]) for step in graph.critical),
            tasks=tuple(replace(task, group=place[task.group]) for task in graph.tasks),
        ),
        tuple(place),
    )


def fold_to(
    graph: TaskGraph, most_groups: int, same: Mapping[int, int] | None = None
) -> tuple[TaskGraph, tuple[int, ...]]:
    """The deepest folding with at most so many groups; at least the first level of tasks is kept."""
    deepest = max(group.depth for group in graph.groups)
    for depth in range(deepest, 2, -1):
        folded, place = fold(graph, depth, same)
        if len(folded.groups) <= most_groups:
            return folded, place
    return fold(graph, min(deepest, 2), same)


def _representative(
    group: TaskGroup,
    parent: int,
    kept: Sequence[TaskGroup],
    below: dict[tuple[int, int], int],
    depth: int,
) -> tuple[int, bool]:
    """(number of the group that counts this one, whether it was folded); len(kept): a new one."""
    if not kept or kept[parent].depth < depth:
        return below.get((parent, group.construct), len(kept)), False
    if kept[parent].construct == group.construct and kept[parent].kind == group.kind:
        return parent, True
    return below.get((kept[parent].parent, group.construct), len(kept)), True


def _sum(one: TaskGroup, other: TaskGroup, folded: bool) -> TaskGroup:
    return replace(
        one,
        folded=one.folded or other.folded or folded,
        n_tasks=one.n_tasks + other.n_tasks,
        n_undeferred=one.n_undeferred + other.n_undeferred,
        n_other_thread=one.n_other_thread + other.n_other_thread,
        work_ns=one.work_ns + other.work_ns,
        create_ns=one.create_ns + other.create_ns,
        dispatch_ns=one.dispatch_ns + other.dispatch_ns,
        max_ns=max(one.max_ns, other.max_ns),
        critical_ns=one.critical_ns + other.critical_ns,
        n_critical=one.n_critical + other.n_critical,
        n_waits=one.n_waits + other.n_waits,
    )
