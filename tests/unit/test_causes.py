# SPDX-License-Identifier: Apache-2.0
"""The causes of inflation add up to it, and samples lead to the right cause."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from made_runs import MS
from ompass.sampled import ATOMIC, COMPUTE, FIXED, IO, MEMORY, MEMORY_USE, MUTEX, OWN, RUNTIME, WAITING
from ompass.scaling.causes import CAUSES, Causes, Runs, Spot, WorkParts, divide

HZ = 1000
TASK = "task"


def spot(line: int = 10, library: str = OWN, *, shared: bool = False) -> Spot:
    return Spot("region" if shared else TASK, shared, "f", "a.c", line, f"a.c:{line} (f)", library)


def work(
    samples: Mapping[tuple[Spot, str], tuple[int, ...]],
    *,
    blocked_ns: int = 0,
    preempted_ns: int = 0,
    kernel_ns: int = 0,
    n_faults: int | None = None,
) -> WorkParts:
    """Returns work that was sampled once per ms. Each tuple lists the samples of each thread."""
    user_ns = sum(sum(counts) for counts in samples.values()) * MS
    return WorkParts(
        work_ns=user_ns + blocked_ns + preempted_ns + kernel_ns,
        preempted_ns=preempted_ns,
        blocked_ns=blocked_ns,
        counts={key: dict(enumerate(counts)) for key, counts in samples.items()},
        kernel_ns=kernel_ns,
        n_faults=n_faults,
        frequency_hz=HZ,
    )


BASE = {(spot(1), COMPUTE): (1000,)}


def both(
    extra: Mapping[tuple[Spot, str], tuple[int, ...]], before: Mapping[tuple[Spot, str], tuple[int, ...]]
) -> Causes:
    """Returns the causes on two threads of a program with constant work and further samples.

    `extra` contains the further samples on two threads, `before` contains those on one thread.
    """
    at_p = work({(spot(1), COMPUTE): (500, 500), **extra})
    return divide(2, [at_p], [work({**BASE, **before})], {})


@pytest.mark.parametrize(
    ("library", "behaviour", "before", "after", "cause"),
    [
        (OWN, WAITING, (), (0, 400), "busy_waiting"),
        (OWN, ATOMIC, (100,), (250, 250), "atomic_contention"),
        (OWN, FIXED, (100,), (250, 250), "false_sharing"),
        (OWN, FIXED, (400,), (240, 240), "memory_bound"),  # grew by less than 30%
        (OWN, MEMORY_USE, (400,), (350, 350), "memory_bound"),
        (OWN, MEMORY_USE, (100,), (400, 400), "false_sharing"),  # more than bandwidth can explain
        (OWN, COMPUTE, (100,), (400, 400), "memory_bound"),  # slower without memory accesses: the remainder
        (MEMORY, "", (100,), (300, 300), "allocator"),
        (MUTEX, "", (100,), (300, 300), "mutex"),
        (RUNTIME, "", (), (300, 300), "runtime"),
        (IO, "", (100,), (300, 300), "library"),
    ],
)
def test_a_line_that_grew_is_named_with_its_cause(
    library: str, behaviour: str, before: tuple[int, ...], after: tuple[int, ...], cause: str
) -> None:
    key = spot(20, library), behaviour
    causes = both({key: after}, {key: before} if before else {})
    assert causes.parts[0].kind == cause
    assert causes.parts[0].ns == pytest.approx((sum(after) - sum(before)) * MS)
    assert causes.lines[0].spot.line == 20
    assert causes.lines[0].cause == cause
    line = causes.parts[0].line
    assert line is not None and line.spot.line == 20


@pytest.mark.parametrize(
    ("after", "cause"),
    [((400, 400), "replicated_work"), ((300, 300), "memory_bound"), ((550, 250), "memory_bound")],
)
def test_a_line_that_takes_each_thread_as_long_as_one_alone_is_replicated(
    after: tuple[int, int], cause: str
) -> None:
    key = spot(20, shared=True), MEMORY_USE
    assert both({key: after}, {key: (400,)}).parts[0].kind == cause


def test_a_task_that_takes_twice_as_long_is_not_replicated() -> None:
    key = spot(20), MEMORY_USE
    assert both({key: (400, 400)}, {key: (400,)}).parts[0].kind == "memory_bound"


def test_more_of_the_same_tasks_are_more_work() -> None:
    key = spot(20), COMPUTE
    counted: dict[Hashable, Runs] = {TASK: Runs(n=200, one_n=100, work_ns=800 * MS, one_work_ns=400 * MS)}
    causes = divide(2, [work({key: (400, 400)})], [work({key: (400,)})], counted)
    assert causes.parts[0].kind == "replicated_work"
    assert causes.parts[0].ns == pytest.approx(400 * MS)


def test_more_but_smaller_tasks_are_not_more_work() -> None:
    key = spot(20), MEMORY_USE
    counted: dict[Hashable, Runs] = {TASK: Runs(n=200, one_n=100, work_ns=600 * MS, one_work_ns=400 * MS)}
    causes = divide(2, [work({key: (300, 300)})], [work({key: (400,)})], counted)
    assert causes.parts[0].kind == "memory_bound"


def test_clocks_give_blocked_and_preempted_time() -> None:
    at_p = work({(spot(1), COMPUTE): (500, 500)}, blocked_ns=300 * MS, preempted_ns=100 * MS)
    causes = divide(2, [at_p], [work(BASE, blocked_ns=50 * MS)], {})
    assert [(p.kind, p.ns) for p in causes.parts[:2]] == [("blocked", 250 * MS), ("preempted", 100 * MS)]


@pytest.mark.parametrize(
    ("n_faults", "cause"), [(50_000, "page_faults"), (100, "system_calls"), (None, "system_calls")]
)
def test_time_in_the_kernel_counts_as_page_faults_if_there_are_many(n_faults: int | None, cause: str) -> None:
    at_p = work({(spot(1), COMPUTE): (500, 500)}, kernel_ns=300 * MS, n_faults=n_faults)
    assert divide(2, [at_p], [work(BASE, n_faults=n_faults)], {}).parts[0].kind == cause


@pytest.mark.parametrize(("blocked_ms", "n_faults", "kinds"), [
    (100, 0, {"blocked": 400}),  # a tenth of 1000 ms
    (99, 0, {"blocked": 99, "system_calls": 300}),
    (100, 50_000, {"blocked": 100, "page_faults": 300}),
])  # fmt: skip
def test_system_calls_of_threads_that_sleep_count_as_blocked(
    blocked_ms: int, n_faults: int, kinds: dict[str, int]
) -> None:
    times = {"kernel_ns": 300 * MS, "blocked_ns": blocked_ms * MS, "n_faults": n_faults}
    at_p = replace(work({(spot(1), COMPUTE): (500, 500)}, **times), work_ns=2000 * MS)
    at_one = replace(work(BASE, n_faults=0), work_ns=1000 * MS)
    causes = divide(2, [at_p], [at_one], {})
    assert {p.kind: p.ns for p in causes.parts if p.basis == "clock"} == {k: n * MS for k, n in kinds.items()}
    assert sum(part.ns for part in causes.parts) == pytest.approx(1000 * MS)


def test_sleep_in_the_lock_of_an_allocator_counts_as_allocator() -> None:
    key = spot(20, MEMORY), ""
    at_p = work({(spot(1), COMPUTE): (500, 500), key: (60, 60)}, kernel_ns=300 * MS, blocked_ns=80 * MS)
    causes = divide(2, [at_p], [work({**BASE, key: (40,)})], {})
    assert causes.parts[0].kind == "allocator"
    assert causes.parts[0].ns == pytest.approx((80 + 300 + 80) * MS)


def test_sleep_elsewhere_stays_blocked_when_the_allocator_does_not_grow() -> None:
    key = spot(20, MEMORY), ""
    at_p = work({(spot(1), COMPUTE): (500, 500), key: (20, 20)}, blocked_ns=300 * MS)
    assert divide(2, [at_p], [work({**BASE, key: (40,)})], {}).parts[0].kind == "blocked"


def test_without_samples_the_remainder_is_memory_bound() -> None:
    none = WorkParts(400 * MS, 0, 0, {})
    causes = divide(2, [WorkParts(900 * MS, 0, 100 * MS, {})], [none], {})
    assert not causes.has_samples
    assert causes.frequency_hz == 0
    assert {p.kind: p.ns for p in causes.parts if p.ns} == {"memory_bound": 400 * MS, "blocked": 100 * MS}


def test_few_samples_ask_for_a_rate_that_suffices() -> None:
    key = spot(20), ATOMIC
    few = divide(2, [work({key: (8, 8)})], [work({key: (8,)})], {})
    rate = few.enough_hz
    assert rate > HZ
    times = math.ceil(rate / HZ)
    more = divide(2, [work({key: (8 * times, 8 * times)})], [work({key: (8 * times,)})], {})
    assert more.enough_hz == 0


COUNTS = st.integers(0, 300)
SAMPLES = st.dictionaries(
    st.tuples(
        st.builds(spot, st.integers(1, 5), st.sampled_from([OWN, MEMORY, RUNTIME, IO]), shared=st.booleans()),
        st.sampled_from(["", WAITING, ATOMIC, FIXED, MEMORY_USE, COMPUTE]),
    ),
    st.tuples(COUNTS, COUNTS),
    max_size=8,
)
TIMES = st.integers(0, 10**9)


@given(SAMPLES, SAMPLES, TIMES, TIMES, TIMES)
def test_causes_add_up_to_the_inflation(
    after: dict[tuple[Spot, str], tuple[int, int]],
    before: dict[tuple[Spot, str], tuple[int, int]],
    blocked_ns: int,
    preempted_ns: int,
    kernel_ns: int,
) -> None:
    at_p = work(after, blocked_ns=blocked_ns, preempted_ns=preempted_ns, kernel_ns=kernel_ns)
    at_one = work({key: (sum(n),) for key, n in before.items()})
    causes = divide(2, [at_p], [at_one], {TASK: Runs(30, 10, 3e9, 1e9)})
    assert causes.inflation_ns == at_p.work_ns - at_one.work_ns
    assert sum(part.ns for part in causes.parts) == pytest.approx(causes.inflation_ns, abs=1000)
    assert {part.kind for part in causes.parts} <= set(CAUSES)
    assert all(part.low_ns <= part.ns <= part.high_ns for part in causes.parts)


@pytest.mark.parametrize(
    ("behaviour", "cause"),
    [
        (MEMORY_USE, "false_sharing"),
        (FIXED, "false_sharing"),
        (COMPUTE, "memory_bound"),
        ("", "memory_bound"),
    ],
)
def test_a_memory_access_that_is_slow_only_on_several_threads_is_false_sharing(
    behaviour: str, cause: str
) -> None:
    assert both({(spot(20), behaviour): (150, 150)}, {}).parts[0].kind == cause


@pytest.mark.parametrize(("line", "cause"), [(20, "false_sharing"), (21, "memory_bound")])
@pytest.mark.parametrize("behaviour", [MEMORY_USE, COMPUTE])
def test_a_line_with_false_sharing_by_addresses_has_this_cause(behaviour: str, line: int, cause: str) -> None:
    at_p, at_one = work({(spot(20), behaviour): (300, 300)}), work({(spot(20), behaviour): (400,)})
    at_p = replace(at_p, shared_lines=frozenset({(spot(line).file, line)}))
    assert divide(2, [at_p], [at_one], {}).parts[0].kind == cause


def test_false_sharing_by_addresses_is_no_repeated_work() -> None:
    key = spot(20, shared=True), MEMORY_USE
    at_p = replace(work({key: (400, 400)}), shared_lines=frozenset({(spot(20).file, 20)}))
    assert divide(2, [at_p], [work({key: (400,)})], {}).parts[0].kind == "false_sharing"


@pytest.mark.parametrize(
    ("undivided", "rest_of_growth", "cause"),
    [((900, 450), 0, "replicated_work"), ((700, 450), 0, "memory_bound"), ((900, 450), 300, "memory_bound")],
)
def test_work_outside_of_loops_that_each_thread_does_is_repeated(
    undivided: tuple[int, int], rest_of_growth: int, cause: str
) -> None:
    """Single lines have too few samples to show the repetition, but the time outside of loops shows it."""
    n, one = undivided
    grown = n - one + rest_of_growth
    lines = {(spot(k, shared=True), MEMORY_USE): (k, 15 + 2 * k) for k in range(20, 25)}
    before = dict.fromkeys(lines, (35,))
    at_p, at_one = work({(spot(1), COMPUTE): (500, 500), **lines}), work({**BASE, **before})
    at_p = replace(at_p, work_ns=at_one.work_ns + grown * MS, undivided_ns=n * MS)
    causes = divide(2, [at_p], [replace(at_one, undivided_ns=one * MS)], {})
    kinds = {line.cause for line in causes.lines if line.spot.is_shared}
    assert kinds == {cause} or (cause == "memory_bound" and "replicated_work" not in kinds)


def test_a_line_that_grew_more_than_repetition_explains_is_not_repeated_work() -> None:
    """False sharing can make the work outside of loops P times as long by chance."""
    at_p, at_one = (
        work({(spot(20, shared=True), FIXED): (450, 450)}),
        work({(spot(20, shared=True), FIXED): (40,)}),
    )
    at_p, at_one = replace(at_p, undivided_ns=900 * MS), replace(at_one, undivided_ns=450 * MS)
    at_p = replace(at_p, work_ns=at_one.work_ns + 450 * MS)
    assert divide(2, [at_p], [at_one], {}).parts[0].kind == "false_sharing"


def test_a_line_with_a_few_samples_is_not_to_blame() -> None:
    """Many lines of a real program get a few samples in one run and none in the other, by chance."""
    chance = {(spot(k), MEMORY_USE): (1, 1) for k in range(20, 60)}
    causes = both(chance, {(spot(k), MEMORY_USE): (1,) for k in range(60, 100)})
    assert causes.lines == ()
    assert all(part.line is None for part in causes.parts)


@pytest.mark.parametrize("behaviour", [FIXED, MEMORY_USE])
def test_work_that_moves_between_constructs_is_not_growth(behaviour: str) -> None:
    """Tasks of two constructs call the same function. The schedule decides how often each of them does."""
    one, other = spot(10), replace(spot(10), owner="other")
    before = {(one, behaviour): (900,), (other, behaviour): (100,)}
    after = {(one, behaviour): (50, 50), (other, behaviour): (450, 450)}
    causes = both(after, before)
    assert causes.of("false_sharing") is None
    assert causes.lines == ()


def test_a_line_that_grows_in_one_of_two_constructs_counts_once() -> None:
    one, other = spot(10), replace(spot(10), owner="other")
    causes = both(
        {(one, FIXED): (400, 400), (other, FIXED): (50, 50)}, {(one, FIXED): (100,), (other, FIXED): (150,)}
    )
    shared = causes.of("false_sharing")
    assert shared is not None
    assert shared.ns == pytest.approx(650 * MS)
    assert [line.spot.owner for line in causes.lines] == [TASK]
