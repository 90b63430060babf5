# SPDX-License-Identifier: Apache-2.0
"""The report on a task graph: work and span, the critical path, and the folded graph as an indented list.

docs/task-graph.md lists the fields of its JSON form.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Final

import ompass
from ompass.graph.content import GraphContent
from ompass.graph.metrics import SpeedupBounds
from ompass.model import GraphGroup, share
from ompass.packed import shown_path
from ompass.reports.model import Column, Kind, Report, Section, Table, data, fields
from ompass.units import count, plural, task_name

SCHEMA_VERSION: Final = 1

_MOST_ROWS: Final = 12


def graph_report(content: GraphContent) -> Report:
    """Returns the whole report on one run."""
    graph = content.graph
    constructs = _constructs(content)
    return Report(
        title=f"ompass graph · {content.run.path.name}",
        facts=(),
        sections=tuple(_sections(content, constructs)),
        notes=content.notes,
        values={
            "schema": "ompass-graph",
            "schema_version": SCHEMA_VERSION,
            "ompass_version": ompass.__version__,
            "directory": shown_path(content.run.path),
            "time": content.time.value,
            "work_ns": graph.work_ns,
            "span_ns": graph.region_span_ns,
            "burdened_span_ns": graph.region_burdened_ns,
            "parallelism": graph.parallelism,
            "burdened_parallelism": graph.burdened_parallelism,
            "program_work_ns": graph.work_ns + graph.outside_ns,
            "program_span_ns": graph.span_ns,
            "program_parallelism": graph.program_parallelism,
            "tasks_deferred": graph.n_deferred,
            "tasks_undeferred": graph.n_undeferred,
            "bounds": _listed(content.bounds, "threads most least"),
            "critical_constructs": constructs,
            "critical_steps": graph.n_steps,
            "critical_path": _listed(
                graph.critical, "task group thread begin_ns length_ns start_ns preempted_ns"
            ),
            "span_preempted_ns": graph.span_preempted_ns,
            "groups": _groups(content, graph.groups),
            "dependences": _listed(graph.dependences, "from_group to_group n"),
            "tasks": _listed(
                graph.tasks, "task parent group thread created_ns start_ns end_ns work_ns critical_ns"
            ),
            "notes": content.notes,
        },
    )


def graphs_report(contents: Sequence[GraphContent]) -> Report:
    """Returns work and span of several runs, such as the ranks of a job, in one table.

    Task graphs lack the messages between ranks, so there is no common critical path.
    """
    mean_ns = sum(content.graph.work_ns for content in contents) / len(contents)
    table = Table.of(
        "Work and span",
        (
            Column("", "run", Kind.NAME, "run.path.name"),
            Column("", "work", Kind.TIME, "graph.work_ns"),
            Column("", "work / mean", Kind.RATIO, lambda content: share(content.graph.work_ns, mean_ns)),
            Column("", "span", Kind.TIME, "graph.region_span_ns"),
            Column("", "parallelism", Kind.RATIO, "graph.parallelism"),
            Column("", "burdened parallelism", Kind.RATIO, "graph.burdened_parallelism"),
        ),
        contents,
        most=64,
    )
    return Report(
        title=f"ompass graph · {plural(len(contents), 'run')}",
        facts=(),
        sections=(Section("runs", "Work and span of the parallel regions", (table,)),),
        values={
            "schema": "ompass-graphs",
            "schema_version": SCHEMA_VERSION,
            "runs": [graph_report(content) for content in contents],
        },
    )


def _listed(rows: Sequence[Any], names: str) -> Table:
    return Table.of("", fields(names), rows)


def _sections(content: GraphContent, constructs: Table) -> Iterator[Section]:
    yield Section("span", "Work and span", (_span(content),))
    if content.bounds:
        title = "Possible speed-up of the parallel regions"
        yield Section("bounds", title, (_bounds(content.bounds),))
    yield Section("critical", constructs.title, (constructs,))
    yield Section("steps", "Longest pieces of the critical path", (_steps(content),))
    yield Section("graph", "Task graph", (_groups(content, _from_the_top(content.graph.groups)),))


def _span(content: GraphContent) -> Table:
    graph = content.graph
    work_ns = graph.work_ns + graph.outside_ns
    rows = (
        ("parallel regions", graph.work_ns, graph.region_span_ns, graph.region_burdened_ns),
        ("whole program", work_ns, graph.span_ns, graph.burdened_ns),
    )
    return Table.of(
        "Work and span",
        (
            Column("", "of", Kind.TEXT, lambda row: row[0]),
            Column("", "work", Kind.TIME, lambda row: row[1]),
            Column("", "span", Kind.TIME, lambda row: row[2]),
            Column("", "parallelism", Kind.RATIO, lambda row: share(row[1], row[2])),
            Column("", "burdened span", Kind.TIME, lambda row: row[3]),
            Column("", "burdened parallelism", Kind.RATIO, lambda row: share(row[1], row[3])),
        ),
        rows,
    )


def _bounds(bounds: Sequence[SpeedupBounds]) -> Table:
    return Table.of(
        "Bounds",
        (
            Column("", "threads", Kind.TEXT, lambda row: row[0]),
            *(Column("", str(bound.threads), Kind.RATIO, partial(_bound, bound)) for bound in bounds),
        ),
        (("at most", "most"), ("greedy, burdened", "least")),
    )


def _bound(bound: SpeedupBounds, row: tuple[str, str]) -> float:
    value: float = getattr(bound, row[1])
    return value


def _constructs(content: GraphContent) -> Table:
    graph = content.graph
    work_ns = graph.work_ns + graph.outside_ns
    return Table.of(
        "Critical path by construct",
        (
            Column("label", "construct", Kind.NAME, lambda row: content.label(row.kind, row.construct)),
            data("construct"),
            data("kind"),
            Column("critical_ns", "on the path", Kind.TIME),
            Column("", "share", Kind.SHARE, lambda row: share(row.critical_ns, graph.span_ns)),
            Column("steps", "pieces", Kind.COUNT, "n_steps"),
            Column("work_ns", "work", Kind.TIME),
            Column("", "of all", Kind.SHARE, lambda row: share(row.work_ns, work_ns)),
            Column("tasks", "tasks", Kind.COUNT, "n_tasks"),
        ),
        content.constructs,
        word="construct",
        most=_MOST_ROWS,
    )


def _steps(content: GraphContent) -> Table:
    graph = content.graph
    longest = sorted(graph.critical, key=lambda step: -step.length_ns)[:_MOST_ROWS]
    n_listed = len(graph.critical)
    notes = [f"and {count(n_listed - len(longest))} more: --json"] if n_listed > len(longest) else []
    if graph.n_steps > n_listed:
        notes.append(f"chosen from the first {count(n_listed)} of {count(graph.n_steps)} pieces")
    return Table.of(
        "Pieces",
        (
            Column("", "at", Kind.TIME, "begin_ns"),
            Column("", "length", Kind.TIME, "length_ns"),
            *(
                (Column("", "preempted", Kind.TIME, "preempted_ns"),)
                if any(step.preempted_ns for step in longest)
                else ()
            ),
            Column("", "task", Kind.TEXT, lambda step: task_name(step.task)),
            Column("", "thread", Kind.COUNT, "thread"),
            Column("", "construct", Kind.NAME, lambda step: content.label_of(graph.groups[step.group])),
        ),
        sorted(longest, key=lambda step: step.begin_ns),
        notes=tuple(notes),
    )


def _groups(content: GraphContent, groups: Iterable[GraphGroup]) -> Table:
    graph = content.graph
    return Table.of(
        "Task graph",
        (
            Column("number", "group", Kind.COUNT),
            Column("", "tasks of", Kind.NAME, lambda g: "  " * g.depth + content.label_of(g)),
            data("label", content.label_of),
            Column("n_tasks", "tasks", Kind.COUNT),
            Column("n_undeferred", "undeferred", Kind.COUNT),
            Column("", "folded", Kind.TEXT, lambda g: "and below" if g.folded else ""),
            Column("work_ns", "work", Kind.TIME),
            Column("critical_ns", "critical", Kind.TIME, hint="on the critical path"),
            Column("", "of the path", Kind.SHARE, lambda g: share(g.critical_ns, graph.span_ns)),
            *fields("kind parent construct depth folded n_other_thread create_ns dispatch_ns max_ns"),
            *fields("n_critical n_waits preempted_ns"),
        ),
        groups,
        word="group",
        most=200,
    )


def _from_the_top(groups: Sequence[GraphGroup]) -> Iterator[GraphGroup]:
    """Yields each group after its creator, groups with most work first."""
    children: dict[int, list[GraphGroup]] = {}
    for group in groups[1:]:
        children.setdefault(group.parent, []).append(group)
    pending = [groups[0]]
    while pending:
        group = pending.pop()
        yield group
        pending += sorted(children.get(group.number, []), key=lambda g: g.work_ns)
