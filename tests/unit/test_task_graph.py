# SPDX-License-Identifier: Apache-2.0
"""Work and span of task programs with a known graph, for any schedule; folding keeps every sum."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from made_traces import Body, Op, Schedule, Spawn, Wait, Work, chain_of, work_of, write_trace
from ompass import _core
from ompass.graph import content
from ompass.graph.content import collect_graph
from ompass.graph.metrics import critical_constructs, fold, fold_to, speedup_bounds
from ompass.graph.report import graph_report
from ompass.model import TaskGraph
from ompass.readers.run import open_run, read_task_graph
from ompass.reports.model import Table

works = st.builds(Work, st.integers(0, 1000))
bodies: st.SearchStrategy[Body] = st.recursive(
    st.lists(works, max_size=3).map(tuple),
    lambda inner: st.lists(
        st.one_of(works, st.builds(Wait), st.builds(Spawn, inner, st.integers(2, 4), st.booleans())),
        max_size=5,
    ).map(tuple),
    max_leaves=25,
)


def graph_of(body: Body, n_threads: int = 2, spread: int = 0, depth: int = 6, **options: Any) -> TaskGraph:
    with tempfile.TemporaryDirectory() as folder:
        path = write_trace(Path(folder) / "made.ompass", Schedule(body, n_threads, spread))
        return read_task_graph(path, depth=depth, **options)


def fib(n: int) -> Body:
    if n < 2:
        return (Work(1),)
    return (Work(1), Spawn(fib(n - 1), 2), Spawn(fib(n - 2), 3), Wait(), Work(1))


@settings(max_examples=300)
@given(bodies, st.integers(1, 4), st.integers(0, 5))
def test_work_and_span_match_the_program_under_any_schedule(body: Body, n_threads: int, spread: int) -> None:
    graph = graph_of(body, n_threads, spread)
    assert graph.n_out_of_order == 0
    assert graph.work_ns == work_of(body)
    assert graph.region_span_ns == chain_of(body)[1]
    assert graph.region_span_ns <= graph.work_ns
    assert graph.burdened_ns >= graph.span_ns


@settings(max_examples=100)
@given(bodies, st.integers(0, 5))
def test_the_critical_path_is_as_long_as_the_span_and_made_of_work(body: Body, spread: int) -> None:
    graph = graph_of(body, 2, spread)
    assert sum(step.length_ns for step in graph.critical) == graph.span_ns
    assert [step.begin_ns for step in graph.critical] == [
        sum(s.length_ns for s in graph.critical[:k]) for k in range(len(graph.critical))
    ]
    for group in graph.groups:
        assert group.critical_ns <= group.work_ns
    assert sum(group.critical_ns for group in graph.groups) == graph.span_ns
    assert sum(row.critical_ns for row in critical_constructs(graph)) == graph.span_ns


@pytest.mark.parametrize("n", [1, 2, 5, 9])
def test_span_of_fib_is_two_per_level(n: int) -> None:
    graph = graph_of(fib(n), 3, 1)
    assert graph.region_span_ns == 2 * (n - 1) + 1


def test_span_of_a_serial_producer_is_the_producer_and_the_last_task() -> None:
    n, between, task = 50, 7, 1000
    ops: list[Op] = []
    for _ in range(n):
        ops += [Work(between), Spawn((Work(task),))]
    graph = graph_of(tuple(ops))
    assert graph.work_ns == n * (between + task)
    assert graph.region_span_ns == n * between + task
    assert graph.parallelism == pytest.approx(n * (between + task) / (n * between + task))


def test_a_chain_of_dependences_has_no_parallelism() -> None:
    body = tuple(Spawn((Work(100),), after_last=True) for _ in range(20))
    graph = graph_of(body)
    assert graph.n_dependences == 19
    assert graph.region_span_ns == graph.work_ns == 2000
    assert sum(d.n for d in graph.dependences) == 19
    independent = graph_of(tuple(Spawn((Work(100),)) for _ in range(20)))
    assert independent.region_span_ns == 100


def test_children_without_a_wait_join_at_the_end_of_the_region() -> None:
    grandchild = Spawn((Work(500),))
    body = (Spawn((grandchild, Work(1))), Wait(), Work(10))  # taskwait waits for children, not grandchildren
    assert graph_of(body).region_span_ns == 500


def test_tasks_that_create_their_successor_and_end_are_one_chain() -> None:
    body: Body = (Work(3),)
    for _ in range(100):
        body = (Work(2), Spawn(body))
    assert graph_of(body).region_span_ns == 203


def test_groups_distinguish_constructs_and_levels() -> None:
    leaf = Spawn((Work(1),), 3)
    graph = graph_of((Spawn((leaf, leaf, Wait()), 2), Spawn((leaf, leaf, Wait()), 2)))
    names = {(g.construct, g.depth): g.n_tasks for g in graph.groups}
    assert names == {(0, 0): 0, (1, 1): 2, (2, 2): 2, (3, 3): 4}
    parents = {g.construct: graph.groups[g.parent].construct for g in graph.groups[1:]}
    assert parents == {1: 0, 2: 1, 3: 2}
    assert {g.construct: g.n_waits for g in graph.groups} == {0: 0, 1: 0, 2: 2, 3: 0}


def test_expanded_groups_list_their_tasks() -> None:
    body = tuple(Spawn((Work(10 * k),)) for k in range(1, 6))
    graph = graph_of(body, expanded=[2])
    assert sorted(task.work_ns for task in graph.tasks) == [10, 20, 30, 40, 50]
    assert [task.critical_ns for task in graph.tasks if task.critical_ns] == [50]
    assert all(t.created_ns <= t.start_ns <= t.end_ns for t in graph.tasks)
    assert len(graph_of(body, expanded=[2], max_tasks=3).tasks) == 3


SUMS = ("n_tasks", "n_undeferred", "work_ns", "create_ns", "critical_ns", "n_critical", "n_waits")


@settings(max_examples=100)
@given(bodies, st.integers(1, 6), st.integers(1, 6))
def test_folding_keeps_every_sum_and_no_deeper_group(body: Body, depth: int, core_depth: int) -> None:
    graph = graph_of(body, depth=core_depth)
    folded, place = fold(graph, depth)
    for name in SUMS:
        assert sum(getattr(g, name) for g in folded.groups) == sum(getattr(g, name) for g in graph.groups)
    assert len(place) == len(graph.groups)
    assert [g.number for g in folded.groups] == list(range(len(folded.groups)))
    for group in folded.groups[1:]:
        assert group.depth == folded.groups[group.parent].depth + 1 <= depth
    assert sum(d.n for d in folded.dependences) == sum(d.n for d in graph.dependences)
    siblings = [(g.parent, g.construct) for g in folded.groups[1:]]
    assert len(siblings) == len(set(siblings))


def test_a_graph_is_folded_until_it_can_be_read() -> None:
    graph = graph_of(fib(10), depth=8)
    assert len(graph.groups) > 100
    folded, _ = fold_to(graph, 40)
    assert 10 < len(folded.groups) <= 40
    assert any(group.folded for group in folded.groups)


@given(st.integers(1, 10**9), st.integers(0, 10**9), st.integers(0, 10**6))
def test_bounds_are_ordered_and_do_not_exceed_the_threads(span_ns: int, more_ns: int, burden_ns: int) -> None:
    graph = _made(span_ns + more_ns, span_ns, span_ns + burden_ns)
    for bound in speedup_bounds(graph):
        assert bound.least <= bound.most <= bound.threads


def _made(work_ns: int, span_ns: int, burdened_ns: int) -> TaskGraph:
    return TaskGraph(work_ns=work_ns, span_ns=span_ns, burdened_ns=burdened_ns)


@settings(max_examples=200)
@given(
    bodies,
    st.integers(1, 3),
    st.lists(
        st.tuples(st.integers(0, 2), st.integers(0, 200), st.integers(0, 2**64 - 1), st.booleans()),
        max_size=5,
    ),
)
def test_a_damaged_trace_is_read_or_refused_but_never_crashes(
    body: Body, n_threads: int, damages: list[tuple[int, int, int, bool]]
) -> None:
    schedule = Schedule(body, n_threads)
    for thread, place, value, whole in damages:
        words = schedule.workers[thread % n_threads].log.words
        word = words[place % len(words)]
        # Replaces the word, or only its kind and argument so that the time stays valid.
        words[place % len(words)] = value if whole else (word & ~0xFFF) | (value & 0xFFF)
    with tempfile.TemporaryDirectory() as folder:
        path = write_trace(Path(folder) / "made.ompass", schedule)
        try:
            graph = _core.task_graph(str(path))
        except _core.LogError as error:
            assert "made.ompass" in str(error)
        else:
            assert len(graph.groups) > 0


@pytest.mark.parametrize(
    ("n_listed", "notes"),
    [
        (100, ("and {more} more: --json",)),
        (15, ("and 3 more: --json", "chosen from the first 15 of {n} pieces")),
        (12, ("chosen from the first 12 of {n} pieces",)),
    ],
)
def test_the_longest_pieces_are_those_of_the_known_part_of_the_path(
    n_listed: int, notes: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(content, "EVERY_TASK", n_listed)
    path = write_trace(tmp_path / "made.ompass", Schedule((Spawn((Work(5),)), Wait()) * 20))
    found = collect_graph(open_run(path))
    n = found.graph.n_steps
    assert 15 < n < 100
    (steps,) = (section for section in graph_report(found).sections if section.key == "steps")
    (table,) = steps.parts
    assert isinstance(table, Table)
    assert table.notes == tuple(note.format(n=n, more=n - 12) for note in notes)


def test_a_profile_has_no_graph(tmp_path: Path) -> None:
    path = write_trace(tmp_path / "made.ompass", Schedule((Work(1),)))
    for log in path.glob("thread-*.log"):
        log.write_bytes(log.read_bytes()[:4096])
    with pytest.raises(_core.LogError, match="no trace"):
        _core.task_graph(str(path))
