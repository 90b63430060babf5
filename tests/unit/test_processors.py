# SPDX-License-Identifier: Apache-2.0
"""Processor times: threads that start late or end early, sources of different detail, quotas."""

from __future__ import annotations

import pytest

from made_runs import made_run, region, team, thread
from ompass.metrics.breakdown import time_breakdown
from ompass.metrics.facts import Facts
from ompass.metrics.processors import (
    allowed_processors,
    describe_processors,
    held_back_ns,
    of_rows,
    processor_time,
    sum_presence,
    with_rest,
)
from ompass.model import CpuTimes


def test_a_thread_is_blocked_before_its_start_and_after_its_end() -> None:
    late = thread(1, first_ns=10, ended_ns=80, unaccounted_blocked_ns=4, unaccounted_preempted_ns=3)
    found = with_rest(None, late, rest_ns=50, wall_ns=100)
    assert found is not None
    assert found.whole == CpuTimes.of(50, 3, 10 + 20 + 4)
    running = with_rest(None, late.replace(ended_ns=0), rest_ns=50, wall_ns=100)
    assert running is not None and running.whole == CpuTimes.of(50, 3, 10 + 4)
    first = with_rest(None, late.replace(kind="initial"), rest_ns=50, wall_ns=100)
    assert first is not None and first.whole == CpuTimes.of(50, 3, 14), "the process outlives its records"
    short = with_rest(None, late, rest_ns=36, wall_ns=100)
    assert short is not None and short.whole == CpuTimes.of(36, 2, 34), "no more than the rest"
    assert with_rest(None, thread(1, cpu_source=""), 50, 100) is None


def test_the_rest_adds_to_the_known_times() -> None:
    known = of_rows([region(0, 0, work_ns=100, preempted_ns=7, work_preempted_ns=5)], "switches")
    found = with_rest(known, thread(0, first_ns=1), rest_ns=10, wall_ns=110)
    assert found is not None and found.work is not None
    assert found.whole == CpuTimes.of(110, 7, 1)
    assert found.work == CpuTimes.of(100, 5, 0)


def test_a_sum_is_as_detailed_as_its_least_detailed_part() -> None:
    row = region(0, 0, work_ns=100, preempted_ns=7, work_preempted_ns=5)
    switches, clocks = (of_rows([row], source) for source in ("switches", "clocks"))
    both = sum_presence([switches, switches])
    assert both is not None and both.whole == CpuTimes.of(200, 14, 0)
    assert both.work == CpuTimes.of(200, 10, 0)
    mixed = sum_presence([switches, clocks])
    assert mixed is not None and (mixed.source, mixed.work) == ("clocks", None)
    assert sum_presence([switches, None]) is None
    assert sum_presence([]) is None


def test_nested_regions_do_not_lengthen_the_time_in_which_threads_are_active() -> None:
    outer = team(0, [{"work_ns": 50, "nested_ns": 50}, {"work_ns": 100}])
    inner = region(1, 0, level=2, work_ns=50, wall_ns=50)
    run = made_run([*outer, inner])
    facts = Facts(run, time_breakdown(run), ())
    assert facts.n_active(facts.breakdown.regions) == 2.0
    (nested,) = (r for r in facts.breakdown.regions if r.level == 2)
    assert facts.n_active((nested,)) == 1.0


def test_without_records_threads_always_run() -> None:
    rows = team(0, [{"work_ns": 70, "idle_ns": 30}] * 2)
    run = made_run(rows, threads=[thread(k, cpu_source="") for k in range(2)])
    times = processor_time(time_breakdown(run))
    assert (times.running_ns, times.preempted_ns) == (200, 0)
    assert (times.work_running_ns, times.work_blocked_ns, times.other_running_ns) == (140, 0, 60)


@pytest.mark.parametrize(
    ("n_cpus", "quota", "period", "allowed", "words"),
    [
        (2, 0, 0, 2.0, "2"),
        (2, 15_000, 10_000, 1.5, "1.5 of 2"),
        (2, 30_000, 10_000, 2.0, "2"),  # the quota allows more processors than there are
        (0, 15_000, 10_000, 1.5, "1.5"),
        (4, 2_500, 10_000, 0.25, "0.25 of 4"),
        (2, 10_000, 10_000, 1.0, "1.0 of 2"),
        (2, 10_000, 0, 2.0, "2"),
        (0, 0, 0, 0.0, ""),
    ],
)
def test_processors_are_limited_by_their_number_and_a_quota(
    n_cpus: int, quota: int, period: int, allowed: float, words: str
) -> None:
    assert allowed_processors(n_cpus, quota, period) == allowed
    assert describe_processors(n_cpus, quota, period) == words


def test_time_held_back_by_a_quota_is_counted_or_estimated() -> None:
    run = made_run(quota_us=15_000, quota_period_us=10_000, n_throttled=2, throttled_ns=70)
    assert held_back_ns(run, 400, 200, 0) == 70
    assert held_back_ns(run.replace(n_throttled=0), 400, 200, 0) == 0
    unknown = run.replace(n_throttled=-1, throttled_ns=-1)
    assert held_back_ns(unknown, 400, 200, 0) == 100, "400 ns of threads in 1.5 * 200 ns of processors"
    assert held_back_ns(unknown, 400, 200, 30) == 70
    assert held_back_ns(unknown, 250, 200, 0) == 0
    assert held_back_ns(unknown.replace(quota_us=0), 400, 200, 0) == 0
