# SPDX-License-Identifier: Apache-2.0
"""The interval at which `ompass top` reads the run."""

from __future__ import annotations

import time

import pytest

from ompass.live.watch import Used, until_next_s, used


def after_a_second(idle_s: float, own_s: float, asked_s: float = 1.0, n_processors: int = 2) -> float:
    before = Used(100.0, 5.0, 1000.0, n_processors)
    now = Used(101.0, 5.0 + own_s, 1000.0 + n_processors - idle_s, n_processors)
    return until_next_s(before, now, asked_s)


def test_it_reads_at_the_requested_interval_while_a_processor_is_free() -> None:
    assert after_a_second(idle_s=0.6, own_s=0.1) == 1.0


@pytest.mark.parametrize(("n_processors", "wait_s"), [(1, 5.0), (2, 2.5), (4, 1.25), (128, 1.0)])
def test_without_a_free_processor_reading_takes_a_small_share_of_all(
    n_processors: int, wait_s: float
) -> None:
    assert after_a_second(0.1, 0.01, n_processors=n_processors) == pytest.approx(wait_s)


def test_the_interval_is_at_most_ten_seconds_or_the_requested_one() -> None:
    assert after_a_second(0.1, 1.0) == 10.0
    assert after_a_second(0.1, 1.0, asked_s=20.0) == 20.0


def test_an_unknown_idle_time_counts_as_no_free_processor() -> None:
    before, now = Used(100.0, 5.0, None, 2), Used(101.0, 5.01, None, 2)
    assert until_next_s(before, now, 1.0) == pytest.approx(2.5)


def test_used_times_only_grow() -> None:
    before = used()
    while time.process_time() < before.own_s + 0.02:
        pass
    now = used()
    assert now.own_s - before.own_s >= 0.02
    assert now.at_s > before.at_s
    assert before.busy_s is not None
    assert now.busy_s is not None
    assert now.busy_s >= before.busy_s > 0
