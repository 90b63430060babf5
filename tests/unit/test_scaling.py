# SPDX-License-Identifier: Apache-2.0
"""Scaling: the formulas hold for any times, losses add up, and the verdict names each disease."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from made_runs import MS, made_run, team
from ompass.metrics.breakdown import Scope
from ompass.metrics.facts import Finding
from ompass.metrics.findings import KINDS
from ompass.model import StateTimes
from ompass.scaling.causes import CAUSES, Cause, Causes, Growth, LineThatGrew, Spot
from ompass.scaling.metrics import (
    Measured,
    Samples,
    WorkOf,
    inflation,
    measured,
    recording_cost,
    scaling_point,
    spread,
)
from ompass.scaling.verdict import Evidence, bends, diagnose, gaps, losses
from ompass.units import percent

times = st.integers(0, 10**12)
states = st.builds(StateTimes, st.integers(1, 10**12), *[times] * 6)


def run_of(threads: int, parts: StateTimes) -> Measured:
    """Makes a run with these states, and with idle time that makes the sum a multiple of the threads."""
    rest = -parts.total_ns % threads
    whole = parts + StateTimes(idle_ns=rest)
    return Measured(whole.total_ns // threads, whole, threads, False)


def made(
    threads: int,
    at_p: StateTimes,
    at_one: StateTimes,
    baseline_ns: Sequence[int] = (),
    elision_ns: Sequence[int] = (),
) -> Samples:
    return Samples(threads, [run_of(threads, at_p)], [run_of(1, at_one)], baseline_ns, elision_ns)


NOTHING_ELSE = Evidence((), 0.0, 64)
TOO_FINE = Finding("too_fine", "problem", "", "tasks did little", "cut off", cost_ns=1)
TOO_COARSE = Finding("too_coarse", "problem", "", "one task was long", "split", cost_ns=1)


@given(st.integers(2, 64), states, states, st.integers(1, 10**12))
def test_speedup_is_threads_over_overhead_and_inflation(
    threads: int, at_p: StateTimes, at_one: StateTimes, serial_ns: int
) -> None:
    for baseline in ((), (serial_ns,)):
        point = scaling_point(made(threads, at_p, at_one, baseline))
        assert point.serial_ns == (serial_ns if baseline else at_one.work_ns)
        assert math.isclose(point.speedup, threads / (point.ovr * point.wti), rel_tol=1e-9)


@given(st.integers(2, 64), states, states, st.integers(1, 10**12))
def test_curves_follow_the_definitions_of_the_factored_speedup(
    threads: int, at_p: StateTimes, at_one: StateTimes, serial_ns: int
) -> None:
    samples = made(threads, at_p, at_one, [serial_ns], [2 * serial_ns])
    point = scaling_point(samples)
    t_p, t_1 = samples.recorded[0].time_ns, samples.one_thread[0].time_ns
    idle = samples.recorded[0].states.idle_ns
    f_p = threads * t_p - idle - t_1
    assert math.isclose(point.inflation_ns, f_p, rel_tol=1e-9, abs_tol=1)
    assert math.isclose(point.speedup, threads * serial_ns / (t_1 + idle + f_p), rel_tol=1e-6)
    assert math.isclose(point.curve("maximal") or 0, threads * serial_ns / t_1)
    assert math.isclose(point.curve("idle") or 0, threads * serial_ns / (t_1 + idle))
    assert math.isclose(point.curve("elision") or 0, threads / 2)
    assert point.curve("linear") == threads
    assert scaling_point(made(threads, at_p, at_one)).curve("elision") is None


@given(st.integers(2, 64), states, states, st.lists(st.integers(1, 10**12), max_size=1), times, st.booleans())
def test_losses_add_up_to_the_lost_time(
    threads: int,
    at_p: StateTimes,
    at_one: StateTimes,
    serial: list[int],
    fine_ns: int,
    is_fine: bool,
) -> None:
    evidence = Evidence((TOO_FINE,) if is_fine else (), float(fine_ns), 0)
    for elision in ([], serial):
        point = scaling_point(made(threads, at_p, at_one, serial, elision))
        lost = point.thread_time_ns - point.serial_ns
        parts = losses(point, evidence)
        # T_1 includes the idle time I_1, so the idle time of P threads excludes it.
        assert math.isclose(sum(p.ns for p in parts), lost, rel_tol=1e-6, abs_tol=1e3)


def test_figures_are_ratios_of_means_with_the_spread_of_rounds() -> None:
    samples = Samples(
        2,
        [run_of(2, StateTimes(work_ns=w * MS)) for w in (100, 300)],
        [run_of(1, StateTimes(work_ns=w * MS)) for w in (100, 200)],
        baseline_ns=[100 * MS, 200 * MS],
    )
    point = scaling_point(samples)
    assert point.speedup == pytest.approx(150 / 100)  # the ratio of means, not the mean of 2 and 4/3
    assert spread(samples, lambda p: p.speedup) == pytest.approx((200 / 150, 2.0))


def test_the_whole_program_includes_unrecorded_time() -> None:
    rows = team(0, [{"work_ns": 80 * MS, "idle_ns": 20 * MS}, {"work_ns": 100 * MS}])
    run = made_run(rows, wall_ns=100 * MS)
    in_regions = measured(run, 2, Scope.REGIONS, 150 * MS)
    assert (in_regions.time_ns, in_regions.states.work_ns) == (100 * MS, 180 * MS)
    whole = measured(run, 2, Scope.PROGRAM, 150 * MS)
    assert whole.time_ns == 150 * MS
    assert whole.states == StateTimes(work_ns=230 * MS, idle_ns=70 * MS)
    assert whole.states.total_ns == 2 * whole.time_ns


def test_missing_threads_are_idle_and_additional_ones_are_reported() -> None:
    rows = team(0, [{"work_ns": 50 * MS}] * 2)
    few = measured(made_run(rows), 4, Scope.REGIONS, 0)
    assert few.states == StateTimes(work_ns=100 * MS, idle_ns=100 * MS)
    assert not few.misfit
    assert measured(made_run(rows), 1, Scope.REGIONS, 0).misfit


@pytest.mark.parametrize(("more_us", "misfit"), [(40, False), (60, True)])
def test_threads_may_exceed_the_time_of_their_team_by_a_thousandth(more_us: int, misfit: bool) -> None:
    """Two threads and one region of 25 ms: a thousandth of their time is 50 us."""
    first, second = team(0, [{"work_ns": 25 * MS}] * 2)
    second = second.replace(
        work_ns=second.work_ns + more_us * 1000, total_ns=second.total_ns + more_us * 1000
    )
    assert measured(made_run([first, second]), 2, Scope.REGIONS, 0).misfit == misfit


def test_good_scaling_is_not_a_disease() -> None:
    point = scaling_point(made(4, StateTimes(400 * MS, 2 * MS, 2 * MS, 2 * MS, 8 * MS), StateTimes(395 * MS)))
    assert diagnose(point, NOTHING_ELSE).kind == "scales"


SCALING = scaling_point(made(4, StateTimes(400 * MS, idle_ns=8 * MS), StateTimes(395 * MS)))


@pytest.mark.parametrize("kind", ["blocked", "copied_data", "page_faults"])
def test_a_program_that_scales_keeps_the_problem_of_its_run(kind: str) -> None:
    problem = Finding(kind, "problem", "Threads sleep", "they slept for 200 ms", "do not sleep", 200 * MS, 1)
    verdict = diagnose(SCALING, Evidence((problem,), 0.0, 8))
    assert (verdict.kind, verdict.finding) == ("scales", problem)
    assert (verdict.title, verdict.cure) == ("Scales well; threads sleep", "do not sleep")
    assert "they slept for 200 ms" in verdict.because


def serial_part(cost_ns: int) -> Finding:
    return Finding("serial_fraction", "problem", "A serial part", "one thread worked", "divide it", cost_ns)


def test_regions_that_scale_do_not_hide_a_serial_part() -> None:
    verdict = diagnose(SCALING, Evidence((serial_part(300 * MS),), 0.0, 8))
    assert (verdict.kind, verdict.cure) == ("serial_fraction", "divide it")
    assert "of the parallel regions; one thread worked" in verdict.because


def test_page_faults_of_the_serial_part_are_the_verdict_if_they_cost_more() -> None:
    faults = Finding("page_faults", "problem", "Page faults", "the kernel cleared pages", "reuse", 301 * MS)
    verdict = diagnose(SCALING, Evidence((faults, serial_part(300 * MS)), 0.0, 8))
    assert (verdict.kind, verdict.finding, verdict.cure) == ("page_faults", faults, "reuse")
    in_regions = replace(faults, construct=1)
    assert diagnose(SCALING, Evidence((in_regions,), 0.0, 8)).kind == "scales"


def test_waits_in_the_runtime_belong_to_the_barriers_that_the_run_names() -> None:
    point = scaling_point(made(2, StateTimes(400 * MS, sync_ns=160 * MS), StateTimes(200 * MS)))
    causes = inflated_by(runtime=150 * MS, library=50 * MS)
    barriers = Finding("synchronization", "problem", "Waits", "a barrier each 1 us", "nowait", 160 * MS, 1)
    assert diagnose(point, Evidence((barriers,), 0.0, 8, causes=causes)).kind == "synchronization"
    assert diagnose(point, Evidence((), 0.0, 8, causes=causes)).kind == "runtime"


def test_the_larger_of_serial_part_and_loss_in_the_regions_is_the_verdict() -> None:
    point = scaling_point(made(4, StateTimes(200 * MS, MS, MS, MS, 150 * MS), StateTimes(195 * MS)))
    verdict = diagnose(point, Evidence((serial_part(151 * MS), TOO_COARSE), 0.0, 8))
    assert (verdict.kind, verdict.also) == ("serial_fraction", ("Tasks are too coarse: threads are idle",))
    assert diagnose(point, Evidence((TOO_COARSE, serial_part(149 * MS)), 0.0, 8)).kind == "too_coarse"


def test_teams_larger_than_the_machine_are_the_verdict_on_few_threads_too() -> None:
    crowd = Finding("oversubscribed", "problem", "More threads than CPUs", "16 on 2", "run fewer", 100 * MS)
    verdict = diagnose(SCALING, Evidence((crowd,), 0.0, 8))
    assert (verdict.kind, verdict.cure) == ("oversubscribed", "run fewer")
    assert "16 on 2" in verdict.because


@pytest.mark.parametrize(("blocked_ms", "kind"), [(145, "blocked"), (130, "too_coarse")])
def test_the_first_finding_decides_between_losses_of_about_the_same_size(blocked_ms: int, kind: str) -> None:
    point = scaling_point(
        made(4, StateTimes(200 * MS + blocked_ms * MS, idle_ns=150 * MS), StateTimes(200 * MS))
    )
    sleep = Finding("blocked", "problem", "Threads sleep", "they slept", "do not sleep", 140 * MS, 1)
    verdict = diagnose(point, Evidence((sleep,), 0.0, 8, causes=inflated_by(blocked=blocked_ms * MS)))
    assert verdict.kind == kind
    assert diagnose(point, replace(NOTHING_ELSE, causes=inflated_by(blocked=140 * MS))).kind == "too_coarse"


def test_acar_3a_small_input_with_small_cutoff_is_too_fine() -> None:
    # create and schedule 40%, idle 12%, some inflation
    point = scaling_point(
        made(4, StateTimes(190 * MS, 100 * MS, 60 * MS, 2 * MS, 48 * MS), StateTimes(180 * MS, 30 * MS))
    )
    verdict = diagnose(point, Evidence((TOO_FINE, TOO_COARSE), 0.0, 8))
    assert verdict.kind == "too_fine"
    assert verdict.finding is TOO_FINE
    assert verdict.also == ("Tasks are too coarse: threads are idle",)


def test_acar_3b_small_input_with_large_cutoff_is_too_coarse() -> None:
    point = scaling_point(made(4, StateTimes(200 * MS, MS, MS, MS, 150 * MS), StateTimes(195 * MS)))
    verdict = diagnose(point, Evidence((TOO_COARSE,), 0.0, 8))
    assert verdict.kind == "too_coarse"
    assert "one task was long" in verdict.because


def test_work_that_takes_longer_on_more_threads_is_memory_bound() -> None:
    point = scaling_point(made(4, StateTimes(390 * MS, MS, MS, MS, 7 * MS), StateTimes(200 * MS)))
    verdict = diagnose(point, NOTHING_ELSE)
    assert verdict.kind == "memory_bound"
    assert "1.95 times as long" in verdict.because


def test_small_tasks_of_many_constructs_are_too_fine_together() -> None:
    point = scaling_point(
        made(4, StateTimes(300 * MS, 10 * MS, 40 * MS), StateTimes(290 * MS, 10 * MS), [270 * MS])
    )
    assert diagnose(point, Evidence((), 0.0, 8, n_tasks=100_000)).kind == "too_fine"
    # the same times with few long tasks
    assert diagnose(point, Evidence((), 0.0, 8, n_tasks=200)).kind != "too_fine"


def test_inflation_of_fine_tasks_is_not_attributed_to_memory() -> None:
    point = scaling_point(made(4, StateTimes(390 * MS, 20 * MS, 20 * MS), StateTimes(200 * MS, 20 * MS)))
    assert diagnose(point, Evidence((TOO_FINE,), 190.0 * MS, 8)).kind == "too_fine"


def test_slowness_on_one_thread_is_due_to_the_algorithm() -> None:
    point = scaling_point(made(2, StateTimes(300 * MS), StateTimes(300 * MS), [100 * MS]))
    assert diagnose(point, NOTHING_ELSE).kind == "algorithm"
    with_elision = scaling_point(made(2, StateTimes(300 * MS), StateTimes(300 * MS), [100 * MS], [110 * MS]))
    assert diagnose(with_elision, NOTHING_ELSE).kind == "too_fine"


@pytest.mark.parametrize(
    ("state", "kind"),
    [("sync_ns", "synchronization"), ("create_ns", "dispatch"), ("schedule_ns", "dispatch")],
)
def test_without_a_baseline_each_state_on_one_thread_is_a_loss_of_its_own_kind(state: str, kind: str) -> None:
    at_p = StateTimes(work_ns=100 * MS, **{state: 80 * MS})
    at_one = StateTimes(work_ns=100 * MS, **{state: 50 * MS})
    found = {loss.kind: loss.ns for loss in losses(scaling_point(made(2, at_p, at_one)), NOTHING_ELSE)}
    assert (found[kind], found["algorithm"]) == (80 * MS, 0)
    assert diagnose(scaling_point(made(2, at_p, at_one)), NOTHING_ELSE).kind == kind


def test_locks_that_cost_time_on_one_thread_are_not_a_loss_by_the_algorithm() -> None:
    states = StateTimes(work_ns=100 * MS, sync_ns=50 * MS)
    with_baseline = scaling_point(made(2, states, states, [110 * MS]))
    found = {loss.kind: loss.ns for loss in losses(with_baseline, NOTHING_ELSE)}
    assert (found["synchronization"], found["algorithm"]) == (40 * MS, 0)


@pytest.mark.parametrize(("sync_ms", "kind"), [(136, "synchronization"), (130, "too_coarse")])
def test_the_first_finding_decides_between_idle_and_waiting_threads(sync_ms: int, kind: str) -> None:
    states = StateTimes(200 * MS, sync_ns=sync_ms * MS, idle_ns=150 * MS)
    order = Finding("iteration_order", "problem", "Iterations wait", "they wait", "reorder", 140 * MS, 1)
    point = scaling_point(made(4, states, StateTimes(200 * MS)))
    assert diagnose(point, Evidence((order,), 0.0, 8)).kind == kind


@pytest.mark.parametrize(("cost_ms", "kind"), [(45, "synchronization"), (40, "mixed")])
def test_a_finding_may_explain_several_small_losses(cost_ms: int, kind: str) -> None:
    states = StateTimes(340 * MS, 10 * MS, sync_ns=38 * MS, idle_ns=30 * MS)
    barriers = Finding("synchronization", "problem", "Waiting", "at barriers", "nowait", cost_ms * MS, 1)
    point = scaling_point(made(4, states, StateTimes(340 * MS)))
    verdict = diagnose(point, Evidence((barriers,), 0.0, 8))
    assert (verdict.kind, verdict.cure) == (kind, "nowait")


def test_a_speed_up_far_above_the_linear_one_is_due_to_a_slow_run_on_one_thread() -> None:
    def because(ms: int) -> str:
        point = scaling_point(made(2, StateTimes(200 * MS), StateTimes(ms * MS)))
        return diagnose(point, NOTHING_ELSE).because

    assert "slow on one thread" in because(310)
    assert "slow on one thread" not in because(290)


def test_a_baseline_of_zero_has_no_ratio() -> None:
    verdict = diagnose(scaling_point(made(2, StateTimes(300 * MS), StateTimes(300 * MS), [0])), NOTHING_ELSE)
    assert verdict.kind == "algorithm"
    assert "the serial program" not in verdict.because


@pytest.mark.parametrize(("kind", "kind_of_finding"), [("mpi", "time_in_mpi"), ("offload", "host_waits")])
@pytest.mark.parametrize("serial", [(), (150 * MS,)])
def test_time_in_mpi_or_on_a_device_that_does_not_shrink_is_the_verdict(
    kind: str, kind_of_finding: str, serial: tuple[int, ...]
) -> None:
    at_p = StateTimes(work_ns=100 * MS, **{f"{kind}_ns": 200 * MS})
    at_one = StateTimes(work_ns=100 * MS, **{f"{kind}_ns": 50 * MS})
    point = scaling_point(made(4, at_p, at_one, serial))
    found = {loss.kind: loss.ns for loss in losses(point, NOTHING_ELSE)}
    assert (found[kind], found["algorithm"]) == ((150 if serial else 200) * MS, 0)
    finding = Finding(kind_of_finding, "problem", "", "it waits", "nowait", cost_ns=1)
    verdict = diagnose(point, Evidence((finding,), 0.0, 64))
    assert (verdict.kind, verdict.cure) == (kind, "nowait")
    assert diagnose(point, NOTHING_ELSE).cure


def test_shared_cpus_prevent_a_verdict_on_the_program() -> None:
    point = scaling_point(made(4, StateTimes(390 * MS), StateTimes(200 * MS)))
    assert diagnose(point, Evidence((), 0.0, 2)).kind == "oversubscribed"
    assert diagnose(point, Evidence((), 0.0, 4, others=0.5)).kind == "disturbed"
    stopped = Finding("throttled", "problem", "", "the quota is 1.0 of 4", "raise the quota")
    verdict = diagnose(point, Evidence((stopped,), 0.0, 4, others=0.5))
    assert (verdict.kind, verdict.cure) == ("throttled", "raise the quota")
    bound = Finding("bound_together", "problem", "", "4 threads shared 2", "widen OMP_PLACES")
    crowd = inflated_by(preempted=150 * MS, memory_bound=40 * MS)
    for others in (0.0, 0.5):
        verdict = diagnose(point, Evidence((bound, stopped), 0.0, 8, others=others, causes=crowd))
        assert (verdict.kind, verdict.cure) == ("bound_together", "widen OMP_PLACES")
        assert verdict.title.startswith("Threads were bound")
    fast_beside_a_delayed_thread = scaling_point(made(2, StateTimes(100 * MS), StateTimes(200 * MS)))
    assert diagnose(fast_beside_a_delayed_thread, NOTHING_ELSE).kind == "scales"
    assert diagnose(fast_beside_a_delayed_thread, Evidence((), 0.0, 2, others=0.5)).kind == "disturbed"


@given(st.integers(2, 64), states, states)
def test_gaps_are_differences_of_curves(threads: int, at_p: StateTimes, at_one: StateTimes) -> None:
    point = scaling_point(made(threads, at_p, at_one))
    for gap in gaps(point):
        assert gap.size == (point.curve(gap.upper) or 0) - (point.curve(gap.lower) or 0)
        assert gap.meaning


def test_each_kind_of_bend_is_reported() -> None:
    def sweep(
        work: dict[int, int], idle: dict[int, int], one: dict[int, int] | None = None
    ) -> tuple[str, ...]:
        return bends(
            [
                scaling_point(
                    made(
                        p,
                        StateTimes(work_ns=work[p] * MS, idle_ns=idle[p] * MS),
                        StateTimes(work_ns=100 * MS, create_ns=(one or {}).get(p, 0) * MS),
                    )
                )
                for p in work
            ]
        )

    none = dict.fromkeys((2, 4, 8), 0)
    steady = dict.fromkeys((2, 4, 8), 100)
    assert sweep(steady, none) == ()
    (flat,) = sweep({2: 100, 4: 100, 8: 195}, none)
    assert "memory" in flat
    (falls,) = sweep({2: 100, 4: 150, 8: 400}, none)
    assert "slow the program down" in falls
    (idle,) = sweep(steady, {2: 0, 4: 10, 8: 125})
    assert "lacks" in idle
    (bent,) = sweep(steady, none, {2: 0, 4: 0, 8: 60})
    assert "total work grows" in bent
    assert sweep({2: 100, 4: 100}, none) == ()


@given(
    st.lists(
        st.dictionaries(st.sampled_from("abc"), st.builds(WorkOf, times, st.integers(0, 9)), min_size=1),
        min_size=2,
        max_size=2,
    )
)
def test_excess_of_constructs_adds_up(runs: list[dict[str, WorkOf]]) -> None:
    at_p, at_one = runs
    rows = inflation(4, [at_p], [at_one])
    excess = sum(w.work_ns for w in at_p.values()) - sum(w.work_ns for w in at_one.values())
    assert sum(row.excess_ns for row in rows) == pytest.approx(excess)
    assert [abs(row.excess_ns) for row in rows] == sorted((abs(row.excess_ns) for row in rows), reverse=True)


def test_a_construct_with_different_amounts_of_work_is_marked() -> None:
    (row,) = inflation(4, [{"a": WorkOf(10, 100)}], [{"a": WorkOf(5, 50)}])
    assert (row.factor, row.same_work) == (2.0, False)


def test_recording_cost_compares_the_same_rounds() -> None:
    one = run_of(1, StateTimes(100))
    samples = Samples(2, [one], [one], (), (), [110], [100], [180])
    cost = recording_cost(samples)
    assert cost is not None
    assert (cost.factor, cost.unrecorded_speedup) == (1.1, 1.8)
    assert recording_cost(Samples(2, [one], [one])) is None


def inflated_by(**parts_ns: int) -> Causes:
    """Returns causes of these sizes, each with a line."""
    line = LineThatGrew(
        Spot("region", True, "f", "a.c", 7, "a.c:7 (f)"), "", Growth(10 * MS, 90 * MS, 0.0), 1.0
    )
    parts = tuple(Cause(kind, ns, ns, ns, "samples", line) for kind, ns in parts_ns.items())
    ordered = tuple(sorted(parts, key=lambda part: -part.ns))
    return Causes(sum(parts_ns.values()), ordered, (line,), True, 100, 50, 250, 0)


INFLATED = scaling_point(made(4, StateTimes(390 * MS, MS, MS, MS, 7 * MS), StateTimes(200 * MS)))


def test_the_largest_cause_of_inflation_is_the_verdict_with_its_line() -> None:
    causes = inflated_by(busy_waiting=120 * MS, memory_bound=70 * MS)
    verdict = diagnose(INFLATED, replace(NOTHING_ELSE, causes=causes))
    assert verdict.kind == "busy_waiting"
    assert verdict.line is not None and verdict.line.spot.label == "a.c:7 (f)"
    assert "a.c:7 (f) 90 ms instead of 10 ms" in verdict.because
    assert verdict.also == ("Memory bound: the work itself takes longer",)
    assert sum(loss.ns for loss in verdict.losses if loss.kind in CAUSES) == 190 * MS


def test_small_causes_together_are_worth_a_verdict() -> None:
    causes = inflated_by(library=35 * MS, allocator=30 * MS, runtime=25 * MS)
    assert diagnose(INFLATED, replace(NOTHING_ELSE, causes=causes)).kind == "library"


def test_inflation_by_preemption_is_a_disturbed_measurement() -> None:
    causes = inflated_by(preempted=150 * MS, memory_bound=40 * MS)
    verdict = diagnose(INFLATED, replace(NOTHING_ELSE, causes=causes))
    assert verdict.kind == "disturbed"
    lost = next(percent(loss.share) for loss in verdict.losses if loss.kind == "preempted")
    assert f"but for {lost} of the thread-time, threads waited for CPUs that other" in verdict.because


def test_causes_without_a_rest_leave_nothing_to_memory() -> None:
    verdict = diagnose(INFLATED, replace(NOTHING_ELSE, causes=inflated_by(atomic_contention=190 * MS)))
    assert {loss.kind: loss.ns for loss in verdict.losses}["memory_bound"] == 0


@pytest.mark.parametrize("kind", ["blocked", "page_faults", "allocator", "busy_waiting", "atomic_contention"])
def test_a_cause_that_single_runs_show_has_the_title_and_cure_of_the_finding(kind: str) -> None:
    verdict = diagnose(INFLATED, replace(NOTHING_ELSE, causes=inflated_by(**{kind: 190 * MS})))
    same = next(one for one in KINDS if one.name == kind)
    assert (verdict.kind, verdict.title, verdict.cure) == (kind, same.title, same.cure)


def test_creations_that_copy_data_are_the_reason_of_costly_creation() -> None:
    point = scaling_point(made(4, StateTimes(300 * MS, 100 * MS, 50 * MS), StateTimes(290 * MS, 10 * MS)))
    copies = Finding("copied_data", "problem", "Creating a task copies data", "it takes 30 us", "share it", 1)
    verdict = diagnose(point, Evidence((copies,), 0.0, 8))
    assert (verdict.kind, verdict.title, verdict.cure) == (
        "too_fine",
        "Creating a task copies data",
        "share it",
    )


@pytest.mark.parametrize(("blocked_ms", "kind"), [(88, "false_sharing"), (92, "blocked")])
def test_the_first_finding_decides_between_similar_causes_of_inflation(blocked_ms: int, kind: str) -> None:
    sleeps = Finding("blocked", "problem", "Threads sleep", "they slept", "do not sleep", 100 * MS, 1)
    causes = inflated_by(false_sharing=100 * MS, blocked=blocked_ms * MS)
    verdict = diagnose(INFLATED, replace(NOTHING_ELSE, findings=(sleeps,), causes=causes))
    assert verdict.kind == kind


@pytest.mark.parametrize("kind", ["small_chunks", "short_regions", "synchronization"])
def test_time_in_the_runtime_has_the_title_of_the_finding_that_explains_it(kind: str) -> None:
    finding = Finding(kind, "problem", "Barriers are frequent", "they are", "wait less", MS, 1)
    inflated = replace(NOTHING_ELSE, causes=inflated_by(runtime=190 * MS))
    verdict = diagnose(INFLATED, replace(inflated, findings=(finding,)))
    assert (verdict.kind, verdict.title, verdict.cure) == ("runtime", "Barriers are frequent", "wait less")
    assert diagnose(INFLATED, inflated).title == "The OpenMP runtime takes longer inside of the work"


def test_a_region_that_one_thread_works_in_has_no_tasks_that_are_too_coarse() -> None:
    point = scaling_point(made(2, StateTimes(200 * MS, idle_ns=200 * MS), StateTimes(200 * MS)))
    alone = Finding("undivided", "problem", "One thread does all work", "it does", "divide it", 200 * MS, 1)
    verdict = diagnose(point, Evidence((alone,), 0.0, 8))
    assert (verdict.title, verdict.cure) == ("One thread does all work: threads are idle", "divide it")
    coarse = replace(alone, kind="too_coarse")
    assert diagnose(point, Evidence((coarse,), 0.0, 8)).title == "Tasks are too coarse: threads are idle"


def test_missing_threads_are_a_reason_of_idle_time() -> None:
    point = scaling_point(made(4, StateTimes(200 * MS, idle_ns=200 * MS), StateTimes(200 * MS)))
    fewer = Finding("fewer_threads", "problem", "A region has fewer threads", "2 of 4", "remove the limit", 1)
    verdict = diagnose(point, Evidence((fewer,), 0.0, 8))
    assert verdict.title == "A region has fewer threads: threads are idle"
    assert verdict.cure == "remove the limit"
