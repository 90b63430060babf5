# SPDX-License-Identifier: Apache-2.0
"""Spinning and sleeping waits, slow wake-ups, and teams that are smaller than requested."""

from __future__ import annotations

from typing import Any

import pytest

from made_findings import findings, on_processors, problems, the
from made_runs import MS, region, team, thread
from ompass.metrics.breakdown import time_breakdown
from ompass.metrics.processor_findings import idle_policy
from ompass.metrics.processors import WaitTimes, waits_outside_regions
from ompass.model import Run


@pytest.mark.parametrize(
    ("environment", "policy"),
    [
        ({}, "default"),
        ({"OMP_WAIT_POLICY": "PASSIVE"}, "passive"),
        ({"OMP_WAIT_POLICY": "active"}, "active"),
        ({"KMP_BLOCKTIME": "0"}, "passive"),
        ({"KMP_BLOCKTIME": "0us"}, "passive"),
        ({"KMP_BLOCKTIME": "infinite"}, "active"),
        ({"KMP_BLOCKTIME": "200", "OMP_WAIT_POLICY": "passive"}, "default"),
        ({"KMP_BLOCKTIME": "?"}, "default"),
    ],
)
def test_the_idle_policy_follows_the_variables(environment: dict[str, str], policy: str) -> None:
    assert idle_policy(environment) == policy


def waiting_run(**wait: Any) -> Run:
    """Makes a run of two threads that work for 80 ms and wait for 20 ms."""
    rows = team(0, [{"work_ns": 80 * MS, "sync_ns": 10 * MS, "idle_ns": 10 * MS, **wait}] * 2)
    return on_processors(rows, [])


def test_waits_divide_into_spinning_sleep_and_preemption() -> None:
    run = waiting_run(
        idle_blocked_ns=4 * MS, sync_blocked_ns=3 * MS, idle_preempted_ns=2 * MS, lock_ns=MS,
        blocked_ns=7 * MS, preempted_ns=2 * MS,
    )  # fmt: skip
    whole = time_breakdown(run)
    assert whole.waiting == WaitTimes(2 * 11 * MS, 2 * 7 * MS, 2 * 2 * MS, waking_ns=2 * 2 * MS)
    assert whole.waiting.total_ns == 2 * 20 * MS
    assert whole.regions[0].waiting == whole.waiting


def test_without_records_of_switches_spinning_is_unknown() -> None:
    run = waiting_run().replace(threads=(thread(0, cpu_source="switches"), thread(1, cpu_source="clocks")))
    assert time_breakdown(run).waiting is None
    assert waits_outside_regions(run) is None


def test_workers_spin_or_sleep_between_regions() -> None:
    rows = team(0, [{"work_ns": 80 * MS}] * 2)
    worker = thread(
        1, first_ns=10 * MS, last_ns=150 * MS, unaccounted_blocked_ns=40 * MS, unaccounted_preempted_ns=5 * MS
    )
    run = on_processors(rows, []).replace(threads=(thread(0), worker), wall_ns=150 * MS)
    assert waits_outside_regions(run) == WaitTimes(15 * MS, 40 * MS, 5 * MS)


def test_slow_wakeups_are_reported_if_they_take_a_tenth_of_the_thread_time() -> None:
    slow = waiting_run(sync_blocked_ns=10 * MS, blocked_ns=10 * MS)
    found = the(slow, "slow_wakeups")
    assert found.cost_ns == 20 * MS
    assert "10.0%" in found.because
    fast = waiting_run(sync_blocked_ns=10 * MS - 1, blocked_ns=10 * MS - 1)
    assert "slow_wakeups" not in problems(fast)
    asleep = waiting_run(idle_blocked_ns=10 * MS, blocked_ns=10 * MS)
    assert "slow_wakeups" not in problems(asleep)
    locked = waiting_run(sync_blocked_ns=10 * MS, blocked_ns=10 * MS, lock_ns=10 * MS)
    assert "slow_wakeups" not in problems(locked)


@pytest.mark.parametrize(
    ("environment", "cure"),
    [
        ({}, "set OMP_WAIT_POLICY=active"),
        ({"OMP_WAIT_POLICY": "passive"}, "remove OMP_WAIT_POLICY=passive"),
        ({"KMP_BLOCKTIME": "0"}, "remove KMP_BLOCKTIME=0"),
    ],
)
def test_the_cure_of_slow_wakeups_names_the_setting(environment: dict[str, str], cure: str) -> None:
    run = waiting_run(sync_blocked_ns=10 * MS, blocked_ns=10 * MS)
    assert the(run, "slow_wakeups", environment=environment).cure.startswith(cure)


def crowded_run(spun_ms: int) -> Run:
    """Makes a run of 100 ms: four threads on two processors, each preempted 50 ms and spinning `spun_ms`."""
    rows = team(
        0,
        [
            {
                "work_ns": (100 - spun_ms) * MS,
                "idle_ns": spun_ms * MS,
                "preempted_ns": 50 * MS,
                "work_preempted_ns": 50 * MS,
            }
        ]
        * 4,
    )
    return on_processors(rows, [], n_cpus=2)


def test_threads_that_spin_on_too_few_processors_are_advised_to_sleep() -> None:
    cure = the(crowded_run(20), "oversubscribed").cure
    assert "run at most as many threads" in cure
    assert "OMP_WAIT_POLICY=passive" in cure
    assert "80 ms of processor time" in cure
    assert "40 ms of 100 ms" in cure  # the spinning time of each of the two processors
    passive = the(crowded_run(20), "oversubscribed", environment={"KMP_BLOCKTIME": "0"})
    assert "passive" not in passive.cure
    assert "passive" not in the(crowded_run(2), "oversubscribed").cure  # 4% of the processors' time


def limited_run(work_ms: int, level: int = 1, asked: int = 8, **fields: Any) -> Run:
    """Makes a run of two regions: one has one thread instead of `asked`, the other has four threads."""
    small = region(
        0, 0, level=level, work_ns=work_ms * MS, wall_ns=work_ms * MS, capacity_ns=work_ms * MS,
        n_smaller=1, max_requested=asked,
    )  # fmt: skip
    return on_processors([*team(1, [{"work_ns": 100 * MS}] * 4), small], [], n_cpus=4).replace(**fields)


@pytest.mark.parametrize(
    ("environment", "reason"),
    [
        ({"OMP_THREAD_LIMIT": "1"}, "OMP_THREAD_LIMIT=1"),
        ({"OMP_DYNAMIC": "TRUE"}, "OMP_DYNAMIC, which lets the runtime choose the size by the 4 processors"),
        ({"OMP_THREAD_LIMIT": "8"}, "a limit that the program sets"),
    ],
)
def test_a_smaller_team_is_reported_with_its_reason(environment: dict[str, str], reason: str) -> None:
    costly = the(limited_run(100), "fewer_threads", environment=environment)
    assert "had 1 thread, although the program asked for 8 and there are 4 processors" in costly.because
    assert reason in costly.because
    (cheap,) = (f for f in findings(limited_run(1), environment=environment) if f.kind == "smaller_team")
    assert cheap.severity == "note"
    assert "asked for 8 threads" in cheap.because
    assert reason in cheap.because


def test_cheap_nested_regions_may_be_serialised() -> None:
    assert "smaller_team" not in [f.kind for f in findings(limited_run(1, level=2))]
    both = limited_run(100, level=2)
    inner = both.replace(regions=tuple(row for row in both.regions if row.level == 2))
    because = the(inner, "fewer_threads").because
    assert "OMP_MAX_ACTIVE_LEVELS, by default 1" in because


def test_a_region_whose_team_is_as_large_as_asked_for_is_not_a_smaller_team() -> None:
    run = limited_run(1)
    full = run.replace(regions=tuple(row.replace(n_smaller=0, max_requested=0) for row in run.regions))
    assert "smaller_team" not in [f.kind for f in findings(full)]
