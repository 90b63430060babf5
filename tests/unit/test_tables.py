# SPDX-License-Identifier: Apache-2.0
"""Compares tables of generated traces with the schedule and the replay; tests SQL and Parquet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import polars
import pytest

import ompass
from made_runs import made_run
from made_traces import Body, Schedule, Spawn, Task, Wait, Work, write_trace
from ompass import _core
from ompass.errors import DamagedRunError, NothingToShowError, RunNotFoundError, UsageError
from ompass.metrics.breakdown import Scope
from ompass.model import STATES
from ompass.readers import tables
from ompass.readers.tables import TABLES, Tables
from ompass.recording import Recording
from ompass.symbols.resolver import UNKNOWN

INNER: Body = (
    Work(30),
    Spawn((Work(70),), 3),
    Work(5),
    Spawn((Work(10),), 4, after_last=True),
    Wait(),
    Work(1),
)
BODY: Body = (*(Spawn(INNER, 2) for _ in range(40)), Work(100), Wait())


@pytest.fixture(scope="module")
def schedule() -> Schedule:
    return Schedule(BODY, 3, 1)


@pytest.fixture(scope="module")
def recording(schedule: Schedule, tmp_path_factory: pytest.TempPathFactory) -> Recording:
    return ompass.open(write_trace(tmp_path_factory.mktemp("tables") / "made.ompass", schedule))


def all_tasks(task: Task) -> Iterator[Task]:
    for child in task.children:
        yield child
        yield from all_tasks(child)


def test_every_task_is_a_row_with_its_parent_and_times(schedule: Schedule, recording: Recording) -> None:
    tasks = list(all_tasks(schedule.workers[0].stack[0]))
    start = 1000  # begin of synthetic traces
    expected = {
        (
            task.id,
            task.parent.id if task.parent and task.parent.construct else None,
            task.construct,
            task.id >> 40,
            task.created - start,
            (task.predecessor.ended or 0 if task.predecessor else task.created) - start,
            (task.ended or 0) - start,
        )
        for task in tasks
    }
    frame = recording.table(
        "tasks", "task", "parent", "construct", "creator", "created_ns", "ready_ns", "end_ns"
    )
    assert set(frame.iter_rows()) == expected
    assert frame.height == len(tasks) == 120
    work = recording.sql(
        "SELECT construct, sum(work_ns) AS work FROM tasks GROUP BY construct ORDER BY construct"
    )
    assert work.rows() == [(2, 40 * 36), (3, 40 * 70), (4, 40 * 10)]


def test_intervals_sum_to_the_states_of_the_replay(recording: Recording) -> None:
    regions = _core.replay_trace(str(recording.path)).regions
    spent = dict(
        recording.sql("SELECT state, sum(end_ns - start_ns) AS t FROM stretches GROUP BY state").rows()
    )
    for state in STATES:
        assert spent.get(state, 0) == sum(getattr(row, f"{state}_ns") for row in regions)
    waits = recording.sql("SELECT sum(idle_ns) AS i, sum(schedule_ns) AS s FROM waits").row(0)
    assert waits == (spent["idle"], spent["schedule"])


def test_waits_are_at_least_as_long_as_their_idle_and_schedule_time(recording: Recording) -> None:
    waits = recording.table("waits")
    assert Counter(waits["kind"].to_list()) == {"taskwait": 41, "region barrier": 3}
    parts = waits["idle_ns"] + waits["schedule_ns"] + waits["sync_ns"]
    assert ((waits["end_ns"] - waits["start_ns"]) >= parts).all()
    assert waits.filter(polars.col("kind") == "region barrier")["task"].null_count() == 3


def test_columns_have_the_described_types(recording: Recording) -> None:
    for name, table in TABLES.items():
        assert recording.table(name).columns == [column.name for column in table.columns]
        assert recording.scan(name).collect_schema() == recording.table(name).schema


@pytest.mark.parametrize("batch_rows", [1, 7, 1000])
def test_the_size_of_batches_does_not_change_a_table(
    batch_rows: int, recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = recording.table("tasks")
    monkeypatch.setattr(tables, "_BATCH_ROWS", batch_rows)
    assert recording.table("tasks").equals(expected)
    assert recording.sql("SELECT * FROM tasks LIMIT 5").equals(expected.head(5))
    assert recording.sql("SELECT count(*) AS n FROM tasks").item() == expected.height


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT nothing FROM tasks", "nothing"),
        ("SELEC", "parser"),
        ("SELECT * FROM nowhere", "nowhere"),
        ("DROP TABLE tasks; SELECT 1", "statement"),
    ],
)
def test_an_invalid_query_is_refused_with_the_reason(query: str, message: str, recording: Recording) -> None:
    with pytest.raises(UsageError, match=message):
        recording.sql(query)


def test_a_query_of_a_damaged_trace_reports_the_offset(schedule: Schedule, tmp_path: Path) -> None:
    path = write_trace(tmp_path / "made.ompass", schedule)
    log = path / "thread-00001.log"
    contents = bytearray(log.read_bytes())
    contents[4096 + 64 + 8 * 40] = 63  # not a kind of event
    log.write_bytes(contents)
    damaged = ompass.open(path)
    with pytest.raises(DamagedRunError, match=r"thread-00001\.log"):
        damaged.sql("SELECT count(*) FROM tasks")
    with pytest.raises(UsageError):
        damaged.sql("SELECT cast(name AS INT) FROM constructs")


def test_a_profile_has_tables_of_its_profile_only() -> None:
    of_run = Tables(made_run(), lambda _: UNKNOWN)
    n_threads = of_run.sql("SELECT count(*) AS n FROM threads").collect().item()
    assert n_threads == len(made_run().threads)
    with pytest.raises(NothingToShowError, match="profile mode"):
        of_run.sql("SELECT * FROM tasks")


def test_parquet_files_have_the_same_tables(recording: Recording, tmp_path: Path) -> None:
    recording.scan("stretches").sink_parquet(tmp_path / "stretches.parquet")
    assert polars.read_parquet(tmp_path / "stretches.parquet").equals(recording.table("stretches"))


# ------------------------------------------------------------------ the rest of the API


def test_a_recording_has_the_figures_of_the_report(recording: Recording) -> None:
    assert recording.run.mode == "trace"
    assert recording.breakdown(Scope.PROGRAM).thread_time_ns >= recording.breakdown().thread_time_ns
    assert recording.schedule(limit=50).n_tasks == 120
    assert recording.graph().n_deferred == 120
    assert len(recording.events()) > 120 * 3


def test_only_run_directories_can_be_opened(tmp_path: Path) -> None:
    with pytest.raises(RunNotFoundError):
        ompass.open(tmp_path / "absent")


def test_names_of_columns_are_unique_in_a_table() -> None:
    for table in TABLES.values():
        names = [column.name for column in table.columns]
        assert len(set(names)) == len(names), table.name
    figures = tables._figures(_core.ConstructRow, ("construct", "thread"))
    every = tables._figures(_core.ConstructRow)
    assert [column for column in every if column.name not in ("construct", "thread")] == list(figures)
    assert len(every) == len(figures) + 2
