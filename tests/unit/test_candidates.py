# SPDX-License-Identifier: Apache-2.0
"""The values that advice simulates for each change, on both sides of each threshold."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from ompass import _core
from ompass.simulation import changes, order_changes
from ompass.simulation.changes import graph_changes, loop_changes, task_changes
from ompass.simulation.trial import Candidate, Change, Trial, Tried, Way

PROGRAM_NS = 10_000_000


class Listed:
    """A trial on two threads that simulates nothing. Its candidates only list the values."""

    threads = 2
    chunk_ns = 40
    n_domains = 1
    policy = "libomp"

    def __init__(self, most_by_order: float = 0.5) -> None:
        self.program = SimpleNamespace(work_ns=PROGRAM_NS, n_threads=2, n_accesses=0, highest_priority=0)
        self.most_by_order = most_by_order

    def best(
        self,
        kind: str,
        construct: int | None,
        ways: dict[int, Way],
        at_most: bool = False,
        **properties: Any,
    ) -> Candidate:
        tried = tuple(Tried(value, 1) for value in ways)
        usual: dict[str, Any] = {"value": tried[-1].value, "tried": tried, "at_most": at_most}
        return Change(kind, construct, wall_ns=1, gain=0.5, **(usual | properties)), Way()

    def of_program(self, kind: str, construct: int | None, program: object, **properties: Any) -> Candidate:
        return self.best(kind, construct, {0: Way()}, **properties)


Values = dict[str, tuple[int, ...]]


def values_of(candidates: list[Candidate]) -> Values:
    """Returns the values of each kind of change; an empty tuple if its only value is 0."""
    found = {change.kind: tuple(tried.value for tried in change.tried) for change, _ in candidates}
    return {kind: () if values == (0,) else values for kind, values in found.items()}


def of_loop(
    monkeypatch: pytest.MonkeyPatch, *, chunk_costs: dict[int, float] | None = None, **properties: Any
) -> Values:
    """Returns the changes of one loop, balanced and with few chunks unless `properties` change that."""
    usual = {"construct": 5, "n_instances": 1, "n_chunks": 2, "n_iterations": 1000, "is_static": True}
    loop = _core.LoopShape(**(usual | {"work_ns": 1_000_000, "longest_ns": 500_000} | properties))
    monkeypatch.setattr(changes, "loop_shapes", lambda program: (loop,))
    return values_of(list(loop_changes(cast("Trial", Listed()), chunk_costs or {})))


SCHEDULES: Values = {"schedule": (), "taskloop": (4, 16, 64)}


@pytest.mark.parametrize(("longest_ns", "found"), [(509_000, {}), (511_000, SCHEDULES)])
def test_a_loop_is_unbalanced_if_one_thread_takes_2_percent_more(
    longest_ns: int, found: Values, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert of_loop(monkeypatch, longest_ns=longest_ns) == found


@pytest.mark.parametrize(("work_ns", "found"), [(49_000, {}), (50_000, SCHEDULES)])
def test_loops_below_half_a_percent_of_the_work_get_no_advice(
    work_ns: int, found: Values, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert of_loop(monkeypatch, work_ns=work_ns, longest_ns=work_ns) == found


@pytest.mark.parametrize(("create_ns", "found"), [(9_999, {}), (10_000, {"taskgraph": (12,)})])
def test_replays_of_graphs_are_tried_if_creations_take_one_percent_of_the_time(
    create_ns: int, found: Values, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = _core.GraphShape(construct=5, n_graphs=9, n_tasks=12, n_replayed=108, create_ns=create_ns)
    monkeypatch.setattr(changes, "graphs", lambda program: (graph,))
    trial: Any = Listed()
    trial.base = SimpleNamespace(wall_ns=1_000_000)
    assert values_of(list(graph_changes(trial))) == found


@pytest.mark.parametrize(
    ("n_instances", "numbers"), [(31_250, (4, 16, 64)), (31_251, (4, 16)), (500_001, ())]
)
def test_a_loop_becomes_at_most_two_million_tasks(
    n_instances: int, numbers: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = of_loop(monkeypatch, n_instances=n_instances, n_iterations=0, longest_ns=900_000)
    assert found.get("taskloop", ()) == numbers


@pytest.mark.parametrize("policy", ["libomp", "omp_ext"])
def test_the_extension_is_tried_if_the_recorded_run_did_not_use_it(
    policy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shape = _core.TaskShape(construct=5, n_tasks=1, deepest=1)
    monkeypatch.setattr(changes, "task_shapes", lambda program: (shape,))
    trial: Any = Listed()
    trial.policy = policy
    assert ("extension" in values_of(list(task_changes(trial)))) == (policy == "libomp")


SPLIT: Values = {"iterations": ()}


@pytest.mark.parametrize(
    ("n_instances", "n_iterations", "n_chunks", "is_static", "found"),
    [
        (1, 0, 2, True, SCHEDULES),  # unknown
        (1, 1, 2, True, SPLIT),
        (1, 7, 2, True, SPLIT),
        (1, 8, 2, True, SCHEDULES),
        (10, 70, 20, True, SPLIT),  # seven in each instance
        (1, 20, 19, False, SCHEDULES),
        (1, 20, 20, False, SPLIT),  # each chunk is one iteration already
        (1, 20, 20, True, SCHEDULES),
        (1, 0, 20, False, SCHEDULES),
    ],
)
def test_iterations_are_split_where_no_schedule_balances_them(
    n_instances: int,
    n_iterations: int,
    n_chunks: int,
    is_static: bool,
    found: Values,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    properties: dict[str, Any] = {
        "n_instances": n_instances,
        "n_iterations": n_iterations,
        "n_chunks": n_chunks,
    }
    assert of_loop(monkeypatch, longest_ns=900_000, is_static=is_static, **properties) == found


@pytest.mark.parametrize(
    ("n_instances", "n_chunks", "work_ns", "factors"),
    [
        (1, 1000, 3_960_000, (2, 4, 8)),  # 500 chunks for each thread, at 40 ns each
        (1, 1000, 4_040_000, None),  # getting them takes less than 1% of the work
        (1, 127, 100_000, None),  # 32 chunks for each thread must remain
        (1, 128, 100_000, (2,)),
        (10, 1280, 1_000_000, (2,)),
        (1, 100_000, 4_000_000, (2, 4, 8, 16, 32, 64)),
    ],
)
def test_larger_chunks_are_tried_if_getting_chunks_takes_a_hundredth_of_the_work(
    n_instances: int,
    n_chunks: int,
    work_ns: int,
    factors: tuple[int, ...] | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = of_loop(
        monkeypatch, n_instances=n_instances, n_chunks=n_chunks, work_ns=work_ns, longest_ns=work_ns // 2
    )
    assert found.get("chunk") == factors


@pytest.mark.parametrize(("cost_ns", "found"), [(9.0, False), (11.0, True)])
def test_the_measured_cost_of_a_chunk_replaces_that_of_the_machine(
    cost_ns: float, found: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop: dict[str, Any] = {"n_chunks": 1000, "work_ns": 1_000_000, "longest_ns": 500_000, "is_static": False}
    assert "chunk" in of_loop(monkeypatch, **loop)
    assert ("chunk" in of_loop(monkeypatch, chunk_costs={5: cost_ns}, **loop)) is found
    assert "chunk" in of_loop(monkeypatch, chunk_costs={6: cost_ns}, **loop), "another loop"


def of_tasks(
    monkeypatch: pytest.MonkeyPatch,
    *,
    most_by_order: float = 0.5,
    others_deferred: tuple[int, ...] = (),
    **properties: Any,
) -> Values:
    """Returns the changes of one construct's tasks. Each of `others_deferred` adds another construct."""
    usual = {"construct": 3, "n_tasks": 10, "n_deferred": 10, "n_untied": 10, "deepest": 1}
    shapes = [_core.TaskShape(**(usual | properties))]
    shapes += [
        _core.TaskShape(construct=9, n_tasks=1, deepest=1, n_deferred=n, n_untied=n) for n in others_deferred
    ]
    monkeypatch.setattr(changes, "task_shapes", lambda program: tuple(shapes))
    return values_of(list(task_changes(cast("Trial", Listed(most_by_order)))))


@pytest.mark.parametrize(
    ("deepest", "depths"),
    [(1, None), (2, (1,)), (3, (1, 2)), (31, tuple(range(1, 31))), (40, tuple(range(1, 31)))],
)
def test_depths_up_to_30_above_the_deepest_tasks_are_tried_as_cut_offs(
    deepest: int, depths: tuple[int, ...] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert of_tasks(monkeypatch, deepest=deepest).get("depth") == depths


def test_times_of_a_quarter_to_a_thousand_microseconds_are_tried_as_cut_offs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    times = of_tasks(monkeypatch)["time"]
    assert (times[0], times[1], times[-1]) == (250, 500, 1_024_000)
    assert of_tasks(monkeypatch, deepest=0) == {}, "implicit tasks have no cut-off"


@pytest.mark.parametrize(("n_untied", "found"), [(9, True), (10, False)])
def test_tied_tasks_are_tried_untied(n_untied: int, found: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    assert ("untied" in of_tasks(monkeypatch, n_untied=n_untied)) == found


@pytest.mark.parametrize(
    ("create_us", "n_divisible", "found"),
    [(29, 10, False), (30, 10, True), (149, 9, False), (150, 9, True)],
)
def test_tasks_with_long_creations_share_data_instead_of_being_merged(
    create_us: int, n_divisible: int, found: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    properties: dict[str, Any] = {
        "create_ns": create_us * 1000,
        "n_divisible": n_divisible,
        "divisible_ns": 10,
        "most_in_a_row": 1000,
    }
    tried = of_tasks(monkeypatch, **properties)
    assert ("data" in tried) == found
    assert ("grain" in tried) == ("producer" in tried) != found


def test_priorities_need_deferred_tasks_of_two_constructs(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "priority" not in of_tasks(monkeypatch)
    assert "priority" not in of_tasks(monkeypatch, others_deferred=(0,))
    assert of_tasks(monkeypatch, others_deferred=(1,))["priority"] == (1,)


@pytest.mark.parametrize(("n_priorities", "found"), [(1, False), (2, True)])
def test_two_priorities_of_one_construct_are_reversed(
    n_priorities: int, found: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (of_tasks(monkeypatch, n_priorities=n_priorities).get("priority") == (-1,)) == found


@pytest.mark.parametrize(("in_a_row", "largest"), [(31, 0), (32, 16), (127, 32), (128, 64), (1000, 64)])
def test_grains_need_32_tasks_in_a_row_and_leave_a_task_for_each_thread(
    in_a_row: int, largest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = of_tasks(monkeypatch, most_in_a_row=in_a_row)
    grains = [grain for grain in (2, 4, 8, 16, 32, 64) if grain <= largest]
    assert found.get("grain", ()) == tuple(grains)
    assert found.get("producer") == ((2, 8) if grains else None)


@pytest.mark.parametrize(
    ("n_iterations", "parts"), [(19, None), (20, (2,)), (39, (2,)), (160, (2, 4, 8, 16))]
)
def test_tasks_of_taskloops_are_split_into_whole_iterations(
    n_iterations: int, parts: tuple[int, ...] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert of_tasks(monkeypatch, n_iterations=n_iterations).get("finer") == parts


DIVISIBLE = {"most_of": 3, "n_divisible": 10, "divisible_ns": 10_000, "longest_ns": 1000}


@pytest.mark.parametrize(
    ("properties", "kind", "parts"),
    [
        ({}, "split", (2, 4, 8)),
        ({"longest_ns": 3999}, "split", (2, 4, 8)),
        ({"longest_ns": 4000}, "split", (2, 4, 8, 16, 32, 64)),  # four times as long as the mean
        ({"most_of": 7}, "defer", (2, 4, 8)),
        ({"n_divisible": 4096}, "split", (2, 4, 8, 16, 32, 64)),
        ({"n_divisible": 4097}, "split", None),
        ({"n_divisible": 1, "divisible_ns": 1000}, "split", (2, 4, 8)),
        ({"n_divisible": 0}, "split", None),
        ({"most_by_order": 0.01}, "split", (2, 4, 8)),
        ({"most_by_order": 0.009}, "split", None),  # the threads hardly wait
        ({"n_iterations": 1}, "split", None),
    ],
)
def test_few_tasks_that_only_work_are_split(
    properties: dict[str, Any], kind: str, parts: tuple[int, ...] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert of_tasks(monkeypatch, **(DIVISIBLE | properties)).get(kind) == parts


@pytest.mark.parametrize(("most_phases", "found"), [(2, False), (3, True)])
def test_merging_waits_is_tried_for_three_waits_or_more(
    most_phases: int, found: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ("phases" in of_tasks(monkeypatch, most_phases=most_phases)) == found


SHAPES = ("waits", "dependences", "locks", "blocking", "barriers", "parallel_regions", "serial_parts")


def of_order(monkeypatch: pytest.MonkeyPatch, name: str, *shapes: object) -> list[Change]:
    """Returns the changes of order in a run of 1 ms. The function `name` finds `shapes`; others find none."""
    for other in SHAPES:
        monkeypatch.setattr(order_changes, other, lambda program, found=other == name: shapes * found)
    trial: Any = Listed()
    trial.base = SimpleNamespace(wall_ns=1_000_000)
    return [
        change
        for change, _ in order_changes.order_changes(trial, cast("Any", SimpleNamespace(definitions=())))
    ]


@pytest.mark.parametrize(("work_ns", "n"), [(9_999, 0), (10_000, 1)])
def test_serial_parts_are_divided_if_they_take_one_percent_of_the_time(
    work_ns: int, n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = _core.SerialPart(before=4, after=5, work_ns=work_ns)
    assert len(of_order(monkeypatch, "serial_parts", part)) == n


@pytest.mark.parametrize(
    ("before", "after", "construct", "also", "count"),
    [(4, 5, 4, (5,), 0), (0, 5, 5, (), 1), (4, 0, 4, (), 0)],
)
def test_a_serial_part_lies_between_two_regions(
    before: int,
    after: int,
    construct: int,
    also: tuple[int, ...],
    count: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    part = _core.SerialPart(before=before, after=after, work_ns=500_000)
    (found,) = of_order(monkeypatch, "serial_parts", part)
    assert (found.construct, found.also, found.count, found.share_ns) == (construct, also, count, 500_000)


def test_barriers_that_occur_equally_often_are_also_removed_together(monkeypatch: pytest.MonkeyPatch) -> None:
    shapes = [
        _core.BarrierShape(construct=construct, n=n, most_in_region=most)
        for construct, n, most in ((4, 30, 3), (5, 9, 9), (6, 30, 3), (7, 30, 2))
    ]
    found = [(one.construct, one.also, one.count) for one in of_order(monkeypatch, "barriers", *shapes)]
    assert found == [(4, (), 30), (5, (), 9), (6, (), 30), (4, (6,), 60)]


def test_pipelines_are_tried_two_four_and_eight_times_as_deep(monkeypatch: pytest.MonkeyPatch) -> None:
    shape = _core.DependenceShape(before=2, after=3, n=10, depth=3)
    deeper = of_order(monkeypatch, "dependences", shape)[0]
    assert (deeper.kind, [tried.value for tried in deeper.tried]) == ("pipeline", [6, 12, 24])
