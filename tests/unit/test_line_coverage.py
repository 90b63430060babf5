# SPDX-License-Identifier: Apache-2.0
"""Tests which parts `./run coverage` measures."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial

import pytest

from line_coverage import __main__ as line_coverage

FILES = [line_coverage.File("a.py", 10, 9)]


@pytest.mark.parametrize(("words", "parts"), [([], ["readers", "package"]), (["readers"], ["readers"])])
def test_without_a_part_all_parts_are_measured(
    words: list[str], parts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    measured: list[str] = []

    def measure(part: str, arguments: Sequence[str]) -> list[line_coverage.File]:
        assert list(arguments) == ["--numprocesses", "3"]
        measured.append(part)
        return FILES

    for part in line_coverage.PARTS:
        monkeypatch.setitem(line_coverage.PARTS, part, partial(measure, part))
    monkeypatch.setattr(sys, "argv", ["line_coverage", *words, "--", "--numprocesses", "3"])
    assert line_coverage.main() == 0
    assert measured == parts
