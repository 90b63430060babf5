# SPDX-License-Identifier: Apache-2.0
"""Compares bins, intervals and matrix of synthetic traces with the replay; checks their figures."""

from __future__ import annotations

import itertools
import tempfile
from collections import Counter
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import made_traces
from made_traces import Body, Spawn, Wait, Work, write_trace
from ompass import _core
from ompass.errors import DamagedRunError
from ompass.figures.render import render
from ompass.figures.schedule import gantt, over_time, who_ran_whose
from ompass.model import OPENMP_STATES, STATES
from ompass.readers.run import open_run
from ompass.readers.schedule import NO_HOME, Bars, Schedule, open_pyramid, read_schedule, schedule_of
from ompass.reports.content import ReportContent, collect

WORKS = st.builds(Work, st.integers(0, 1000))
BODIES: st.SearchStrategy[Body] = st.recursive(
    st.lists(WORKS, max_size=3).map(tuple),
    lambda inner: st.lists(
        st.one_of(WORKS, st.builds(Wait), st.builds(Spawn, inner, st.integers(2, 4), st.booleans())),
        max_size=5,
    ).map(tuple),
    max_leaves=25,
)
# A long task, many short ones of another construct, and another long one.
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
    """Returns the bars without the off-CPU intervals over them."""
    names = [field.name for field in fields(Bars)]
    columns = [getattr(schedule.bars, name).tolist() for name in names]
    rows = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
    return [row for row in rows if not row["off_cpu"]]


def replayed(path: Path) -> list[int]:
    """Returns thread time by state."""
    rows = _core.replay_trace(str(path)).regions
    return [sum(getattr(row, f"{state}_ns") for row in rows) for state in STATES]


def by_state(rows: list[dict[str, int]]) -> list[int]:
    spent: Counter[int] = Counter()
    for row in rows:
        spent[row["state"]] += row["part_ns"]
    return [spent[state] for state in range(len(STATES))]


@settings(max_examples=25)
@given(BODIES, st.integers(1, 4), st.integers(1, 40))
def test_bins_and_intervals_hold_the_thread_time_of_every_state(
    body: Body, n_threads: int, n_bins: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = made(body, Path(folder), n_threads)
        schedule = read_schedule(path, limit=10**6, n_bins=n_bins)
        expected = replayed(path)
    assert schedule.bins.sum(axis=0).tolist() == expected
    assert len(schedule.bins) == len(schedule.edges_ns) - 1 <= n_bins
    rows = rows_of(schedule)
    assert not schedule.is_binned
    assert by_state(rows) == expected
    for row, after in itertools.pairwise(rows):
        assert (row["thread"], row["end_ns"]) <= (after["thread"], after["begin_ns"]) or (
            row["thread"] < after["thread"]
        )


@settings(max_examples=25)
@given(BODIES, st.integers(1, 3), st.data())
def test_a_window_has_the_same_intervals_as_the_whole_run(
    body: Body, n_threads: int, data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = made(body, Path(folder), n_threads)
        whole = read_schedule(path, limit=10**6)
        start_ns = data.draw(st.integers(0, whole.end_ns))
        end_ns = data.draw(st.integers(start_ns, whole.end_ns + 100))
        exact = read_schedule(path, start_ns=start_ns, end_ns=end_ns, limit=10**6, n_bins=3)
    clipped = [
        row | {"begin_ns": max(row["begin_ns"], start_ns), "end_ns": min(row["end_ns"], end_ns)}
        for row in rows_of(whole)
    ]
    inside = [
        row | {"part_ns": row["end_ns"] - row["begin_ns"]}
        for row in clipped
        if row["begin_ns"] < row["end_ns"]
    ]
    assert rows_of(exact) == inside
    spent = exact.bins.sum(axis=0).tolist()
    assert all(
        in_bins >= in_window for in_bins, in_window in zip(spent, by_state(inside), strict=True)
    )  # bins at the borders are complete


@pytest.mark.parametrize("by_home", [False, True])
def test_invisible_intervals_keep_their_proportion(tmp_path: Path, by_home: bool) -> None:
    path = made(MIXED, tmp_path, 2, 1)
    exact, binned = (read_schedule(path, limit=limit, by_home=by_home) for limit in (10**6, 40))
    assert binned.is_binned and not exact.is_binned
    time: dict[bool, Counter[tuple[int, int, int]]] = {}
    for schedule in (exact, binned):
        of = time.setdefault(schedule.is_binned, Counter())
        for row in rows_of(schedule):
            of[row["thread"], row["state"], row["key"] if row["state"] == 0 else 0] += row["part_ns"]
    assert time[True] == time[False]
    for row in rows_of(binned):
        assert 0 <= row["before_ns"] <= row["before_ns"] + row["part_ns"] <= row["end_ns"] - row["begin_ns"]


@settings(max_examples=25)
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
    assert len(schedule.bars) == len(schedule.bins) == 0
    assert gantt(content_of(path), schedule) is None
    assert over_time(schedule) is None


def test_a_late_window_has_bins_of_the_smallest_possible_size(tmp_path: Path) -> None:
    path = made(MIXED, tmp_path)
    whole = read_schedule(path)
    late = read_schedule(path, start_ns=whole.end_ns // 2, n_bins=20)
    assert 10 <= len(late.bins) <= 20


def test_bars_are_read_only_if_their_number_is_given(tmp_path: Path) -> None:
    pyramid = open_pyramid(made(MIXED, tmp_path), keep=False)
    assert len(schedule_of(pyramid).bars) == 0
    assert len(schedule_of(pyramid).bins) > 0
    assert len(schedule_of(pyramid, limit=10**6, n_bins=0).bars) > 0


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


@pytest.mark.parametrize("limit", [10**6, 40])
def test_the_gantt_figure_shows_every_bar_in_its_colour(tmp_path: Path, limit: int) -> None:
    path = made(MIXED, tmp_path)
    schedule = read_schedule(path, limit=limit)
    spec = gantt(content_of(path), schedule)
    rows = values(spec)
    assert len(rows) == len(schedule.bars)
    assert spec is not None
    scale = spec["encoding"]["color"]["scale"]
    assert {row["kind"] for row in rows} == set(scale["domain"])
    assert len(set(scale["range"])) == len(scale["range"]) == len(scale["domain"])
    shown = Counter[str]()
    for row in rows:
        part = (row["bottom"] - row["top"]) / 0.85
        shown[row["kind"]] += (row["end"] - row["start"]) * part * 1e6
    assert [shown[state] for state in STATES[1:]] == pytest.approx(replayed(path)[1:])
    render(spec, tmp_path / "gantt.svg")
    assert (tmp_path / "gantt.svg").read_text().count("<path") > len(rows)


def test_empty_intervals_have_no_bar(tmp_path: Path) -> None:
    path = write_trace(tmp_path / "fine.ompass", made_traces.Schedule(MIXED, 2), ticks_per_ns=8)
    columns = read_schedule(path, limit=10**6).bars
    assert (columns.begin_ns < columns.end_ns).all()


def test_the_gantt_figure_can_show_where_tasks_come_from_and_single_threads(tmp_path: Path) -> None:
    body: Body = tuple(Spawn((Spawn((Work(300),), 3), Work(500), Wait()), 2) for _ in range(20))
    path = made((*body, Wait()), tmp_path, 3, 1)
    schedule = read_schedule(path, limit=10**6, by_home=True)
    homes = {row["key"] for row in rows_of(schedule) if row["state"] == 0} - {NO_HOME}
    assert len(homes) > 1
    content = content_of(path)
    kinds = {row["kind"] for row in values(gantt(content, schedule, by_home=True))}
    assert {f"tasks of thread {home}" for home in homes} <= kinds
    of_one = read_schedule(path, limit=10**6, threads=[1])
    assert {row["thread"] for row in values(gantt(content, of_one))} == {1}


def test_states_at_a_time_add_up_to_at_most_all_threads(tmp_path: Path) -> None:
    path = made(MIXED, tmp_path, 2)
    schedule = read_schedule(path, n_bins=20)
    rows = values(over_time(schedule))
    edges = schedule.edges_ns.tolist()
    assert len(rows) == (len(edges) - 1) * len(OPENMP_STATES)
    for time in {row["time"] for row in rows}:
        assert sum(row["threads"] for row in rows if row["time"] == time) <= 2
    shown = sum(
        row["threads"] * (end - begin)
        for begin, end in itertools.pairwise(edges)
        for row in rows
        if row["time"] == (begin + end) / 2e6
    )
    assert shown == pytest.approx(sum(replayed(path)))


def test_the_matrix_figure_has_every_pair_of_threads_with_tasks(tmp_path: Path) -> None:
    path = made(MIXED, tmp_path, 3)
    schedule = read_schedule(path)
    rows = values(who_ran_whose(schedule))
    assert {(row["creator"], row["thread"]) for row in rows} == {("0", b) for b in "012"}
    assert sum(row["tasks"] for row in rows) == 502


def test_a_run_without_deferred_tasks_has_no_matrix(tmp_path: Path) -> None:
    assert who_ran_whose(read_schedule(made((Work(5),), tmp_path))) is None
