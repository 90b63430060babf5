# SPDX-License-Identifier: Apache-2.0
"""Each finding appears if and only if its disease is present; all findings have the same form."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from made_findings import (
    findings,
    healthy_rows,
    healthy_tasks,
    notes,
    problems,
    serial_run,
    the,
)
from made_runs import MS, STATES, construct, definition, loop, made_run, region, team, thread, wait
from ompass.latency.metrics import SampledLoad
from ompass.metrics.breakdown import Scope, time_breakdown
from ompass.metrics.facts import Finding, LateTasks
from ompass.model import OUTSIDE, RegionRow, Run
from ompass.samples.metrics import Line, LocatedSample, Owner


def test_healthy_run_has_no_finding() -> None:
    assert findings(made_run(healthy_rows(), healthy_tasks())) == []


def test_tasks_that_cost_more_than_a_tenth_of_their_work_are_too_fine() -> None:
    rows = team(
        0, [{"work_ns": 50 * MS, "create_ns": 30 * MS, "schedule_ns": 20 * MS, "n_tasks": 50_000}] * 2
    )
    tasks = [construct(1, k, [1000] * 50_000, create_ns=30 * MS) for k in range(2)]
    found = the(made_run(rows, tasks), "too_fine")
    assert found.construct == 1
    numbers = dict(found.numbers)
    assert numbers["mean_work_ns"] == 1000
    # 600 ns to create one, 40 ms of dispatch over 100,000 tasks
    assert numbers["cost_per_task_ns"] == 600 + 400
    assert numbers["target_work_ns"] == 20 * 1000
    assert numbers["undeferred_share"] == 0
    assert found.cost_ns == 100 * MS
    assert "cut-off" in found.cure


def test_undeferred_fine_tasks_get_the_advice_to_branch() -> None:
    rows = team(0, [{"work_ns": 50 * MS, "create_ns": 50 * MS, "n_tasks": 1_000_000}])
    tasks = [
        construct(
            1,
            0,
            [50] * 1000,
            n_created=10**6,
            n_completed=10**6,
            n_undeferred=10**6,
            work_ns=50 * MS,
            create_ns=50 * MS,
        )
    ]
    assert "by a branch that calls" in the(made_run(rows, tasks), "too_fine").cure


def test_creation_without_a_construct_is_attributed_to_undeferred_tasks() -> None:
    rows = team(0, [{"work_ns": 50 * MS, "create_ns": 50 * MS, "n_tasks": 1_000_000}] * 2)
    many = {"n_created": 10**6, "n_completed": 10**6, "n_undeferred": 10**6, "work_ns": 50 * MS}
    found = the(made_run(rows, [construct(1, k, [50] * 1000, **many) for k in range(2)]), "too_fine")
    assert dict(found.numbers)["cost_per_task_ns"] == 50
    assert dict(found.numbers)["undeferred_share"] == 1


def test_slow_dispatch_by_a_busy_machine_does_not_make_tasks_fine() -> None:
    rows = team(0, [{"work_ns": 20 * MS, "schedule_ns": 80 * MS, "n_tasks": 1000}] * 2)
    tasks = [construct(1, k, [20_000] * 1000, create_ns=100_000) for k in range(2)]
    assert problems(made_run(rows, tasks)) == ["slow_dispatch"]


def test_few_fine_tasks_are_not_worth_a_finding() -> None:
    tasks = [construct(1, 0, [100] * 50, create_ns=50_000)]
    assert "too_fine" not in problems(made_run(healthy_rows(), tasks))


def test_longest_task_that_bounds_the_speed_up_is_too_coarse() -> None:
    rows = team(
        0,
        [
            {"work_ns": 100 * MS, "n_tasks": 1},
            {"work_ns": 20 * MS, "idle_ns": 80 * MS, "n_tasks": 20},
        ],
    )
    tasks = [construct(1, 0, [100 * MS]), construct(2, 1, [MS] * 20)]
    found = the(made_run(rows, tasks), "too_coarse")
    assert found.construct == 1
    assert dict(found.numbers)["speedup_bound"] == 1.2
    assert "1.20" in found.because


def test_short_regions_do_not_lower_the_bound_of_the_longest_task() -> None:
    long = team(
        0, [{"work_ns": 100 * MS, "n_tasks": 1}, {"work_ns": 20 * MS, "idle_ns": 80 * MS, "n_tasks": 20}]
    )
    short = team(1, [{"work_ns": 10 * MS, "n_tasks": 20_000}] * 2, n_instances=1000)
    run = made_run(
        [*long, short[0].replace(n_primary=1000), short[1]],
        [construct(2, 0, [100 * MS]), construct(3, 1, [MS] * 20), construct(4, 1, [500] * 40_000)],
    )
    assert dict(the(run, "too_coarse").numbers)["speedup_bound"] == 1.2


def test_one_long_task_in_many_instances_does_not_bound_them() -> None:
    states = {"work_ns": 60 * MS, "idle_ns": 40 * MS, "n_tasks": 4000}
    rows = team(0, [states] * 2, n_instances=100, n_primary=50)
    assert "too_coarse" not in problems(made_run(rows, [construct(1, 0, [10 * MS, *[10_000] * 8000])]))


def test_tasks_per_thread_count_the_threads_of_each_team() -> None:
    states = {"work_ns": 40 * MS, "idle_ns": 20 * MS, "n_tasks": 4}
    rows = [region(k // 2, k, max_team_size=2, n_primary=1 - k % 2, **states) for k in range(4)]
    rows = [row.replace(wall_ns=60 * MS, capacity_ns=120 * MS) if row.n_primary else row for row in rows]
    run = made_run(rows, [construct(2, k, [10 * MS] * 4) for k in range(4)])
    assert "too_coarse" not in problems(run), "four tasks per thread of each team"
    found = the(made_run(rows, [construct(2, k, [10 * MS] * 3) for k in range(4)]), "too_coarse")
    assert found.because.startswith("12 tasks for 2 threads, 3.0 per thread in each instance")


def test_few_tasks_per_thread_are_too_coarse() -> None:
    rows = team(
        0, [{"work_ns": 60 * MS, "n_tasks": 2}, {"work_ns": 30 * MS, "idle_ns": 30 * MS, "n_tasks": 1}]
    )
    tasks = [construct(1, 0, [30 * MS] * 2), construct(1, 1, [30 * MS])]
    assert dict(the(made_run(rows, tasks), "too_coarse").numbers)["tasks_per_thread"] == 1.5


def test_inverted_priorities_explain_few_tasks_per_thread() -> None:
    rows = team(
        0, [{"work_ns": 60 * MS, "n_tasks": 2}, {"work_ns": 30 * MS, "idle_ns": 30 * MS, "n_tasks": 1}]
    )
    run = made_run(rows, [construct(1, 0, [30 * MS] * 2), construct(1, 1, [30 * MS])])
    late = LateTasks(construct=1, gain=0.06, saved_ns=4 * MS)
    found = the(run, "priority_inverted", late_tasks=late)
    assert (found.construct, found.cost_ns) == (1, 8 * MS)
    assert dict(found.numbers) == {"gain": 0.06}
    assert "too_coarse" not in [one.kind for one in findings(run, late_tasks=late)]
    small = replace(late, gain=0.049)
    assert "too_coarse" in [one.kind for one in findings(run, late_tasks=small)]


def test_one_thread_has_no_too_coarse_tasks() -> None:
    run = made_run(
        team(0, [{"work_ns": 80 * MS, "idle_ns": 20 * MS, "n_tasks": 1}]), [construct(1, 0, [80 * MS])]
    )
    assert "too_coarse" not in problems(run)


def test_single_producer_that_cannot_keep_up_starves_the_others() -> None:
    rows = team(
        0,
        [
            {"work_ns": 60 * MS, "create_ns": 40 * MS, "implicit_ns": 60 * MS},
            {"work_ns": 40 * MS, "idle_ns": 60 * MS, "n_tasks": 400},
        ],
    )
    tasks = [
        construct(1, 0, [], n_created=400, create_ns=40 * MS),
        construct(1, 1, [100_000] * 400, n_created=0),
    ]
    found = the(made_run(rows, tasks), "serial_producer")
    assert found.construct == 1
    assert dict(found.numbers)["producer_thread"] == 0
    assert "imbalance" not in problems(made_run(rows, tasks)), "the cause is reported, its consequence is not"


def test_fine_tasks_explain_a_slow_producer() -> None:
    rows = team(
        0,
        [
            {"work_ns": 20 * MS, "create_ns": 80 * MS, "implicit_ns": 20 * MS},
            *[{"work_ns": 10 * MS, "idle_ns": 90 * MS, "n_tasks": 40_000}] * 3,
        ],
    )
    tasks = [
        construct(1, 0, [], n_created=120_000, create_ns=80 * MS),
        *(construct(1, k, [250] * 40_000, n_created=0) for k in (1, 2, 3)),
    ]
    run = made_run(rows, tasks)
    assert problems(run) == ["too_fine"], "although the idle threads cost three times as much"
    assert the(run, "serial_producer").severity == "note"


def test_threads_that_run_out_of_tasks_are_starved() -> None:
    rows = team(0, [{"work_ns": 60 * MS, "idle_ns": 40 * MS, "n_tasks": 600}] * 2)
    tasks = [construct(1, k, [100_000] * 600) for k in range(2)]
    found = the(made_run(rows, tasks), "starved")
    assert found.title == "Threads ran out of tasks"
    assert found.construct == 0
    assert found.cost_ns == 80 * MS


def test_time_outside_regions_gives_amdahls_bound() -> None:
    rows = [*healthy_rows(), region(OUTSIDE, 0, work_ns=98 * MS)]
    # The 10 ms before the recording do not count: the start of a program may take that long.
    run = made_run(rows, healthy_tasks(), wall_ns=198 * MS, earlier_cpu_ns=10 * MS)
    found = the(run, "serial_fraction")
    assert found.severity == "problem"
    numbers = dict(found.numbers)
    assert numbers["serial_ns"] == 98 * MS
    assert math.isclose(numbers["serial_fraction"], 98 / (98 + 196))
    assert math.isclose(numbers["speedup_bound"], 1 / (1 / 3 + 2 / 3 / 2))
    assert math.isclose(numbers["speedup_limit"], 3.0)
    assert "on any number below 3.0 (Amdahl)" in found.because


def test_amdahls_bound_is_for_the_largest_team() -> None:
    teams = [region(0, k, max_team_size=2, n_primary=1 - k % 2, work_ns=98 * MS) for k in range(4)]
    run = made_run([*teams, region(OUTSIDE, 0, work_ns=206 * MS)], wall_ns=402 * MS)
    because = the(run, "serial_fraction").because
    assert "33.3% of all work: on 2 threads the speed-up stays below 1.50" in because


def test_start_of_a_program_is_not_reported_as_a_serial_part() -> None:
    rows = team(0, [{"work_ns": 20 * MS, "n_tasks": 100}] * 2)
    tasks = [construct(1, k, [200_000] * 100) for k in range(2)]
    assert problems(made_run(rows, tasks, wall_ns=24 * MS)) == []


def test_undeferred_tasks_are_reported_while_threads_idle() -> None:
    rows = team(0, [{"work_ns": 100 * MS, "n_tasks": 50}, {"idle_ns": 100 * MS}])
    run = made_run(rows, [construct(1, 0, [2 * MS] * 50, n_undeferred=50)])
    assert problems(run) == ["undeferred"]
    assert the(run, "undeferred").construct == 1


def test_uneven_loop_is_an_imbalance_with_advice_for_loops() -> None:
    rows = team(0, [{"work_ns": 100 * MS, "implicit_ns": 100 * MS}, {"work_ns": 50 * MS, "sync_ns": 50 * MS}])
    found = the(made_run(rows), "imbalance")
    assert found.construct == 0
    assert math.isclose(dict(found.numbers)["max_over_mean"], 100 / 75)
    assert "schedule(dynamic)" in found.cure


def test_one_thread_with_all_the_work_and_no_task_is_not_an_uneven_loop() -> None:
    rows = team(0, [{"work_ns": 100 * MS}, {"work_ns": MS, "idle_ns": 99 * MS}])
    found = the(made_run(rows), "undivided")
    assert "no task was created" in found.because
    assert "cut-off" in found.cure
    assert "imbalance" not in problems(made_run(rows))


@pytest.mark.parametrize(
    ("kind", "loop_ms", "found"),
    [
        (10, 100, ["loop_imbalance"]),  # a static loop
        (3, 100, ["undivided"]),  # a single
        (10, 80, ["undivided"]),  # a loop elsewhere
    ],
)
def test_one_thread_with_all_the_work_of_a_divided_loop_is_an_uneven_loop(
    kind: int, loop_ms: int, found: list[str]
) -> None:
    rows = team(0, [{"work_ns": 100 * MS}, {"work_ns": MS, "idle_ns": 99 * MS}])
    loops = [loop(1, 0, time_ns=loop_ms * MS), loop(1, 1, time_ns=MS, imbalance_ns=(loop_ms - 1) * MS)]
    definitions = [definition(0, "parallel"), definition(1, "loop", flags=kind)]
    assert problems(made_run(rows, definitions=definitions, loops=loops)) == found


def test_uneven_work_that_no_thread_waited_for_is_not_imbalance() -> None:
    rows = team(0, [{"work_ns": 100 * MS}, {"work_ns": 50 * MS, "nested_ns": 50 * MS}])
    assert "imbalance" not in problems(made_run(rows))


def test_time_in_locks_is_contention() -> None:
    rows = team(0, [{"work_ns": 70 * MS, "sync_ns": 30 * MS, "lock_ns": 30 * MS}] * 2)
    found = the(made_run(rows), "lock_contention")
    assert found.cost_ns == 60 * MS
    assert found.construct == 0
    assert problems(made_run(rows)) == ["lock_contention"], "lock time is reported once"


def test_waiting_at_a_lock_is_not_imbalance() -> None:
    rows = team(0, [{"work_ns": 100 * MS}, {"work_ns": 50 * MS, "sync_ns": 50 * MS, "lock_ns": 50 * MS}])
    assert problems(made_run(rows)) == ["lock_contention"]


def test_short_regions_with_teams_of_other_threads_count_their_own_threads() -> None:
    rows = [
        region(0, k, n_instances=1000, n_primary=1000 * (1 - k % 2), work_ns=6 * MS, sync_ns=4 * MS)
        for k in range(4)
    ]
    found = the(made_run(rows, wall_ns=20 * MS), "short_regions")
    assert dict(found.numbers)["work_per_thread_ns"] == 6000


def test_many_short_regions_pay_for_fork_and_join() -> None:
    rows = team(0, [{"work_ns": 6 * MS, "sync_ns": 4 * MS}] * 2)
    many = [row.replace(n_instances=1000, n_primary=1000 * row.n_primary) for row in rows]
    assert problems(made_run(many)) == ["short_regions"]


def test_expensive_waits_in_a_long_region_are_a_finding() -> None:
    rows = team(0, [{"work_ns": 60 * MS, "sync_ns": 40 * MS}] * 2)
    assert the(made_run(rows), "synchronization").title == "Waiting together is expensive"


def test_ready_tasks_that_wait_for_a_thread_are_slow_dispatch() -> None:
    rows = team(0, [{"work_ns": 80 * MS, "schedule_ns": 20 * MS, "n_tasks": 80}] * 2)
    # The time from ready to start covers only timed tasks, here 50 of 80.
    late: dict[str, int] = {"n_ready": 50, "ready_ns": 50 * 250_000, "n_other_thread": 40}
    found = the(made_run(rows, [construct(1, k, [MS] * 80, **late) for k in range(2)]), "slow_dispatch")
    assert dict(found.numbers)["mean_ready_ns"] == 250_000
    assert dict(found.numbers)["other_thread_share"] == 0.5


def test_problem_is_not_named_in_a_run_too_short_to_judge() -> None:
    rows = team(0, [{"work_ns": 1000, "idle_ns": 200_000}] * 2)
    run = made_run(rows, [construct(1, 0, [10] * 200)])
    assert problems(run) == []
    assert "too_short" in notes(run)


def test_cut_short_run_gives_its_reasons() -> None:
    run = made_run(healthy_rows(), healthy_tasks(), complete=False, incomplete_reasons=["It was killed."])
    assert the(run, "cut_short").because == "It was killed."


def test_estimated_creation_is_noted_only_when_there_were_tasks() -> None:
    assert notes(
        made_run(healthy_rows(), healthy_tasks(), create_estimated=True, create_estimate_ns=80.0)
    ) == ["create_estimated"]
    assert "create_estimated" not in notes(
        made_run(team(0, [{"work_ns": 9 * MS}] * 2), create_estimated=True)
    )


def test_sampled_durations_are_noted_with_their_share() -> None:
    tasks = [
        construct(1, k, [200_000] * 49, n_completed=490, n_created=490, work_ns=98 * MS) for k in range(2)
    ]
    assert dict(the(made_run(healthy_rows(), tasks), "sampled").numbers)["timed_share"] == 0.1


def test_the_counts_of_short_tasks_include_the_reading_of_counters() -> None:
    counters = ("PAPI_TOT_CYC",)
    assert notes(made_run(healthy_rows(), healthy_tasks(), counters=counters)) == ["counters_in_times"]
    long = [construct(1, k, [MS] * 98, create_ns=MS) for k in range(2)]
    assert notes(made_run(healthy_rows(), long, counters=counters)) == []
    states = {"work_ns": 50 * MS, "create_ns": 30 * MS, "schedule_ns": 20 * MS, "n_tasks": 50_000}
    rows = team(0, [states] * 2)
    fine = [construct(1, k, [1000] * 50_000, create_ns=30 * MS) for k in range(2)]
    assert (
        "including the reading of hardware counters"
        in the(made_run(rows, fine, counters=counters), "too_fine").because
    )
    assert "counters" not in the(made_run(rows, fine), "too_fine").because


def test_single_thread_is_noted_because_it_hides_queues() -> None:
    run = made_run(team(0, [{"work_ns": 50 * MS, "n_tasks": 100}]), [construct(1, 0, [500_000] * 100)])
    assert notes(run) == ["one_thread"]


def test_helper_threads_of_the_runtime_are_noted_and_left_out() -> None:
    waiting = region(2, 2, work_ns=9 * MS, implicit_ns=2 * MS, idle_ns=91 * MS, n_tasks=3)
    led = region(3, 2, level=2, work_ns=5 * MS, implicit_ns=5 * MS)  # inside a target task
    threads = [thread(0), thread(1), thread(2, kind="helper")]
    run = made_run(healthy_rows(), healthy_tasks(), threads=threads, helper_regions=(waiting, led))
    assert notes(run) == ["helpers"]
    assert "1 helper thread of the runtime ran 3 tasks in 12 ms" in the(run, "helpers").because
    for scope in (Scope.REGIONS, Scope.PROGRAM):
        breakdown = time_breakdown(run, scope)
        assert breakdown.n_threads == 2
        (share,) = breakdown.helpers
        assert (share.thread, share.states.work_ns, share.states.idle_ns) == (2, 12 * MS, 93 * MS)


def test_cancelled_and_dropped_and_far_tasks_are_noted() -> None:
    tasks = [construct(1, k, [200_000] * 490, n_cancelled=1, n_other_domain=400) for k in range(2)]
    run = made_run(
        healthy_rows(),
        tasks,
        threads=[thread(k, n_dropped=3) for k in range(2)],
    )
    assert notes(run) == ["dropped", "cancelled", "other_domain"]


def test_note_on_dropped_records_states_only_known_facts() -> None:
    tasks = [construct(1, k, [200_000] * 500) for k in range(2)]
    threads = [thread(k, n_dropped=3) for k in range(2)]
    ends: dict[str, Any] = {
        "trace_end": "the trace could not be extended (Permission denied)",
        "trace_end_cure": "set it",
    }
    for n_unlogged, kinds in ((0, ["dropped"]), (2, ["unlogged", "dropped"])):
        run = made_run(
            healthy_rows(), tasks, threads=threads, n_unlogged=n_unlogged, n_unlogged_tasks=40, **ends
        )
        found = [finding for finding in findings(run) if finding.kind in ("unlogged", "dropped")]
        assert [finding.kind for finding in found] == kinds
        assert "Permission denied" in found[-1].because
        assert ("has them all" in found[-1].because) == (n_unlogged == 0)
        assert "--limit" not in found[-1].cure


def test_time_before_the_first_region_of_python_is_not_a_serial_part() -> None:
    run = serial_run(earlier_cpu_ns=200 * MS, first_region_cpu_ns=290 * MS)
    assert "serial_fraction" in problems(run), "the program is not Python"
    assert "serial_fraction" not in [f.kind for f in findings(run, is_python=True)]
    startup = the(run, "python_startup", is_python=True)
    assert startup.severity == "note" and dict(startup.numbers)["startup_ns"] == 290 * MS
    assert "imports modules and compiles" in startup.because
    assert "python_startup" not in notes(run)


def test_serial_part_of_python_after_the_first_region_is_reported() -> None:
    run = serial_run(earlier_cpu_ns=200 * MS, first_region_cpu_ns=220 * MS)
    serial = the(run, "serial_fraction", is_python=True)
    assert serial.severity == "problem" and dict(serial.numbers)["serial_ns"] == 78 * MS
    short = serial_run(earlier_cpu_ns=0, first_region_cpu_ns=5 * MS)
    assert "python_startup" not in [f.kind for f in findings(short, is_python=True)]


# ---------------------------------------------------------------- waits and loops


TASKWAIT, BARRIER, DEPENDENCE = 5, 3, 62


LOCK, CRITICAL, ORDERED, DOACROSS, TASKYIELD = (128 | kind for kind in (1, 5, 7, 32, 33))


STATIC_LOOP, SINGLE = 10, 3


def one_at_a_time(flags: int, n_waits: int, **fields: Any) -> Run:
    """Makes a run of 500 tasks of 1 ms that run one at a time, and a wait that may be the reason."""
    rows = team(
        0,
        [
            {"work_ns": 250 * MS, "idle_ns": 250 * MS, "n_tasks": 250},
            {"work_ns": 250 * MS, "idle_ns": 250 * MS},
        ],
    )
    tasks = [construct(1, 0, [MS] * 500)]
    kinds = [definition(0, "parallel"), definition(1), definition(2, "wait", flags=flags)]
    return made_run(rows, tasks, kinds, waits=(wait(2, 0, n_waits=n_waits, **fields),))


def test_wait_for_each_task_is_named_by_its_line() -> None:
    found = the(one_at_a_time(TASKWAIT, 500, idle_ns=250 * MS), "wait_in_loop")
    assert found.construct == 2
    assert dict(found.numbers)["tasks_per_wait"] == 1
    assert problems(one_at_a_time(TASKWAIT, 500)) == ["wait_in_loop"], "it explains idle threads"


def test_of_two_waits_for_each_task_the_longer_one_is_named() -> None:
    run = one_at_a_time(TASKWAIT, 500, idle_ns=250 * MS)
    definitions = (*run.definitions, definition(3, "wait", flags=TASKWAIT))
    run = run.replace(definitions=definitions, waits=(*run.waits, wait(3, 0, n_waits=10_000, sync_ns=MS)))
    assert the(run, "wait_in_loop").construct == 2


def test_waits_for_many_tasks_each_are_not_a_wait_in_a_loop() -> None:
    run = one_at_a_time(TASKWAIT, 50, idle_ns=250 * MS)
    assert problems(run) == ["starved"]
    assert the(run, "starved").construct == 2, "the wait after which tasks are created"


def test_waits_of_a_recursion_whose_threads_have_work_are_not_a_wait_in_a_loop() -> None:
    rows = team(0, [{"work_ns": 80 * MS, "idle_ns": 20 * MS, "n_tasks": 400}] * 2)
    kinds = [definition(0, "parallel"), definition(1), definition(2, "wait", flags=TASKWAIT)]
    tasks = [construct(1, k, [200_000] * 400) for k in range(2)]
    run = made_run(rows, tasks, kinds, waits=(wait(2, 0, n_waits=800),))
    assert problems(run) == ["starved"]


def test_tasks_that_all_wait_for_another_are_a_chain() -> None:
    found = the(one_at_a_time(DEPENDENCE, 499, delay_ns=499 * 250 * MS), "dependence_chain")
    assert found.construct == 2
    assert dict(found.numbers)["dependent_tasks"] == 499
    assert problems(one_at_a_time(DEPENDENCE, 100)) == ["starved"], "most tasks were free to run"


def test_critical_section_is_distinguished_from_a_lock() -> None:
    rows = team(0, [{"work_ns": 70 * MS, "sync_ns": 30 * MS, "lock_ns": 30 * MS}] * 2)
    kinds = [
        definition(0, "parallel"),
        definition(1, "wait", flags=CRITICAL),
        definition(2, "wait", flags=LOCK),
    ]
    for costly, kind in ((1, "critical_contention"), (2, "lock_contention")):
        waits = tuple(wait(k, 0, sync_ns=40 * MS if k == costly else 20 * MS) for k in (1, 2))
        run = made_run(rows, [], kinds, waits=waits)
        assert problems(run) == [kind]
        found = the(run, kind)
        assert (found.construct, found.cost_ns) == (
            costly,
            (40 if kind == "critical_contention" else 60) * MS,
        )
        of_all = "; all locks, critical and atomic constructs took 60 ms"
        assert found.because.endswith(of_all) == (kind == "critical_contention")


@pytest.mark.parametrize(
    ("lock_ms", "n_waits", "n_long", "title"),
    [
        (30, 310_000, 3_000, "Threads take locks too often"),
        (30, 310_000, 3_200, "Threads wait for each other at locks"),  # too many long waits
        (30, 290_000, 0, "Threads wait for each other at locks"),  # more than 100 ns each
        (19, 310_000, 3_000, None),  # free locks take too little time
        (19, 310_000, 3_200, "Threads wait for each other at locks"),
    ],
)
def test_locks_that_are_mostly_free_are_taken_too_often(
    lock_ms: int, n_waits: int, n_long: int, title: str | None
) -> None:
    times = {"work_ns": (100 - lock_ms) * MS, "sync_ns": lock_ms * MS, "lock_ns": lock_ms * MS}
    kinds = [definition(0, "parallel"), definition(1, "wait", flags=LOCK)]
    waits = [wait(1, k, sync_ns=30 * MS, n_waits=n_waits, n_long=n_long) for k in (0, 1)]
    run = made_run(team(0, [times] * 2), [], kinds, waits=waits)
    found = [finding for finding in findings(run) if finding.kind == "lock_contention"]
    assert [finding.title for finding in found] == ([title] if title else [])


def test_a_free_lock_does_not_hide_a_contended_one() -> None:
    times = {"work_ns": 70 * MS, "sync_ns": 30 * MS, "lock_ns": 30 * MS}
    kinds = [
        definition(0, "parallel"),
        definition(1, "wait", flags=LOCK),
        definition(2, "wait", flags=CRITICAL),
    ]
    free = [wait(1, k, sync_ns=16 * MS, n_waits=310_000, n_long=0) for k in (0, 1)]
    contended = [wait(2, k, sync_ns=14 * MS, n_waits=100, n_long=90) for k in (0, 1)]
    run = made_run(team(0, [times] * 2), [], kinds, waits=[*free, *contended])
    found = the(run, "critical_contention")
    assert (found.construct, found.cost_ns) == (2, 28 * MS)


def test_waits_that_are_not_locks_have_findings_of_their_own() -> None:
    rows = team(0, [{"work_ns": 70 * MS, "sync_ns": 30 * MS, "lock_ns": 30 * MS}] * 2)
    for flags, kind in (
        (ORDERED, "iteration_order"),
        (DOACROSS, "iteration_order"),
        (TASKYIELD, "busy_waiting"),
    ):
        kinds = [definition(0, "parallel"), definition(1, "wait", flags=flags)]
        run = made_run(rows, [], kinds, waits=[wait(1, k, sync_ns=30 * MS) for k in range(2)])
        assert problems(run) == [kind]
        assert (the(run, kind).construct, the(run, kind).cost_ns) == (1, 60 * MS)


def waiting_for_events(n_outside: int, waited_ns: int = 80 * MS, event_ns: int = 150 * MS) -> Run:
    """Makes a run of two threads that wait at a barrier for the events of ten detached tasks."""
    rows = team(
        0, [{"work_ns": 20 * MS, "idle_ns": 80 * MS, "n_tasks": 10}, {"work_ns": 0, "idle_ns": 100 * MS}]
    )
    events = {"n_events_fulfilled": 10, "n_events_outside": n_outside, "event_ns": event_ns}
    tasks = [
        construct(1, 0, [2 * MS] * 10, n_completed=0, n_detached=10),
        construct(1, 1, [], n_completed=10, event_max_ns=80 * MS, **events),
    ]
    kinds = [definition(0, "parallel"), definition(1), definition(2, "wait", flags=BARRIER)]
    waits = [wait(2, k, {1: (1, waited_ns)}, idle_ns=80 * MS) for k in range(2)]
    return made_run(rows, tasks, kinds, waits=waits)


def test_waits_for_the_events_of_detached_tasks_name_the_threads_that_fulfil_them() -> None:
    for n_outside, who in (
        (10, "a thread outside of the team"),
        (0, "threads of the team"),
        (4, "threads outside of the team (4) or in the team (6)"),
    ):
        found = the(waiting_for_events(n_outside), "detached_events")
        assert f"which {who} fulfilled 15 ms later on average, at most 80 ms" in found.because
        assert (found.construct, found.cost_ns) == (1, 160 * MS)
        assert dict(found.numbers)["events_from_outside"] == n_outside


def test_only_the_time_that_events_explain_is_blamed_on_them() -> None:
    late = the(waiting_for_events(10, event_ns=30 * MS), "detached_events")
    assert late.cost_ns == 60 * MS, "two threads may wait for each event"
    assert "detached_events" not in problems(waiting_for_events(10, waited_ns=5 * MS))
    assert "detached_events" not in problems(waiting_for_events(10, event_ns=5 * MS))


def test_critical_section_is_named_where_its_name_is_known() -> None:
    rows = team(0, [{"work_ns": 70 * MS, "sync_ns": 30 * MS, "lock_ns": 30 * MS}] * 2)
    kinds = [definition(0, "parallel"), definition(1, "wait", flags=CRITICAL)]
    run = made_run(rows, [], kinds, waits=(wait(1, 0, sync_ns=40 * MS),))

    def found(names: dict[int, str]) -> Finding:
        return the(run, "critical_contention", critical_names=names)

    assert "spent on entering the critical section totals," in found({1: "totals"}).because
    assert "other sections with that name share its lock" in found({1: "totals"}).cure
    assert "this critical section, which shares one lock with all unnamed ones" in found({1: ""}).because
    assert "give critical sections different names" in found({1: ""}).cure
    assert "spent on entering this critical section, " in found({}).because
    assert "unnamed" not in found({2: ""}).because


def located(kind: str, *calls: tuple[str, int], weight: int = 1) -> LocatedSample:
    lines = tuple(Line(name, "/src/a.c" if n else "", n, "a", f"a.c:{n}" if n else "?") for name, n in calls)
    return LocatedSample(0, Owner(kind, -1), lines, "", weight)


SERIAL_SAMPLES = (
    located("serial", ("sin", 0), ("set_up", 7), ("main", 20), weight=40),
    located("serial", ("set_up", 8), ("main", 20), weight=50),
    located("serial", ("main", 21), weight=10),
    located("task", ("leaf", 3), weight=1000),
)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (((8, 50), (9, 49)), 8),  # half of the samples
        (((8, 40), (9, 39), (10, 1)), 20),  # the call in main has 80 of 100
        (((8, 39), (9, 30), (10, 10)), 8),  # no line has 80
    ],
)
def test_the_line_of_a_serial_part_is_its_hottest_line_or_the_call_with_nearly_all_samples(
    lines: tuple[tuple[int, int], ...], expected: int
) -> None:
    samples = [located("serial", ("set_up", line), ("main", 20), weight=n) for line, n in lines]
    rest = 100 - sum(n for _, n in lines)
    samples += [located("serial", ("main", 21), weight=rest)] if rest else []
    found = the(serial_run(), "serial_fraction", samples=tuple(samples))
    assert found.line is not None and found.line.line == expected


def test_serial_part_is_named_by_its_hottest_function() -> None:
    because = the(serial_run(), "serial_fraction", samples=SERIAL_SAMPLES).because
    assert because.endswith("; 90.0% of its samples are in set_up, most of them at a.c:8")
    few = (located("serial", ("main", 21), weight=9), SERIAL_SAMPLES[-1])
    for samples in ((), few):
        assert the(serial_run(), "serial_fraction", samples=samples).because.endswith("(Amdahl)")


@pytest.mark.parametrize(
    ("hz", "end"),
    [
        (0, "before the first use of OpenMP, when no samples were taken"),
        (2000, "before the first use of OpenMP, when no samples were taken"),
        (100, "; 90.0% of its samples are in set_up, most of them at a.c:8"),  # 100 samples are one second
    ],
)
def test_an_earlier_serial_part_is_named_if_it_was_sampled(hz: int, end: str) -> None:
    run = serial_run(earlier_cpu_ns=150 * MS)
    assert the(run, "serial_fraction", samples=SERIAL_SAMPLES, sample_hz=hz).because.endswith(end)


def test_the_serial_part_is_named_by_a_line_of_the_program_not_of_a_library() -> None:
    def inside_libm(sample: LocatedSample) -> LocatedSample:
        inner = Line("do_sin", "/glibc/s_sin.c", 129, "libm.so.6", "s_sin.c:129", "", "libm")
        return replace(sample, calls=(inner, *sample.calls[-2:]))

    samples = (*map(inside_libm, SERIAL_SAMPLES[:3]), SERIAL_SAMPLES[-1])
    because = the(serial_run(), "serial_fraction", samples=samples).because
    assert because.endswith("; 90.0% of its samples are in set_up, most of them at a.c:8")


def loads_of(kind: str = "task", n: int = 200, **fields: Any) -> SampledLoad:
    values = {"cycles": 400, "source": "L3", "was_modified": True, "weight": n, "period": 1000, **fields}
    return SampledLoad(0, Owner(kind, 1), **values)


QUICK_LOADS = loads_of(cycles=4, source="L1", was_modified=False, n=2000)


def memory_findings(*loads: SampledLoad, **clock: Any) -> list[Finding]:
    run = made_run(healthy_rows(), healthy_tasks(), **clock)
    return [f for f in findings(run, loads=loads) if f.kind == "memory_contention"]


def test_loads_of_lines_that_other_threads_write_are_contention() -> None:
    (found,) = memory_findings(loads_of(), QUICK_LOADS)
    # 200 sampled loads of 400 cycles at 2 GHz; each represents 1000 loads.
    assert (found.severity, found.construct, found.cost_ns) == ("problem", 1, 40 * MS)
    numbers = dict(found.numbers)
    assert math.isclose(numbers["slowed_share"], 80_000 / 88_000)
    assert math.isclose(numbers["modified_share"], 200 / 2200)
    assert "different cache lines" in found.cure
    (far,) = memory_findings(loads_of(source="other node", was_modified=False), QUICK_LOADS)
    assert "run tasks near their data" in far.cure
    (bounded,) = memory_findings(loads_of(period=10**6))
    assert bounded.cost_ns == 196 * MS, "no more than all work"
    (timed_in_ns,) = memory_findings(loads_of(), QUICK_LOADS, clock_kind="clock_gettime", clock_hz=1e9)
    assert timed_in_ns.cost_ns == 40 * MS, "a tick of this clock is not a cycle"


def test_loads_that_cost_little_or_are_near_are_not_contention() -> None:
    assert memory_findings(loads_of(n=99)) == [], "too few to judge"
    assert memory_findings(loads_of(kind="serial")) == [], "a single thread cannot contend"
    assert memory_findings(loads_of(source="memory", was_modified=False)) == [], (
        "a program may need its memory"
    )
    assert memory_findings(loads_of(period=100)) == [], "4 ms of 200"
    assert memory_findings(loads_of(), loads_of(n=1000, was_modified=False)) == [], "a sixth of the cycles"


def uneven_rows() -> list[RegionRow]:
    return team(0, [{"work_ns": 100 * MS}, {"work_ns": 50 * MS, "idle_ns": 50 * MS}])


def test_differences_between_processors_are_not_imbalance() -> None:
    assert found_if_one_waits(17 * MS) == []
    assert found_if_one_waits(23 * MS) == ["loop_imbalance"]


def found_if_one_waits(wait_ns: int) -> list[str]:
    """Returns the problems of a static loop in which one thread works 100 ms and the other waits for it."""
    kinds = [definition(0, "parallel"), definition(1, "loop", flags=STATIC_LOOP)]
    own_ns = 100 * MS - wait_ns
    rows = team(0, [{"work_ns": 100 * MS}, {"work_ns": own_ns, "idle_ns": wait_ns}])
    loops = (loop(1, 0, time_ns=100 * MS), loop(1, 1, time_ns=own_ns, imbalance_ns=wait_ns))
    return problems(made_run(rows, [], kinds, loops=loops))


@pytest.mark.parametrize(("order_ms", "first"), [(13, "iteration_order"), (12, "loop_imbalance")])
def test_a_loop_that_the_order_of_its_iterations_unbalances_is_a_note(order_ms: int, first: str) -> None:
    kinds = [
        definition(0, "parallel"),
        definition(1, "loop", flags=STATIC_LOOP),
        definition(2, "wait", flags=DOACROSS),
    ]
    waited = {"sync_ns": order_ms * MS, "lock_ns": order_ms * MS}
    work_ns = (100 - order_ms) * MS
    rows = team(
        0, [{"work_ns": work_ns, **waited}, {"work_ns": work_ns - 50 * MS, "idle_ns": 50 * MS, **waited}]
    )
    loops = (loop(1, 0, time_ns=work_ns), loop(1, 1, time_ns=work_ns - 50 * MS, imbalance_ns=50 * MS))
    run = made_run(rows, [], kinds, loops=loops, waits=[wait(2, k, sync_ns=order_ms * MS) for k in range(2)])
    assert problems(run)[0] == first
    assert ("loop_imbalance" in notes(run)) == (first == "iteration_order")


def test_uneven_loop_is_named_by_its_line() -> None:
    kinds = [definition(0, "parallel"), definition(1, "loop", flags=STATIC_LOOP)]
    loops = (loop(1, 0, time_ns=100 * MS), loop(1, 1, time_ns=50 * MS, imbalance_ns=50 * MS))
    run = made_run(uneven_rows(), [], kinds, loops=loops)
    assert problems(run) == ["loop_imbalance"]
    assert the(run, "loop_imbalance").construct == 1


def test_each_execution_of_a_loop_may_have_another_slowest_thread() -> None:
    kinds = [definition(0, "parallel"), definition(1, "loop", flags=STATIC_LOOP)]
    rows = team(0, [{"work_ns": 75 * MS, "idle_ns": 25 * MS}, {"work_ns": 75 * MS, "idle_ns": 25 * MS}])
    loops = [loop(1, k, time_ns=75 * MS, imbalance_ns=25 * MS, n_led=4 * (1 - k)) for k in (0, 1)]
    text = the(made_run(rows, [], kinds, loops=loops), "loop_imbalance").because
    assert "in each of 4 executions of this static loop" in text
    assert "not always the same thread" in text
    one = (loop(1, 0, time_ns=100 * MS), loop(1, 1, time_ns=50 * MS, imbalance_ns=50 * MS))
    assert (
        "busiest thread in this static loop took 100 ms, against 75 ms on average"
        in the(made_run(uneven_rows(), [], kinds, loops=one), "loop_imbalance").because
    )


def test_single_construct_is_not_an_uneven_loop() -> None:
    kinds = [definition(0, "parallel"), definition(1, "loop", flags=SINGLE)]
    loops = (loop(1, 0, time_ns=50 * MS), loop(1, 1, imbalance_ns=50 * MS))
    assert problems(made_run(uneven_rows(), [], kinds, loops=loops)) == ["imbalance"]


def test_barriers_every_few_microseconds_are_reported() -> None:
    rows = team(0, [{"work_ns": 60 * MS, "sync_ns": 20 * MS, "idle_ns": 20 * MS}] * 2)
    kinds = [definition(0, "parallel"), definition(1, "wait", flags=BARRIER)]
    waits = tuple(wait(1, k, n_waits=10_000, sync_ns=20 * MS, idle_ns=20 * MS) for k in range(2))
    found = the(made_run(rows, [], kinds, waits=waits), "synchronization")
    assert found.construct == 1
    assert math.isclose(dict(found.numbers)["work_per_barrier_ns"], 120 * MS / 19_998)


@pytest.mark.parametrize(("task_ms", "found"), [(0.04, True), (0.06, False)])
def test_tasks_between_two_barriers_are_work(task_ms: float, found: bool) -> None:
    work_ns = round(100 * task_ms * MS)
    rows = team(0, [{"work_ns": work_ns, "sync_ns": work_ns // 4, "n_tasks": 100}] * 2)
    kinds = [definition(0, "parallel"), definition(1, "wait", flags=BARRIER), definition(2)]
    waits = tuple(wait(1, k, n_waits=101, sync_ns=work_ns // 4) for k in range(2))
    tasks = [construct(2, k, [work_ns // 100] * 100) for k in range(2)]
    run = made_run(rows, tasks, kinds, waits=waits)
    assert ("work_per_barrier_ns" in dict(the(run, "synchronization").numbers)) == found


# ---------------------------------------------------------------- the rest of the program


def test_serial_part_that_costs_little_is_a_note() -> None:
    rows = [*healthy_rows(), region(OUTSIDE, 0, work_ns=25 * MS)]
    run = made_run(rows, healthy_tasks(), wall_ns=125 * MS)
    assert (problems(run), notes(run)) == ([], ["serial_fraction"])


def test_one_thread_has_no_serial_part() -> None:
    rows = [*team(0, [{"work_ns": 100 * MS}]), region(OUTSIDE, 0, work_ns=98 * MS)]
    assert "serial_fraction" not in [f.kind for f in findings(made_run(rows, wall_ns=200 * MS))]


def test_verification_is_not_a_serial_part() -> None:
    rows = [*healthy_rows(), region(OUTSIDE, 0, work_ns=98 * MS)]
    kinds = [definition(0, "parallel"), definition(1), definition(2, "phase", name="Verification")]
    checked = construct(2, 0, n_completed=1, work_ns=95 * MS)
    run = made_run(rows, [*healthy_tasks(), checked], kinds, wall_ns=198 * MS)
    assert [f.kind for f in findings(run)] == []


@st.composite
def any_run(draw: st.DrawFn) -> Run:
    """Draws a run with arbitrary states, tasks and flags, but consistent teams."""
    n_threads = draw(st.integers(1, 4))
    rows = []
    for number in range(draw(st.integers(0, 2))):
        span = draw(st.integers(0, 10**11))
        threads = []
        for _ in range(n_threads):
            cuts = sorted(
                draw(st.lists(st.integers(0, span), min_size=len(STATES) - 1, max_size=len(STATES) - 1))
            )
            parts = [b - a for a, b in zip([0, *cuts], [*cuts, span], strict=True)]
            threads.append({**dict(zip(STATES, parts, strict=True)), "n_tasks": draw(st.integers(0, 10**6))})
            threads[-1]["lock_ns"] = draw(st.integers(0, threads[-1]["sync_ns"]))
            threads[-1]["implicit_ns"] = draw(st.integers(0, threads[-1]["work_ns"]))
        rows += team(number, threads)
    tasks = [
        construct(
            2, k, draw(st.lists(st.integers(0, 10**9), max_size=3)),
            n_created=draw(st.integers(0, 10**6)), n_completed=draw(st.integers(3, 10**6)),
            create_ns=draw(st.integers(0, 10**10)), n_undeferred=0, n_cancelled=draw(st.integers(0, 3)),
        )
        for k in range(draw(st.integers(0, n_threads)))
    ]  # fmt: skip
    return made_run(
        rows,
        tasks,
        definitions=[definition(0, "parallel"), definition(1, "parallel"), definition(2)],
        wall_ns=draw(st.integers(0, 10**12)),
        complete=draw(st.booleans()),
        create_estimated=draw(st.booleans()),
    )


@settings(max_examples=200)
@given(any_run())
def test_findings_of_any_run_have_the_same_form(run: Run) -> None:
    breakdown = time_breakdown(run)
    found = findings(run)
    severities = [f.severity for f in found]
    assert severities == sorted(severities, reverse=True), "problems before notes"
    costs = [f.cost_ns for f in found if f.severity == "problem"]
    assert costs == sorted(costs, reverse=True), "costliest first"
    for f in found:
        assert f.title
        assert f.because
        assert f.cost_ns >= 0
        assert all(math.isfinite(value) for _, value in f.numbers)
        assert f.construct is None or run.kind_of(f.construct) in ("task", "parallel")
        assert not f.title.endswith(".")
        if f.severity == "problem":
            assert f.cure
            if f.kind not in ("serial_fraction", "too_fine", "copied_data"):
                assert f.cost_ns <= breakdown.thread_time_ns
    assert len({(f.kind, f.construct) for f in found}) == len(found), "no finding appears twice"
    assert run.complete == ("cut_short" not in notes(run))
