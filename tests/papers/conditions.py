# SPDX-License-Identifier: Apache-2.0
"""Parts that claims share: conditions on our numbers, labels, and formats of numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from papers.model import Claim, Numbers


def falls(found: Sequence[float]) -> bool:
    return all(a > b for a, b in pairwise(found))


def rises(found: Sequence[float]) -> bool:
    return all(a < b for a, b in pairwise(found))


def first_is_least(found: Sequence[float]) -> bool:
    return found[0] < min(found[1:])


def first_is_largest(found: Sequence[float]) -> bool:
    return found[0] > max(found[1:])


def all_positive(found: Sequence[float]) -> bool:
    return min(found) > 0


def between(low: float, high: float) -> Callable[[Sequence[float]], bool]:
    """Returns the condition that all numbers lie in a range, its ends included."""
    return lambda found: low <= min(found) and max(found) <= high


def never(_: Sequence[float]) -> bool:
    """Returns False: the condition of claims that this machine and the simulation cannot check."""
    return False


def by_cores(keys: Sequence[int], value: Callable[[int], float]) -> Numbers:
    return {f"{key} core{'s' if key > 1 else ''}": value(key) for key in keys}


def percent(share: float) -> str:
    return f"{share:.1%}"


def gain(share: float) -> str:
    return f"{share:+.1%}"


def times(ratio: float) -> str:
    return f"{ratio:.1f}"


def ns(time: float) -> str:
    return f"{time:.0f} ns"


def ratio_text(ratio: float) -> str:
    return f"{ratio:.2f}"


def threads_label(threads: int) -> str:
    return f"{threads} thread{'s' if threads > 1 else ''}"


def count(number: float) -> str:
    return f"{number:,.0f}"


def untested(name: str, sentence: str, place: str, theirs: str, picture: str, missing: str) -> Claim:
    """Returns a claim that this machine and the simulation cannot check. `missing`: the reason."""
    return Claim(name, sentence, place, theirs, picture, lambda _: {}, never, percent, missing=missing)
