# SPDX-License-Identifier: Apache-2.0
"""Task graphs that a program creates repeatedly, and the predicted gain of `taskgraph`."""

from __future__ import annotations

from pathlib import Path

import pytest

from made_traces import Body, Locked, Schedule, Spawn, Wait, Work, write_trace
from ompass.simulation.advice import advise
from ompass.simulation.reader import graphs, read_task_program
from ompass.simulation.runs import simulate

US = 1000
CREATE = 5 * US
LEAF: Body = (Work(20 * US),)
GRAPH: Body = (
    Spawn(LEAF),
    Spawn(LEAF, 3, after_last=True),
    Work(US),
    Spawn(LEAF),
    Spawn(LEAF, 3, after_last=True),
)
STEP: Body = (*GRAPH, Wait())


def trace(tmp_path: Path, body: Body, create_ns: int = CREATE, threads: int = 2) -> Path:
    return write_trace(tmp_path / "made.ompass", Schedule(body, threads, wrapper_ns=create_ns))


def replays(path: Path) -> list[tuple[int, int, int]]:
    """Returns each construct with the numbers of its replayed graphs and tasks."""
    return [(one.construct, one.n_graphs, one.n_replayed) for one in graphs(read_task_program(path))]


def test_all_graphs_but_the_first_are_replayed(tmp_path: Path) -> None:
    path = trace(tmp_path, STEP * 20)
    assert replays(path) == [(2, 19, 76)]
    (shape,) = graphs(read_task_program(path))
    assert (shape.n_tasks, shape.create_ns) == (4, 76 * CREATE)


def test_a_replay_costs_less_than_the_creation_that_it_replaces(tmp_path: Path) -> None:
    path = trace(tmp_path, STEP * 20)
    plain, replayed = (simulate(path, taskgraph=taskgraph) for taskgraph in (False, True))
    before, after = plain.predictions[0].run, replayed.predictions[0].run
    assert (before.operations["create"], before.operations["replay"]) == ((80, 80 * CREATE), (0, 0))
    assert (after.operations["create"], after.operations["replay"]) == ((4, 4 * CREATE), (76, 76 * 17))
    assert (after.n_tasks, after.work_ns) == (before.n_tasks, before.work_ns)
    assert after.wall_ns < before.wall_ns
    assert "19 graphs of 76 tasks in total are replayed" in " ".join(replayed.notes)


@pytest.mark.parametrize(
    ("name", "odd"),
    [
        ("another number of tasks", (*GRAPH, Spawn(LEAF), Wait())),
        ("another construct", (*GRAPH[:-1], Spawn(LEAF, 4, after_last=True), Wait())),
        ("another dependence", (*GRAPH[:-1], Spawn(LEAF, 3), Wait())),
        ("a lock between the creations", (*GRAPH[:-1], Locked(1, US), GRAPH[-1], Wait())),
    ],
)
def test_a_place_whose_graphs_differ_is_left_out(name: str, odd: Body, tmp_path: Path) -> None:
    assert replays(trace(tmp_path, (*STEP * 10, *odd, *STEP * 10))) == []


def test_other_tasks_inside_the_tasks_do_not_matter(tmp_path: Path) -> None:
    first = (Spawn((Spawn(LEAF, 4), Wait())), *GRAPH[1:], Wait())
    other = (Spawn((Spawn(LEAF, 4), Spawn(LEAF, 4), Wait())), *GRAPH[1:], Wait())
    assert replays(trace(tmp_path, (*first, *other) * 3)) == [(2, 5, 20)]


@pytest.mark.parametrize(("n", "found"), [(2, []), (3, [(2, 2, 8)])])
def test_a_graph_counts_if_it_is_created_at_least_three_times(
    n: int, found: list[tuple[int, int, int]], tmp_path: Path
) -> None:
    assert replays(trace(tmp_path, STEP * n)) == found


def test_a_recursion_has_no_repeated_graph(tmp_path: Path) -> None:
    body: Body = LEAF
    for _ in range(6):
        body = (Spawn(body), Spawn(body), Wait())
    assert replays(trace(tmp_path, body)) == []


def test_advice_names_the_graph_and_its_gain(tmp_path: Path) -> None:
    content = advise(trace(tmp_path, STEP * 50), threads=2)
    (change,) = [change for change in content.changes if change.kind == "taskgraph"]
    assert (change.construct, change.value, change.count) == (2, 4, 49)
    # Each step creates four tasks, works 1 us, and then runs two chains of two tasks of 20 us.
    assert change.gain == pytest.approx(4 * CREATE / (4 * CREATE + 41 * US), rel=0.1)
    assert 0 < change.low <= change.gain <= change.high
    (words,) = [one for one in content.advice if one.kind == "taskgraph"]
    assert "the same 4 tasks, with the same dependences, created 49 more times in 980 µs" in words.because
    assert "OpenMP 6.0" in words.write


@pytest.mark.parametrize(("create_ns", "advised"), [(100, False), (10_000, True)], ids=["cheap", "expensive"])
def test_advice_needs_a_gain_of_one_percent(create_ns: int, advised: bool, tmp_path: Path) -> None:
    content = advise(trace(tmp_path, STEP * 50, create_ns), threads=2)
    assert ("taskgraph" in {change.kind for change in content.changes}) == advised


def test_without_repeated_graphs_nothing_is_replayed(tmp_path: Path) -> None:
    path = trace(tmp_path, STEP * 2)
    simulated = simulate(path, taskgraph=True)
    assert simulated.predictions[0].run.wall_ns == simulate(path).predictions[0].run.wall_ns
    assert any("so none is replayed" in note for note in simulated.notes)
