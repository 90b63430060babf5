# SPDX-License-Identifier: Apache-2.0
"""The tables of a run's waits and loops."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from ompass.metrics.thresholds import SHOWN_SHARE
from ompass.metrics.waits import LoopTotals, WaitedFor, WaitTotals
from ompass.model import UNSHARED_LOOPS
from ompass.reports.constructs import place_columns
from ompass.reports.content import ReportContent
from ompass.reports.model import Column, Kind, Table, data, fields, place_fields


def costly_waits(content: ReportContent) -> list[WaitTotals]:
    """Returns the waits that reports for people show."""
    return [w for w in content.waits if content.breakdown.share(w.wait_ns) > SHOWN_SHARE]


def notable_loops(content: ReportContent) -> list[LoopTotals]:
    def costs(loop: LoopTotals) -> int:
        return loop.imbalance_ns if loop.kind in UNSHARED_LOOPS else max(loop.imbalance_ns, loop.time_ns)

    return [o for o in content.loops if content.breakdown.share(costs(o)) > SHOWN_SHARE]


def waits_table(content: ReportContent, waits: Sequence[WaitTotals]) -> Table:
    """Returns a table of waits: their costs, the tasks run inside, and the construct mostly waited for."""
    return Table.of(
        "Waits by cost",
        (
            *place_columns(content, "wait"),
            Column("", "kind", Kind.TEXT, partial(_kind_and_name, content)),
            *fields("kind"),
            data("name", lambda w: content.critical_names.get(w.construct)),
            Column("count", "waits", Kind.COUNT, "n_waits"),
            Column(
                "wait_ns",
                "waited",
                Kind.TIME,
                hint="time for which threads waited without a task, or for the lock",
                kept=True,
                parts=True,
            ),
            Column(
                "",
                "share",
                Kind.SHARE,
                lambda w: content.breakdown.share(w.wait_ns),
                "of all thread-time",
                kept=True,
            ),
            Column("inside_ns", "tasks inside", Kind.TIME, hint="time of tasks that ran meanwhile"),
            Column("max_ns", "longest", Kind.TIME, hint="from begin to end, with the tasks inside"),
            Column("", "mostly for", Kind.NAME, partial(_waited_most_for, content)),
            *fields("schedule_ns sync_ns idle_ns long_waits=n_long delay_ns"),
            data("waited_for", lambda w: [_waited_for_fields(content, entry) for entry in w.waited_for]),
            data("thread_breakdown", lambda w: [_values(_OF_THREAD, t) for t in w.threads]),
        ),
        waits,
        word="wait",
        more="--csv --table waits",
        notes=_of_gcc(content),
    )


_OF_THREAD: Final = fields("thread count=n_waits wait_ns schedule_ns sync_ns idle_ns inside_ns")


def _values(columns: Sequence[Column], row: object) -> dict[str, Any]:
    return {column.key: column.value(row) for column in columns}


def _kind_and_name(content: ReportContent, wait: WaitTotals) -> str:
    name = content.critical_names.get(wait.construct)
    return f"{wait.kind} {name}" if name else wait.kind


_NO_CHUNKS: Final = "the runtime does not report which thread took which chunks"


def _of_gcc(content: ReportContent) -> tuple[str, ...]:
    """Returns a note if there are implementation barriers, as in gcc's loops and clang's reductions."""
    if all(w.kind != "implementation barrier" for w in content.waits):
        return ()
    return ("implementation barriers come from the compiler; gcc's static loops show only these barriers",)


def _waited_most_for(content: ReportContent, wait: WaitTotals) -> str | None:
    """Returns text such as `task fib.c:12`, or None if unknown."""
    if not wait.waited_for:
        return None
    first = wait.waited_for[0]
    kind = {"parallel": "region"}.get(first.kind, first.kind)
    return f"{kind} {content.location(first.construct).place}"


def _waited_for_fields(content: ReportContent, entry: WaitedFor) -> dict[str, Any]:
    return {
        "construct": entry.construct,
        "construct_kind": entry.kind,
        **place_fields(content.location(entry.construct)),
        "count": entry.n_waits,
        "wait_ns": entry.wait_ns,
    }


def loops_table(content: ReportContent, loops: Sequence[LoopTotals]) -> Table:
    """Returns a table of loops: executions, times, and the cost of their imbalance."""
    shared = [loop for loop in loops if loop.kind not in UNSHARED_LOOPS]
    return Table.of(
        "Loops by imbalance",
        (
            *place_columns(content, "loop"),
            Column("kind", "kind", Kind.TEXT),
            Column("instances", "runs", Kind.COUNT, "n_led", "number of executions"),
            Column("iterations", "iterations", Kind.COUNT, "n_iterations"),
            Column("time_ns", "time", Kind.TIME, hint="of all threads in it", kept=True, parts=True),
            Column(
                "",
                "max/mean",
                Kind.RATIO,
                lambda loop: 1.0 + loop.imbalance,
                "time of the busiest thread over the mean: 1 is perfect balance",
            ),
            Column(
                "imbalance_ns",
                "lost",
                Kind.TIME,
                hint="idle time at the barrier after the loop, until the last thread arrived",
                kept=True,
                parts=True,
            ),
            Column(
                "",
                "share",
                Kind.SHARE,
                lambda o: content.breakdown.share(o.imbalance_ns),
                "lost, of all thread-time",
                kept=True,
            ),
            Column("chunks", "chunks", Kind.COUNT, lambda o: o.n_chunks if o.has_chunks else None),
            *fields("max_thread_ns mean_thread_ns imbalance"),
            data("thread_breakdown", _loop_threads),
        ),
        loops,
        word="loop",
        more="--csv --table loops",
        notes=(_NO_CHUNKS,) if shared and not any(o.has_chunks for o in shared) else (),
    )


def _loop_threads(loop: LoopTotals) -> list[dict[str, Any]]:
    return [
        {
            "thread": t.thread,
            "instances": t.n_entered,
            "iterations": t.n_taken if loop.has_chunks else None,
            "chunks": t.n_chunks if loop.has_chunks else None,
            "time_ns": t.time_ns,
            "imbalance_ns": t.imbalance_ns,
        }
        for t in loop.threads
    ]
