# SPDX-License-Identifier: Apache-2.0
"""The parts of a run's work that a sweep compares."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from ompass.reports.content import ReportContent
from ompass.scaling import content

MS = 1_000_000


@pytest.mark.parametrize(
    ("loops", "undivided"),
    [
        ({}, 70),
        ({"for": 30}, 40),
        ({"for": 30, "sections": 15}, 25),
        ({"single": 30}, 70),
        ({"for": 90}, 0),
    ],
)
def test_undivided_work_is_that_of_implicit_tasks_without_loops(
    loops: dict[str, int], undivided: int
) -> None:
    made: Any = SimpleNamespace(
        regions=[SimpleNamespace(implicit_ns=ms * MS) for ms in (50, 20)],
        loops=[SimpleNamespace(kind=kind, time_ns=ms * MS) for kind, ms in loops.items()],
    )
    assert content._undivided_ns(cast("ReportContent", made)) == undivided * MS
