# SPDX-License-Identifier: Apache-2.0
"""The table of a run's MPI calls."""

from __future__ import annotations

from typing import Any, Final

from ompass.metrics.calls import mpi_share
from ompass.reports.constructs import place_columns
from ompass.reports.content import ReportContent
from ompass.reports.model import Column, Kind, Table, data, fields


def mpi_table(content: ReportContent) -> Table:
    """Returns a table of the MPI calls, the most time first."""
    calls = content.mpi
    return Table.of(
        "MPI",
        (
            Column("call", "call", Kind.NAME, "function"),
            Column("class", "class", Kind.TEXT, "kind"),
            *place_columns(content, "place"),
            Column("calls", "calls", Kind.COUNT, "n_calls", kept=True),
            Column("time_ns", "time", Kind.TIME, "time_ns", "of all threads", kept=True, parts=True),
            Column(
                "share",
                "share",
                Kind.SHARE,
                lambda call: mpi_share(content.run, calls, call.time_ns),
                "of the run time of the threads that call MPI",
                kept=True,
            ),
            Column("max_ns", "longest", Kind.TIME),
            Column("calls_in_tasks", "in tasks", Kind.COUNT, "n_in_tasks", "calls in explicit tasks"),
            *fields("task_ns serial_ns unaccounted_ns"),
            data("thread_breakdown", lambda call: [_values(thread) for thread in call.threads]),
        ),
        calls,
        word="call",
        more="--csv --table mpi",
    )


_OF_THREAD: Final = fields(
    "thread calls=n_calls time_ns max_ns calls_in_tasks=n_in_tasks task_ns serial_ns unaccounted_ns"
)


def _values(row: object) -> dict[str, Any]:
    return {column.key: column.value(row) for column in _OF_THREAD}
