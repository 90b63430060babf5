# SPDX-License-Identifier: Apache-2.0
"""Predictions are refused if much of the time depends on facts that the trace lacks, and only then."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ompass.simulation.refusals import Doubt, misfit, refusal

MS = 1_000_000
LACKS_NO_FACT = {
    "n_unknown_dependences": 0, "own_ns": 0, "kept_loop_ns": 0, "equal_loop_ns": 0, "blocked_ns": 0,
    "n_dependent_alone": 0, "sections_ns": 0, "detached_ns": 0, "n_detached": 9, "other_regions_ns": 0,
    "few_tasks_ns": 0, "asks_for_threads": True, "system_ns": 0, "locking_ns": 0,
    "copied_bytes": 0, "allocator_ns": 0,
}  # fmt: skip


def refused(
    threads: int = 2, recorded: int = 1, wall_ns: int = 500 * MS, **figures: int | bool
) -> Doubt | None:
    """Returns the refusal of a prediction for a program with one second of work and these figures."""
    program: Any = SimpleNamespace(n_threads=recorded, work_ns=1000 * MS, **{**LACKS_NO_FACT, **figures})
    run: Any = SimpleNamespace(wall_ns=wall_ns)
    return refusal(program, threads, run)


def test_a_trace_that_lacks_no_fact_is_predicted() -> None:
    assert refused() is None


@pytest.mark.parametrize(
    ("figure", "below", "above", "word"),
    [
        ("n_unknown_dependences", 0, 1, "lacks the dependences of 1 task"),
        ("own_ns", 99 * MS, 101 * MS, "divide or repeat"),
        ("kept_loop_ns", 99 * MS, 101 * MS, "tasks, locks or declared data"),
        ("equal_loop_ns", 199 * MS, 201 * MS, "equally long"),
        ("sections_ns", 99 * MS, 101 * MS, "the time of each section"),
        ("detached_ns", 99 * MS, 101 * MS, "9 detached tasks"),
        ("blocked_ns", 49 * MS, 51 * MS, "does not show what ended these waits"),
        ("n_dependent_alone", 49_000, 51_000, "depend clauses"),
        ("few_tasks_ns", 99 * MS, 101 * MS, "asks for its number of threads"),
        ("locking_ns", 99 * MS, 101 * MS, "locks of the C library"),
        ("copied_bytes", 999_000_000, 1_010_000_000, "fetch a copy"),
        ("allocator_ns", 199 * MS, 201 * MS, "the memory allocator"),
        ("system_ns", 99 * MS, 101 * MS, "in the operating system's kernel"),
    ],
)
def test_a_prediction_is_refused_if_too_much_of_it_is_in_doubt(
    figure: str, below: int, above: int, word: str
) -> None:
    little: dict[str, Any] = {figure: below}
    much: dict[str, Any] = {figure: above}
    assert refused(**little) is None
    doubt = refused(**much)
    assert doubt is not None and word in doubt.reason and "record" in doubt.cure
    assert refused(threads=1, **much) is None, "the recorded number of threads needs none of these facts"


def test_a_time_of_few_ticks_in_the_kernel_is_no_reason() -> None:
    assert refused(wall_ns=100 * MS, system_ns=50 * MS) is not None
    assert refused(wall_ns=100 * MS, system_ns=49 * MS) is None


def test_few_tasks_are_no_reason_if_the_program_does_not_ask_for_threads() -> None:
    assert refused(few_tasks_ns=500 * MS) is not None
    assert refused(few_tasks_ns=500 * MS, asks_for_threads=False) is None


@pytest.mark.parametrize("threads", [1, 2])
def test_regions_of_threads_that_the_program_created_are_refused_for_any_team(threads: int) -> None:
    assert refused(threads, other_regions_ns=50 * MS) is None
    doubt = refused(threads, other_regions_ns=51 * MS)
    assert doubt is not None
    assert "threads that the program created spent 51 ms" in doubt.reason


def test_more_threads_raise_the_doubt_about_undivided_work() -> None:
    assert refused(threads=3, recorded=2, own_ns=250 * MS) is None
    assert refused(threads=16, recorded=2, own_ns=250 * MS) is not None


def test_the_largest_doubt_is_the_reason() -> None:
    doubt = refused(own_ns=300 * MS, kept_loop_ns=600 * MS)
    assert doubt is not None and "60.0% of the work" in doubt.reason


@pytest.mark.parametrize(
    ("recorded", "simulated", "preempted", "fits"),
    [
        (1000, 860, 0, True),
        (1000, 840, 0, False),
        (1000, 1160, 0, False),
        (1000, 840, 21, True),  # the difference may come from other programs
        (49, 30, 0, True),  # too short to judge
    ],
)
def test_the_simulation_of_the_recorded_run_must_take_about_the_recorded_time(
    recorded: int, simulated: int, preempted: int, fits: bool
) -> None:
    program: Any = SimpleNamespace(regions_ns=recorded * MS, work_ns=1000 * MS, preempted_ns=preempted * MS)
    run: Any = SimpleNamespace(wall_ns=(simulated + 5) * MS, serial_ns=5 * MS)
    assert (misfit(program, run) is None) == fits
