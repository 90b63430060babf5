# SPDX-License-Identifier: Apache-2.0
"""Tests times on both sides of each threshold of a sweep's verdict and of the causes of inflation."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace

import pytest

from made_runs import MS
from ompass.metrics.facts import Finding
from ompass.model import StateTimes
from ompass.sampled import ATOMIC, COMPUTE, FIXED, MEMORY, MEMORY_USE
from ompass.scaling.causes import Causes, Runs, WorkParts, divide
from ompass.scaling.metrics import ScalingPoint, scaling_point
from ompass.scaling.verdict import Evidence, bends, diagnose, gaps, losses
from unit.test_causes import BASE, TASK, both, spot, work
from unit.test_scaling import NOTHING_ELSE, inflated_by, made


def point(
    threads: int = 4, *, one_create_ms: float = 0, one_ms: float = 100, **states_ms: float
) -> ScalingPoint:
    """Returns a point with these thread-times on several threads, and this work and creation on one."""
    at_p = StateTimes(**{f"{name}_ns": round(ms * MS) for name, ms in states_ms.items()})
    return scaling_point(
        made(threads, at_p, StateTimes(work_ns=round(one_ms * MS), create_ns=round(one_create_ms * MS)))
    )


@pytest.mark.parametrize(
    ("scaled", "kind"),
    [
        (point(work=100, idle=16), "scales"),  # efficiency 100 / 116
        (point(work=100, idle=20), "too_coarse"),  # 100 / 120
        (point(one_ms=85, work=85, idle=15), "scales"),  # 85 / 100
        (point(work=100, create=11, idle=10), "mixed"),  # 9.1% and 8.3% of the thread-time
        (point(work=100, create=14, idle=10), "dispatch"),  # 11.3%
        (point(one_ms=85, work=85, create=5, idle=10), "scales"),
        (point(one_ms=80, work=80, create=10, idle=10), "dispatch"),  # exactly a tenth
    ],
)
def test_a_cause_counts_if_it_takes_a_tenth_of_the_time_and_efficiency_is_low(
    scaled: ScalingPoint, kind: str
) -> None:
    assert diagnose(scaled, NOTHING_ELSE).kind == kind


@pytest.mark.parametrize(("idle", "also"), [(13, ()), (17, ("Tasks are too coarse: threads are idle",))])
def test_a_second_cause_is_named_if_it_takes_a_tenth_of_the_time(idle: int, also: tuple[str, ...]) -> None:
    assert diagnose(point(work=100, create=30, idle=idle), NOTHING_ELSE).also == also
    exact = point(one_ms=80, work=80, create=10, idle=10)
    assert diagnose(exact, NOTHING_ELSE).also == ("Tasks are too coarse: threads are idle",)


@pytest.mark.parametrize(("inflation", "kind"), [(12, "mixed"), (16, "memory_bound")])
def test_inflation_counts_if_it_takes_a_tenth_of_the_time(inflation: int, kind: str) -> None:
    scaled = point(work=100 + inflation, create=5, sync=5, idle=5)
    assert diagnose(scaled, NOTHING_ELSE).kind == kind


def test_inflation_is_a_verdict_if_it_is_as_large_as_the_largest_other_loss() -> None:
    causes = inflated_by(library=15 * MS, allocator=15 * MS)
    for idle, kind in ((29, "library"), (31, "too_coarse")):
        scaled = point(work=130, idle=idle)
        assert diagnose(scaled, replace(NOTHING_ELSE, causes=causes)).kind == kind


def found(kind: str, cost_ms: float = 1) -> Finding:
    return Finding(kind, "problem", "", "because", "cure", cost_ns=round(cost_ms * MS))


@pytest.mark.parametrize(("idle", "kind"), [(29, "busy_waiting"), (31, "too_coarse")])
def test_the_first_finding_decides_between_losses_that_differ_by_up_to_a_tenth(idle: int, kind: str) -> None:
    """A waiting loop takes 27 ms longer, which is 0.9 of 30 ms of idle time."""
    causes = inflated_by(busy_waiting=27 * MS)
    evidence = replace(NOTHING_ELSE, causes=causes, findings=(found("busy_waiting"),))
    assert diagnose(point(work=127, idle=idle), evidence).kind == kind
    assert diagnose(point(work=127, idle=idle), replace(evidence, findings=())).kind == "too_coarse"


@pytest.mark.parametrize(
    ("idle", "cost", "kind"),
    [(40, 39, "too_coarse"), (40, 40, "too_coarse"), (40, 41, "serial_fraction"), (5, 1, "serial_fraction")],
)
def test_a_serial_part_is_the_verdict_if_it_costs_more_than_any_loss(idle: int, cost: int, kind: str) -> None:
    evidence = replace(NOTHING_ELSE, findings=(found("serial_fraction", cost),))
    assert diagnose(point(work=100, idle=idle), evidence).kind == kind


@pytest.mark.parametrize(("others", "kind"), [(0.19, "too_coarse"), (0.20, "disturbed")])
def test_other_programs_that_take_a_fifth_of_the_time_spoil_a_verdict(others: float, kind: str) -> None:
    assert diagnose(point(work=100, idle=100), Evidence((), 0.0, 4, others=others)).kind == kind


@pytest.mark.parametrize(("n_cpus", "kind"), [(0, "too_coarse"), (3, "oversubscribed"), (4, "too_coarse")])
def test_threads_beyond_the_processors_allow_no_verdict_on_the_program(n_cpus: int, kind: str) -> None:
    assert diagnose(point(work=100, idle=100), Evidence((), 0.0, n_cpus)).kind == kind


def handling(scaled: ScalingPoint, n_tasks: int = 0) -> str:
    """Returns the kind of loss that contains the time of the runtime."""
    (kind,) = (
        loss.kind
        for loss in losses(scaled, Evidence((), 0.0, 8, n_tasks=n_tasks))
        if loss.kind in ("too_fine", "dispatch") and loss.ns > MS / 10
    )
    return kind


def of_tasks(work_us: float, handling_us: float, n_tasks: int = 1000) -> str:
    """Returns the kind of loss for equal tasks, each with this work and this time of the runtime."""
    work_ms = work_us * n_tasks / 1000
    return handling(point(work=work_ms, one_ms=work_ms, schedule=handling_us * n_tasks / 1000), n_tasks)


def test_tasks_are_too_fine_by_their_number_work_and_cost() -> None:
    assert [of_tasks(20, 4, n) for n in (98, 102)] == ["dispatch", "too_fine"]
    assert [of_tasks(20, us) for us in (1.9, 2.1)] == ["dispatch", "too_fine"], "a tenth of the work"
    assert [of_tasks(20, us) for us in (4.8, 5.2)] == ["too_fine", "dispatch"], "above 5 us, slow dispatch"


@pytest.mark.parametrize(("work_us", "kind"), [(95, "too_fine"), (105, "algorithm")])
def test_tasks_of_a_tenth_of_a_millisecond_are_large_enough(work_us: int, kind: str) -> None:
    """The program has a thousand tasks, and takes 1.2 times as long as the serial one."""
    samples = made(4, StateTimes(work_us * MS), StateTimes(work_us * MS), [round(work_us * MS / 1.2)])
    assert diagnose(scaling_point(samples), Evidence((), 0.0, 8, n_tasks=1000)).kind == kind


@pytest.mark.parametrize(("elision", "kind"), [(92, "dispatch"), (88, "too_fine")])
def test_an_elision_that_saves_a_tenth_shows_fine_tasks(elision: int, kind: str) -> None:
    samples = made(
        2, StateTimes(100 * MS, schedule_ns=20 * MS), StateTimes(100 * MS), [elision * MS], [elision * MS]
    )
    found = {loss.kind: loss.ns for loss in losses(scaling_point(samples), NOTHING_ELSE)}
    assert found["too_fine"] == pytest.approx((100 - elision + (20 if kind == "too_fine" else 0)) * MS)
    assert found["dispatch"] == pytest.approx((20 if kind == "dispatch" else 0) * MS)


def last_point(*, work: float = 100, idle: float = 0, one_create: float = 0) -> tuple[str, ...]:
    """Returns the bends of a sweep with ideal speed-ups on 2 and 4 threads, and these times on 8."""
    ideal = [point(threads, work=100) for threads in (2, 4)]
    return bends([*ideal, point(8, work=work, idle=idle, one_create_ms=one_create)])


@pytest.mark.parametrize(
    ("side", "other", "word"),
    [
        # speed-up 4 + 4 s for slopes s of 0.28 and 0.22
        ({"work": 800 / 5.12}, {"work": 800 / 4.88}, "inflation curve flattens"),
        ({"work": 160}, {"work": 161}, "inflation curve flattens"),  # a slope of 0.25 is not flat
        ({"work": 199}, {"work": 201}, "inflation curve falls"),
        ({"idle": 60}, {"idle": 61}, "idle-time curve flattens"),
        ({"idle": 800 / 5.12 - 100}, {"idle": 800 / 4.88 - 100}, "idle-time curve flattens"),
        # slopes of 0.78 and 0.72
        ({"one_create": 800 / 7.12 - 100}, {"one_create": 800 / 6.88 - 100}, "maximal curve bends"),
    ],
)
def test_curves_bend_on_one_side_of_a_slope(
    side: Mapping[str, float], other: Mapping[str, float], word: str
) -> None:
    assert not any(word in sentence for sentence in last_point(**side))
    assert any(word in sentence for sentence in last_point(**other))


def test_the_price_of_being_parallel_is_stated_as_a_factor() -> None:
    slow = scaling_point(made(2, StateTimes(300 * MS), StateTimes(300 * MS), [100 * MS]))
    assert "which takes 3.00 times as long as the serial program" in diagnose(slow, NOTHING_ELSE).because
    price, idle, inflation, both_of_them = gaps(point(work=130, idle=20, one_create_ms=20))
    assert price.meaning.endswith("on one thread the program takes 1.20 times as long as its own work")
    assert "threads had no task in 13.3% of the thread-time" in idle.meaning
    assert (
        "took 8.3% more time than one thread: 25.0% more in the program's own code, 16.7% less"
        in inflation.meaning
    )
    assert both_of_them.meaning.endswith("0.67 of a speed-up of 3.33 that the program could have")


def test_curves_need_three_numbers_of_threads_above_one() -> None:
    flat = [point(1, work=100), point(2, work=100), point(4, work=200)]
    assert bends(flat) == ()
    assert bends([*flat, point(8, work=400)]) != ()


def test_a_sweep_without_time_on_one_thread_has_no_factors() -> None:
    price, _, inflation, _ = gaps(point(work=10, one_ms=0))
    assert price.meaning.endswith("on one thread the program takes 0.00 times as long as its own work")
    assert inflation.meaning == (
        "inflation: busy threads took 0.0% more time than one thread: "
        "0.0% more in the program's own code, 0.0% more in the runtime"
    )
    assert "0.0% of the thread-time" in gaps(point(one_ms=10))[1].meaning, "no time on several threads"


def test_a_point_needs_runs_on_one_and_on_several_threads() -> None:
    whole = made(2, StateTimes(100), StateTimes(100))
    for missing in (replace(whole, recorded=[]), replace(whole, one_thread=[])):
        with pytest.raises(ValueError, match="no recorded run on 2 or on one thread"):
            scaling_point(missing)


# ---------------------------------------------------------------- causes of inflation


def test_a_cause_is_supported_by_the_finding_of_its_kind() -> None:
    evidence = replace(
        NOTHING_ELSE,
        causes=inflated_by(allocator=30 * MS),
        findings=(found("disturbed"), found("allocator"), found("library")),
    )
    supported = diagnose(point(work=130), evidence)
    assert supported.finding is not None
    assert (supported.kind, supported.finding.kind) == ("allocator", "allocator")
    disturbed = diagnose(point(work=130), replace(evidence, others=0.5))
    assert (disturbed.kind, disturbed.finding) == ("disturbed", None), "the sweep shows the disturbance"


def kinds(causes: Causes) -> set[str]:
    return {part.kind for part in causes.parts if abs(part.ns) > MS / 10}


SHARED = spot(20, shared=True)


@pytest.mark.parametrize(
    ("behaviour", "one", "after", "cause"),
    [
        # each thread takes as long as one alone, within a tenth
        (MEMORY_USE, 40_000, (43_600, 43_600), "replicated_work"),
        (MEMORY_USE, 40_000, (44_400, 44_400), "memory_bound"),
        (MEMORY_USE, 40_000, (36_400, 36_400), "replicated_work"),
        (MEMORY_USE, 40_000, (35_600, 35_600), "memory_bound"),
        (MEMORY_USE, 40_000, (43_600, 36_400), "replicated_work"),
        (MEMORY_USE, 40_000, (44_400, 35_600), "memory_bound"),
        # few samples: threads may differ by chance, but not their sum
        (MEMORY_USE, 100, (109, 109), "replicated_work"),
        (MEMORY_USE, 100, (112, 112), "memory_bound"),
        (COMPUTE, 100, (118, 118), "replicated_work"),
        (COMPUTE, 100, (123, 123), "memory_bound"),
        (MEMORY_USE, 40_000, (80_000, 0), "memory_bound"),  # one thread only
    ],
)
def test_a_line_is_replicated_if_each_thread_takes_as_long_as_one_within_a_tenth(
    behaviour: str, one: int, after: tuple[int, int], cause: str
) -> None:
    assert both({(SHARED, behaviour): after}, {(SHARED, behaviour): (one,)}).lines[0].cause == cause


@pytest.mark.parametrize(
    ("behaviour", "one", "after", "cause"),
    [
        (FIXED, 10_000, (6_400, 6_400), "memory_bound"),
        (FIXED, 10_000, (6_600, 6_600), "false_sharing"),
        # bandwidth explains up to 2 * 1.15 times the time; the rest is the error of the samples
        (MEMORY_USE, 10_000, (11_650, 11_650), "memory_bound"),
        (MEMORY_USE, 10_000, (11_900, 11_900), "false_sharing"),
        # a line without samples on one thread may have taken 3 ms there
        (MEMORY_USE, 0, (5, 5), "memory_bound"),
        (MEMORY_USE, 0, (6, 5), "false_sharing"),
    ],
)
def test_cache_lines_are_shared_if_nothing_else_explains_the_growth(
    behaviour: str, one: int, after: tuple[int, int], cause: str
) -> None:
    key = spot(20), behaviour
    assert both({key: after}, {key: (one,)} if one else {}).lines[0].cause == cause


@pytest.mark.parametrize(("n", "is_replicated"), [(10, False), (13, True)])
def test_a_line_must_have_grown_to_count_as_replicated(n: int, is_replicated: bool) -> None:
    key = SHARED, MEMORY_USE
    assert ("replicated_work" in kinds(both({key: (n, n)}, {key: (n,)}))) == is_replicated


def test_counts_of_tasks_show_more_work_exactly() -> None:
    counted: dict[Hashable, Runs] = {TASK: Runs(n=200, one_n=100, work_ns=800 * MS, one_work_ns=400 * MS)}
    key = spot(20), COMPUTE
    more = divide(2, [work({key: (400, 400)})], [work({key: (400,)})], counted).of("replicated_work")
    assert more is not None and more.low_ns == more.ns == more.high_ns


@pytest.mark.parametrize(
    "runs", [Runs(0, 100, 5, 5), Runs(200, 0, 5, 5), Runs(200, 100, 5, 0), Runs(0, 0, 0, 0)]
)
def test_constructs_that_did_not_run_are_not_repeated(runs: Runs) -> None:
    assert runs.ratio == 1


def test_causes_of_a_nanosecond_are_listed() -> None:
    causes = divide(2, [WorkParts(101, 0, 1, {})], [WorkParts(100, 0, 0, {})], {})
    assert [(part.kind, part.ns) for part in causes.parts] == [("blocked", 1)]


@pytest.mark.parametrize(("after", "is_shared"), [((5, 5), False), ((8, 8), True)])
def test_a_line_must_have_grown_for_its_cache_line_to_count_as_shared(
    after: tuple[int, int], is_shared: bool
) -> None:
    """With few samples, a line that grew from 4 ms to 10 ms may have grown by chance."""
    key = spot(20), FIXED
    assert ("false_sharing" in kinds(both({key: after}, {key: (4,)}))) == is_shared


@pytest.mark.parametrize(("mean", "is_more"), [(1.18, True), (1.22, False), (0.82, True), (0.78, False)])
def test_tasks_whose_means_differ_by_a_fifth_are_other_tasks(mean: float, is_more: bool) -> None:
    ms = round(800 * mean)
    counted: dict[Hashable, Runs] = {TASK: Runs(n=200, one_n=100, work_ns=ms * MS, one_work_ns=400 * MS)}
    key = spot(20), COMPUTE
    causes = divide(2, [work({key: (ms // 2, ms - ms // 2)})], [work({key: (400,)})], counted)
    assert ("replicated_work" in kinds(causes)) == is_more


@pytest.mark.parametrize(("n", "is_more"), [(1005, False), (1020, True)])
def test_a_few_more_tasks_are_more_work(n: int, is_more: bool) -> None:
    counted: dict[Hashable, Runs] = {TASK: Runs(n, 1000, n * MS, 1000 * MS)}
    key = spot(20), COMPUTE
    causes = divide(2, [work({key: (n // 2, n - n // 2)})], [work({key: (1000,)})], counted)
    assert ("replicated_work" in kinds(causes)) == is_more


@pytest.mark.parametrize(
    ("n", "one", "rest", "is_repeated"),
    [
        (1026, 450, 0, True),
        (1044, 450, 0, False),
        (774, 450, 0, True),
        (756, 450, 0, False),
        (900, 450, 105, True),
        (900, 450, 120, False),
        (900, 450, -105, True),
        (900, 450, -120, False),
        (250, 125, 0, True),  # at least a tenth of 1175 ms on one thread
        (220, 110, 0, False),
    ],
)
def test_work_outside_of_loops_is_repeated_if_clocks_show_little_else(
    n: int, one: int, rest: int, is_repeated: bool
) -> None:
    lines = {(spot(k, shared=True), MEMORY_USE): (15, 55) for k in range(20, 25)}
    at_one = work({**BASE, **dict.fromkeys(lines, (35,))})
    at_p = work({(spot(1), COMPUTE): (500, 500), **lines})
    at_p = replace(at_p, work_ns=at_one.work_ns + (n - one + rest) * MS, undivided_ns=n * MS)
    causes = divide(2, [at_p], [replace(at_one, undivided_ns=one * MS)], {})
    assert any(line.cause == "replicated_work" for line in causes.lines) == is_repeated


@pytest.mark.parametrize(("one_ms", "known"), [(90, True), (110, False)])
def test_short_work_on_one_thread_needs_no_samples(one_ms: int, known: bool) -> None:
    at_one = WorkParts(one_ms * MS, 0, 0, {})
    assert divide(2, [work({(spot(1), COMPUTE): (500, 500)})], [at_one], {}).has_samples == known


@pytest.mark.parametrize(("other_growth", "kind"), [(75, "allocator"), (80, "allocator"), (85, "blocked")])
def test_sleep_counts_as_allocator_time_if_the_allocator_grows_most(other_growth: int, kind: str) -> None:
    key, other = (spot(20, MEMORY), ""), (spot(30), ATOMIC)
    at_p = work(
        {(spot(1), COMPUTE): (500, 500), key: (60, 60), other: (50, 50 + other_growth)}, blocked_ns=300 * MS
    )
    assert divide(2, [at_p], [work({**BASE, key: (40,), other: (100,)})], {}).parts[0].kind == kind


@pytest.mark.parametrize(("n_faults", "cause"), [(14_000, "system_calls"), (16_000, "page_faults")])
def test_a_page_fault_takes_at_most_20_us(n_faults: int, cause: str) -> None:
    at_p = work({(spot(1), COMPUTE): (500, 500)}, kernel_ns=300 * MS, n_faults=n_faults)
    assert divide(2, [at_p], [work(BASE, n_faults=0)], {}).parts[0].kind == cause


def test_kernel_time_without_page_faults_is_due_to_system_calls() -> None:
    at_p = work({(spot(1), COMPUTE): (500, 500)}, kernel_ns=15_000, n_faults=0)
    part = divide(2, [at_p], [work(BASE, n_faults=0)], {}).parts[0]
    assert (part.kind, part.ns) == ("system_calls", 15_000)


def test_the_interval_of_a_cause_is_that_of_counted_samples() -> None:
    key = spot(20), ATOMIC
    part = both({key: (250, 250)}, {key: (100,)}).parts[0]
    assert both({key: (250, 250)}, {key: (100,)}).of("atomic_contention") == part
    # 1.96 standard errors of 500 - 100 samples of 1 ms each
    assert (part.low_ns, part.high_ns) == pytest.approx((351.99 * MS, 448.01 * MS), rel=1e-4)


def test_samples_suffice_if_the_error_is_a_fifth_of_the_inflation() -> None:
    def causes(n: int) -> Causes:
        return divide(2, [work({(spot(20), ATOMIC): (n, n)})], [work({(spot(20), ATOMIC): (n,)})], {})

    equal = divide(2, [work({(spot(20), ATOMIC): (9, 9)})], [work({(spot(20), ATOMIC): (18,)})], {})
    assert (equal.inflation_ns, equal.enough_hz) == (0, 0), "nothing to divide"
    # 1.96 * sqrt(3 n) < 0.2 n from 289 on
    assert causes(280).enough_hz == 1100
    assert causes(296).enough_hz == 0
    assert causes(8).enough_hz == 36_100, "36 times as many samples make the error 6 times as small"
