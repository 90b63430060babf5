# SPDX-License-Identifier: Apache-2.0
"""Decides whether a program became worse, from repeated runs of both sides. Pure functions of times.

Owns the rounds after which the command looks at the result, and the probability of error. Repeated looks find
a difference by chance sooner or later, so each look may use only a part of the probability. After a look, the
interval of the ratio after / before decides the verdict:

- *worse*: the interval lies above 1, and the estimate exceeds 1 by at least the minimum difference
- *better*: the same in the other direction
- *not worse*: the interval lies below 1 + the minimum difference, and no drift can hide a larger difference
- *open*: none of these
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ompass.comparison.metrics import possible_drift
from ompass.metrics.significance import Ratio, groups_ratio, least_rounds_p, rounds_ratio

FALSE_WORSE: Final = 0.001
"""Probability, over all looks, that a figure of equal programs is called worse. It is low, because people
examine each alarm."""

FALSE_NOT_WORSE: Final = 0.005
"""Probability that a figure is called not worse although it is worse by the minimum difference."""

MINIMUM: Final = 0.02
"""Least relative difference of times that counts."""

LEAST_REPEATS: Final = 7
"""With fewer rounds, all times of one side exceed all times of an equal side too often by chance: in six
rounds, with probability 1/924, which is above FALSE_WORSE."""

MOST_ROUNDS: Final = 640
"""Enough rounds for a verdict if the times of runs scatter by 8%. Quiet machines need fewer rounds; the time
limit also applies."""

FIRST_LOOK: Final = 7
"""On a quiet machine, seven rounds show that a program is not worse."""

LOOK_FACTOR: Final = 2**0.5
"""Ratio of the numbers of rounds at two successive looks. More looks cost certainty, and rarely help."""

DISTURBED_PART: Final = 0.25
"""If other programs disturbed at least this part of the runs, they are the reason for an open verdict."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """The ratio of one figure with its interval, and the conclusion from it."""

    ratio: Ratio
    minimum: float
    verdict: str  # "worse", "better", "not worse" or "open"


def looks(repeats: int) -> tuple[int, ...]:
    """Returns the numbers of rounds after which the command looks at the result; the last is `repeats`."""
    found = []
    look = float(FIRST_LOOK)
    while round(look) * 1.2 < repeats:
        found.append(round(look))
        look *= LOOK_FACTOR
    return (*found, repeats)


def judge(
    before: Sequence[float], after: Sequence[float], minimum: float, n_looks: int, alternating: bool
) -> Judgement:
    """Returns the judgement of two sides with at least two runs each, all times above 0.

    `alternating`: values with the same index belong to one round, in random order. Otherwise, the machine may
    have changed between the sides.
    """
    errors = FALSE_WORSE / n_looks, FALSE_NOT_WORSE / n_looks
    # If so few rounds may agree by chance, uses the test of groups, which is valid for rounds, too.
    in_rounds = alternating and least_rounds_p(len(before)) <= errors[0]
    low, high = ((rounds_ratio if in_rounds else groups_ratio)(before, after, error) for error in errors)
    ratio = Ratio(low.estimate, low.low, high.high)
    drift = 0.0 if alternating else possible_drift(before, after)
    least = max(minimum, drift)
    verdict = "open"
    if ratio.low > 1 and ratio.estimate >= 1 + least:
        verdict = "worse"
    elif ratio.high < 1 and ratio.estimate <= 1 / (1 + least):
        verdict = "better"
    elif ratio.high < 1 + minimum and drift <= minimum:
        verdict = "not worse"
    return Judgement(ratio, least, verdict)


def rounds_needed(judgement: Judgement, n_rounds: int) -> int:
    """Returns the approximate number of rounds that narrow the interval enough for a verdict."""
    ratio = judgement.ratio
    if not 0 < ratio.low <= ratio.high < math.inf:
        return 2 * n_rounds
    half_width = math.log(ratio.high / ratio.low) / 2
    wanted = math.log1p(judgement.minimum)
    # A verdict needs an interval that excludes 1 or 1 + the minimum. The value farther from the estimate is
    # easier to exclude.
    distance = max(abs(math.log(ratio.estimate)), abs(wanted - math.log(ratio.estimate)), wanted / 2)
    return max(n_rounds + 1, math.ceil(n_rounds * (half_width / distance) ** 2))
