# SPDX-License-Identifier: Apache-2.0
"""Significance of the difference between two groups of measurements: a permutation test of their means.

If the labels (before, after) had no meaning, all assignments of labels to the measurements would be equally
likely. The p-value is the part of the assignments whose means differ at least as much as the measured means
(Fisher; two-sided). The test assumes no distribution, and is exact for the few repeats that runs have.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence
from statistics import fmean
from typing import Final

SIGNIFICANT_P: Final = 0.05

_EXACT_WAYS: Final = 100_000
_DRAWN_WAYS: Final = 20_000


def least_p(n_before: int, n_after: int) -> float:
    """Returns the smallest possible p-value: one extreme assignment, or two that mirror each other."""
    ways = math.comb(n_before + n_after, n_before)
    return (2 if n_before == n_after else 1) / ways


def permutation_p(before: Sequence[float], after: Sequence[float]) -> float:
    """Returns the two-sided p-value of the difference of means, 0 to 1. ValueError for an empty group.

    Exact up to 100,000 assignments; above, estimated from a fixed random sample of them.
    """
    if not before or not after:
        raise ValueError("no measurements to compare")
    everything = [*before, *after]
    n, total = len(before), math.fsum(everything)
    mean = total / len(everything)

    def distance(part: Sequence[float]) -> float:
        """Returns the distance of one group's mean from the mean of all; it determines the other group's."""
        return abs(math.fsum(part) / n - mean)

    # Sums of the same values in another order differ in their last bits.
    measured = distance(before) * (1 - 1e-9)
    if math.comb(len(everything), n) <= _EXACT_WAYS:
        ways = list(itertools.combinations(everything, n))
        return sum(distance(way) >= measured for way in ways) / len(ways)
    chance = random.Random(0)
    hits = sum(distance(chance.sample(everything, n)) >= measured for _ in range(_DRAWN_WAYS))
    return (hits + 1) / (_DRAWN_WAYS + 1)  # the measured way is one of them


def relative_spread(values: Sequence[float]) -> float:
    """Returns (largest - smallest) / mean; 0 for fewer than two values."""
    mean = fmean(values) if values else 0.0
    return (max(values) - min(values)) / mean if len(values) > 1 and mean else 0.0
