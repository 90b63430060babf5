# SPDX-License-Identifier: Apache-2.0
"""The states add up to thread time, to the nanosecond, for any run and in every scope."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from made_runs import MS, STATES, made_run, region, team, thread
from ompass.metrics.breakdown import Scope, time_breakdown
from ompass.metrics.efficiency import rank_times
from ompass.metrics.facts import Facts
from ompass.model import OUTSIDE, CpuTimes, RegionRow

times = st.integers(min_value=0, max_value=10**13)


@st.composite
def any_regions(draw: st.DrawFn) -> list[RegionRow]:
    """Draws rows of up to four constructs (or outside) and five threads, at most one row for each pair."""
    pairs = draw(st.lists(st.tuples(st.integers(-1, 3), st.integers(0, 4)), unique=True, max_size=12))
    return [
        region(
            construct,
            thread,
            level=0 if construct == OUTSIDE else draw(st.integers(1, 3)),
            wall_ns=draw(times),
            nested_ns=draw(times),
            **{state: draw(times) for state in STATES},
        )
        for construct, thread in pairs
    ]


@given(any_regions(), st.integers(0, 10**14), st.sampled_from([Scope.REGIONS, Scope.PROGRAM]))
def test_breakdown_adds_up_to_thread_time(rows: list[RegionRow], wall_ns: int, scope: Scope) -> None:
    shown = time_breakdown(made_run(rows, wall_ns=wall_ns), scope)
    assert shown.thread_time_ns == shown.states.total_ns
    assert shown.thread_time_ns == sum(t.states.total_ns for t in shown.threads)
    assert shown.states.work_ns == sum(t.states.work_ns for t in shown.threads)


@given(any_regions(), st.integers(0, 10**14))
def test_program_scope_is_threads_times_wall(rows: list[RegionRow], wall_ns: int) -> None:
    shown = time_breakdown(made_run(rows, wall_ns=wall_ns), Scope.PROGRAM)
    assert shown.thread_time_ns == shown.n_threads * shown.wall_ns
    assert all(t.states.total_ns == shown.wall_ns for t in shown.threads)
    assert shown.wall_ns == wall_ns + shown.stretched_ns
    assert all(t.states.idle_ns >= 0 for t in shown.threads)


@given(any_regions())
def test_thread_time_of_regions_is_the_sum_of_region_rows(rows: list[RegionRow]) -> None:
    run = made_run(rows)
    inside = [row for row in rows if row.construct != OUTSIDE]
    if inside:
        shown = time_breakdown(run)
        assert shown.thread_time_ns == sum(row.total_ns for row in inside)
        assert shown.thread_time_ns == sum(r.states.total_ns for r in shown.regions)
        assert not shown.fell_back


@given(any_regions(), st.dictionaries(st.integers(0, 3), st.just(0)))
def test_grouping_constructs_changes_no_total(rows: list[RegionRow], groups: dict[int, int]) -> None:
    run = made_run(rows)
    plain, grouped = time_breakdown(run), time_breakdown(run, groups=groups)
    assert plain.states == grouped.states
    assert sum(r.states.total_ns for r in plain.regions) == sum(r.states.total_ns for r in grouped.regions)
    assert len(grouped.regions) <= len(plain.regions)


def test_one_region_is_threads_times_wall() -> None:
    rows = team(0, [{"work_ns": 80 * MS, "sync_ns": 20 * MS}, {"work_ns": 70 * MS, "idle_ns": 30 * MS}])
    shown = time_breakdown(made_run(rows))
    assert (shown.n_threads, shown.wall_ns, shown.thread_time_ns) == (2, 100 * MS, 200 * MS)


def test_time_in_inner_regions_is_not_counted_twice() -> None:
    outer = team(0, [{"work_ns": 40 * MS, "nested_ns": 60 * MS}, {"idle_ns": 100 * MS}])
    inner = team(1, [{"work_ns": 60 * MS}, {"work_ns": 60 * MS}], level=2)
    shown = time_breakdown(made_run(outer + inner))
    assert shown.thread_time_ns == (200 - 60 + 120) * MS
    assert shown.wall_ns == 100 * MS, "inner regions lie within the outer one"


@pytest.mark.parametrize("first_level", [1, 2])
def test_a_construct_at_two_levels_adds_its_outermost_instances_to_the_wall_time(first_level: int) -> None:
    outer = team(0, [{"work_ns": 4 * MS, "nested_ns": 6 * MS}, {"work_ns": 10 * MS}])
    inner_then_alone = team(1, [{"work_ns": (6 + 80) * MS}], level=first_level)
    run = made_run(outer + inner_then_alone, wall_ns=90 * MS)
    shown = time_breakdown(run)
    assert shown.wall_ns == 90 * MS
    assert rank_times(run).region_ns == 90 * MS
    facts = Facts(run, shown, ())
    assert facts.n_active(shown.regions) == 100 / 90
    (alone,) = (r for r in shown.regions if r.construct == 1)
    assert facts.n_active((alone,)) == 1.0


def test_regions_that_several_threads_lead_at_the_same_time_share_the_wall_time() -> None:
    teams = [region(0, k, n_primary=1, work_ns=10 * MS, wall_ns=10 * MS, max_team_size=1) for k in range(8)]
    run = made_run(teams, wall_ns=10 * MS, n_usable_cpus=4)
    facts = Facts(run, time_breakdown(run), ())
    assert facts.breakdown.wall_ns == 10 * MS
    assert facts.crowded
    assert facts.n_active(facts.breakdown.regions) == 8.0


def test_serial_work_of_the_primary_thread_is_work_and_workers_idle_meanwhile() -> None:
    rows = [*team(0, [{"work_ns": 10 * MS}, {"work_ns": 10 * MS}]), region(OUTSIDE, 0, work_ns=30 * MS)]
    shown = time_breakdown(made_run(rows, wall_ns=40 * MS), Scope.PROGRAM)
    primary, worker = shown.threads
    assert (primary.states.work_ns, primary.states.idle_ns) == (40 * MS, 0)
    assert (worker.states.work_ns, worker.states.idle_ns) == (10 * MS, 30 * MS)
    assert (primary.outside_ns, worker.outside_ns) == (30 * MS, 30 * MS)


def test_run_without_region_falls_back_to_the_program_and_reports_it() -> None:
    shown = time_breakdown(made_run([region(OUTSIDE, 0, work_ns=7 * MS)], wall_ns=9 * MS))
    assert shown.fell_back
    assert shown.scope is Scope.PROGRAM
    assert (shown.states.work_ns, shown.states.idle_ns) == (7 * MS, 2 * MS)


def test_requested_program_scope_is_not_a_fallback() -> None:
    assert not time_breakdown(made_run(team(0, [{"work_ns": 1}])), Scope.PROGRAM).fell_back


def test_region_scope_holds_only_the_region() -> None:
    rows = team(0, [{"work_ns": 5 * MS}]) + team(1, [{"work_ns": 3 * MS}, {"idle_ns": 3 * MS}])
    shown = time_breakdown(made_run(rows), Scope.REGION, regions=frozenset({1}))
    assert (shown.thread_time_ns, shown.wall_ns, shown.n_threads) == (6 * MS, 3 * MS, 2)
    assert [r.construct for r in shown.regions] == [1]


def test_region_scope_holds_all_constructs_of_a_line() -> None:
    rows = team(0, [{"work_ns": 5 * MS}]) + team(1, [{"work_ns": 3 * MS}]) + team(2, [{"work_ns": MS}])
    for chosen in (0, 1):
        shown = time_breakdown(made_run(rows), Scope.REGION, regions=frozenset({chosen}), groups={1: 0})
        assert (shown.thread_time_ns, shown.wall_ns) == (8 * MS, 8 * MS)
        assert [r.states for r in shown.regions] == [shown.states]


def test_threads_that_never_take_part_in_openmp_do_not_count() -> None:
    run = made_run(
        team(0, [{"work_ns": MS}]),
        threads=[thread(n, kind=kind) for n, kind in enumerate(("initial", "worker", "other"))],
    )
    assert time_breakdown(run, Scope.PROGRAM).n_threads == 2


def test_processor_times_of_the_program_cover_its_wall_time() -> None:
    rows = team(0, [{"work_ns": 10 * MS}, {"work_ns": 10 * MS}])
    run = made_run(rows, wall_ns=40 * MS, threads=[thread(0), thread(1, first_ns=5 * MS)])
    one, other = time_breakdown(run, Scope.PROGRAM).threads
    assert one.presence is not None and other.presence is not None
    assert one.presence.whole == CpuTimes.of(40 * MS, 0, 0)
    assert other.presence.whole == CpuTimes.of(40 * MS, 0, 5 * MS), "blocked before its start"


def test_a_thread_without_a_row_has_no_processor_times() -> None:
    run = made_run(team(0, [{"work_ns": 10 * MS}, {"work_ns": 10 * MS}]), threads=[thread(0)])
    one, other = time_breakdown(run, Scope.PROGRAM).threads
    assert one.presence is not None
    assert other.presence is None


def test_wall_time_is_extended_to_avoid_negative_idle_time() -> None:
    shown = time_breakdown(made_run(team(0, [{"work_ns": 50}]), wall_ns=40), Scope.PROGRAM)
    assert (shown.wall_ns, shown.stretched_ns, shown.states.idle_ns) == (50, 10, 0)


def test_imbalance_is_largest_over_mean_work() -> None:
    rows = team(0, [{"work_ns": 90, "idle_ns": 10}, {"work_ns": 30, "idle_ns": 70}])
    assert time_breakdown(made_run(rows)).regions[0].imbalance == 1.5
