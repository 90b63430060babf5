# SPDX-License-Identifier: Apache-2.0
"""The tables of a run's task constructs and kernels: costs, counters, granularity."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from ompass.metrics.constructs import ConstructTotals
from ompass.metrics.processors import knows_switches
from ompass.model import OPENMP_STATES, STATES, CpuTimes, share, shown_states
from ompass.reports.content import ReportContent
from ompass.reports.model import Bar, Column, Kind, Table, data, fields
from ompass.units import count


def place_columns(content: ReportContent, title: str) -> tuple[Column, Column]:
    """Returns the columns for the number and the place of a row's construct."""
    return (
        data("id", "construct"),
        Column("place", title, Kind.PLACE, lambda row: content.location(row.construct)),
    )


def cpu_fields(times: CpuTimes) -> dict[str, int]:
    """Returns a time divided into running, preempted and blocked, by field name."""
    return {column.key: column.value(times) for column in fields("running_ns preempted_ns blocked_ns")}


def tasks_table(content: ReportContent) -> Table:
    """Returns a table of task constructs: the numbers, costs and places of their tasks."""
    return Table.of(
        "Task constructs by cost",
        (
            *place_columns(content, "task"),
            data("inlined_into", lambda task: content.location(task.construct).inlined_into),
            Column("tasks", "tasks", Kind.COUNT, "n_completed", "completed", kept=True),
            Column(
                "work_ns", "work", Kind.TIME, hint="time of all tasks in user code", kept=True, parts=True
            ),
            Column("create_ns", "create", Kind.TIME, hint="time to create all tasks", parts=True),
            *_other_states(content.tasks),
            Column("mean_work_ns", "mean work", Kind.TIME, kept=True),
            Column("mean_create_ns", "mean create", Kind.TIME),
            Column("max_ns", "longest", Kind.TIME, _of_timed("max_ns")),
            Column("", "moved", Kind.SHARE, "moved_share", "part that did not run on the creating thread"),
            Column("", "mean wait", Kind.TIME, "mean_ready_ns", "from ready to start"),
            Column(
                "",
                "share",
                Kind.SHARE,
                lambda task: content.breakdown.share(task.cost_ns),
                f"{_words_of_cost(content.tasks)}, of all thread-time",
                kept=True,
            ),
            *fields("tasks_created=n_created tasks_cancelled=n_cancelled tasks_undeferred=n_undeferred"),
            *fields("inclusive_ns tasks_timed=n_timed histogram tasks_ready=n_ready ready_ns ready_max_ns"),
            *fields("tasks_other_thread=n_other_thread tasks_other_core=n_other_core"),
            *fields("tasks_other_domain=n_other_domain"),
            data("min_ns", _of_timed("min_ns")),
            data("counters", lambda task: counters_of(content, task)),
            data("work_cpu", partial(_work_of, content)),
            data("created_by", lambda task: _by_thread(task.created_by)),
            data("completed_by", lambda task: _by_thread(task.completed_by)),
        ),
        content.tasks,
        word="construct",
        more="--csv",
    )


def _words_of_cost(tasks: Sequence[ConstructTotals]) -> str:
    *names, last = ("work", "create", *(s for s in shown_states(*tasks) if s not in OPENMP_STATES))
    return f"{', '.join(names)} and {last}"


def _other_states(tasks: Sequence[ConstructTotals]) -> Iterator[Column]:
    """Yields the columns of the states other than OpenMP's; reports for people omit states without time."""
    shown = shown_states(*tasks)
    for state in STATES:
        if state not in OPENMP_STATES:
            yield Column(f"{state}_ns", state if state in shown else "", Kind.TIME, parts=True)


def _work_of(content: ReportContent, totals: ConstructTotals) -> dict[str, int] | None:
    """Returns the work of a construct on and off processors; None unless known for every thread."""
    if not knows_switches(content.run):
        return None
    return cpu_fields(CpuTimes.of(totals.work_ns, totals.preempted_ns, totals.blocked_ns))


def _of_timed(name: str) -> Any:
    """Returns a function that returns the attribute `name` of totals; None without timed tasks."""
    return lambda totals: getattr(totals, name) if totals.n_timed else None


def _by_thread(counts: tuple[tuple[int, int], ...]) -> list[dict[str, int]]:
    return [{"thread": thread, "tasks": n} for thread, n in counts]


def counters_of(content: ReportContent, totals: ConstructTotals) -> dict[str, int]:
    """Returns the counters of a construct by their names."""
    return dict(zip(content.run.counters, totals.counters, strict=False))


def kernels_table(content: ReportContent) -> Table:
    return Table.of(
        "Kernels",
        (
            data("id", "construct"),
            Column("name", "kernel", Kind.NAME, lambda kernel: _name(content, kernel)),
            Column("place", "", Kind.PLACE, lambda kernel: content.location(kernel.construct)),
            Column("executions", "runs", Kind.COUNT, "n_completed", "number of executions"),
            Column("work_ns", "work", Kind.TIME),
            Column("", "mean", Kind.TIME, "mean_work_ns"),
            Column("max_ns", "longest", Kind.TIME, _of_timed("max_ns")),
            Column("read_bytes", "read", Kind.BYTES, hint="declared bytes"),
            Column("write_bytes", "written", Kind.BYTES, hint="declared bytes"),
            data("inclusive_ns"),
            data("min_ns", _of_timed("min_ns")),
            data("counters", lambda kernel: counters_of(content, kernel)),
            data("work_cpu", partial(_work_of, content)),
        ),
        content.kernels,
        word="kernel",
        more="--csv --table kernels",
    )


def _name(content: ReportContent, kernel: ConstructTotals) -> str:
    return content.location(kernel.construct).function or f"kernel {kernel.construct}"


def counters_table(content: ReportContent) -> Table:
    """Returns the counters of task constructs and kernels; no rows without counters."""
    counted = [(content.location(task.construct).label(), task) for task in content.tasks]
    counted += [(_name(content, kernel), kernel) for kernel in content.kernels]
    return Table.of(
        "Counters",
        (
            Column("", "task or kernel", Kind.NAME, lambda row: row[0]),
            *(
                Column("", name, Kind.COUNT, partial(_counter, k))
                for k, name in enumerate(content.run.counters)
            ),
        ),
        counted if content.run.counters else (),
    )


def _counter(number: int, row: tuple[str, ConstructTotals]) -> int | None:
    counters = row[1].counters
    return counters[number] if number < len(counters) else None


def granularity_table(content: ReportContent) -> Table:
    n_timed = sum(b.n_tasks for b in content.bins)
    return Table.of(
        "Granularity",
        (
            Column("low_ns", "from", Kind.TIME, hint="shortest duration of the bin"),
            Column("high_ns", "to", Kind.TIME, hint="shortest duration above the bin"),
            Column("tasks", "tasks", Kind.COUNT, "n_tasks"),
            Column("", "share", Kind.SHARE, lambda b: share(b.n_tasks, n_timed)),
            Column("", "", Kind.BAR, lambda b: Bar(b.n_tasks, whole=n_timed)),
        ),
        content.bins,
        most=64,
        notes=tuple(_untimed(content.tasks, n_timed)),
    )


def _untimed(tasks: Sequence[ConstructTotals], n_timed: int) -> Iterator[str]:
    """Yields the number of timed tasks, if it differs from the number of tasks."""
    n_tasks = sum(task.n_completed for task in tasks)
    if n_timed < n_tasks:
        yield (
            f"{count(n_timed)} of {count(n_tasks)} tasks were timed one by one; the table omits the others, "
            "which count in the mean work of their construct."
        )
