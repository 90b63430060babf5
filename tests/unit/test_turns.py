# SPDX-License-Identifier: Apache-2.0
"""The combinations of parameters that quick runs execute."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from turns import in_turn


@given(st.lists(st.fixed_dictionaries({name: st.integers(0, 3) for name in "abc"}), max_size=20))
def test_each_value_of_each_parameter_occurs(cases: list[dict[str, int]]) -> None:
    chosen = [cases[number] for number in in_turn(cases)]
    for name in "abc":
        assert {case[name] for case in chosen} == {case[name] for case in cases}


def test_a_matrix_needs_as_many_cases_as_its_longest_side() -> None:
    sides = {"program": range(12), "mode": ("profile", "trace"), "threads": (1, 2)}
    cases = [dict(zip(sides, values, strict=True)) for values in itertools.product(*sides.values())]
    chosen = [cases[number] for number in in_turn(cases)]
    assert [case["program"] for case in chosen] == list(sides["program"])
    for pair in itertools.product(sides["mode"], sides["threads"]):
        assert [(case["mode"], case["threads"]) for case in chosen].count(pair) == 3


def test_a_test_without_parameters_runs() -> None:
    assert in_turn([{}]) == [0]
