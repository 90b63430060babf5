# SPDX-License-Identifier: Apache-2.0
"""Compares rank tests and intervals with plain counting; measures their error rates on synthetic noise."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ompass.metrics import significance
from ompass.metrics.significance import (
    Ratio,
    adjusted_for_many,
    groups_p,
    groups_ratio,
    least_groups_p,
    least_rounds_p,
    rounds_p,
    rounds_ratio,
)

times = st.integers(1, 12)
groups = st.lists(times, min_size=1, max_size=4)
pairs = st.lists(st.tuples(times, times), min_size=1, max_size=7)


def counted_groups_p(before: Sequence[int], after: Sequence[int]) -> float:
    """Returns p by definition: counts every division of the runs into two sides."""
    everything = [*before, *after]
    ranks = [sum((y < x) + (y <= x) for y in everything) + 1 for x in everything]
    n, mean = len(before), sum(ranks) * len(before) / len(ranks)
    measured = abs(sum(ranks[:n]) - mean)
    ways = [abs(sum(way) - mean) >= measured - 1e-9 for way in itertools.combinations(ranks, n)]
    return sum(ways) / len(ways)


def counted_rounds_p(rounds: Sequence[tuple[int, int]]) -> float:
    """Returns p by definition: counts every exchange of the two sides within rounds."""
    logs = [round(math.log(b / a), 9) for a, b in rounds]
    ranks = [sum((abs(y) < abs(x)) + (abs(y) <= abs(x)) for y in logs) + 1 if x else 0 for x in logs]
    measured = sum(rank for x, rank in zip(logs, ranks, strict=True) if x > 0)
    least = min(measured, sum(ranks) - measured)
    ways = [
        sum(itertools.compress(ranks, signs)) <= least
        for signs in itertools.product((0, 1), repeat=len(ranks))
    ]
    return min(1.0, 2 * sum(ways) / len(ways)) if any(ranks) else 1.0


@given(groups, groups)
def test_p_of_groups_is_the_share_of_divisions_that_differ_as_much(
    before: list[int], after: list[int]
) -> None:
    assert groups_p(before, after) == pytest.approx(counted_groups_p(before, after))
    assert groups_p(before, after) == pytest.approx(groups_p(after, before))


@given(pairs)
def test_p_of_rounds_is_the_share_of_orders_that_differ_as_much(rounds: list[tuple[int, int]]) -> None:
    before, after = zip(*rounds, strict=True)
    assert rounds_p(before, after) == pytest.approx(counted_rounds_p(rounds))
    assert rounds_p(before, after) == pytest.approx(rounds_p(after, before))


@given(st.integers(1, 9), st.integers(1, 9))
def test_sides_that_do_not_overlap_have_the_least_p(n: int, m: int) -> None:
    assert groups_p(range(1, n + 1), range(100, 100 + m)) == pytest.approx(least_groups_p(n, m))
    shifted = [t * 1.1 for t in range(1, n + 1)]
    assert rounds_p(range(1, n + 1), shifted) == pytest.approx(least_rounds_p(n))


def test_the_approximation_for_many_runs_agrees_with_the_exact_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(1)
    before = [round(chance.gauss(100, 1), 1) for _ in range(20)]
    shifted = [[t + shift + chance.gauss(0, 1) for t in before] for shift in (0, 0.5, 0.8)]

    def results() -> list[float]:
        caches = (significance._signed_sums, significance._two_sided_of_groups, significance._sums_of)
        for cache in (*caches, significance._most_signed, significance._most_summed):
            cache.cache_clear()
        values = [test(before, after) for after in shifted for test in (rounds_p, groups_p)]
        return values + [
            edge
            for after in shifted
            for of in (rounds_ratio, groups_ratio)
            for edge in (of(before, after, 0.025).low, of(before, after, 0.025).high)
        ]

    exact = results()
    monkeypatch.setattr(significance, "_EXACT_RUNS", 0)
    monkeypatch.setattr(significance, "_EXACT_ROUNDS", 0)
    approximate = results()
    assert approximate != exact
    assert approximate == pytest.approx(exact, abs=0.01)
    assert min(exact) < 0.05 < 0.1 < exact[0]


def test_critical_values_of_many_runs_are_those_of_tables() -> None:
    # 1.96 standard deviations of 290.8 below 2525, and of 145.1 below 1250
    assert significance._most_signed(100, 0.025) == 1954
    assert significance._most_summed(50, 50, 0.025) == 965


def test_tests_of_many_runs_distinguish_slower_from_equal_ones() -> None:
    equal = [100 + k % 5 for k in range(70)]
    assert groups_p(equal, equal) == pytest.approx(1)
    assert rounds_p(equal, equal) == 1
    assert groups_p(equal, [t + 5 for t in equal]) < 1e-6
    assert rounds_p(equal, [t * 1.01 for t in equal]) < 1e-6


def test_rounds_with_a_zero_are_compared_by_differences() -> None:
    before = [0, *range(1_000_010, 1_000_100, 10)]
    after = [t + 5 - 10 * (k % 2) for k, t in enumerate(before)]
    assert rounds_p(before, after) > 0.05


@given(pairs)
def test_the_ratio_of_rounds_is_the_median_of_means_of_two_rounds(rounds: list[tuple[int, int]]) -> None:
    before, after = zip(*rounds, strict=True)
    logs = [math.log(b / a) for a, b in rounds]
    means = [(logs[i] + logs[k]) / 2 for i in range(len(logs)) for k in range(i + 1)]
    found = rounds_ratio(before, after, 0.1)
    assert found.estimate == pytest.approx(math.exp(median(means)))
    assert found.low <= found.estimate * (1 + 1e-9)
    assert found.estimate <= found.high * (1 + 1e-9)


def test_an_interval_contains_the_ratios_that_its_test_does_not_reject() -> None:
    chance = random.Random(2)
    for n, error in ((7, 0.01), (10, 0.002), (15, 0.025), (30, 0.01)):
        before = [chance.lognormvariate(0, 0.05) for _ in range(n)]
        after = [chance.lognormvariate(0.02, 0.05) for _ in range(n)]
        for test, of in ((rounds_p, rounds_ratio), (groups_p, groups_ratio)):
            found = of(before, after, error)
            for edge, inwards in ((found.low, 1 + 1e-6), (found.high, 1 - 1e-6)):
                assert test([t * edge * inwards for t in before], after) > 2 * error * (1 - 1e-9)
                assert test([t * edge / inwards for t in before], after) <= 2 * error * (1 + 1e-9)


def test_too_few_runs_have_no_interval() -> None:
    assert rounds_ratio([1, 2], [1, 2], 0.01) == Ratio(1.0, 0.0, math.inf)
    assert groups_ratio([1, 2], [1, 2], 0.01).high == math.inf
    assert rounds_ratio(range(1, 8), range(1, 8), 0.01).high == 1.0, "1/128 <= 0.01"


def test_adjusted_p_values_are_those_of_benjamini_and_hochberg() -> None:
    # The example in their paper, table 1: the four smallest of 15 are rejected at 5%.
    values = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262,
              0.5719, 0.6528, 0.7590, 1.0000]  # fmt: skip
    adjusted = adjusted_for_many(values)
    assert sum(p <= 0.05 for p in adjusted) == 4
    assert adjusted == sorted(adjusted)
    assert adjusted_for_many(values[::-1]) == adjusted[::-1]
    assert adjusted_for_many([0.03]) == [0.03]
    assert adjusted_for_many([]) == []


def skewed(chance: random.Random) -> float:
    """Returns a time with 1% noise and a tail towards long times."""
    return math.exp(chance.gauss(0, 0.005) + chance.expovariate(1) * 0.009)


def test_equal_sides_are_rarely_different_although_the_machine_drifts() -> None:
    chance = random.Random(3)
    wrong_rounds = wrong_groups = 0
    n_trials = 400
    for _ in range(n_trials):
        level = 0.0
        before: list[float] = []
        after: list[float] = []
        for _ in range(12):
            for side in chance.sample((before, after), 2):
                level = 0.9 * level + chance.gauss(0, 0.01)
                side.append(skewed(chance) * math.exp(level))
        wrong_rounds += rounds_p(before, after) <= 0.05
        wrong_groups += groups_p(before, after) <= 0.05
    assert wrong_rounds <= 0.08 * n_trials
    assert wrong_groups <= 0.05 * n_trials, "valid for alternating sides"
