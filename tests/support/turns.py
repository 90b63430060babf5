# SPDX-License-Identifier: Apache-2.0
"""Chooses the combinations of parameters that quick runs execute.

A test with several parameters has one case for each combination of their values. In quick runs the values
take turns: each value of each parameter occurs, but not with every value of the others.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

Case = Mapping[str, Hashable]
"""The value of each parameter, by the parameter's name."""


def in_turn(cases: Sequence[Case]) -> list[int]:
    """Returns the indices of cases that contain each value of each parameter, in order.

    There is one case for each value of the parameter that has the most values, and more only if these lack a
    value. The values of the other parameters, and their pairs, occur about equally often. A test without
    parameters has one case.
    """
    if not all(cases):
        return list(range(len(cases)))
    chosen: set[int] = set()
    n_uses: Counter[Any] = Counter()
    n_values = {name: len({case[name] for case in cases}) for name in (cases[0] if cases else ())}
    for name in sorted(n_values, key=lambda name: -n_values[name]):
        for value in dict.fromkeys(case[name] for case in cases):
            if n_uses[name, value] == 0:
                having = [number for number, case in enumerate(cases) if case[name] == value]
                best = min(having, key=lambda number: _uses(cases[number], n_uses))
                chosen.add(best)
                n_uses.update(_pairs(cases[best]))
                n_uses.update(cases[best].items())
    return sorted(chosen)


def _pairs(case: Case) -> Iterator[Any]:
    return itertools.combinations(case.items(), 2)


def _uses(case: Case, n_uses: Counter[Any]) -> tuple[int, int]:
    """Returns how often the chosen cases use the pairs of values of a case, and its values."""
    return sum(n_uses[pair] for pair in _pairs(case)), sum(n_uses[item] for item in case.items())
