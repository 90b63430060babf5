# SPDX-License-Identifier: Apache-2.0
"""Pairs the constructs of two builds of a program; an edit may have moved, renamed, added or removed some.

Owns the rules: the same function in the same file, else the same function elsewhere, else similar lines.
Each construct has at most one partner, which has the same kind.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import PurePosixPath
from typing import Final

from ompass.scaling.content import Place
from ompass.symbols.names import short_name

SourceLines = Mapping[str, Mapping[int, str]]
"""The known lines of source files, by file and number."""

_COMPARED: Final = ((0.3, (0,)), (0.4, (1, 2)), (0.3, (-3, -2, -1, 3, 4, 5, 6)))
"""The parts of the source around a construct that are compared: weight, and distances in lines."""
_ALIKE_IN_FUNCTION: Final = 0.3  # least similarity of a pair in one function
_ALIKE_ANYWHERE: Final = 0.6  # least similarity of a pair in different functions
_MOST_COMPARED: Final = 20_000  # most pairs whose lines are compared; this takes a second
_TOKEN: Final = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Pair:
    """One construct on both sides; `similarity` of its source lines is 0 to 1, None if they are unknown."""

    before: Place
    after: Place
    similarity: float | None

    @property
    def has_moved(self) -> bool:
        """True if the function or its position in the source or module differs."""
        return self.before != self.after


Words = list[list[str]]
Similarity = Callable[[Place, Place], "float | None"]


def pairs_of(
    before: Iterable[Place], after: Iterable[Place], lines_before: SourceLines, lines_after: SourceLines
) -> tuple[Pair, ...]:
    """Returns the pairs in the order of `before`. Constructs without a partner are new or gone."""
    left, right = list(dict.fromkeys(before)), list(dict.fromkeys(after))
    compare = _Comparison(lines_before, lines_after)
    found: dict[Place, Place] = {}
    for key in (_function_in_file, _function):
        _pair_groups(left, right, key, compare, found)
    _pair_similar(left, right, compare, found)
    return tuple(Pair(here, found[here], compare(here, found[here])) for here in left if here in found)


def _function_in_file(place: Place) -> tuple[str, ...]:
    return place.kind, short_name(place.function), PurePosixPath(place.file).name


def _function(place: Place) -> tuple[str, ...]:
    return place.kind, short_name(place.function)


def _order(place: Place) -> tuple[str, int, int]:
    return place.file, place.line, place.offset


def _pair_groups(
    left: Sequence[Place],
    right: Sequence[Place],
    key: Callable[[Place], tuple[str, ...]],
    compare: Similarity,
    found: dict[Place, Place],
) -> None:
    """Adds pairs of constructs with the same key, in the order of their lines."""
    groups: dict[tuple[str, ...], tuple[list[Place], list[Place]]] = {}
    taken = set(found.values())
    for side, places in ((0, left), (1, right)):
        for place in places:
            if place not in (taken if side else found):
                groups.setdefault(key(place), ([], []))[side].append(place)
    for ours, theirs in groups.values():
        if ours and theirs:
            found |= _in_order(sorted(ours, key=_order), sorted(theirs, key=_order), compare)


def _in_order(ours: list[Place], theirs: list[Place], compare: Similarity) -> dict[Place, Place]:
    """Returns the pairs that keep the order and have the largest sum of similarities of source lines.

    If source lines are unknown or there are too many pairs, pairs equal places. If equally many constructs
    remain on both sides, pairs these in order.
    """
    if len(ours) * len(theirs) > _MOST_COMPARED or compare(ours[0], theirs[0]) is None:
        same = {place: place for place in ours if place in theirs}
        ours = [place for place in ours if place not in same]
        theirs = [place for place in theirs if place not in same]
        return same | (dict(zip(ours, theirs, strict=True)) if len(ours) == len(theirs) else {})
    alike = [[_at_least(compare(a, b), _ALIKE_IN_FUNCTION) for b in theirs] for a in ours]
    # best[i][j]: largest sum of similarities of the constructs from i and j on
    best = [[0.0] * (len(theirs) + 1) for _ in range(len(ours) + 1)]
    for i in reversed(range(len(ours))):
        for j in reversed(range(len(theirs))):
            best[i][j] = max(alike[i][j] + best[i + 1][j + 1], best[i + 1][j], best[i][j + 1])
    found: dict[Place, Place] = {}
    i = j = 0
    while i < len(ours) and j < len(theirs):
        if alike[i][j] and best[i][j] == alike[i][j] + best[i + 1][j + 1]:
            found[ours[i]] = theirs[j]
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return found


def _pair_similar(
    left: Sequence[Place], right: Sequence[Place], compare: Similarity, found: dict[Place, Place]
) -> None:
    """Adds pairs of the remaining constructs, the most similar source lines first.

    Constructs with unknown source lines pair only at the same line, where just the function was renamed.
    """
    taken = set(found.values())
    ours = [place for place in left if place not in found]
    theirs = [place for place in right if place not in taken]
    if len(ours) * len(theirs) > _MOST_COMPARED:
        return
    candidates = []
    for i, a in enumerate(ours):
        for j, b in enumerate(theirs):
            alike = compare(a, b) if a.kind == b.kind else 0.0
            if alike is None:
                alike = float(bool(a.line) and (a.file, a.line) == (b.file, b.line))
            if _at_least(alike, _ALIKE_ANYWHERE):
                candidates.append((-round(alike, 3), abs(i - j), i, j))
    for _, _, i, j in sorted(candidates):
        if ours[i] not in found and theirs[j] not in taken:
            found[ours[i]] = theirs[j]
            taken.add(theirs[j])


def _at_least(similarity: float | None, least: float) -> float:
    """Returns the similarity; 0 if it is unknown or too small for a pair."""
    return similarity if similarity is not None and similarity >= least else 0.0


class _Comparison:
    """The similarity of the source lines around constructs of both sides."""

    def __init__(self, before: SourceLines, after: SourceLines) -> None:
        self._sides = before, after
        self._texts: dict[tuple[int, Place], Words | None] = {}
        self._known: dict[tuple[Place, Place], float | None] = {}

    def __call__(self, before: Place, after: Place) -> float | None:
        """Returns the similarity, 0 to 1; None if the lines of either construct are unknown."""
        key = before, after
        if key not in self._known:
            texts = self._text(0, before), self._text(1, after)
            self._known[key] = None if texts[0] is None or texts[1] is None else _alike(texts[0], texts[1])
        return self._known[key]

    def _text(self, side: int, place: Place) -> Words | None:
        """Returns the words of each part; None if the construct's line is unknown."""
        key = side, place
        if key not in self._texts:
            lines = self._sides[side].get(place.file, {})
            words = [
                [word for each in near for word in _TOKEN.findall(lines.get(place.line + each, ""))]
                for _, near in _COMPARED
            ]
            self._texts[key] = words if words[0] else None
        return self._texts[key]


def _alike(one: Words, other: Words) -> float:
    ratios = (SequenceMatcher(None, a, b, autojunk=False).ratio() for a, b in zip(one, other, strict=True))
    return sum(weight * ratio for (weight, _), ratio in zip(_COMPARED, ratios, strict=True))
