# SPDX-License-Identifier: Apache-2.0
"""Schedules of made traces: bins, stretches and matrix against the replay, and the figures that show them."""

from __future__ import annotations

import itertools
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ompass import _core
from ompass.errors import DamagedRunError
from ompass.figures.render import render
from ompass.figures.schedule import gantt, over_time, who_ran_whose
from ompass.readers import open_run
from ompass.readers.schedule import Schedule, read_schedule
from ompass.reports import ReportContent, collect
from ompass.reports.model import STATES
from unit import made_traces
from unit.made_traces import Body, Spawn, Wait, Work, write_trace

WORKS = st.builds(Work, st.integers(0, 1000))
BODIES: st.SearchStrategy[Body] = st.recursive(
    st.lists(WORKS, max_size=3).map(tuple),
    lambda inner: st.lists(
        st.one_of(WORKS, st.builds(Wait), st.builds(Spawn, inner, st.integers(2, 4), st.booleans())),
        max_size=5,
    ).map(tuple),
    max_leaves=25,
)
# A long task, many short ones of another construct, a long one again.
MIXED: Body = (
    Spawn((Work(50_000),), 2),
    *(Spawn((Work(20),), 3) for _ in range(500)),
    Wait(),
    Spawn((Work(40_000),), 4),
    Wait(),
)


def made(body: Body, folder: Path, n_threads: int = 2, spread: int = 0) -> Path:
    return write_trace(folder / "made.ompass", made_traces.Schedule(body, n_threads, spread))


def rows_of(schedule: Schedule) -> list[dict[str, int]]:
    columns = {name: column.tolist() for name, column in schedule.stretches.as_dict().items()}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def replayed(path: Path) -> list[int]:
    """Thread-time by state."""
    rows = _core.replay_trace(str(path)).regions
    return [sum(getattr(row, f"{state}_ns") for row in rows) for state in STATES]


def by_state(rows: list[dict[str, int]]) -> list[int]:
    spent: Counter[int] = Counter()
    for row in rows:
        spent[row["state"]] += row["end_ns"] - row["start_ns"]
    return [spent[state] for state in range(len(STATES))]


@settings(max_examples=25, deadline=None)
@given(BODIES, st.integers(1, 4), st.integers(1, 40))
def test_bins_and_stretches_hold_the_thread_time_of_every_state(
    body: Body, n_threads: int, n_bins: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = made(body, Path(folder), n_threads)
        schedule = read_schedule(path, limit=10**6, n_bins=n_bins)
        expected = replayed(path)
    assert [sum(states) for states in zip(*schedule.bins, strict=True)] == expected
    rows = rows_of(schedule)
    assert all(row["pooled"] == 1 for row in rows)
    assert by_state(rows) == expected
    for row, after in itertools.pairwise(rows):
        assert (row["thread"], row["end_ns"]) <= (after["thread"], after["start_ns"]) or (
            row["thread"] < after["thread"]
        )


@settings(max_examples=25, deadline=None)
@given(BODIES, st.integers(1, 3), st.integers(1, 30), st.data())
def test_a_window_holds_what_the_whole_run_has_there(
    body: Body, n_threads: int, limit: int, data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = made(body, Path(folder), n_threads)
        whole = read_schedule(path, limit=10**6)
        start_ns = data.draw(st.integers(0, whole.end_ns))
        end_ns = data.draw(st.integers(start_ns, whole.end_ns + 100))
        exact = read_schedule(path, start_ns=start_ns, end_ns=end_ns, limit=10**6, n_bins=3)
        coarse = read_schedule(path, start_ns=start_ns, end_ns=end_ns, limit=limit)
    clipped = [
        row | {"start_ns": max(row["start_ns"], start_ns), "end_ns": min(row["end_ns"], end_ns)}
        for row in rows_of(whole)
    ]
    inside = [row for row in clipped if row["start_ns"] < row["end_ns"]]
    assert rows_of(exact) == inside
    assert [sum(states) for states in zip(*exact.bins, strict=True)] == by_state(inside)
    pooled = rows_of(coarse)
    assert len(pooled) <= max(limit, 4 * n_threads)
    assert sum(row["pooled"] for row in pooled) == len(inside)
    assert all(row["end_ns"] - row["start_ns"] >= coarse.shortest_ns or row in inside or row["pooled"] > 1
               for row in pooled)  # fmt: skip


def test_what_is_pooled_stands_for_what_it_mostly_was(tmp_path: Path) -> None:
    path = made(MIXED, tmp_path, 1)
    rows = rows_of(read_schedule(path, limit=12))
    assert len(rows) <= 12
    work = [row for row in rows if row["state"] == 0 and row["task"] == 0 and row["home"] == 0]
    assert {row["construct"] for row in work} == {3}
    assert max(row["pooled"] for row in work) > 100
    # Long tasks are there just as they were.
    assert {row["end_ns"] - row["start_ns"] for row in rows if row["construct"] in (2, 4)} == {50_000, 40_000}


@settings(max_examples=25, deadline=None)
@given(BODIES, st.integers(1, 4), st.integers(0, 3))
def test_the_matrix_counts_every_deferred_task(body: Body, n_threads: int, spread: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = made(body, Path(folder), n_threads, spread)
        schedule = read_schedule(path)
        constructs = _core.replay_trace(str(path)).constructs
    assert sum(map(sum, schedule.ran)) == sum(row.n_ready for row in constructs) == schedule.n_tasks
    elsewhere = sum(n for creator, row in enumerate(schedule.ran) for thread, n in enumerate(row)
                    if creator != thread)  # fmt: skip
    assert elsewhere == sum(row.n_other_thread for row in constructs)


def test_windows_beyond_the_run_are_empty(tmp_path: Path) -> None:
    path = made(MIXED, tmp_path)
    schedule = read_schedule(path, start_ns=10**18, end_ns=2 * 10**18)
    assert len(schedule.stretches) == 0
    assert schedule.n_tasks == 0
    assert gantt(content_of(path), schedule) is None
    assert over_time(schedule) is None


def test_a_run_without_a_trace_has_no_schedule(tmp_path: Path) -> None:
    path = made(MIXED, tmp_path)
    for log in path.glob("thread-*.log"):
        log.write_bytes(log.read_bytes()[:4096])
    with pytest.raises(DamagedRunError, match="no trace"):
        read_schedule(path)


# ------------------------------------------------------------------ figures


def content_of(path: Path) -> ReportContent:
    return collect(open_run(path, "events"))


def values(spec: dict[str, Any] | None) -> list[dict[str, Any]]:
    assert spec is not None
    rows: list[dict[str, Any]] = spec["data"]["values"]
    return rows


def test_the_gantt_figure_shows_every_stretch_in_its_colour(tmp_path: Path) -> None:
    path = made(MIXED, tmp_path)
    schedule = read_schedule(path, limit=10**6)
    spec = gantt(content_of(path), schedule)
    rows = values(spec)
    assert len(rows) == len(schedule.stretches)
    assert spec is not None
    scale = spec["encoding"]["color"]["scale"]
    assert {row["kind"] for row in rows} == set(scale["domain"])
    assert len(set(scale["range"])) == len(scale["range"]) == len(scale["domain"])
    shown = Counter[str]()
    for row in rows:
        shown[row["kind"]] += round((row["end"] - row["start"]) * 1e6)
    assert [shown[state] for state in STATES[1:]] == replayed(path)[1:]
    render(spec, tmp_path / "gantt.svg")
    assert (tmp_path / "gantt.svg").read_text().count("<path") > len(rows)


def test_the_gantt_figure_can_show_where_tasks_come_from_and_single_threads(tmp_path: Path) -> None:
    body: Body = tuple(Spawn((Spawn((Work(300),), 3), Work(500), Wait()), 2) for _ in range(20))
    path = made((*body, Wait()), tmp_path, 3, 1)
    schedule = read_schedule(path, limit=10**6, by_home=True)
    homes = {int(home) for home in schedule.stretches.home if home >= 0}
    assert len(homes) > 1
    content = content_of(path)
    kinds = {row["kind"] for row in values(gantt(content, schedule, by_home=True))}
    assert {f"tasks of thread {home}" for home in homes} <= kinds
    assert {row["thread"] for row in values(gantt(content, schedule, by_home=True, threads=[1]))} == {1}


def test_states_over_time_are_at_most_all_threads(tmp_path: Path) -> None:
    path = made(MIXED, tmp_path, 2)
    schedule = read_schedule(path, n_bins=20)
    rows = values(over_time(schedule))
    assert len(rows) == 20 * len(STATES)
    for time in {row["time"] for row in rows}:
        assert sum(row["threads"] for row in rows if row["time"] == time) <= 2.01  # bins are whole ticks
    width_ns = (schedule.end_ns - schedule.start_ns) / 20
    assert sum(row["threads"] for row in rows) * width_ns == pytest.approx(sum(replayed(path)))


def test_the_matrix_figure_has_every_pair_of_threads(tmp_path: Path) -> None:
    path = made(MIXED, tmp_path, 3)
    schedule = read_schedule(path)
    rows = values(who_ran_whose(schedule))
    assert {(row["creator"], row["thread"]) for row in rows} == {(a, b) for a in range(3) for b in range(3)}
    assert sum(row["tasks"] for row in rows) == 502


def test_a_run_without_deferred_tasks_has_no_matrix(tmp_path: Path) -> None:
    assert who_ran_whose(read_schedule(made((Work(5),), tmp_path))) is None
