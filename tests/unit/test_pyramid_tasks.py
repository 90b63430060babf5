# SPDX-License-Identifier: Apache-2.0
"""Details of moments and tasks in timelines of synthetic schedules: waits, off-CPU intervals, dependences."""

from __future__ import annotations

import random
import tempfile
from collections import Counter
from pathlib import Path

from hypothesis import example, given, settings
from hypothesis import strategies as st

import made_traces
from made_traces import Body, Spawn, Wait, Work, write_trace
from ompass import _core, open
from ompass.model import STATES
from unit.test_schedule import BODIES, MIXED

N_THREADS = 3
BEGIN = 1000  # begin of synthetic traces, ticks
PREEMPTED, BLOCKED = 44, 45
MANY = 1 << 40
CHAINS: Body = tuple(
    op for k in range(40) for op in (Spawn((Work(50 + k),), 2), *(Spawn((Work(90),), 3, True),) * 3)
)


def made(body: Body, folder: Path) -> tuple[made_traces.Schedule, Path]:
    schedule = made_traces.Schedule(body, N_THREADS, 1)
    return schedule, write_trace(folder / "made.ompass", schedule)


def rows_of(columns: _core.WindowIntervals | _core.TaskLinks | None) -> list[dict[str, int]]:
    assert columns is not None
    lists = {name: column.tolist() for name, column in columns.as_dict().items()}
    return [dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)]


def check_links(schedule: made_traces.Schedule, path: Path, n_tasks: int, records: int = MANY) -> int:
    """Compares the links of some tasks with the schedule; returns the number of links."""
    pyramid, chosen, n_links = _core.Pyramid(str(path), keep=False), random.Random(7), 0
    stretches = rows_of(pyramid.read_intervals(list(range(N_THREADS)), 0, pyramid.end_ns, 1 << 20))
    seen = {row["task"]: row for row in stretches if row["task"] and row["state"] == 0}
    after = {
        task.id: [other for other in schedule.tasks if other.predecessor is task] for task in schedule.tasks
    }
    pairs = {(t.predecessor.id, t.id) for t in schedule.tasks if t.predecessor}
    assert set(pyramid.read_dependences(MANY) or ()) == pairs
    for task in chosen.sample(schedule.tasks, min(n_tasks, len(schedule.tasks))):
        if task.id not in seen:
            continue  # too short to be shown
        row = seen[task.id]
        found = rows_of(pyramid.read_links(task.id, row["thread"], row["begin_ns"], records))
        before = [task.predecessor] if task.predecessor else []
        expected = [(0, task), *((1, each) for each in before), *((2, each) for each in after[task.id])]
        n_links += len(expected) - 1
        assert [(row["role"], row["task"]) for row in found] == [(role, each.id) for role, each in expected]
        for link, (_, each) in zip(found, expected, strict=True):
            assert each.started is not None and each.ended is not None
            times = (link["created_ns"], link["start_ns"], link["end_ns"])
            assert times == (each.created - BEGIN, each.started - BEGIN, each.ended - BEGIN)
            assert link["construct"] == each.construct
    return n_links


@given(body=BODIES)
@settings(max_examples=30)
def test_the_tasks_before_and_after_a_task_are_found(body: Body) -> None:
    with tempfile.TemporaryDirectory() as folder:
        check_links(*made(body, Path(folder)), 5)


def test_dependences_are_found_from_checkpoints_too(tmp_path: Path) -> None:
    assert check_links(*made(CHAINS * 15, tmp_path), 40) > 40


def test_a_search_ends_at_its_limit(tmp_path: Path) -> None:
    schedule, path = made(CHAINS, tmp_path)
    pyramid = _core.Pyramid(str(path), keep=False)
    found = rows_of(pyramid.read_links(schedule.tasks[1].id, 0, 0, 1))
    assert [row["start_ns"] for row in found] == [0]
    assert pyramid.read_dependences(3) is None


# Two waits that begin at the same time.
@example(body=(Spawn((Spawn((Work(3),), 2), Spawn((), 2), Wait()), 2),), seed=0)
@given(body=BODIES, seed=st.integers(0, 1000))
@settings(max_examples=30)
def test_a_moment_shows_the_state_and_the_wait_of_every_thread(body: Body, seed: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        _, path = made((Work(10), *body), Path(folder))
        pyramid, recording = _core.Pyramid(str(path), keep=False), open(path)
        stretches, waits = recording.table("stretches").to_dicts(), recording.table("waits").to_dicts()
        for at in random.Random(seed).sample(range(pyramid.end_ns), min(pyramid.end_ns, 10)):
            shown = {row["thread"]: row for row in rows_of(pyramid.read_moment([0, 1, 2], at, MANY))}
            known = [row for row in stretches if row["start_ns"] <= at < row["end_ns"]]
            assert {(t, STATES[row["state"]]) for t, row in shown.items()} == {
                (row["thread"], row["state"]) for row in known
            }
            for thread, row in shown.items():
                around = [
                    (wait["start_ns"], wait["end_ns"]) for wait in waits
                    if wait["thread"] == thread and wait["start_ns"] <= at < wait["end_ns"]
                ]  # fmt: skip
                if not row["wait_kind"]:
                    assert STATES[row["state"]] in ("work", "create") or not around
                elif row["wait_end_ns"]:
                    innermost = max(around, key=lambda wait: (wait[0], -wait[1]))
                    assert (row["wait_begin_ns"], row["wait_end_ns"]) == innermost


def test_off_cpu_intervals_are_parts_of_their_states(tmp_path: Path) -> None:
    schedule = made_traces.Schedule((*MIXED, Wait(), *MIXED), N_THREADS, 1)
    chosen, intervals, now = random.Random(3), [], BEGIN + 100
    words = schedule.workers[0].log.words
    while now < schedule.end - 2000:
        length, blocked = chosen.randint(1, 900), chosen.random() < 0.5
        intervals.append((now - BEGIN, now - BEGIN + length, blocked))
        now += length + chosen.randint(1, 3000)
    records = [
        word for begin, end, blocked in intervals
        for word in (BLOCKED if blocked else PREEMPTED, begin + BEGIN, end - begin)
    ]  # fmt: skip
    words[2:2] = records
    path = write_trace(tmp_path / "made.ompass", schedule)
    pyramid = _core.Pyramid(str(path), keep=False)
    expected: Counter[int] = Counter()
    for row in open(path).sql("SELECT * FROM stretches WHERE thread = 0").to_dicts():
        for begin, end, blocked in intervals:
            ns = min(end, row["end_ns"]) - max(begin, row["start_ns"])
            expected[2 * STATES.index(row["state"]) + blocked] += max(ns, 0)
    assert dict(pyramid.totals(5)) == +expected and len(+expected) > 3
    for shift, first, n in ((0, 20_000, 7000), (3, 5000, 700), (12, 3, 2)):
        low, high = first << shift, (first + n) << shift
        tile = pyramid.read_tile([[0]], 5, [], shift, first, n)
        rows = rows_of(pyramid.read_intervals([0], low, high, MANY))
        absent: Counter[int] = Counter()
        for row in rows:
            if row["absent"]:
                absent[2 * row["state"] + row["absent"] - 1] += row["end_ns"] - row["begin_ns"]
        assert absent == +Counter(dict(enumerate(tile.sum(axis=(0, 1)).tolist())))
        assert absent
        states = Counter(dict.fromkeys(range(5), 0))
        for row in rows:
            if not row["absent"]:
                states[row["state"]] += row["end_ns"] - row["begin_ns"]
        assert sum(states.values()) == min(high, pyramid.end_ns) - low
