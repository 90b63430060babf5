# SPDX-License-Identifier: Apache-2.0
"""Compares all readers of a trace: they must show the same tasks at the same integer nanoseconds.

Readers are the SQL tables, the slices of timelines, the tasks of the graph, the records of `dump`, and the
second reading of tests/support/second_reading.py. Comparisons return a sentence for each disagreement.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Set
from pathlib import Path
from typing import Any, NamedTuple

from ompass import _core
from second_reading import NEVER_NS, Reading, Task

TASK_SLICE, CREATION_SLICE, CREATED_MOMENT = 2, 5, 7
WORK, CREATE = 0, 1
TABLES = {name: tuple(column for column, _, _ in columns) for name, _, columns in _core.trace_tables()}


class TaskRow(NamedTuple):
    """A row of the SQL table `tasks`."""

    task: int
    parent: int
    construct: int
    deferred: int
    creator: int
    thread: int
    created_ns: int
    created_latest_ns: int
    ready_ns: int
    start_ns: int
    end_ns: int
    work_ns: int


def rows_of(run_dir: Path, table: str, batch_rows: int = 100_000) -> list[tuple[int, ...]]:
    """Returns all rows of a table, with every column."""
    rows: list[tuple[int, ...]] = []

    def deliver(batch: list[Any]) -> None:
        rows.extend(zip(*(column.tolist() for column in batch), strict=True))

    _core.read_rows(str(run_dir), table, list(TABLES[table]), batch_rows, deliver)
    return rows


def task_rows_of(run_dir: Path) -> dict[int, TaskRow]:
    """Returns the deferred tasks that completed, by id."""
    rows = [TaskRow(*row) for row in rows_of(run_dir, "tasks")]
    return {row.task: row for row in rows if row.deferred}


def whole_graph(run_dir: Path, depth: int = 50) -> _core.TaskGraph:
    """Returns the task graph, with every task and every step of the critical path listed."""
    groups = _core.task_graph(str(run_dir), depth).groups
    return _core.task_graph(str(run_dir), depth, range(len(groups)), 10**8)


def slices_of(run_dir: Path) -> dict[str, list[int]]:
    """Returns the slices of all threads in the whole run, by column."""
    slices = _core.slices_of_run(str(run_dir), [])
    assert slices is not None
    return {name: column.tolist() for name, column in slices.as_dict().items()}


def _differ(what: str, one: dict[int, int], other: dict[int, int]) -> list[str]:
    wrong = sorted(task for task in one.keys() | other.keys() if one.get(task) != other.get(task))
    if not wrong:
        return []
    first = wrong[0]
    return [
        f"{what}: {len(wrong)} of {len(one)} tasks, the first is {first >> 40}.{first & (1 << 40) - 1}: "
        f"{one.get(first)} and {other.get(first)}"
    ]


def task_times_differ(run_dir: Path, detached: Set[int] = frozenset()) -> list[str]:
    """Compares creation, start and end of each task in SQL, in the graph and in the timeline.

    Does not compare the ends of `detached` tasks: they end twice, with their body and by their event.
    """
    rows = task_rows_of(run_dir)
    listed = whole_graph(run_dir).tasks
    slices = slices_of(run_dir)
    created: dict[int, int] = {}
    begin: dict[int, int] = {}
    end: dict[int, int] = {}
    columns = (slices[name] for name in ("kind", "task", "begin_ns", "end_ns"))
    for kind, task, begin_ns, end_ns in zip(*columns, strict=True):
        if kind == CREATED_MOMENT:
            created[task] = begin_ns
        elif kind == TASK_SLICE and task:
            begin[task] = min(begin_ns, begin.get(task, NEVER_NS))
            end[task] = max(end_ns, end.get(task, 0))
    found: list[str] = []
    in_timeline_of = {"created_ns": created, "start_ns": begin, "end_ns": end}
    for name in ("created_ns", "created_latest_ns", "start_ns", "end_ns"):
        left_out = detached if name == "end_ns" else frozenset()
        of_rows = {task: int(getattr(row, name)) for task, row in rows.items() if task not in left_out}
        in_graph = {task.task: int(getattr(task, name)) for task in listed if task.task in of_rows}
        found += _differ(f"{name} in SQL and graph", of_rows, in_graph)
        if name in in_timeline_of:
            in_timeline = {task: ns for task, ns in in_timeline_of[name].items() if task in of_rows}
            found += _differ(f"{name} in SQL and timeline", of_rows, in_timeline)
    return found


def creations_outside_their_intervals(run_dir: Path) -> list[str]:
    """Checks that each creation in SQL is within its interval in `dump`, and that starts are equal."""
    rows = task_rows_of(run_dir)
    events = _core.read_events(str(run_dir))
    kinds = [name for name, _ in _core.event_kinds()]
    found = []
    columns = (getattr(events, name).tolist() for name in ("kind", "task", "time_ns", "latest_ns"))
    for kind, task, time_ns, latest_ns in zip(*columns, strict=True):
        if latest_ns < time_ns:
            found.append(f"{kinds[kind]} at {time_ns} ends before, at {latest_ns}")
        if task not in rows:
            continue
        if kinds[kind] == "create":
            first_ns, last_ns = rows[task].created_ns, rows[task].created_latest_ns
            is_exact = first_ns == last_ns and time_ns <= first_ns <= latest_ns
            if not is_exact and (first_ns, last_ns) != (time_ns, latest_ns):
                found.append(f"{task}: created in [{first_ns}, {last_ns}], not in [{time_ns}, {latest_ns}]")
        if kinds[kind] in ("start", "start_ready") and time_ns != rows[task].start_ns:
            found.append(f"{task}: started at {rows[task].start_ns}, not at {time_ns}")
    return found


def second_reading_differs(run_dir: Path, reading: Reading) -> list[str]:
    """Compares SQL with the second reading.

    Rounding may change begins of wrappers and ready times by 1 ns, and work by 2 ns per interval.
    """
    rows = task_rows_of(run_dir)
    tasks = {task.id: task for task in reading.deferred() if task.start_ns >= 0 and task.end_ns != NEVER_NS}
    found = _differ("tasks in SQL and in records", dict.fromkeys(rows, 1), dict.fromkeys(tasks, 1))
    creations = _creation_begins(run_dir)
    for number, row in rows.items():
        task = tasks.get(number)
        if task is None:
            continue
        name = f"task {number >> 40}.{number & (1 << 40) - 1}"
        slack_ns = 1 if task.is_wrapped else 0
        if abs(row.created_ns - task.created_ns) > slack_ns:
            found.append(f"{name}: created at {row.created_ns} in SQL, at {task.created_ns} by its records")
        elif task.is_wrapped and row.created_latest_ns != row.created_ns:
            found.append(f"{name}: a wrapper measured its creation, but SQL has {row.created_latest_ns}")
        elif task.is_wrapped and row.created_ns not in creations[row.creator]:
            found.append(f"{name}: created at {row.created_ns}, where no creation of its thread begins")
        if (row.start_ns, task.end_ns if task.detached else row.end_ns) != (task.start_ns, task.end_ns):
            found.append(f"{name}: {row.start_ns} to {row.end_ns}, not {task.start_ns} to {task.end_ns}")
        if abs(row.work_ns - task.work_ns) > 2 * task.n_stretches + 1:
            found.append(f"{name}: worked {row.work_ns} in SQL, {task.work_ns} by its records")
        ready_ns = _ready_ns(task, row)
        if abs(row.ready_ns - ready_ns) > (1 if task.ready_after_ns >= 0 else 0):
            found.append(f"{name}: ready at {row.ready_ns} in SQL, at {ready_ns} by its records")
        parent = _parent(task)
        if row.parent != parent:
            found.append(f"{name}: child of {row.parent} in SQL, of {parent} by its records")
    return found


def _ready_ns(task: Task, row: TaskRow) -> int:
    if task.ready_after_ns >= 0:
        return task.start_ns - task.ready_after_ns
    return min(row.created_ns, task.start_ns)


def _parent(task: Task) -> int:
    assert task.creator is not None
    owner = task.creator.owner()
    return owner.id if owner.is_deferred else -1


def _creation_begins(run_dir: Path) -> dict[int, set[int]]:
    """Returns the begins of the creation intervals in SQL, by thread."""
    begins: dict[int, set[int]] = defaultdict(set)
    for thread, state, _, _, start_ns, *_ in rows_of(run_dir, "stretches"):
        if state == CREATE:
            begins[thread].add(start_ns)
    return begins


def span_differs(run_dir: Path, reading: Reading) -> list[str]:
    """Compares work, span and critical path of the graph with the longest path of the second reading."""
    graph = whole_graph(run_dir)
    found = []
    low_ns, high_ns = reading.span_ns()
    if not low_ns <= graph.span_ns <= high_ns:
        found.append(f"span of {graph.span_ns} ns; the longest path has {low_ns} to {high_ns}")
    tasks = list(reading.everyone())
    for name, of, cut_ns in (
        ("work_ns", [task for task in tasks if task.region], reading.cut_ns()),
        ("outside_ns", [task for task in tasks if not task.region], 0),
    ):
        work_ns, slack_ns = sum(task.busy_ns for task in of), 2 * sum(task.n_stretches for task in of) + 1
        if not -slack_ns <= getattr(graph, name) - work_ns <= slack_ns + cut_ns:
            found.append(f"{name} is {getattr(graph, name)}, not {work_ns} +- {slack_ns}")
    lengths = [step.length_ns for step in graph.critical]
    if len(lengths) != graph.n_steps:
        found.append(f"{len(lengths)} steps are listed, and {graph.n_steps} are counted")
    if abs(sum(lengths) - graph.span_ns) > len(lengths):
        found.append(f"the critical path is {sum(lengths)} ns long, and the span {graph.span_ns}")
    of_task: dict[int, int] = defaultdict(int)
    for step in graph.critical:
        of_task[step.task] += step.length_ns
    for task, length_ns in of_task.items():
        known = reading.tasks.get(task)
        if known is not None and length_ns > known.busy_ns + 2 * known.n_stretches + len(lengths):
            found.append(
                f"task {task} is {length_ns} ns on the critical path, and was busy for {known.busy_ns}"
            )
    if graph.n_deferred != len(reading.deferred()) or graph.n_undeferred != reading.n_undeferred:
        found.append(f"{graph.n_deferred} deferred and {graph.n_undeferred} undeferred tasks in the graph")
    if graph.n_out_of_order:
        found.append(f"{graph.n_out_of_order} events out of order")
    return found
