# SPDX-License-Identifier: Apache-2.0
"""Work at the line of a directive, outside of loops, is the work on private copies of variables."""

from __future__ import annotations

from typing import Any

import pytest

from made_findings import findings, the
from made_runs import MS, definition, loop, made_run, team
from ompass.model import Run
from ompass.samples.metrics import Line, LocatedSample, Owner

DIRECTIVE = Line("f", "a.c", 3, "a", "a.c:3", "a.c:3 (f)")
STATEMENT = Line("f", "a.c", 4, "a", "a.c:4", "a.c:4 (f)")
COPY = Line("memcpy", "", 0, "libc.so.6", "libc.so.6", "", "libc")
DIRECTIVES = frozenset({("a.c", 3)})
IMPLICIT = Owner("implicit", 0)


def working(loop_ms: int, *, n_instances: int = 10) -> Run:
    """Makes a run of one region and two threads, each with 100 ms of work, a part of it in a loop."""
    rows = team(0, [{"work_ns": 100 * MS, "implicit_ns": 100 * MS}] * 2, n_instances=n_instances)
    loops = [
        loop(1, thread, time_ns=loop_ms * MS, max_ns=loop_ms * MS, n_entered=n_instances) for thread in (0, 1)
    ]
    return made_run(
        rows, loops=loops, definitions=[definition(0, "parallel"), definition(1, "loop", flags=10)]
    )


def sampled(n: int, *calls: Line, owner: Owner = IMPLICIT) -> tuple[LocatedSample, ...]:
    """Makes 100 samples of work; n of them in these calls."""
    rest = LocatedSample(0, IMPLICIT, (STATEMENT,), "", 100 - n)
    return (LocatedSample(0, owner, calls, "", n), rest)


@pytest.mark.parametrize("calls", [(DIRECTIVE,), (COPY, DIRECTIVE)])
def test_work_at_the_line_of_a_directive_outside_of_loops_is_on_copies(calls: tuple[Line, ...]) -> None:
    found = the(working(20), "private_copies", samples=sampled(40, *calls), directives=DIRECTIVES)
    assert found.cost_ns == 80 * MS
    assert found.line == DIRECTIVE


def test_the_time_outside_of_loops_limits_the_loss() -> None:
    found = the(working(80), "private_copies", samples=sampled(40, DIRECTIVE), directives=DIRECTIVES)
    assert found.cost_ns == 40 * MS


@pytest.mark.parametrize(
    ("run", "facts"),
    [
        pytest.param(working(20), {"samples": sampled(40, STATEMENT)}, id="other line"),
        pytest.param(working(20), {"samples": sampled(14, DIRECTIVE)}, id="small share"),
        pytest.param(working(86), {"samples": sampled(40, DIRECTIVE)}, id="in loops"),
        pytest.param(working(20), {"samples": sampled(40, DIRECTIVE, owner=Owner("task", 0))}, id="in tasks"),
        pytest.param(
            working(20, n_instances=11_000), {"samples": sampled(40, DIRECTIVE)}, id="too short for copies"
        ),
    ],
)
def test_other_work_is_not_on_copies(run: Run, facts: dict[str, Any]) -> None:
    kinds = {finding.kind for finding in findings(run, directives=DIRECTIVES, **facts)}
    assert "private_copies" not in kinds
