# SPDX-License-Identifier: Apache-2.0
"""Checks that a run agrees with itself: the identity row by row, and profile against trace.

Owns the tolerances: counts agree exactly, times within 1% (or a floor below which clocks decide).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from ompass.metrics.breakdown import Breakdown, time_breakdown
from ompass.metrics.constructs import ConstructTotals, construct_totals
from ompass.model import OUTSIDE, Run, StateTimes

TIME_TOLERANCE: Final = 0.01
TIME_FLOOR_NS: Final = 200_000
"""Differences below this are not reported: 1% of a short run is less than what starting threads takes."""


def identity_problems(run: Run) -> list[str]:
    """Where thread-time is not the sum of its parts, one sentence each."""
    return list(_identity_problems(run))


def _identity_problems(run: Run) -> Iterator[str]:
    capacity_ns: dict[int, int] = {}
    covered_ns: dict[int, int] = {}
    for row in run.regions:
        where = f"thread {row.thread}, construct {row.construct}"
        states_ns = StateTimes.of(row).total_ns
        if row.total_ns != states_ns:
            yield f"{where}: thread-time {row.total_ns} ns, but its states add up to {states_ns} ns"
        if row.implicit_ns > row.work_ns:
            yield f"{where}: implicit work {row.implicit_ns} ns exceeds all work {row.work_ns} ns"
        if row.lock_ns > row.sync_ns:
            yield f"{where}: lock time {row.lock_ns} ns exceeds all sync {row.sync_ns} ns"
        capacity_ns[row.construct] = capacity_ns.get(row.construct, 0) + row.capacity_ns
        covered_ns[row.construct] = covered_ns.get(row.construct, 0) + row.total_ns + row.nested_ns
    for construct, held_ns in capacity_ns.items():
        # Threads of a killed run were cut off inside of instances that were never accounted whole.
        if construct != OUTSIDE and run.complete and held_ns != covered_ns[construct]:
            yield (
                f"construct {construct}: its threads account for {covered_ns[construct]} ns "
                f"of {held_ns} ns of team size times duration"
            )
    whole = time_breakdown(run)
    if whole.thread_time_ns != whole.states.total_ns:
        yield f"thread-time {whole.thread_time_ns} ns is not the sum of its states {whole.states.total_ns} ns"


def agreement_problems(profile: Run, events: Run) -> list[str]:
    """Where the profile that the tool kept differs from the figures of the events."""
    return [
        *_breakdown_differences(time_breakdown(profile), time_breakdown(events)),
        *_task_differences(profile, events),
    ]


_TIMES: Final[tuple[tuple[str, Callable[[Breakdown], int]], ...]] = (
    ("thread-time", lambda b: b.thread_time_ns),
    ("work", lambda b: b.states.work_ns),
    ("create", lambda b: b.states.create_ns),
    ("schedule", lambda b: b.states.schedule_ns),
    ("sync", lambda b: b.states.sync_ns),
    ("idle", lambda b: b.states.idle_ns),
)


def _breakdown_differences(a: Breakdown, b: Breakdown) -> Iterator[str]:
    if a.n_threads != b.n_threads:
        yield f"threads: {a.n_threads} in the profile, {b.n_threads} in the events"
    if a.n_tasks != b.n_tasks:
        yield f"tasks in regions: {a.n_tasks} in the profile, {b.n_tasks} in the events"
    for name, time_of in _TIMES:
        yield from _time_difference(name, time_of(a), time_of(b), a.thread_time_ns)


def _task_differences(profile: Run, events: Run) -> Iterator[str]:
    ours = {t.construct: t for t in construct_totals(profile)}
    theirs = {t.construct: t for t in construct_totals(events)}
    for construct in sorted(ours.keys() | theirs.keys()):
        a, b = ours.get(construct), theirs.get(construct)
        if a is None or b is None:
            where = "events" if a is None else "profile"
            yield f"construct {construct} is only in the {where}"
            continue
        for name, n_a, n_b in _counts(a, b):
            if n_a != n_b:
                yield f"construct {construct}: {name} is {n_a} in the profile, {n_b} in the events"
        yield from _time_difference(f"construct {construct}: work", a.work_ns, b.work_ns, a.work_ns)


def _counts(a: ConstructTotals, b: ConstructTotals) -> tuple[tuple[str, int, int], ...]:
    return (
        ("created", a.n_created, b.n_created),
        ("completed", a.n_completed, b.n_completed),
        ("cancelled", a.n_cancelled, b.n_cancelled),
        ("undeferred", a.n_undeferred, b.n_undeferred),
        ("ran on another thread", a.n_other_thread, b.n_other_thread),
    )


def _time_difference(name: str, a_ns: int, b_ns: int, whole_ns: int) -> Iterator[str]:
    if abs(a_ns - b_ns) > max(TIME_TOLERANCE * whole_ns, TIME_FLOOR_NS):
        yield f"{name}: {a_ns} ns in the profile, {b_ns} ns in the events"
