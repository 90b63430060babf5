# SPDX-License-Identifier: Apache-2.0
"""Constructs are merged over threads by sums, minima and maxima; the histogram contains every timed task."""

from __future__ import annotations

import pickle

from hypothesis import given
from hypothesis import strategies as st

from made_runs import construct, definition, made_run
from ompass.metrics.constructs import construct_totals, granularity, trim_bins

durations = st.lists(st.integers(0, 2**40), max_size=20)


@given(st.lists(durations, max_size=4))
def test_totals_are_sums_over_all_tasks(per_thread: list[list[int]]) -> None:
    run = made_run(constructs=[construct(0, thread, tasks) for thread, tasks in enumerate(per_thread)])
    together = [ns for tasks in per_thread for ns in tasks]
    totals = construct_totals(run)
    assert len(totals) == (1 if per_thread else 0)
    if per_thread:
        assert totals[0].n_completed == len(together)
        assert totals[0].work_ns == sum(together)
        assert totals[0].min_ns == min(together, default=0)
        assert totals[0].max_ns == max(together, default=0)
        assert sum(n for _, n in totals[0].completed_by) == len(together)


@given(st.lists(durations, min_size=1, max_size=4))
def test_every_timed_task_is_in_the_bin_of_its_duration(per_thread: list[list[int]]) -> None:
    run = made_run(constructs=[construct(0, thread, tasks) for thread, tasks in enumerate(per_thread)])
    together = [ns for tasks in per_thread for ns in tasks]
    bins = granularity(construct_totals(run))
    assert sum(b.n_tasks for b in bins) == len(together)
    for b in bins:
        assert b.n_tasks == sum(b.low_ns <= ns < b.high_ns for ns in together)


def test_bins_are_trimmed_at_the_ends_only() -> None:
    bins = trim_bins([0, 0, 5, 0, 1, 0])
    assert [(b.low_ns, b.high_ns, b.n_tasks) for b in bins] == [(4, 8, 5), (8, 16, 0), (16, 32, 1)]
    assert trim_bins([0] * 48) == ()


def test_grouped_constructs_become_one() -> None:
    run = made_run(constructs=[construct(0, 0, [10, 20]), construct(1, 0, [5])])
    (only,) = construct_totals(run, groups={1: 0})
    assert (only.construct, only.n_completed, only.work_ns, only.min_ns) == (0, 3, 35, 5)


def test_kernels_are_kept_apart_from_tasks() -> None:
    run = made_run(
        constructs=[construct(0, 0, [10]), construct(1, 0, [7], read_bytes=64, counters=[])],
        definitions=[definition(0), definition(1, "kernel", name="axpy")],
    )
    assert [t.construct for t in construct_totals(run)] == [0]
    assert [t.read_bytes for t in construct_totals(run, "kernel")] == [64]


def test_counters_are_added_up() -> None:
    run = made_run(constructs=[construct(0, 0, [1], counters=[3, 4]), construct(0, 1, [1], counters=[10, 0])])
    assert construct_totals(run)[0].counters == (13, 4)


def test_thread_without_a_timed_task_does_not_set_the_minimum() -> None:
    run = made_run(constructs=[construct(0, 0, [50]), construct(0, 1, [], n_created=9)])
    (only,) = construct_totals(run)
    assert only.min_ns == 50
    assert only.created_by == ((1, 9), (0, 1))


def test_most_expensive_construct_comes_first() -> None:
    run = made_run(
        constructs=[construct(0, 0, [10]), construct(1, 0, [5], create_ns=20), construct(2, 0, [11])]
    )
    assert [t.construct for t in construct_totals(run)] == [1, 2, 0]


def test_a_construct_is_sampled_if_fewer_tasks_were_timed_than_completed() -> None:
    run = made_run(constructs=[construct(0, 0, [10, 10], n_completed=100, work_ns=1000)])
    (only,) = construct_totals(run)
    assert only.sampled
    assert only.mean_work_ns == 10


def test_rows_and_totals_can_be_pickled() -> None:
    run = made_run(constructs=[construct(0, thread, [10, 20], counters=[thread]) for thread in range(3)])
    assert pickle.loads(pickle.dumps(run)) == run
    (total,) = construct_totals(run)
    again = pickle.loads(pickle.dumps(total))
    assert again == total
    assert (again.kind, again.created_by, again.counters) == ("task", ((0, 2), (1, 2), (2, 2)), (3,))
