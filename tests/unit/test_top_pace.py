# SPDX-License-Identifier: Apache-2.0
"""How often `ompass top` looks."""

from __future__ import annotations

import time

import pytest

from ompass.live.pace import Used, until_next_s, used

START = Used(100.0, 5.0, 1000.0)


def test_it_looks_as_often_as_asked_while_a_processor_is_free() -> None:
    assert until_next_s(START, Used(101.0, 5.1, 1000.6), 1.0, 2) == 1.0


@pytest.mark.parametrize(("n_processors", "wait_s"), [(1, 5.0), (2, 2.5), (4, 1.25), (128, 1.0)])
def test_where_none_is_free_looks_take_a_small_share_of_all_processors(
    n_processors: int, wait_s: float
) -> None:
    assert until_next_s(START, Used(101.0, 5.01, 1000.1), 1.0, n_processors) == pytest.approx(wait_s)


def test_somebody_looks_on() -> None:
    assert until_next_s(START, Used(101.0, 6.0, 1000.1), 1.0, 2) == 10.0
    assert until_next_s(START, Used(101.0, 6.0, 1000.1), 20.0, 2) == 20.0


def test_what_was_used_only_grows() -> None:
    before = used()
    while time.process_time() < before.own_s + 0.02:
        pass
    now = used()
    assert now.own_s - before.own_s >= 0.02
    assert now.at_s > before.at_s
    assert now.idle_s >= before.idle_s > 0
