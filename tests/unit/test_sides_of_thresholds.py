# SPDX-License-Identifier: Apache-2.0
"""Synthetic runs on both sides of each threshold of findings: one without the finding, and one with it.

In most pairs the two differ by about a tenth of the threshold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from made_findings import findings, healthy_rows, healthy_tasks, on_processors, sampled, the
from made_runs import MS, construct, definition, loop, made_run, region, team, thread, wait
from ompass.latency.metrics import SampledLoad
from ompass.metrics.facts import Finding
from ompass.model import OUTSIDE, RegionRow, Run
from ompass.sampled import OWN, RUNTIME, WAITING
from ompass.samples.metrics import Line, LocatedSample, Owner

US = 1000
TASKWAIT, BARRIER, DEPENDENCE = 5, 3, 62
STATIC_LOOP, DYNAMIC_LOOP = 10, 11

Side = tuple[str, float, float, Callable[[Any], Run | Iterable[Finding]]]
"""The kind of a finding, a value without it, a value with it, and a function from a value to a run or
findings."""


def equal(*, n_threads: int = 2, n_tasks: int = 0, **states_ns: float) -> list[RegionRow]:
    """Makes the rows of a region whose threads all spend the same times."""
    states = {name: round(ns) for name, ns in states_ns.items()}
    return team(0, [{**states, "n_tasks": n_tasks}] * n_threads)


def cores(regions: list[RegionRow], **fields: Any) -> Run:
    """Makes a run that records thread switches, on eight processors by default."""
    return on_processors(regions, fields.pop("constructs", []), **fields)


def equal_tasks(n: int, work_ns: int, create_ns: int, dispatch_ns: int = 0, other_ns: int = 0) -> Run:
    """Makes a run of two threads, each with n tasks and other work."""
    rows = equal(
        n_tasks=n, work_ns=n * work_ns + other_ns, create_ns=n * create_ns, schedule_ns=n * dispatch_ns
    )
    return made_run(rows, [construct(1, k, [work_ns] * n, create_ns=n * create_ns) for k in range(2)])


TASK_COSTS: list[Side] = [
    ("too_fine", 10_500, 9_500, lambda work_ns: equal_tasks(10_000, work_ns, US)),
    ("copied_data", 105 * US, 95 * US, lambda work_ns: equal_tasks(100, work_ns, 15 * US)),
    ("too_fine", 5_200, 4_800, lambda ns: equal_tasks(1000, 20 * US, 0, ns)),
    ("slow_dispatch", 4_800, 5_200, lambda ns: equal_tasks(1000, 20 * US, 0, ns)),
    ("too_fine", 49, 51, lambda n: equal_tasks(n, 20 * US, 2_900)),
    ("too_fine", 155, 135, lambda ms: equal_tasks(10_000, 5 * US, US, other_ns=ms * MS)),
    ("copied_data", 2_900, 3_100, lambda ns: equal_tasks(1000, 10 * US, ns)),
    ("slow_dispatch", 9, 11, lambda ms: equal_tasks(10, (100 - ms) * MS // 10, 0, ms * MS // 10)),
    ("counters_in_times", 510, 490, lambda us: equal_tasks(200, us * US, 0).replace(counters=("PAPI",))),
]


def idle_tasks(idle_ms: int, n: int = 50, **fields: Any) -> Run:
    """Makes a run of two threads, each idle for idle_ms of 100 ms."""
    rows = equal(n_tasks=n, work_ns=(100 - idle_ms) * MS, idle_ns=idle_ms * MS)
    return made_run(rows, [construct(1, k, [(100 - idle_ms) * MS // n] * n, **fields) for k in range(2)])


def long_tail(idle_ms: int) -> Run:
    """Makes a run of three tasks on two threads, one of which is idle at the end."""
    rows = team(
        0,
        [
            {"work_ns": 100 * MS, "n_tasks": 2},
            {"work_ns": (100 - idle_ms) * MS, "idle_ns": idle_ms * MS, "n_tasks": 1},
        ],
    )
    return made_run(rows, [construct(1, 0, [50 * MS] * 2), construct(1, 1, [(100 - idle_ms) * MS])])


def instances(n_tasks: int) -> Run:
    """Makes a run of a region with ten instances, which have n_tasks tasks of 1 ms each in total."""
    states = {"work_ns": n_tasks // 2 * MS, "idle_ns": 20 * MS, "n_tasks": n_tasks // 2}
    rows = [r.replace(n_instances=10, n_primary=10 * r.n_primary) for r in team(0, [states] * 2)]
    return made_run(rows, [construct(1, k, [MS] * (n_tasks // 2)) for k in range(2)])


def one_long_task(n_short: int) -> Run:
    """Makes a run with a task of 100 ms on one thread, and short ones of 5 ms on the other."""
    rows = team(
        0,
        [
            {"work_ns": 100 * MS, "idle_ns": 10 * MS, "n_tasks": 1},
            {"work_ns": 5 * n_short * MS, "idle_ns": (110 - 5 * n_short) * MS, "n_tasks": n_short},
        ],
    )
    return made_run(rows, [construct(1, 0, [100 * MS]), construct(1, 1, [5 * MS] * n_short)])


def producer(n_created: int = 400, implicit_ms: int = 60, create_ms: int = 20) -> Run:
    """Makes a run of 100 ms: thread 0 creates n_created of 400 tasks, works on its own code, and is idle."""
    rest_ms = 100 - implicit_ms - create_ms
    own = {"work_ns": implicit_ms * MS, "implicit_ns": implicit_ms * MS, "create_ns": create_ms * MS}
    rows = team(
        0,
        [{**own, "idle_ns": rest_ms * MS}, {"work_ns": 40 * MS, "idle_ns": 60 * MS, "n_tasks": 400}],
    )
    tasks = [
        construct(1, 0, [], n_created=n_created, create_ns=create_ms * MS),
        construct(1, 1, [100 * US] * 400, n_created=400 - n_created),
    ]
    return made_run(rows, tasks)


def fine_producer(create_ms: int) -> list[Finding]:
    """Returns the problems of a thread that creates fine tasks for three others in create_ms of 100 ms."""
    own = {"work_ns": (100 - create_ms) * MS, "implicit_ns": (100 - create_ms) * MS}
    others = [{"work_ns": 10 * MS, "idle_ns": 90 * MS, "n_tasks": 40_000}] * 3
    rows = team(0, [{**own, "create_ns": create_ms * MS}, *others])
    tasks = [
        construct(1, 0, [], n_created=120_000, create_ns=create_ms * MS),
        *(construct(1, k, [250] * 40_000, n_created=0) for k in (1, 2, 3)),
    ]
    return [f for f in findings(made_run(rows, tasks)) if f.severity == "problem"]


def with_wait(
    flags: int, n_waits: int, *, n_tasks: int = 500, work_ms: int = 250, all_ms: int = 500, **fields: Any
) -> Run:
    """Makes a run of tasks on two threads, each busy for work_ms of all_ms, and a wait of thread 0."""
    rows = equal(n_tasks=n_tasks // 2, work_ns=work_ms * MS, idle_ns=(all_ms - work_ms) * MS)
    tasks = [construct(1, k, [2 * work_ms * MS // n_tasks] * (n_tasks // 2)) for k in range(2)]
    kinds = [definition(0, "parallel"), definition(1), definition(2, "wait", flags=flags)]
    return made_run(rows, tasks, kinds, waits=(wait(2, 0, n_waits=n_waits, **fields),))


def for_events(waited_ms: int) -> Run:
    """Makes a run of two threads that wait for the events of ten detached tasks."""
    rows = equal(n_tasks=5, work_ns=(100 - waited_ms) * MS, idle_ns=waited_ms * MS)
    events = {"n_events_fulfilled": 5, "n_events_outside": 5, "event_ns": 100 * MS, "n_detached": 5}
    tasks = [construct(1, k, [MS] * 5, **events) for k in range(2)]
    kinds = [definition(0, "parallel"), definition(1), definition(2, "wait", flags=BARRIER)]
    waits = [wait(2, k, {1: (1, waited_ms * MS)}, idle_ns=waited_ms * MS) for k in range(2)]
    return made_run(rows, tasks, kinds, waits=waits)


def on_part_of_processors(work_ms: int) -> Run:
    """Makes a run of two threads with a quota of 1.5 processors; all their tasks are undeferred."""
    rows = equal(n_tasks=50, work_ns=work_ms * MS, idle_ns=(100 - work_ms) * MS)
    tasks = [construct(1, k, [work_ms * MS // 50] * 50, n_undeferred=50) for k in range(2)]
    run = cores(rows, constructs=tasks, n_cpus=2)
    return run.replace(quota_us=15_000, quota_period_us=10_000, n_throttled=0, throttled_ns=0)


NO_TASK: list[Side] = [
    ("starved", 9, 11, idle_tasks),
    ("too_coarse", 18, 22, long_tail),
    ("detached_events", 9, 11, for_events),
    ("too_coarse", 84, 76, instances),
    ("too_coarse", 19, 17, one_long_task),
    ("undeferred", 44, 46, lambda n: idle_tasks(20, n_undeferred=n)),
    ("serial_producer", 356, 364, producer),
    ("serial_producer", 28, 32, lambda ms: producer(implicit_ms=ms)),
    ("serial_producer", 55, 45, fine_producer),
    ("wait_in_loop", 19, 21, lambda n: with_wait(TASKWAIT, n, n_tasks=20)),
    ("wait_in_loop", 320, 345, lambda n: with_wait(TASKWAIT, n)),
    ("wait_in_loop", 330, 300, lambda ms: with_wait(TASKWAIT, 500, work_ms=ms)),
    ("dependence_chain", 390, 410, lambda n: with_wait(DEPENDENCE, n)),
    ("dependence_chain", 240, 260, lambda ms: with_wait(DEPENDENCE, 9, idle_ns=ms * MS)),
    ("undeferred", 70, 65, on_part_of_processors),
]


def serial(serial_ms: int, work_ms: int, severity: str) -> list[Finding]:
    """Returns the findings of this severity on two threads with a serial part."""
    rows = [*team(0, [{"work_ns": work_ms * MS}] * 2), region(OUTSIDE, 0, work_ns=serial_ms * MS)]
    found = findings(made_run(rows, wall_ns=(work_ms + serial_ms) * MS))
    return [f for f in found if f.severity == severity]


def uneven(own_ms: float, *, even_ms: int = 0, most_ms: int = 100) -> list[RegionRow]:
    """Makes a region in which one thread works for most_ms, and the other for own_ms and then waits.

    Adds a region in which both work for even_ms, unless that is 0.
    """
    own_ns = round(own_ms * MS)
    rows = team(0, [{"work_ns": most_ms * MS}, {"work_ns": own_ns, "sync_ns": most_ms * MS - own_ns}])
    return rows + (team(1, [{"work_ns": even_ms * MS}] * 2) if even_ms else [])


def uneven_loop(imbalance_ms: int) -> Run:
    """Makes a run of a loop of 300 ms whose imbalance is imbalance_ms, in regions of 1000 ms."""
    kinds = [definition(0, "parallel"), definition(1, "parallel"), definition(2, "loop", flags=STATIC_LOOP)]
    own_ms = 300 - imbalance_ms
    loops = [
        loop(2, 0, time_ns=300 * MS),
        loop(2, 1, time_ns=own_ms * MS, imbalance_ns=imbalance_ms * MS),
    ]
    return made_run(uneven(own_ms, even_ms=700, most_ms=300), [], kinds, loops=loops)


def regions(n: int = 1000, *, work_us: int = 6, sync_us: float = 4, inner: float = 0) -> Run:
    """Makes a run of a short region on two threads, with n instances of `inner` inner barriers each."""
    states = {"work_ns": n * work_us * US, "sync_ns": round(n * sync_us * US)}
    rows = [r.replace(n_instances=n, n_primary=n * r.n_primary) for r in team(0, [states] * 2)]
    kinds = [definition(0, "parallel"), definition(1, "wait", flags=BARRIER)]
    n_waits = round(n * (1 + inner))
    waits = [wait(1, k, n_waits=n_waits, sync_ns=round(n * sync_us * US)) for k in range(2)]
    return made_run(rows, [], kinds, waits=waits)


def barriers(n: int = 1000, *, work_us: int = 6, sync_us: float = 4) -> Run:
    """Makes a run of two threads that pass n / 2 inner barriers each, with work_us of work before each."""
    rows = equal(work_ns=n // 2 * work_us * US, sync_ns=n // 2 * sync_us * US)
    kinds = [definition(0, "parallel"), definition(1, "wait", flags=BARRIER)]
    waits = [wait(1, k, n_waits=n // 2 + 1, sync_ns=round(n // 2 * sync_us * US)) for k in range(2)]
    return made_run(rows, [], kinds, waits=waits)


def barrier_findings(run: Run) -> list[Finding]:
    return [f for f in findings(run) if f.construct == 1]


def locked(lock_ms: int) -> Run:
    """Makes a run of two threads that wait lock_ms of 1000 ms for locks."""
    return made_run(equal(work_ns=(1000 - lock_ms) * MS, sync_ns=lock_ms * MS, lock_ns=lock_ms * MS))


def short(us: int) -> Run:
    """Makes a run of two threads that take `us` microseconds each, 30% of it at locks."""
    return made_run(equal(work_ns=700 * us, sync_ns=300 * us, lock_ns=300 * us))


def alone(alone_ms: int) -> list[Finding]:
    """Returns the findings on a run of two threads, of which a region uses one for alone_ms of 100 ms."""
    both_ms = 100 - alone_ms
    both = team(0, [{"work_ns": both_ms * 9 * MS // 10, "sync_ns": both_ms * MS // 10}] * 2)
    one = team(1, [{"work_ns": alone_ms * MS}])
    return findings(made_run([*both, *one]), n_wanted=2)


WITHOUT_TASKS: list[Side] = [
    ("serial_fraction", 105, 121, lambda ms: serial(ms, 1000, "note")),
    ("serial_fraction", 250, 275, lambda ms: serial(ms, 1000, "problem")),
    ("serial_fraction", 14, 17, lambda ms: serial(ms, 50, "note")),
    ("imbalance", 70, 64, lambda ms: made_run(uneven(ms))),
    ("imbalance", 104, 96, lambda ms: made_run(uneven(ms, even_ms=700, most_ms=300))),
    ("loop_imbalance", 196, 204, uneven_loop),
    ("undivided", 904, 896, lambda ms: made_run(uneven(0, even_ms=ms, most_ms=1000 - ms))),
    ("undivided", 6.5, 4, lambda ms: made_run(uneven(ms))),
    ("lock_contention", 48, 52, locked),
    ("synchronization", 9, 11, lambda ms: made_run(equal(work_ns=(100 - ms) * MS, sync_ns=ms * MS))),
    ("short_regions", 98, 102, regions),
    ("short_regions", 52, 48, lambda us: regions(work_us=us, sync_us=20)),
    ("short_regions", 0.6, 0.75, lambda us: regions(sync_us=us)),
    ("short_regions", 4.2, 3.8, lambda n: regions(inner=n)),
    ("synchronization", 98, 102, lambda n: barrier_findings(barriers(n, work_us=20, sync_us=20))),
    ("synchronization", 52, 48, lambda us: barrier_findings(barriers(work_us=us, sync_us=20))),
    ("synchronization", 0.6, 0.75, lambda us: barrier_findings(barriers(sync_us=us))),
    ("fewer_threads", 19, 21, alone),
]


def faulting(system_ms: float, n_faults: int = 10**7, *, work_ms: int = 500) -> Run:
    """Makes a run of two threads whose page faults take system_ms each."""
    return cores(equal(work_ns=work_ms * MS, system_ns=system_ms * MS, n_minor_faults=n_faults))


def under_quota(quota: float = 1.0, throttled_ms: float = 0.0) -> Run:
    """Makes a run of two threads for 100 ms on two processors, of which a quota allows a part."""
    preempted_ns = throttled_ms * MS / 2
    rows = equal(work_ns=100 * MS, preempted_ns=preempted_ns, work_preempted_ns=preempted_ns)
    run = cores(rows, n_cpus=2)
    return run.replace(
        quota_us=round(quota * 10_000),
        quota_period_us=10_000,
        n_throttled=1,
        throttled_ns=round(throttled_ms * MS),
    )


def crowded(sync_ms: float, burnt_ms: float = 0.0) -> list[Finding]:
    """Returns the problems of four threads on two processors that wait for sync_ms of 100 ms.

    They use the processors for burnt_ms of this wait.
    """
    work_ns = round((100 - sync_ms) * MS)
    rows = equal(
        n_threads=4,
        work_ns=work_ns,
        sync_ns=sync_ms * MS,
        preempted_ns=50 * MS,
        work_preempted_ns=work_ns - (50 - burnt_ms) * MS,
    )
    return [f for f in findings(cores(rows, n_cpus=2)) if f.severity == "problem"]


def off_work(ms: float, kind: str) -> Run:
    off: dict[str, Any] = {f"{kind}_ns": ms * MS, f"work_{kind}_ns": ms * MS}
    return cores(equal(work_ns=1000 * MS, **off))


def by_clock(ms: int) -> Run:
    threads = [thread(k, by_clock_ns=ms * MS, last_ns=100 * MS) for k in range(2)]
    return made_run(healthy_rows(), healthy_tasks(), threads=threads)


def far(n_far: int) -> Run:
    rows = equal(n_tasks=100, work_ns=100 * MS)
    return made_run(rows, [construct(1, k, [MS] * 100, n_other_domain=n_far) for k in range(2)])


PROCESSORS: list[Side] = [
    ("lock_contention", 480, 520, short),
    ("disturbed", 48, 52, lambda ms: off_work(ms, "preempted")),
    ("blocked", 95, 105, lambda ms: off_work(ms, "blocked")),
    ("throttled", 9.6, 10.4, lambda ms: under_quota(throttled_ms=ms)),
    ("oversubscribed", 1.93, 1.88, under_quota),
    ("oversubscribed", 4.8, 5.2, crowded),
    ("oversubscribed", 2.3, 2.7, lambda ms: crowded(4.6, ms)),
    ("page_faults", 9_500, 10_800, lambda ms: faulting(ms, work_ms=100_000)),
    ("page_faults", 60, 63, faulting),
    ("page_faults", 15_000, 16_500, lambda n: faulting(80, n)),
    ("switches_too_thick", 9, 11, by_clock),
    ("other_domain", 29, 31, far),
]  # fmt: skip


def loaded(n: int = 200, n_near: int = 0, period: int = 1000) -> list[Finding]:
    """Returns the findings on n loads of lines that another core wrote, and n_near as long ones of others."""
    owner = Owner("task", 1)
    near = SampledLoad(0, owner, cycles=400, source="L3", was_modified=False, weight=n_near, period=period)
    taken = SampledLoad(0, owner, cycles=400, source="L3", was_modified=True, weight=n, period=period)
    loads = [taken, near] if n_near else [taken]
    return findings(made_run(healthy_rows(), healthy_tasks()), loads=loads)


def chunked(
    n_chunks: int, *, loop_ms: int = 100, n_runtime: int = 0, n_led: int = 1, of: int = 100
) -> list[Finding]:
    """Returns the findings on a dynamic loop in a region of 100 ms, with samples in the runtime."""
    part = {"time_ns": loop_ms * MS, "n_chunks": n_chunks // 2, "n_taken": n_chunks // 2}
    run = made_run(
        equal(work_ns=100 * MS),
        definitions=[definition(0, "parallel"), definition(1, "loop", flags=DYNAMIC_LOOP)],
        loops=[loop(1, 0, **part, n_led=n_led, n_iterations=n_chunks), loop(1, 1, **part)],
    )
    return findings(run, samples=sampled(library=RUNTIME, n=n_runtime, of=of) if n_runtime else ())


SAMPLES: list[Side] = [
    ("memory_contention", 98, 102, lambda n: loaded(n)),
    ("memory_contention", 630, 570, lambda n: loaded(n_near=n)),
    ("memory_contention", 480, 520, lambda period: loaded(period=period)),
    ("small_chunks", 980, 1020, lambda n: chunked(n, n_runtime=95)),
    ("small_chunks", 1560, 1640, lambda n: chunked(n, n_runtime=95, n_led=100)),
    ("small_chunks", 4900, 5100, lambda n: chunked(n, n_runtime=50)),
    ("small_chunks", 380_000, 420_000, chunked),
    ("small_chunks", 18, 22, lambda n: chunked(10_000, n_runtime=n, of=200)),
    ("small_chunks", 9, 11, lambda ms: chunked(10_000, n_runtime=50, loop_ms=ms)),
    ("small_chunks", 9, 11, lambda n: chunked(10_000, n_runtime=n, of=20)),
    ("busy_waiting", 9, 11, lambda n: findings(
        made_run(equal(work_ns=100 * MS)), samples=sampled(WAITING, OWN, n, of=20))),
]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "without", "with_it", "made"), [*TASK_COSTS, *NO_TASK, *WITHOUT_TASKS, *PROCESSORS, *SAMPLES]
)
def test_a_finding_appears_on_one_side_of_its_threshold(
    kind: str, without: float, with_it: float, made: Callable[[Any], Run | Iterable[Finding]]
) -> None:
    def kinds(value: float) -> list[str]:
        made_of_it = made(value)
        return [f.kind for f in (findings(made_of_it) if isinstance(made_of_it, Run) else made_of_it)]

    assert kind not in kinds(without)
    assert kind in kinds(with_it)


AT_LIMIT: list[tuple[str, bool, Run | Iterable[Finding]]] = [
    # thresholds of the next four rows: ten times the cost, a tenth of a millisecond, 5 us, a hundred tasks
    ("too_fine", False, equal_tasks(10_000, 10_000, US)),
    ("copied_data", False, equal_tasks(100, 100 * US, 15 * US)),
    ("too_fine", True, equal_tasks(1000, 20 * US, 0, 5000)),
    ("too_fine", True, equal_tasks(50, 20 * US, 2_900)),
    ("too_fine", True, equal_tasks(10_000, 5 * US, US, other_ns=140 * MS)),
    ("copied_data", True, equal_tasks(1000, 10 * US, 3_000)),
    ("slow_dispatch", True, equal_tasks(10, 9 * MS, 0, MS)),
    ("counters_in_times", False, equal_tasks(200, 500 * US, 0).replace(counters=("PAPI",))),
    ("starved", True, idle_tasks(10)),
    ("too_coarse", True, long_tail(20)),
    ("detached_events", True, for_events(10)),
    ("too_coarse", False, instances(80)),
    ("too_coarse", False, one_long_task(18)),
    ("undeferred", True, idle_tasks(20, n_undeferred=45)),
    ("serial_producer", True, producer(360)),
    ("serial_producer", True, producer(implicit_ms=30)),
    ("wait_in_loop", True, with_wait(TASKWAIT, 20, n_tasks=20)),
    ("wait_in_loop", True, with_wait(TASKWAIT, 320, n_tasks=480)),
    ("wait_in_loop", True, with_wait(TASKWAIT, 500, all_ms=400)),
    ("dependence_chain", True, with_wait(DEPENDENCE, 400)),
    ("dependence_chain", True, with_wait(DEPENDENCE, 9, idle_ns=250 * MS)),
    ("serial_fraction", True, serial(110, 950, "note")),
    ("serial_fraction", True, serial(260, 1000, "problem")),
    ("imbalance", True, made_run(uneven(80, most_ms=120))),
    ("imbalance", True, made_run(uneven(100, even_ms=700, most_ms=300))),
    ("loop_imbalance", True, uneven_loop(200)),
    ("undivided", True, made_run(uneven(0, even_ms=900))),
    ("undivided", True, made_run(team(0, [{"work_ns": 95 * MS}, {"work_ns": 5 * MS, "sync_ns": 90 * MS}]))),
    ("lock_contention", True, locked(50)),
    ("lock_contention", True, short(500)),
    ("too_short", False, short(500)),
    ("synchronization", True, made_run(equal(work_ns=90 * MS, sync_ns=10 * MS))),
    ("short_regions", True, regions(100)),
    ("short_regions", False, regions(work_us=50, sync_us=20)),
    ("short_regions", True, regions(work_us=9, sync_us=1)),
    ("short_regions", True, regions(inner=4)),
    ("synchronization", True, barrier_findings(barriers(100, work_us=20, sync_us=20))),
    ("synchronization", False, barrier_findings(barriers(work_us=50, sync_us=20))),
    ("synchronization", True, barrier_findings(barriers(work_us=9, sync_us=1))),
    ("fewer_threads", True, alone(20)),
    ("disturbed", True, off_work(50, "preempted")),
    ("blocked", True, off_work(100, "blocked")),
    ("throttled", True, under_quota(throttled_ms=10)),
    ("oversubscribed", True, crowded(5)),
    ("oversubscribed", True, crowded(4.6, 2.5)),
    ("switches_too_thick", True, by_clock(10)),
    ("other_domain", True, far(30)),
    ("memory_contention", True, loaded(100)),
    ("memory_contention", True, loaded(n_near=600)),
    ("memory_contention", True, loaded(period=500)),
    ("small_chunks", True, chunked(1000, n_runtime=95)),
    ("small_chunks", True, chunked(1600, n_runtime=95, n_led=100)),
    ("small_chunks", False, chunked(5000, n_runtime=50)),
    ("small_chunks", False, chunked(400_000)),
    ("small_chunks", True, chunked(10_000, n_runtime=20, of=200)),
    ("small_chunks", True, chunked(10_000, n_runtime=50, loop_ms=10)),
    ("small_chunks", True, chunked(10_000, n_runtime=10, of=20)),
]


@pytest.mark.parametrize(("kind", "is_found", "made"), AT_LIMIT)
def test_each_threshold_includes_or_excludes_its_own_value(
    kind: str, is_found: bool, made: Run | Iterable[Finding]
) -> None:
    found = findings(made) if isinstance(made, Run) else made
    assert (kind in [f.kind for f in found]) == is_found


@pytest.mark.parametrize(
    ("n_chunks", "cure"),
    [
        (16, "one iteration takes as long as many others"),
        (15, "use smaller chunks"),
        (17, "one iteration takes as long as many others"),
    ],
)
def test_many_chunks_of_unequal_loops_are_small_enough(n_chunks: int, cure: str) -> None:
    rows = team(0, [{"work_ns": 100 * MS}, {"work_ns": 40 * MS, "idle_ns": 60 * MS}])
    loops = [
        loop(1, 0, time_ns=100 * MS, n_iterations=100, n_chunks=n_chunks),
        loop(1, 1, time_ns=40 * MS, imbalance_ns=60 * MS),
    ]
    kinds = [definition(0, "parallel"), definition(1, "loop", flags=DYNAMIC_LOOP)]
    assert cure in the(made_run(rows, definitions=kinds, loops=loops), "loop_imbalance").cure


def test_notes_state_the_measured_part() -> None:
    assert "for 11.0% of the time threads switched" in the(by_clock(11), "switches_too_thick").because
    assert "31.0% of the tasks ran outside" in the(far(31), "other_domain").because


@pytest.mark.parametrize(("n", "is_named"), [(9, False), (10, True)])
def test_ten_samples_name_the_serial_part(n: int, is_named: bool) -> None:
    run = made_run(
        [*team(0, [{"work_ns": 100 * MS}] * 2), region(OUTSIDE, 0, work_ns=100 * MS)], wall_ns=200 * MS
    )
    line = Line("set_up", "/src/a.c", 7, "a", "a.c:7")
    samples = [LocatedSample(0, Owner("serial", -1), (line,), "", n)]
    assert ("set_up" in the(run, "serial_fraction", samples=samples).because) == is_named


@pytest.mark.parametrize(("n_waits", "construct_of_wait"), [(19, False), (20, True)])
def test_the_finding_of_starved_threads_names_a_frequent_wait(n_waits: int, construct_of_wait: bool) -> None:
    found = the(with_wait(TASKWAIT, n_waits), "starved")
    assert (found.construct == 2) == construct_of_wait
