# SPDX-License-Identifier: Apache-2.0
"""Wrapped creations in synthetic traces: every reader takes the times of creations from their records."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from made_traces import Body, Schedule, Spawn, Wait, Work, chain_of, work_of, write_trace
from ompass import _core
from readers_agree import (
    creations_outside_their_intervals,
    second_reading_differs,
    task_rows_of,
    task_times_differ,
    whole_graph,
)
from second_reading import Reading
from unit.test_task_graph import bodies

SPAN_BEGIN_NS = 1000  # time of the first record of a synthetic trace


@settings(max_examples=150)
@given(bodies, st.integers(1, 4), st.integers(0, 5), st.sampled_from([1, 7, 300]))
def test_wrapped_creations_do_not_change_work_and_span(
    body: Body, n_threads: int, spread: int, wrapper_ns: int
) -> None:
    schedule = Schedule(body, n_threads, spread, wrapper_ns)
    with tempfile.TemporaryDirectory() as folder:
        run_dir = write_trace(Path(folder) / "made.ompass", schedule)
        graph = whole_graph(run_dir)
        assert graph.n_out_of_order == 0
        assert graph.work_ns == work_of(body)
        assert graph.span_ns - graph.span_outside_ns == chain_of(body)[1]
        rows = task_rows_of(run_dir)
        assert {task: (row.created_ns, row.start_ns, row.end_ns) for task, row in rows.items()} == {
            task.id: tuple((time or 0) - SPAN_BEGIN_NS for time in (task.created, task.started, task.ended))
            for task in schedule.tasks
        }
        assert task_times_differ(run_dir) == []
        assert creations_outside_their_intervals(run_dir) == []
        assert second_reading_differs(run_dir, Reading(run_dir)) == []


def test_a_chain_of_wrapped_creations_has_no_parallelism(tmp_path: Path) -> None:
    body: Body = (Work(100), Spawn((Work(100), Spawn((Work(100),)))), Wait())
    run_dir = write_trace(tmp_path / "made.ompass", Schedule(body, wrapper_ns=5))
    graph = _core.task_graph(str(run_dir))
    assert graph.work_ns == graph.span_ns - graph.span_outside_ns == 300


def test_a_dependence_may_be_recorded_between_a_creation_and_its_span(tmp_path: Path) -> None:
    body: Body = (Work(50), Spawn((Work(1000),)), Work(50), Spawn((Work(10),), after_last=True))
    schedule = Schedule(body, wrapper_ns=5)
    run_dir = write_trace(tmp_path / "made.ompass", schedule)
    created_ns = sorted(row.created_ns for row in task_rows_of(run_dir).values())
    assert created_ns == sorted(task.created - SPAN_BEGIN_NS for task in schedule.tasks)
    assert created_ns[1] - created_ns[0] == 55
