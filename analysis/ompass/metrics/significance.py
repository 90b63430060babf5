# SPDX-License-Identifier: Apache-2.0
"""Tests and intervals for the ratio of two groups of times: rank tests, and a correction for many tests.

Times of repeated runs are few, skewed, and contain outliers. Rank tests assume no distribution and are exact
for few runs, and one outlier moves their interval by little. Two groups have one of two designs:

- *rounds*: each round runs both sides once, in random order. If the sides are equal, the difference in a
  round is as likely positive as negative, however the machine drifts from round to round. The test is
  Wilcoxon's signed-rank test.
- *groups*: the runs have no partners. If the sides are equal and the machine is steady, all divisions of the
  runs into two sides are equally likely. The test is Wilcoxon's rank-sum test (Mann-Whitney).

Both tests work on logarithms, so the shift between the sides is the ratio of their times. Its estimate is
that of Hodges and Lehmann, and its interval contains the ratios that the test does not reject.
docs/comparison.md has the reasons and the measured error rates.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist, median

_EXACT_RUNS = 40
"""With more runs in total, the rank-sum test uses the normal approximation."""

_EXACT_ROUNDS = 60
"""With more rounds, the signed-rank test uses the normal approximation."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """The ratio of times, after / before. With too few runs, `low` is 0 and `high` infinite."""

    estimate: float
    low: float
    high: float

    @property
    def limits(self) -> tuple[float | None, float | None] | None:
        """The lower and the upper limit, None for an unknown one; None if both are unknown."""
        low, high = self.low or None, None if math.isinf(self.high) else self.high
        return None if low is None and high is None else (low, high)


def rounds_p(before: Sequence[float], after: Sequence[float]) -> float:
    """Returns the two-sided p-value of rounds. Raises ValueError if a side has more times."""
    differences = _differences(before, after)
    ranks = _doubled_ranks([abs(d) for d in differences])
    # Rounds without a difference support neither side.
    ranks = [0 if d == 0 else rank for d, rank in zip(differences, ranks, strict=True)]
    positive = sum(rank for d, rank in zip(differences, ranks, strict=True) if d > 0)
    return _two_sided(positive, _signed_sums(tuple(sorted(ranks))), sum(ranks))


def groups_p(before: Sequence[float], after: Sequence[float]) -> float:
    """Returns the two-sided p-value of two groups. Raises ValueError for an empty group."""
    if not before or not after:
        raise ValueError("no measurements to compare")
    ranks = _doubled_ranks([*before, *after])
    first = sum(ranks[: len(before)])
    return _two_sided_of_groups(first, tuple(sorted(ranks)), len(before))


def rounds_ratio(before: Sequence[float], after: Sequence[float], error: float) -> Ratio:
    """Returns the ratio of positive times in rounds; `error`: probability of a miss on each side."""
    logs = [math.log(b / a) for a, b in zip(before, after, strict=True)]
    shifts = sorted((x + y) / 2 for x, y in itertools.combinations_with_replacement(logs, 2))
    return _ratio(shifts, _most_signed(len(logs), error))


def groups_ratio(before: Sequence[float], after: Sequence[float], error: float) -> Ratio:
    """Returns the ratio of positive times in groups; `error`: probability of a miss on each side."""
    shifts = sorted(math.log(b / a) for a in before for b in after)
    return _ratio(shifts, _most_summed(len(before), len(after), error))


def least_rounds_p(n: int) -> float:
    """Returns the smallest possible p-value of n rounds."""
    return 2.0 ** (1 - n)


def least_groups_p(n: int, m: int) -> float:
    """Returns the smallest possible p-value of groups of n and m runs."""
    return min(1.0, 2 / math.comb(n + m, n))


def adjusted_for_many(p_values: Sequence[float]) -> list[float]:
    """Returns p-values adjusted for their number (Benjamini and Hochberg 1995), in the same order.

    Among the tests with an adjusted value of at most p, the share of false discoveries is at most p on
    average. If the sides are equal in all tests, the probability that some adjusted value is at most p is at
    most p. Both hold for independent and for positively dependent tests.
    """
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    adjusted = [0.0] * len(p_values)
    least = 1.0
    for rank in range(len(order), 0, -1):
        k = order[rank - 1]
        least = min(least, p_values[k] * len(order) / rank)
        adjusted[k] = least
    return adjusted


def _differences(before: Sequence[float], after: Sequence[float]) -> list[float]:
    """Returns the difference of the logarithms in each round; of the values, if one has no logarithm."""
    if not all(value > 0 for value in (*before, *after)):
        return [b - a for a, b in zip(before, after, strict=True)]
    # Rounded, because logarithms of equal ratios may differ in their last bits.
    return [round(math.log(b) - math.log(a), 12) for a, b in zip(before, after, strict=True)]


def _ratio(shifts: Sequence[float], most: int) -> Ratio:
    """Returns the ratio from sorted shifts. Its interval leaves out `most` of them on each side."""
    estimate = math.exp(median(shifts))
    if most < 0:
        return Ratio(estimate, 0.0, math.inf)
    return Ratio(estimate, math.exp(shifts[most]), math.exp(shifts[-1 - most]))


def _doubled_ranks(values: Sequence[float]) -> list[int]:
    """Returns twice the rank of each value, from 2 on; equal values share the mean of their ranks."""
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks = [0] * len(values)
    first = 0
    for _, equal in itertools.groupby(order, key=values.__getitem__):
        those = list(equal)
        for k in those:
            ranks[k] = 2 * first + len(those) + 1
        first += len(those)
    return ranks


@functools.lru_cache(maxsize=256)
def _signed_sums(ranks: tuple[int, ...]) -> tuple[float, ...] | None:
    """Returns the probability of each sum of positive ranks; None for more than _EXACT_ROUNDS ranks."""
    if len(ranks) > _EXACT_ROUNDS:
        return None
    ways = [1.0] + [0.0] * sum(ranks)
    for rank in ranks:
        ways = [(ways[s] + (ways[s - rank] if s >= rank else 0.0)) / 2 for s in range(len(ways))]
    return tuple(ways)


def _two_sided(positive: int, sums: tuple[float, ...] | None, total: int) -> float:
    if total == 0:
        return 1.0
    least = min(positive, total - positive)
    if sums is not None:
        return min(1.0, 2 * math.fsum(sums[: least + 1]))
    n = (math.sqrt(1 + 4 * total) - 1) / 2  # total == n * (n + 1), in doubled ranks
    deviation = math.sqrt(n * (n + 1) * (2 * n + 1) / 6)
    return min(1.0, 2 * NormalDist(total / 2, deviation).cdf(least + 1))


def _rank_sums(ranks: tuple[int, ...], n: int) -> dict[int, int]:
    """Returns the number of choices of n ranks, by their sum."""
    ways: list[dict[int, int]] = [{0: 1}] + [{} for _ in range(n)]
    for rank in ranks:
        for k in range(n, 0, -1):
            for total, number in ways[k - 1].items():
                ways[k][total + rank] = ways[k].get(total + rank, 0) + number
    return ways[n]


@functools.lru_cache(maxsize=1024)
def _two_sided_of_groups(first: int, ranks: tuple[int, ...], n: int) -> float:
    m = len(ranks) - n
    expected = n * sum(ranks) / len(ranks)
    distance = abs(first - expected)
    if len(ranks) <= _EXACT_RUNS:
        ways = _sums_of(ranks, n)
        far = sum(number for total, number in ways if abs(total - expected) >= distance - 1e-9)
        return far / math.comb(len(ranks), n)
    mean = sum(ranks) / len(ranks)
    variance = n * m * sum((rank - mean) ** 2 for rank in ranks) / len(ranks) / (len(ranks) - 1)
    return min(1.0, 2 * NormalDist(0, math.sqrt(variance)).cdf(1 - distance)) if variance else 1.0


@functools.lru_cache(maxsize=64)
def _sums_of(ranks: tuple[int, ...], n: int) -> tuple[tuple[int, int], ...]:
    return tuple(_rank_sums(ranks, n).items())


@functools.lru_cache(maxsize=1024)
def _most_signed(n: int, error: float) -> int:
    """Returns the largest w with P(sum of positive ranks <= w) <= error; -1 if there is none."""
    if n > _EXACT_ROUNDS:
        deviation = math.sqrt(n * (n + 1) * (2 * n + 1) / 24)
        return math.floor(NormalDist(n * (n + 1) / 4, deviation).inv_cdf(error) - 0.5)
    sums = _signed_sums(tuple(range(1, n + 1)))
    return _quantile(list(enumerate(sums or ())), error)


@functools.lru_cache(maxsize=1024)
def _most_summed(n: int, m: int, error: float) -> int:
    """Returns the largest u with P(U <= u) <= error, where U counts pairs that decrease; -1 if none."""
    if n + m > _EXACT_RUNS:
        deviation = math.sqrt(n * m * (n + m + 1) / 12)
        return math.floor(NormalDist(n * m / 2, deviation).inv_cdf(error) - 0.5)
    ways = _sums_of(tuple(range(1, n + m + 1)), n)
    least = n * (n + 1) // 2
    number = math.comb(n + m, n)
    return _quantile(sorted((total - least, count / number) for total, count in ways), error)


def _quantile(probabilities: Sequence[tuple[int, float]], error: float) -> int:
    """Returns the largest value whose cumulative probability is at most `error`; -1 if there is none."""
    found, total = -1, 0.0
    for value, probability in probabilities:
        total += probability
        if total > error * (1 + 1e-12):
            break
        found = value
    return found
