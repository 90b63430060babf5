# SPDX-License-Identifier: Apache-2.0
"""Notes state the effects that a simulation does not model, but only if these effects matter."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ompass.simulation.runs import notes_on


def noted(*, levels: bool = False, other_team: bool = False, trace_end: str = "", **figures: Any) -> str:
    """Returns the notes on a program of a second of work with these figures; all others are zero."""
    names = (
        "n_accesses", "n_serialised", "n_supposed_waits", "preempted_ns", "blocked_ns", "called_ns",
        "off_cpu_ns", "n_nested", "n_dependent_waits", "n_unfulfilled", "n_detached", "n_out_of_order",
    )  # fmt: skip
    values: dict[str, Any] = {**dict.fromkeys(names, 0), "work_ns": 10**9, "loop_counts": (0, 0), **figures}
    program: Any = SimpleNamespace(**values)
    run: Any = SimpleNamespace(levels=[1] if levels else [])
    return "\n".join(notes_on(program, [run], other_team, trace_end))


def test_a_program_without_peculiarities_has_one_note() -> None:
    assert noted().splitlines() == [
        "Work takes the recorded time: the effects of other caches and memory are not modelled."
    ]


@pytest.mark.parametrize(
    ("figure", "word"),
    [
        ("preempted_ns", "Other programs used the processors for 11 ms"),
        ("blocked_ns", "Waits for locks that the trace does not identify, 11 ms (1.1% of the work)"),
        ("called_ns", "The time in MPI calls and target constructs, 11 ms, is repeated as recorded"),
        ("off_cpu_ns", "Tasks were blocked for 11 ms"),
    ],
)
def test_lost_time_is_noted_if_it_exceeds_a_hundredth_of_the_work(figure: str, word: str) -> None:
    much: dict[str, Any] = {figure: 11_000_000}
    assert word in noted(**much)
    for little_ns in (9_000_000, 10_000_000):
        little: dict[str, Any] = {figure: little_ns}
        assert noted(**little) == noted()


@pytest.mark.parametrize(
    ("figures", "word"),
    [
        ({"n_serialised": 1}, "1 task ran in a team of one thread"),
        ({"n_nested": 1}, "Nested regions run on the thread that enters them"),
        ({"n_dependent_waits": 1}, "1 taskwait with dependences"),
        ({"n_unfulfilled": 1, "n_detached": 1}, "events of 1 detached task are not in the trace"),
        ({"n_detached": 1}, "1 detached task: from the end to the completion takes as long as in the"),
        ({"trace_end": "the disk was full"}, "lacks the last part of the run, because the disk was full"),
        ({"n_out_of_order": 1}, "1 event had to be processed before the events"),
        ({"n_accesses": 1}, "because no caches are known"),
        ({"n_accesses": 1, "levels": True}, "modelled for 1 declared access;"),
        (
            {"loop_counts": (1, 0), "other_team": True},
            "Schedules divide the work of 1 execution of worksharing loops.",
        ),
        ({"loop_counts": (0, 1), "other_team": True}, "do not shorten 1 execution of worksharing loops"),
    ],
)
def test_each_limit_of_the_model_is_noted_even_for_a_single_case(figures: dict[str, Any], word: str) -> None:
    assert word in noted(**figures)
    assert word not in noted()


def test_detached_tasks_are_noted_once() -> None:
    text = noted(n_detached=5, n_unfulfilled=2)
    assert "events of 2 detached tasks" in text
    assert "3 detached tasks: from the end" in text
    assert "from the end to the completion" not in noted(n_detached=2, n_unfulfilled=2)


def test_supposed_waits_belong_to_the_note_on_teams_of_one() -> None:
    assert "assumed to wait for its children" in noted(n_serialised=3, n_supposed_waits=1)
    assert "assumed to wait for its children" not in noted(n_serialised=3)


def test_loops_of_the_recorded_team_are_not_noted() -> None:
    assert noted(loop_counts=(3, 3)) == noted()
