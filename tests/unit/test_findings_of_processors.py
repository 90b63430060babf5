# SPDX-License-Identifier: Apache-2.0
"""Findings on the use of processors: sleep, preemption, quotas, bindings, too many threads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from made_findings import (
    healthy_rows,
    healthy_tasks,
    notes,
    on_processors,
    problems,
    serial_run,
    the,
)
from made_runs import MS, construct, made_run, region, team
from ompass.metrics.facts import Finding
from ompass.model import OUTSIDE, Run
from ompass.sampled import COMPUTE, DISK, IO, LOCK, MEMORY_USE, OWN, SLEEP, WAIT
from ompass.samples.metrics import BlockingPlace, Line, LocatedSample, Owner


def test_a_second_runtime_explains_the_serial_part() -> None:
    path = "/opt/lib/libgomp.so.1"
    rows = [*healthy_rows(), region(OUTSIDE, 0, work_ns=98 * MS)]
    run = made_run(rows, healthy_tasks(), wall_ns=198 * MS, other_runtime=path)
    assert problems(run) == ["second_runtime"]
    assert path in the(run, "second_runtime").because
    assert problems(serial_run()) == ["serial_fraction"]
    little = made_run(healthy_rows(), healthy_tasks(), other_runtime=path)
    assert problems(little) == []
    assert "second_runtime" in notes(little)


def test_second_runtime_is_noted_in_a_run_too_short_to_judge() -> None:
    rows = team(0, [{"work_ns": MS // 100}])
    short = made_run(rows, [], wall_ns=MS // 100, other_runtime="/opt/lib/libgomp.so.1")
    assert notes(short).count("second_runtime") == 1


def test_preempted_threads_are_disturbed_and_their_waits_are_not_judged() -> None:
    late = {"preempted_ns": 20 * MS, "work_preempted_ns": 20 * MS}
    rows = team(0, [{"work_ns": 100 * MS, **late}, {"work_ns": 75 * MS, "sync_ns": 25 * MS, **late}])
    run = on_processors(rows, [])
    assert problems(run) == ["disturbed"]
    assert the(run, "disturbed").cost_ns == 40 * MS


def test_waits_that_preempted_threads_explain_are_not_blamed_on_the_program() -> None:
    late = {"preempted_ns": 9 * MS, "work_preempted_ns": 9 * MS}
    rows = team(0, [{"work_ns": 100 * MS, **late}, {"work_ns": 78 * MS, "sync_ns": 22 * MS}])
    assert problems(on_processors(rows, [])) == []
    at_ease = made_run(team(0, [{"work_ns": 100 * MS}, {"work_ns": 78 * MS, "sync_ns": 22 * MS}]))
    assert problems(at_ease) == ["synchronization"]


def test_disease_in_processor_time_is_reported_before_the_disturbance() -> None:
    late = {"preempted_ns": 20 * MS, "work_preempted_ns": 20 * MS}
    rows = team(0, [{"work_ns": 100 * MS, **late}, {"work_ns": 30 * MS, "idle_ns": 70 * MS, **late}])
    assert problems(on_processors(rows, [])) == ["imbalance", "disturbed"]


def test_only_costs_on_a_processor_make_tasks_too_fine() -> None:
    def run(preempted_ns: int) -> Run:
        """Makes a run whose tasks work for 10 us and take 1.2 us to create, in part while preempted."""
        rows = team(
            0,
            [{"work_ns": 100 * MS, "create_ns": 12 * MS, "n_tasks": 10_000, "preempted_ns": preempted_ns}]
            * 2,
        )
        tasks = [construct(1, k, [10_000] * 10_000, create_ns=12 * MS) for k in range(2)]
        return on_processors(rows, tasks)

    assert problems(run(0)) == ["too_fine"]
    assert problems(run(10 * MS)) == ["disturbed"]


def test_tasks_that_sleep_are_blocked() -> None:
    rows = team(
        0,
        [{"work_ns": 100 * MS, "n_tasks": 10, "blocked_ns": 60 * MS, "work_blocked_ns": 60 * MS}] * 2,
    )
    found = the(
        on_processors(rows, [construct(1, k, [10 * MS] * 10, blocked_ns=60 * MS) for k in range(2)]),
        "blocked",
    )
    assert found.construct == 1
    assert found.cost_ns == 120 * MS
    assert "60.0%" in found.because


@pytest.mark.parametrize(
    ("blocked_ms", "preempted_ms", "cost_ms"),
    [
        (40, 20, 40),  # four threads run for 40 ms each; the two processors are unused for 40 ms in total
        (80, 0, 120),
        (40, 11, 0),  # unused for 4 ms
    ],
)
def test_sleep_of_threads_that_share_processors_costs_unused_processors(
    blocked_ms: int, preempted_ms: int, cost_ms: int
) -> None:
    off = {"blocked_ns": blocked_ms * MS, "work_blocked_ns": blocked_ms * MS}
    late = {"preempted_ns": preempted_ms * MS, "work_preempted_ns": preempted_ms * MS}
    run = on_processors(team(0, [{"work_ns": 100 * MS, **off, **late}] * 4), [], n_cpus=2)
    assert ("blocked" in problems(run)) == bool(cost_ms)
    if cost_ms:
        assert the(run, "blocked").cost_ns == cost_ms * MS


def place(line: int, function: str = "usleep", kind: str = SLEEP) -> BlockingPlace:
    return BlockingPlace(Line("f", "a.c", line, "a", f"a.c:{line}", f"a.c:{line} (f)"), function, kind)


def sleeping(*places: BlockingPlace, samples: Sequence[LocatedSample] = ()) -> Finding:
    """Returns the finding on a region whose threads slept and whose code contains calls at these places."""
    off = {"blocked_ns": 60 * MS, "work_blocked_ns": 60 * MS}
    run = on_processors(team(0, [{"work_ns": 100 * MS, **off}] * 2), [])
    return the(run, "blocked", blocking_places={0: places}, samples=samples)


def test_a_call_that_may_sleep_is_the_line_of_the_finding() -> None:
    found = sleeping(place(5))
    assert found.line == place(5).line
    assert found.because.endswith("; they may sleep in usleep (a.c:5)")
    assert found.cure.startswith("remove the sleep")
    unknown = sleeping()
    assert unknown.line is None
    assert unknown.because.endswith("inside the program's code")
    assert unknown.cure.startswith("find what they wait for")


def test_of_several_calls_that_may_sleep_the_one_with_most_samples_comes_first() -> None:
    rest = LocatedSample(0, Owner("implicit", 0), (place(9).line,), "libc", 3)
    found = sleeping(*map(place, (5, 7, 9, 11)), samples=[rest])
    assert found.line == place(9).line
    assert found.because.endswith(
        "; they may sleep in usleep (a.c:9), usleep (a.c:5), usleep (a.c:7) and 1 other call"
    )
    assert "usleep (a.c:5) and usleep (a.c:7)" in sleeping(place(5), place(7)).because


@pytest.mark.parametrize(
    ("kind", "cure"),
    [(WAIT, "wait less often"), (LOCK, "hold the lock"), (DISK, "wait for the disk"), (IO, "move input")],
)
def test_each_kind_of_sleep_has_its_cure(kind: str, cure: str) -> None:
    assert sleeping(place(5, "f", kind)).cure.startswith(cure)


def with_faults(n_faults: int, system_ms: int, *, work_ms: int = 500, **fields: Any) -> Run:
    """Makes a run of two threads in a region, each with these page faults and this system time."""
    use = {"n_minor_faults": n_faults, "system_ns": system_ms * MS, **fields}
    return on_processors(team(0, [{"work_ns": work_ms * MS, **use}] * 2), [])


def test_page_faults_are_reported_with_their_number_time_and_region() -> None:
    run = with_faults(100_000, 80)
    assert problems(run) == ["page_faults"]
    found = the(run, "page_faults")
    assert (found.construct, found.cost_ns) == (0, 160 * MS)
    assert "200,000 page faults" in found.because
    assert "160 ms, 16.0% of the thread-time" in found.because
    assert "MADV_HUGEPAGE" in found.cure


def touches(line: int, n: int, kind: str = "implicit", behaviour: str = MEMORY_USE) -> LocatedSample:
    owner = Owner(kind, 0 if kind == "implicit" else -1)
    return LocatedSample(0, owner, (place(line).line,), OWN, n, behaviour)


@pytest.mark.parametrize(
    ("samples", "line"),
    [
        ((touches(5, 5), touches(7, 4)), 5),
        ((touches(5, 4),), 0),  # too few
        ((touches(5, 6), touches(7, 4), touches(9, 3)), 0),  # less than half
        ((touches(5, 6), touches(7, 50, behaviour=COMPUTE)), 5),  # a computation touches nothing
        ((touches(5, 6), touches(7, 50, "serial")), 5),
        ((touches(5, 6), touches(7, 50, "task")), 7),
    ],
)
def test_the_line_with_most_uses_of_memory_causes_the_page_faults(
    samples: tuple[LocatedSample, ...], line: int
) -> None:
    found = the(with_faults(100_000, 80), "page_faults", samples=samples)
    assert (found.line.line if found.line else 0) == line
    assert ("of the samples of memory use are at this line or in its calls" in found.because) == (line > 0)


@pytest.mark.parametrize(("n_elsewhere", "between", "line"), [(0, 0, 20), (13, 0, 20), (14, 0, 0), (0, 1, 0)])
def test_if_no_line_has_most_page_faults_their_line_is_the_call_of_the_function(
    n_elsewhere: int, between: int, line: int
) -> None:
    callers = (place(30).line,) * between + (place(20).line,)
    samples = [replace(s, calls=(*s.calls, *callers)) for s in (touches(5, 5), touches(7, 4), touches(9, 4))]
    samples += [touches(11, n_elsewhere // 2), touches(12, n_elsewhere - n_elsewhere // 2)]
    samples.append(touches(13, 50, behaviour=COMPUTE))
    found = the(with_faults(100_000, 80), "page_faults", samples=samples)
    assert (found.line.line if found.line else 0) == (30 if between else line)


@pytest.mark.parametrize(("n_of_region", "construct"), [(2, 4), (3, 0)])
def test_page_faults_belong_to_the_tasks_with_nearly_all_samples(n_of_region: int, construct: int) -> None:
    tasks = LocatedSample(0, Owner("task", 4), (place(5).line,), OWN, 8, COMPUTE)
    of_region = touches(7, n_of_region, behaviour=COMPUTE)
    run = with_faults(100_000, 80)
    found = the(run, "page_faults", samples=(tasks, of_region))
    assert found.construct == construct
    assert ("the region of these tasks" in found.because) == (construct == 4)


@pytest.mark.parametrize(
    ("n_faults", "system_ms"),
    [
        (100_000, 40),  # 8% of the time
        (1_000, 80),  # the faults take at most 4 ms, other system calls the rest
        (-1, -1),  # unknown
        (100_000, 55),  # 11%, within the error of the ticks
    ],
)
def test_page_faults_below_a_tenth_of_the_time_are_not_reported(n_faults: int, system_ms: int) -> None:
    run = with_faults(n_faults, system_ms)
    if system_ms < 0:
        run = run.replace(regions=tuple(r.replace(n_minor_faults=-1, system_ns=-1) for r in run.regions))
    assert "page_faults" not in problems(run)


def test_two_ticks_in_a_short_run_are_not_evidence_of_page_faults() -> None:
    assert "page_faults" not in problems(with_faults(2_000, 4, work_ms=20))


def test_page_faults_of_the_serial_part_are_reported_with_the_cure_to_initialise_in_parallel() -> None:
    rows = team(0, [{"work_ns": 500 * MS, "n_minor_faults": 10, "system_ns": 0}] * 2)
    serial = region(OUTSIDE, 0, work_ns=300 * MS, n_minor_faults=150_000, system_ns=200 * MS)
    found = the(on_processors([*rows, serial], []).replace(wall_ns=800 * MS), "page_faults")
    assert found.construct is None
    assert found.cost_ns == 400 * MS
    assert "25.0% of the run" in found.because
    assert "parallel region" in found.cure
    few = serial.replace(n_minor_faults=40_000, system_ns=70 * MS)
    assert "page_faults" not in problems(on_processors([*rows, few], []).replace(wall_ns=800 * MS))


def test_more_threads_than_processors_are_a_problem_when_waits_burn_processors() -> None:
    part = {"preempted_ns": 50 * MS, "work_preempted_ns": 35 * MS, "n_instances": 1}
    busy = [{"work_ns": 98 * MS, "sync_ns": 2 * MS, **part}] * 4
    waiting = [{"work_ns": 60 * MS, "sync_ns": 40 * MS, **part}] * 4
    few = on_processors(team(0, busy), [], n_cpus=2)
    assert (problems(few), "oversubscribed" in notes(few)) == ([], True)
    assert problems(on_processors(team(0, waiting), [], n_cpus=2)) == ["oversubscribed"]
    run = on_processors(team(0, waiting), [], n_cpus=2)
    found = [the(run, "oversubscribed", n_wanted=n).construct for n in (0, len(waiting) - 1, len(waiting))]
    assert found == [None, 0, None], "a region asked for more threads than OMP_NUM_THREADS"
    assert "disturbed" in problems(on_processors(team(0, busy), [], n_cpus=4))


def test_more_threads_than_processors_are_a_problem_even_with_other_programs() -> None:
    part = {"preempted_ns": 60 * MS, "work_preempted_ns": 5 * MS, "n_instances": 1}
    waiting = [{"work_ns": 10 * MS, "sync_ns": 90 * MS, **part}] * 4
    assert sorted(problems(on_processors(team(0, waiting), [], n_cpus=2))) == ["disturbed", "oversubscribed"]


def test_several_threads_on_one_processor_are_the_only_finding() -> None:
    half = {"preempted_ns": 50 * MS, "work_preempted_ns": 50 * MS}
    run = on_processors(team(0, [{"work_ns": 100 * MS, **half}] * 2), [], n_cpus=1)
    assert problems(run) == ["oversubscribed"]


def test_threads_bound_to_fewer_processors_than_usable_are_the_first_finding() -> None:
    half = {"preempted_ns": 50 * MS, "work_preempted_ns": 30 * MS}
    part = [{"work_ns": 100 * MS, **half}, {"work_ns": 40 * MS, "idle_ns": 60 * MS, **half}]
    rows = team(0, part)
    bound = on_processors(rows, [], n_bound=1)
    assert problems(bound)[0] == "bound_together"
    because = the(bound, "bound_together").because
    assert "2 threads shared 1 processor, although the process could use 8" in because
    for n_bound in (2, 0):  # 2: one processor for each thread; 0: unknown
        assert "bound_together" not in problems(on_processors(rows, [], n_bound=n_bound))
    assert "bound_together" not in problems(on_processors(rows, [], n_cpus=1, n_bound=1))


def under_quota(preempted_ms: int, **fields: Any) -> Run:
    """Makes a run of two threads, 100 ms long, whose quota is one of two processors."""
    part = {"preempted_ns": preempted_ms * MS, "work_preempted_ns": preempted_ms * MS}
    run = on_processors(team(0, [{"work_ns": 100 * MS, **part}] * 2), [], n_cpus=2)
    return run.replace(quota_us=10_000, quota_period_us=10_000, **fields)


def test_threads_that_a_quota_stops_are_throttled_and_not_disturbed() -> None:
    run = under_quota(50, n_throttled=9, throttled_ns=98 * MS)
    assert problems(run) == ["throttled"]
    found = the(run, "throttled")
    assert found.cost_ns == 98 * MS
    assert "1.0 of 2 processors" in found.because
    assert "Once threads have used that much of a period of 10 ms, they stop" in found.because
    assert "OMP_NUM_THREADS=1" in found.cure


def test_other_programs_are_reported_for_time_that_the_quota_does_not_explain() -> None:
    assert problems(under_quota(50, n_throttled=3, throttled_ns=60 * MS)) == ["throttled", "disturbed"]
    # A quota exists, but it stopped no thread.
    assert "throttled" not in problems(under_quota(50, n_throttled=0, throttled_ns=0))
    assert "disturbed" in problems(under_quota(50, n_throttled=0, throttled_ns=0))


def test_quota_of_a_killed_run_explains_the_time_beyond_it() -> None:
    assert problems(under_quota(50, n_throttled=-1, throttled_ns=-1, complete=False)) == ["throttled"]
    busy = under_quota(80, n_throttled=-1, throttled_ns=-1, complete=False)
    assert problems(busy) == ["throttled", "disturbed"]


def test_too_many_threads_are_a_note_if_a_disease_costs_as_much() -> None:
    part = {"preempted_ns": 50 * MS, "work_preempted_ns": 20 * MS}
    one = {"work_ns": 90 * MS, "idle_ns": 10 * MS, **part}
    rows = team(0, [one, *[{"work_ns": 0, "idle_ns": 100 * MS, "preempted_ns": 50 * MS}] * 3])
    run = on_processors(rows, [], n_cpus=2)
    assert (problems(run), "oversubscribed" in notes(run)) == (["undivided"], True)


@pytest.mark.parametrize(
    ("n_threads", "first"), [(12, "undivided"), (64, "oversubscribed"), (512, "oversubscribed")]
)
def test_very_many_threads_for_each_processor_are_the_first_finding(n_threads: int, first: str) -> None:
    away = {"preempted_ns": 98 * MS}
    one = {"work_ns": 90 * MS, "idle_ns": 10 * MS, "work_preempted_ns": 20 * MS, "preempted_ns": 30 * MS}
    rows = team(0, [one, *[{"work_ns": 0, "idle_ns": 100 * MS, **away}] * (n_threads - 1)])
    run = on_processors(rows, [], n_cpus=2)
    assert problems(run)[0] == first
    assert the(run, "oversubscribed").leads == (first == "oversubscribed")


def test_very_many_threads_that_wait_little_are_a_problem() -> None:
    part = {"work_ns": 98 * MS, "sync_ns": 2 * MS, "preempted_ns": 97 * MS, "work_preempted_ns": 95 * MS}
    assert problems(on_processors(team(0, [part] * 64), [], n_cpus=2)) == ["oversubscribed"]


def test_more_threads_than_processors_explain_unequal_work() -> None:
    part = {"preempted_ns": 50 * MS, "work_preempted_ns": 20 * MS}
    one = {"work_ns": 90 * MS, "idle_ns": 10 * MS, **part}
    rows = team(0, [one, *[{"work_ns": 30 * MS, "idle_ns": 70 * MS, **part}] * 3])
    assert problems(on_processors(rows, [], n_cpus=2)) == ["oversubscribed"]


def test_other_programs_are_distinguished_from_threads_that_share_processors() -> None:
    busy = {"work_ns": 100 * MS, "preempted_ns": 70 * MS, "work_preempted_ns": 70 * MS}
    run = on_processors(team(0, [busy] * 4), [], n_cpus=2)
    assert problems(run) == ["disturbed"]
    assert the(run, "disturbed").cost_ns == (280 - 200) * MS


def test_a_rank_with_too_few_processors_gets_the_options_of_its_launcher() -> None:
    late = {"preempted_ns": 50 * MS, "work_preempted_ns": 50 * MS}
    run = on_processors(team(0, [{"work_ns": 100 * MS, **late}] * 4), [], n_cpus=1)
    assert "slot:PE=4" in the(run, "oversubscribed", n_rank_cpus=8).cure
    assert "OMP_NUM_THREADS" in the(run, "oversubscribed", n_rank_cpus=2).cure
    assert "OMP_NUM_THREADS" in the(run, "oversubscribed").cure
