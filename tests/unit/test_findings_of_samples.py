# SPDX-License-Identifier: Apache-2.0
"""Findings from samples of the work, chunks of loops, team sizes and creation times."""

from __future__ import annotations

from dataclasses import replace

import pytest

from made_findings import (
    findings,
    healthy_rows,
    healthy_tasks,
    on_processors,
    problems,
    sampled,
    the,
)
from made_runs import MS, construct, definition, loop, made_run, region, team, wait
from ompass.model import Run
from ompass.sampled import ATOMIC, LOCK, MEMORY, MUTEX, OWN, RUNTIME, SLEEP, WAITING
from ompass.samples.metrics import BlockingPlace, Line, LocatedSample

DEPENDENCE = 62  # flags of a wait for dependences


def working() -> Run:
    return made_run(team(0, [{"work_ns": 100 * MS}] * 2))


@pytest.mark.parametrize(
    ("kind", "behaviour", "library", "enough", "too_few"),
    [
        ("busy_waiting", WAITING, OWN, 11, 9),
        ("atomic_contention", ATOMIC, OWN, 21, 19),
        ("allocator", "", MEMORY, 21, 19),
        ("mutex", "", MUTEX, 21, 19),
    ],
)
def test_samples_of_work_name_its_cause(
    kind: str, behaviour: str, library: str, enough: int, too_few: int
) -> None:
    found = the(working(), kind, samples=sampled(behaviour, library, enough))
    assert found.cost_ns == enough * 2 * MS
    assert found.construct == 0
    assert found.line is not None and found.line.label == "a.c:7 (f)"
    assert "at this line" not in found.because
    assert findings(working(), samples=sampled(behaviour, library, too_few)) == findings(working())
    few = sampled(behaviour, library, 9, of=20)
    assert findings(working(), samples=few) == findings(working()), "too few samples"


def calling(system_ms: int, *, n_faults: int = 0, idle_ms: int = 0) -> Run:
    """Makes a run of two threads of 100 ms; the first has this much system time."""
    calls = {"work_ns": (100 - idle_ms) * MS, "idle_ns": idle_ms * MS}
    calls |= {"system_ns": system_ms * MS, "n_minor_faults": n_faults}
    return on_processors(team(0, [calls, {"work_ns": 100 * MS}]), [])


@pytest.mark.parametrize(
    ("run", "found"),
    [
        (calling(40), True),  # the kernel's clock may be wrong by 13 ms
        (calling(30), False),
        (calling(40, n_faults=5_000), False),  # faults explain 20 ms
        (calling(60, n_faults=5_000), True),
        (calling(50, idle_ms=30), False),  # perhaps the idle thread yielded
        (calling(90, idle_ms=30), True),
    ],
)
def test_system_time_of_work_without_page_faults_is_system_calls(run: Run, found: bool) -> None:
    assert ("system_calls" in problems(run)) == found


def test_samples_of_libraries_divide_system_time_among_its_causes() -> None:
    run = calling(80)
    computing = sampled("", OWN, 40, of=40)[0]

    def kinds(*calls: LocatedSample) -> list[str]:
        samples = (computing, *calls)
        return [f.kind for f in findings(run, samples=samples) if f.severity == "problem"]

    yields, reads, allocations, locks = (
        sampled(behaviour, library, 1)[0]
        for behaviour, library in [(WAITING, "libc"), ("", "libc"), ("", MEMORY), ("", MUTEX)]
    )
    assert kinds() == kinds(reads) == ["system_calls"]
    assert the(run, "system_calls", samples=(computing, reads)).line is not None
    assert kinds(yields) == ["busy_waiting"]
    assert sorted(kinds(yields, reads)) == ["busy_waiting", "system_calls"]
    assert kinds(allocations) == []
    assert kinds(replace(locks, weight=11)) == ["mutex"]
    assert the(run, "mutex", samples=(computing, replace(locks, weight=40))).cost_ns > 40 * 2 * MS
    assert the(run, "busy_waiting", samples=(computing, yields)).line is not None


@pytest.mark.parametrize(("n", "share"), [(36, ", 60.0% of it at this line"), (58, "")])
def test_a_finding_names_its_hottest_line_and_the_share_of_this_line(n: int, share: str) -> None:
    waits, rest = sampled(WAITING, OWN, 60)
    (line,) = waits.calls
    other = replace(line, line=9, place="a.c:9", label="a.c:9 (f)")
    elsewhere = replace(waits, calls=(other,), weight=60 - n)
    found = the(working(), "busy_waiting", samples=(elsewhere, replace(waits, weight=n), rest))
    assert found.line == line
    assert ("at this line" in found.because) == bool(share)
    assert share in found.because


@pytest.mark.parametrize(
    ("function", "n_allocating", "line"),
    [
        ("_int_free", 10, 9),
        ("_int_free", 9, 7),  # nearly all of the time is the release
        ("operator delete(void*)", 10, 9),
        ("malloc", 10, 7),
    ],
)
def test_the_line_of_allocations_is_where_memory_is_allocated(
    function: str, n_allocating: int, line: int
) -> None:
    released, rest = sampled("", MEMORY, 40)
    inner = Line(function, "", 0, "libc.so.6", "libc.so.6", function, MEMORY)
    (own,) = released.calls
    release = replace(released, calls=(inner, own), weight=40 - n_allocating)
    new = Line("malloc", "", 0, "libc.so.6", "libc.so.6", "malloc", MEMORY)
    at = replace(own, line=9, place="a.c:9", label="a.c:9 (f)")
    allocation = replace(released, calls=(new, at), weight=n_allocating)
    found = the(working(), "allocator", samples=(release, allocation, rest))
    assert found.line is not None and found.line.line == line


def test_the_line_of_a_mutex_is_where_it_is_locked() -> None:
    taken, rest = sampled("", MUTEX, 40)
    (own,) = taken.calls

    def call(function: str, line: int, weight: int) -> LocatedSample:
        inner = Line(function, "", 0, "libc.so.6", "libc.so.6", function, MUTEX)
        return replace(taken, calls=(inner, replace(own, line=line)), weight=weight)

    samples = (call("pthread_mutex_unlock", 9, 28), call("pthread_mutex_lock", 7, 12), rest)
    found = the(working(), "mutex", samples=samples)
    assert found.line is not None and found.line.line == 7


@pytest.mark.parametrize(
    ("n", "blocked_ms", "function", "costs"),
    [
        (60, 40, "", {"allocator": 120 * MS}),
        (60, 40, "usleep", {"blocked": 80 * MS, "allocator": 72 * MS}),
        (25, 80, "", {"blocked": 160 * MS}),  # most of it elsewhere
        (25, 10, "", {"allocator": 50 * MS}),
    ],
)
def test_sleep_belongs_to_the_allocator_unless_something_else_explains_it(
    n: int, blocked_ms: int, function: str, costs: dict[str, int]
) -> None:
    states = {"work_ns": 100 * MS, "blocked_ns": blocked_ms * MS, "work_blocked_ns": blocked_ms * MS}
    place = BlockingPlace(Line("f", "a.c", 8, "a", "a.c:8"), function, SLEEP)
    found = findings(
        on_processors(team(0, [states] * 2), []),
        samples=sampled("", MEMORY, n),
        blocking_places={0: (place,)} if function else {},
    )
    assert {f.kind: f.cost_ns for f in found if f.severity == "problem"} == costs


@pytest.mark.parametrize(
    ("blocked_ms", "places", "costs"),
    [
        (30, {0: [(LOCK, 7)]}, {"mutex": (140 - 42 + 60) * MS}),
        (30, {0: [(LOCK, 7), (LOCK, 8)]}, {"mutex": (140 - 42 + 60) * MS}),
        (30, {0: [(LOCK, 8)]}, {"mutex": (140 - 42) * MS, "blocked": 60 * MS}),  # at another line
        (30, {0: [(SLEEP, 7)]}, {"mutex": (140 - 42) * MS, "blocked": 60 * MS}),
        (30, {0: [(LOCK, 7)], 1: []}, {"mutex": (140 - 42) * MS, "blocked": 60 * MS}),
        (30, {}, {"mutex": (140 - 42) * MS, "blocked": 60 * MS}),
        (45, {0: [(LOCK, 7)]}, {"mutex": (140 - 63) * MS, "blocked": 90 * MS}),  # more than the calls take
    ],
)
def test_sleep_at_the_line_of_a_mutex_belongs_to_its_finding(
    blocked_ms: int, places: dict[int, list[tuple[str, int]]], costs: dict[str, int]
) -> None:
    states = {"work_ns": 100 * MS, "blocked_ns": blocked_ms * MS, "work_blocked_ns": blocked_ms * MS}
    found = findings(
        on_processors(team(0, [states] * 2), []),
        samples=sampled("", MUTEX, 70),
        blocking_places={
            construct: tuple(
                BlockingPlace(Line("f", "a.c", n, "a", f"a.c:{n}"), kind, kind) for kind, n in of
            )
            for construct, of in places.items()
        },
    )
    assert {f.kind: f.cost_ns for f in found if f.severity == "problem"} == costs


@pytest.mark.parametrize(("n", "is_found"), [(25, True), (15, False)])
def test_atomic_updates_are_judged_without_preempted_time(n: int, is_found: bool) -> None:
    late = {"preempted_ns": 80 * MS, "work_preempted_ns": 80 * MS}
    busy = on_processors(team(0, [{"work_ns": 100 * MS, **late}] * 2), [])
    kinds = problems_with(busy, n)
    assert "disturbed" in kinds
    assert ("atomic_contention" in kinds) == is_found


def problems_with(run: Run, n: int) -> list[str]:
    """Returns the problems of a run if n of its 100 samples are atomic updates."""
    return [f.kind for f in findings(run, samples=sampled(ATOMIC, OWN, n)) if f.severity == "problem"]


def test_waits_in_loops_are_not_judged_on_a_busy_machine() -> None:
    late = {"preempted_ns": 20 * MS, "work_preempted_ns": 20 * MS}
    busy = on_processors(team(0, [{"work_ns": 100 * MS, **late}] * 2), [])
    assert [f.kind for f in findings(busy, samples=sampled(WAITING, OWN, 50))][:1] == ["disturbed"]
    assert "busy_waiting" not in [f.kind for f in findings(busy, samples=sampled(WAITING, OWN, 50))]


def test_a_waiting_loop_explains_unequal_work() -> None:
    run = made_run(team(0, [{"work_ns": 100 * MS}, {"work_ns": 50 * MS, "idle_ns": 50 * MS}]))
    assert problems(run) == ["imbalance"]
    assert [f.kind for f in findings(run, samples=sampled(WAITING)) if f.severity == "problem"] == [
        "busy_waiting"
    ]


def chunked(n_chunks: int, n_iterations: int = 100_000, kind: int = 11) -> Run:
    rows = team(0, [{"work_ns": 100 * MS}] * 2)
    part = {"time_ns": 100 * MS, "n_chunks": n_chunks // 2, "n_taken": n_iterations // 2}
    return made_run(
        rows,
        definitions=[definition(0, "parallel"), definition(1, "loop", flags=kind)],
        loops=[loop(1, k, n_iterations=n_iterations if k == 0 else 0, **part) for k in range(2)],
    )


def test_chunks_are_too_small_if_the_runtime_takes_a_tenth_of_the_time() -> None:
    found = the(chunked(100_000), "small_chunks", samples=sampled(library=RUNTIME, n=50))
    assert found.construct == 1
    assert dict(found.numbers) == {
        "chunks": 100_000,
        "chunk_ns": 2000,
        "cost_per_chunk_ns": 1000,
        "samples": 50,
    }
    assert "schedule(dynamic, 10)" in found.cure
    few = sampled(library=RUNTIME, n=9, of=100)
    assert all(f.kind != "small_chunks" for f in findings(chunked(100_000), samples=few))
    many = sampled(library=RUNTIME, n=50)
    assert all(f.kind != "small_chunks" for f in findings(chunked(998, 998), samples=many))


@pytest.mark.parametrize(
    ("n_chunks", "n_iterations", "each", "cure"),
    [
        (1600, 128_000, "80 iterations", "use schedule(static)"),
        (12_800, 128_000, "10 iterations", "raise the chunk to about 13"),
        (1600, 400, "1 iteration", "raise the chunk to about 2"),
    ],
)
def test_the_recommended_chunk_is_larger_than_the_present_one(
    n_chunks: int, n_iterations: int, each: str, cure: str
) -> None:
    run = chunked(n_chunks, n_iterations)
    found = the(run, "small_chunks", samples=sampled(library=RUNTIME, n=90))
    assert f"({each} each)" in found.because
    assert found.cure.startswith(cure)


@pytest.mark.parametrize(
    ("function", "is_charged"),
    [("__kmpc_dispatch_next_4", True), ("GOMP_loop_dynamic_next", True), ("__kmpc_atomic_float8_add", False)],
)
def test_only_calls_that_get_chunks_are_charged_to_a_loop(function: str, is_charged: bool) -> None:
    called, rest = sampled(library=RUNTIME, n=50)
    inner = Line(function, "", 0, "libomp.so", "libomp.so", library=RUNTIME)
    samples = [replace(called, calls=(inner, *called.calls)), rest]
    kinds = [f.kind for f in findings(chunked(100_000), samples=samples)]
    assert ("small_chunks" in kinds) == is_charged


def test_chunks_with_much_work_are_not_too_small() -> None:
    samples = sampled(library=RUNTIME, n=50)
    assert "small_chunks" not in [f.kind for f in findings(chunked(4_000), samples=samples)]


def test_without_samples_only_very_short_chunks_are_too_small() -> None:
    assert problems(chunked(500_000, 500_000)) == ["small_chunks"]
    assert problems(chunked(300_000, 300_000)) == []


def test_regions_with_fewer_threads_than_requested_are_reported() -> None:
    alone = made_run([region(0, 0, work_ns=100 * MS, wall_ns=100 * MS, n_primary=1, max_team_size=1,
                             total_ns=100 * MS, capacity_ns=100 * MS, level=1)])  # fmt: skip
    found = the(alone, "fewer_threads", n_wanted=4)
    assert found.cost_ns == 300 * MS
    assert "OMP_NUM_THREADS asks for 4" in found.because
    assert found.cure.startswith("remove the limit: an if or num_threads clause")
    small = the(alone.replace(n_usable_cpus=4), "fewer_threads", n_wanted=16)
    assert "although OMP_NUM_THREADS asks for 16 and there are 4 processors" in small.because
    assert dict(small.numbers)["threads"] == 4
    inner = alone.replace(regions=tuple(row.replace(level=2) for row in alone.regions))
    assert the(inner, "fewer_threads", n_wanted=4).cure.startswith("call it outside of the other region")
    assert (
        "this region inside of another region had 1 thread" in the(inner, "fewer_threads", n_wanted=4).because
    )
    assert "fewer_threads" not in [f.kind for f in findings(alone, n_wanted=1)]
    assert "fewer_threads" not in [f.kind for f in findings(alone)]
    bound = alone.replace(n_usable_cpus=4, n_bound_cpus=1)
    assert dict(the(bound, "fewer_threads", n_wanted=4).numbers)["threads"] == 4, (
        "missing threads are not bound"
    )
    assert "fewer_threads" not in [f.kind for f in findings(working(), n_wanted=2)]
    row = alone.regions[0]
    both = alone.replace(regions=(row, row.replace(thread=1)))
    assert the(both, "fewer_threads", n_wanted=8).cost_ns == 700 * MS, "at most the time of the run"


def test_creations_that_copy_data_are_not_fine_tasks() -> None:
    def run(create_us: int) -> Run:
        rows = team(0, [{"work_ns": 10 * MS, "create_ns": 1000 * create_us * 1000, "n_tasks": 1000}] * 2)
        tasks = [construct(1, k, [10_000] * 1000, create_ns=1000 * create_us * 1000) for k in range(2)]
        return made_run(rows, tasks)

    assert problems(run(4)) == ["copied_data"]
    assert "firstprivate" in the(run(4), "copied_data").cure
    assert problems(run(2)) == ["too_fine"]


@pytest.mark.parametrize(
    ("n_bytes", "work_us", "kinds"),
    [
        (1 << 14, 9, ["copied_data"]),
        ((1 << 14) - 1, 9, ["too_fine"]),
        (1 << 14, 18, ["copied_data"]),  # the copy also makes the work longer
        (1 << 14, 21, []),
        (0, 18, []),
    ],
)
def test_large_data_of_tasks_are_copied(n_bytes: int, work_us: int, kinds: list[str]) -> None:
    rows = team(0, [{"work_ns": 1000 * work_us * 1000, "create_ns": MS, "n_tasks": 1000}] * 2)
    tasks = [construct(1, k, [work_us * 1000] * 1000, create_ns=MS) for k in range(2)]
    found = [f for f in findings(made_run(rows, tasks), task_bytes={1: n_bytes}) if f.severity == "problem"]
    assert [f.kind for f in found] == kinds
    assert ("copied 16.0 KiB and took 1 \u00b5s" in "".join(f.because for f in found)) == (
        "copied_data" in kinds
    )


@pytest.mark.parametrize(("create_us", "kind"), [(14, "too_fine"), (16, "copied_data")])
def test_creations_with_dependences_may_take_longer(create_us: int, kind: str) -> None:
    create_ns = 1000 * create_us * 1000
    rows = team(0, [{"work_ns": 10 * MS, "create_ns": create_ns, "n_tasks": 1000}] * 2)
    tasks = [construct(1, k, [10_000] * 1000, create_ns=create_ns) for k in range(2)]
    kinds = [
        definition(0, "parallel"),
        definition(1, module=0, offset=64),
        definition(2, "wait", flags=DEPENDENCE, module=0, offset=64),
    ]
    run = made_run(rows, tasks, kinds, waits=(wait(2, 0, n_waits=1000, idle_ns=1),))
    assert problems(run) == [kind]


@pytest.mark.parametrize(("preempted_ms", "kind"), [(8, "too_fine"), (6, "copied_data")])
def test_preempted_time_does_not_show_that_creations_copy_data(preempted_ms: int, kind: str) -> None:
    # A creation takes 10 us, but only 2 or 4 us on a processor.
    creates = {
        "work_ns": 10 * MS, "create_ns": 10 * MS, "n_tasks": 1000, "preempted_ns": preempted_ms * MS,
    }  # fmt: skip
    rows = team(0, [creates, {"work_ns": 20 * MS}])
    run = on_processors(rows, [construct(1, 0, [10_000] * 1000, create_ns=10 * MS)])
    assert sorted(problems(run)) == sorted([kind, "disturbed"])


def test_threads_that_wait_for_a_processor_do_not_shorten_the_creations_of_others() -> None:
    # A creation takes 10 us on a processor. Meanwhile, the other threads in the runtime are preempted.
    waits = {"schedule_ns": 30 * MS, "preempted_ns": 30 * MS, "schedule_preempted_ns": 30 * MS}
    rows = team(0, [{"work_ns": 20 * MS, "create_ns": 10 * MS, "n_tasks": 1000}, waits, waits])
    run = on_processors(rows, [construct(1, 0, [20_000] * 1000, create_ns=10 * MS)])
    assert "copied_data" in problems(run)


@pytest.mark.parametrize(
    ("kind", "n_iterations", "n_chunks", "cure"),
    [
        (10, 1, 0, "1 iteration for 2 threads"),
        (10, 100, 2, "schedule(dynamic)"),
        (11, 100, 100, "one iteration takes as long"),
        (11, 100, 10, "use smaller chunks"),
        (2, 2, 0, "schedule(dynamic)"),
        (10, 2, 0, "schedule(dynamic)"),  # as many iterations as threads in the loop
    ],
)
def test_the_cure_for_an_unequal_loop_suits_its_schedule(
    kind: int, n_iterations: int, n_chunks: int, cure: str
) -> None:
    rows = team(0, [{"work_ns": 100 * MS}, {"work_ns": 40 * MS, "idle_ns": 60 * MS}])
    rows.append(region(0, 2))  # a thread of another team
    loops = [
        loop(1, 0, time_ns=100 * MS, n_iterations=n_iterations, n_chunks=n_chunks),
        loop(1, 1, time_ns=40 * MS, imbalance_ns=60 * MS),
    ]
    run = made_run(
        rows, definitions=[definition(0, "parallel"), definition(1, "loop", flags=kind)], loops=loops
    )
    text = the(run, "loop_imbalance").cure
    assert cure in text


def test_unequal_dynamic_loops_are_not_judged_on_a_busy_machine() -> None:
    late = {"preempted_ns": 40 * MS, "work_preempted_ns": 40 * MS}
    rows = team(0, [{"work_ns": 100 * MS}, {"work_ns": 60 * MS, "idle_ns": 40 * MS, **late}])

    def run(kind: int) -> Run:
        loops = [loop(1, 0, time_ns=100 * MS), loop(1, 1, time_ns=60 * MS, imbalance_ns=40 * MS)]
        return on_processors(rows, []).replace(
            definitions=(definition(0, "parallel"), definition(1, "loop", flags=kind)), loops=tuple(loops)
        )

    assert problems(run(11)) == ["disturbed"]
    assert "loop_imbalance" in problems(run(10))


def test_a_note_states_that_tasks_of_gcc_programs_are_judged_on_libomp() -> None:
    run = made_run(healthy_rows(), healthy_tasks())
    assert [f.kind for f in findings(run, is_of_gcc=True)] == ["gcc_on_libomp"]
    assert [f.kind for f in findings(working(), is_of_gcc=True)] == ["no_task"]


def test_a_region_without_a_known_team_has_no_missing_threads() -> None:
    row = region(0, 0, work_ns=100 * MS, wall_ns=100 * MS, n_primary=1, max_team_size=0, total_ns=100 * MS)
    assert "fewer_threads" not in [f.kind for f in findings(made_run([row]), n_wanted=4)]
