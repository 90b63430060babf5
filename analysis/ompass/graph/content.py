# SPDX-License-Identifier: Apache-2.0
"""The content of the report on a task graph: the folded graph with locations, and notes.

Owns the choice of groups for --expand, and the notes on the limits of span and graph.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass

from ompass.errors import NothingToShowError
from ompass.graph.metrics import (
    CriticalConstruct,
    SpeedupBounds,
    critical_constructs,
    fold,
    fold_to,
    speedup_bounds,
)
from ompass.keeping.names import resolver_for
from ompass.metrics import thresholds
from ompass.metrics.processors import knows_switches
from ompass.model import GraphGroup, Run, TaskGraph
from ompass.readers.run import read_task_graph
from ompass.reports.content import same_place
from ompass.symbols.resolver import UNKNOWN, Location
from ompass.units import duration

_DEEP = 6  # levels that the core keeps if --depth is not given
EVERY_TASK = 10_000  # maximum number of expanded tasks, and of critical steps, to list


class TimeKind(str, enum.Enum):
    """The kind of time in work and span."""

    CPU = "cpu"  # excludes preempted time
    WALL = "wall"


@dataclass(frozen=True, slots=True)
class GraphContent:
    """The content of a report on a task graph."""

    run: Run
    graph: TaskGraph
    bounds: tuple[SpeedupBounds, ...]
    constructs: tuple[CriticalConstruct, ...]
    locations: Mapping[int, Location]
    expanded: frozenset[int]  # groups whose tasks are listed
    notes: tuple[str, ...]
    time: TimeKind = TimeKind.WALL

    def label(self, kind: str, construct: int) -> str:
        if kind == "program":
            return "program"
        label = self.locations.get(construct, UNKNOWN).label()
        return f"{label}, implicit tasks" if kind == "parallel" else label

    def label_of(self, group: GraphGroup) -> str:
        return self.label(group.kind, group.construct)


def collect_graph(
    run: Run, depth: int | None = None, expand: tuple[str, ...] = (), time: TimeKind | None = None
) -> GraphContent:
    """Returns the content for a run. Without `depth`, folds the graph until it is readable.

    Without `time`, uses cpu time if it is known. Raises NothingToShowError if `expand` names no group, or if
    the requested cpu time is unknown.
    """
    if time is TimeKind.CPU and not knows_switches(run):
        raise NothingToShowError(
            f"{run.path} does not contain preemption times",
            "the switches of threads were not recorded",
            "use --clock wall",
        )
    time = time or (TimeKind.CPU if knows_switches(run) else TimeKind.WALL)
    resolver = resolver_for(run)
    locations = {d.id: resolver.locate(d) for d in run.definitions}
    groups = same_place(run, locations)
    graph, place = _folded(run, depth, (), groups, time)
    expanded = _chosen(graph, locations, expand)
    if expanded:
        chosen = tuple(number for number, group in enumerate(place) if group in expanded)
        graph, _ = _folded(run, depth, chosen, groups, time)
    return GraphContent(
        run=run,
        graph=graph,
        bounds=speedup_bounds(graph),
        constructs=critical_constructs(graph, groups),
        locations=locations,
        expanded=expanded,
        notes=tuple(_notes(run, graph, expanded, time)),
        time=time,
    )


def _folded(
    run: Run, depth: int | None, expanded: tuple[int, ...], same: Mapping[int, int], time: TimeKind
) -> tuple[TaskGraph, tuple[int, ...]]:
    graph = read_task_graph(
        run.path,
        depth=_DEEP if depth is None else depth,
        expanded=expanded,
        max_tasks=EVERY_TASK,
        on_processors=time is TimeKind.CPU,
    )
    if depth is None:
        return fold_to(graph, thresholds.READABLE_GROUPS, same)
    return fold(graph, depth + 1, same)


def _chosen(graph: TaskGraph, locations: Mapping[int, Location], expand: tuple[str, ...]) -> frozenset[int]:
    """Returns the groups that `expand` names, by number or by their construct's file:line or function."""
    chosen: set[int] = set()
    for text in expand:
        fitting = {
            g.number
            for g in graph.groups[1:]
            if text == str(g.number) or locations.get(g.construct, UNKNOWN).is_named(text)
        }
        if not fitting:
            there = ", ".join(
                f"{g.number}: {locations.get(g.construct, UNKNOWN).place}" for g in graph.groups[1:]
            )
            raise NothingToShowError(
                f"no group matches `{text}`", f"the groups of this graph are {there}", "name one of these"
            )
        chosen |= fitting
    return frozenset(chosen)


def _notes(run: Run, graph: TaskGraph, expanded: frozenset[int], time: TimeKind) -> list[str]:
    notes = []
    if graph.span_preempted_ns > thresholds.OFF_PROCESSOR_SHARE * graph.span_ns:
        notes.append(
            f"the tasks of the critical path were preempted for {duration(graph.span_preempted_ns)}"
            + (", which is excluded." if time is TimeKind.CPU else "; --clock cpu excludes this time.")
        )
    if graph.n_undeferred > graph.n_deferred:
        notes.append(
            "most tasks were undeferred, and count as part of the task that ran them. In a team of one "
            "thread all tasks are undeferred, so span equals work: record on two or more threads."
        )
    if graph.n_taskgroup_ends:
        notes.append(
            f"{graph.n_taskgroup_ends:,} ends of taskgroups (and taskloops) count as waits for all earlier "
            "descendants of the task, because the trace does not show where a taskgroup begins. The true "
            "span may be shorter."
        )
    if graph.n_dependent_waits:
        notes.append(
            f"{graph.n_dependent_waits:,} taskwaits with depend count as waits for all earlier children, "
            "because the trace does not show which ones. The true span may be shorter."
        )
    if graph.n_dependences:
        notes.append(
            "a dependence is recorded only if its first task has not completed yet, so chains of dependences "
            "may be longer than shown."
        )
    if graph.n_out_of_order:
        notes.append(
            f"{graph.n_out_of_order:,} events lack their cause in the trace (after a pause, a size limit or "
            "a kill), which may break chains."
        )
    if not run.complete:
        notes.append("the run was cut short: the figures cover only a part of it.")
    if run.trace_end:
        notes.append(f"{run.trace_end}: the figures cover only a part of the run.")
    if run.create_estimated:
        notes.append(
            "recorded without wrappers: the work includes the cost of creation, and the burdened "
            "span lacks it."
        )
    if expanded and len(graph.tasks) >= EVERY_TASK:
        notes.append(f"only the first {EVERY_TASK:,} tasks of the expanded groups are listed.")
    return notes
