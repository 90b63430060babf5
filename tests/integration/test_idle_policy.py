# SPDX-License-Identifier: Apache-2.0
"""Waiting threads spin or sleep as the runtime's settings state; a team may be smaller than requested."""

from __future__ import annotations

import os

import pytest

from made_findings import findings
from marked_programs import in_a_calm_moment
from ompass import _core
from ompass.metrics.breakdown import Breakdown, time_breakdown
from ompass.metrics.facts import Facts
from ompass.metrics.processor_findings import slow_wakeups
from ompass.metrics.processors import knows_switches, waits_outside_regions
from ompass.model import Run
from ompass.readers.run import open_run
from recorded_run import check_accounts_agree
from toolchains import Record, Toolchain

SOURCE = "processor/idle.c"
MS = 1_000_000
PASSIVE = {"OMP_WAIT_POLICY": "passive"}
MODES = pytest.mark.parametrize("mode", ["profile", "trace"])


def recorded(record: Record, toolchain: Toolchain, what: str, mode: str, environment: dict[str, str]) -> Run:
    """Records a run and returns it. Checks that a trace gives the same statistics as the profile."""
    run_dir = record(SOURCE, what, toolchain=toolchain, mode=mode, environment=environment).run_dir
    run = open_run(run_dir)
    if mode == "trace":
        check_accounts_agree(run, _core.replay_trace(str(run_dir)))
    if not knows_switches(run):
        pytest.skip("the kernel refuses records of switches")
    return run


@MODES
def test_a_waiting_thread_spins_or_sleeps_as_the_settings_state(
    record: Record, toolchain: Toolchain, mode: str
) -> None:
    def waiting(environment: dict[str, str]) -> Breakdown:
        return time_breakdown(recorded(record, toolchain, "wait", mode, environment))

    def spins(breakdown: Breakdown) -> None:
        waits = breakdown.waiting
        assert waits is not None
        assert waits.spun_ns + waits.preempted_ns > 80 * MS
        assert waits.slept_ns < 20 * MS

    def sleeps(breakdown: Breakdown) -> None:
        waits = breakdown.waiting
        assert waits is not None
        assert waits.slept_ns > 80 * MS
        assert waits.spun_ns < 20 * MS

    in_a_calm_moment(lambda: waiting({"KMP_BLOCKTIME": "infinite"}), spins)
    in_a_calm_moment(lambda: waiting(PASSIVE), sleeps)


@MODES
def test_a_worker_spins_or_sleeps_between_regions(record: Record, toolchain: Toolchain, mode: str) -> None:
    spun = waits_outside_regions(recorded(record, toolchain, "serial", mode, {"KMP_BLOCKTIME": "infinite"}))
    slept = waits_outside_regions(recorded(record, toolchain, "serial", mode, PASSIVE))
    assert spun is not None
    assert slept is not None
    # The limits are low, because the worker may begin late on a busy machine.
    assert spun.spun_ns + spun.preempted_ns > 50 * MS > spun.slept_ns
    assert slept.slept_ns > 50 * MS > slept.spun_ns


def test_waking_for_short_regions_is_slow_only_if_threads_sleep(record: Record, toolchain: Toolchain) -> None:
    def found(environment: dict[str, str]) -> list[str]:
        run = recorded(record, toolchain, "short", "profile", environment)
        facts = Facts(run, time_breakdown(run), (), environment=environment)
        return [evidence.cure for evidence in slow_wakeups(facts)]

    def is_slow(cures: list[str]) -> None:
        (cure,) = cures
        assert cure.startswith("remove OMP_WAIT_POLICY=passive")

    def is_fast(cures: list[str]) -> None:
        assert cures == []

    in_a_calm_moment(lambda: found(PASSIVE), is_slow)
    in_a_calm_moment(lambda: found({"KMP_BLOCKTIME": "infinite"}), is_fast)


@MODES
def test_a_limited_team_is_smaller_than_requested(record: Record, toolchain: Toolchain, mode: str) -> None:
    limit = {"OMP_THREAD_LIMIT": "2"}
    run = recorded(record, toolchain, "team", mode, limit)
    (region,) = time_breakdown(run).regions
    assert (region.n_smaller, region.n_requested, region.max_team_size) == (1, 4, 2)
    texts = [
        f.because for f in findings(run, environment=limit) if f.kind in ("smaller_team", "fewer_threads")
    ]
    assert any("OMP_THREAD_LIMIT=2" in text for text in texts)
    (free,) = time_breakdown(recorded(record, toolchain, "team", mode, {})).regions
    assert (free.n_smaller, free.n_requested, free.max_team_size) == (0, 0, 4)


@MODES
def test_a_thread_is_not_on_a_processor_before_it_has_been_created(
    record: Record, toolchain: Toolchain, mode: str
) -> None:
    run = recorded(record, toolchain, "crowd", mode, {})
    (region,) = time_breakdown(run).regions
    assert region.waiting is not None
    assert region.waiting.slept_ns > 0
    assert region.waiting.spun_ns <= 1.05 * len(os.sched_getaffinity(0)) * region.wall_ns
