# SPDX-License-Identifier: Apache-2.0
"""Waits and loops of synthetic runs: merged rows, their sums, and the rows that reports show."""

from __future__ import annotations

from typing import Any

import pytest

from made_runs import MS, definition, loop, made_run, region, wait
from ompass.metrics.waits import loop_totals, wait_totals
from ompass.model import LOCKS, LOOPS, WAIT_KINDS, WAITS, Run, loop_kind, wait_kind
from ompass.reports.content import collect
from ompass.reports.model import plain
from ompass.reports.run import run_report


def run_of(waits: Any = (), loops: Any = (), **kinds: int) -> Run:
    """Makes a region of two threads for 100 ms; construct 1 is a task, 2 and 3 are waits, 4 and 5 loops."""
    flags = {"wait_2": 5, "wait_3": 133, "loop_4": 10, "loop_5": 3, **kinds}
    definitions = [
        definition(0, "parallel"),
        definition(1),
        definition(2, "wait", flags=flags["wait_2"]),
        definition(3, "wait", flags=flags["wait_3"]),
        definition(4, "loop", flags=flags["loop_4"]),
        definition(5, "loop", flags=flags["loop_5"]),
    ]
    rows = [
        region(0, k, work_ns=100 * MS, wall_ns=(1 - k) * 100 * MS, capacity_ns=(1 - k) * 200 * MS)
        for k in (0, 1)
    ]
    return made_run(rows, (), definitions, waits=list(waits), loops=list(loops))


def test_the_rows_of_a_wait_sum_over_threads_and_the_costliest_wait_is_first() -> None:
    run = run_of(
        [
            wait(2, 0, n_waits=3, n_long=1, idle_ns=1 * MS, inside_ns=50 * MS, max_ns=20 * MS),
            wait(3, 0, n_waits=10, sync_ns=4 * MS, max_ns=2 * MS),
            wait(2, 1, n_waits=2, n_long=2, idle_ns=7 * MS, schedule_ns=1 * MS, max_ns=30 * MS),
        ]
    )
    first, second = wait_totals(run)
    assert (first.construct, first.kind, first.n_waits, first.n_long) == (2, "taskwait", 5, 3)
    assert (first.idle_ns, first.schedule_ns, first.wait_ns, first.inside_ns) == (8 * MS, MS, 9 * MS, 50 * MS)
    assert first.max_ns == 30 * MS
    assert [(t.thread, t.wait_ns) for t in first.threads] == [(1, 8 * MS), (0, 1 * MS)]
    assert (second.kind, second.wait_ns) == ("critical", 4 * MS)


def test_awaited_constructs_are_merged_over_threads_and_places_of_one_line() -> None:
    run = run_of(
        [
            wait(2, 0, waited_for={1: (2, 5 * MS), 4: (1, 9 * MS), 0: (8, 1 * MS)}),
            wait(2, 1, waited_for={5: (3, 7 * MS)}),
        ]
    )
    (total,) = wait_totals(run, {5: 1})
    assert [(w.construct, w.kind, w.n_waits, w.wait_ns) for w in total.waited_for] == [
        (1, "task", 5, 12 * MS),
        (4, "loop", 1, 9 * MS),
    ]


def test_the_imbalance_of_a_loop_is_its_busiest_thread_over_the_mean() -> None:
    run = run_of(
        loops=[
            loop(4, 0, time_ns=30 * MS, n_iterations=100, n_chunks=2, n_taken=60),
            loop(4, 1, time_ns=10 * MS, imbalance_ns=20 * MS, n_chunks=1, n_taken=40),
        ]
    )
    (total,) = loop_totals(run)
    assert (total.kind, total.n_led, total.n_iterations) == ("static loop", 1, 100)
    assert (total.max_thread_ns, total.mean_thread_ns, total.imbalance_ns) == (30 * MS, 20 * MS, 20 * MS)
    assert total.imbalance == pytest.approx(0.5)


def test_a_single_has_no_imbalance_and_costs_the_wait_of_the_others() -> None:
    run = run_of(loops=[loop(5, 0, time_ns=30 * MS), loop(5, 1, imbalance_ns=30 * MS)])
    (total,) = loop_totals(run)
    assert (total.kind, total.imbalance, total.imbalance_ns) == ("single", 0.0, 30 * MS)


def test_the_loop_that_costs_most_is_first() -> None:
    rows = [loop(4, 0, time_ns=90 * MS), loop(5, 0, time_ns=1 * MS), loop(5, 1, imbalance_ns=2 * MS)]
    assert [total.construct for total in loop_totals(run_of(loops=rows))] == [5, 4]


def test_chunks_are_unknown_unless_the_runtime_reports_them() -> None:
    silent, reported = (
        plain(run_report(collect(run_of(loops=[loop(4, 0, n_iterations=8, **chunks)]))))["loops"][0]
        for chunks in ({}, {"n_chunks": 3, "n_taken": 8})
    )
    assert (silent["iterations"], silent["chunks"]) == (8, None)
    assert silent["thread_breakdown"][0]["iterations"] is None
    assert (reported["chunks"], reported["thread_breakdown"][0]["iterations"]) == (3, 8)


@pytest.mark.parametrize(("idle_ns", "shown"), [(3 * MS, False), (5 * MS, True)])
def test_reports_show_a_wait_that_costs_more_than_a_fiftieth(idle_ns: int, shown: bool) -> None:
    report = run_report(collect(run_of([wait(2, 0, idle_ns=idle_ns)])))
    assert ("waits" in [section.key for section in report.sections]) is shown
    assert [w["wait_ns"] for w in plain(report)["waits"]] == [idle_ns]


def test_every_kind_has_the_name_of_its_number() -> None:
    assert {kind: name for kind, name in WAIT_KINDS.items() if kind < 128} == WAITS
    assert {kind - 128: name for kind, name in WAIT_KINDS.items() if kind >= 128} == LOCKS
    assert LOOPS[3] == "single"
    assert LOOPS[9] == "workdistribute"
    assert 4 not in LOOPS, "threads that do not execute a single are in the same construct"


def test_names_of_unknown_kinds_contain_their_numbers() -> None:
    assert [wait_kind(5), wait_kind(11), wait_kind(128 | 9)] == ["taskwait", "sync region 11", "mutex 9"]
    assert [loop_kind(9), loop_kind(31)] == ["workdistribute", "work 31"]
    assert [wait_kind(0), loop_kind(0)] == ["wait", "loop"]
