# SPDX-License-Identifier: Apache-2.0
"""Checks that must hold for every run directory: completeness, sums, and agreement of profile and events.

Also reads the FACTS line of a test program. The tests choose and run the programs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from pathlib import Path

from ompass import _core, model

Facts = dict[str, int]

STATES = tuple(f"{state}_ns" for state in model.STATES)
OUTSIDE = -1  # construct of the region row for the time outside of every region

# All figures of rows. Profile and replay must agree on counts exactly, and on times within 1%.
FIGURES = {
    name: [field for field, kind, _ in row.describe() if kind == "Int64"]
    for name, row in (
        ("regions", _core.RegionRow),
        ("constructs", _core.ConstructRow),
        ("waits", _core.WaitRow),
        ("loops", _core.LoopRow),
        ("calls", _core.CallRow),
    )
}
# An untied task may complete before a thread that left it records its departure. The profile's duration then
# lacks the part on that thread, which counts as inclusive time of the thread.
OF_PARTS = ("inclusive_ns", "min_ns", "max_ns")
OMPT_TASK_UNTIED = 0x10000000
RELATIVE_TOLERANCE = 0.01
# If the process ends while a thread counts an off-CPU interval, the profile or the events may lack it.
# Traces lack readings of CPU clocks, which the tool uses where the kernel refuses records of switches.
ABSENT = ("preempted_ns", "blocked_ns")
ROUNDING_NS = 1_000  # largest difference due to rounding ticks to nanoseconds, event by event


def facts_in(stdout: str) -> Facts:
    """Returns the numbers of a program's FACTS line, which is its last one."""
    last = stdout.splitlines()[-1]
    assert last.startswith("FACTS "), f"no FACTS line at the end of:\n{stdout}"
    return {name: int(value) for name, value in (word.split("=") for word in last.split()[1:])}


def run_directories(workspace: Path) -> list[Path]:
    """Returns the run directories in `workspace`, in order of their names."""
    return sorted(path.parent for path in workspace.glob("*/meta.json"))


def task_rows(profile: _core.Run) -> list[_core.ConstructRow]:
    """Returns the rows of task constructs; rows of kernels are left out."""
    kinds = {definition.id: definition.kind for definition in profile.definitions}
    return [row for row in profile.constructs if kinds[row.construct] == "task"]


def warm_up_and_after(profile: _core.Run) -> tuple[list[_core.RegionRow], list[_core.RegionRow]]:
    """Returns the rows of the first region, the warm-up of a known answer, and the rows of later regions."""
    rows = [row for row in profile.regions if row.construct != OUTSIDE]
    constructs = {row.construct for row in rows}
    assert len(constructs) > 1, f"only {len(constructs)} region construct recorded"
    first = min(constructs)
    return [row for row in rows if row.construct == first], [row for row in rows if row.construct != first]


def counted(profile: _core.Run) -> Facts:
    """Returns the recorded counts under the names of the FACTS line."""
    tasks = task_rows(profile)
    return {
        "tasks": sum(row.n_completed for row in tasks),
        "created": sum(row.n_created for row in tasks),
        "cancelled": sum(row.n_cancelled for row in tasks),
        "regions": sum(row.n_primary for row in profile.regions if row.construct != OUTSIDE),
    }


def check_facts(facts: Facts, profile: _core.Run, *, ends_in_flight: bool = False) -> None:
    """Checks every number of a FACTS line; NAME_min and NAME_max bound a number that is not exact.

    Numbers that `counted` does not name are figures of task constructs, such as n_ready.
    `ends_in_flight`: the process ended while tasks were running, so some created tasks never completed.
    """
    figures = {name: sum(getattr(row, name) for row in task_rows(profile)) for name in FIGURES["constructs"]}
    recorded = {**figures, **counted(profile)}
    for name, value in facts.items():
        if name.endswith("_min"):
            assert recorded[name.removesuffix("_min")] >= value, f"{name}={value}, recorded {recorded}"
        elif name.endswith("_max"):
            assert recorded[name.removesuffix("_max")] <= value, f"{name}={value}, recorded {recorded}"
        else:
            assert recorded[name] == value, f"{name}={value}, recorded {recorded}"
    n_open = recorded["created"] - recorded["tasks"] - recorded["cancelled"]
    assert n_open == 0 or (n_open > 0 and ends_in_flight), f"tasks got lost: {recorded}"
    in_regions = sum(row.n_tasks for row in (*profile.regions, *profile.helper_regions))
    assert in_regions == recorded["tasks"], "the tasks of the regions are not the tasks of the constructs"


def check_identity(profile: _core.Run) -> None:
    """Checks that thread time is exactly the sum of its states, and capacity exactly the threads' time."""
    capacity: dict[int, int] = defaultdict(int)
    spent: dict[int, int] = defaultdict(int)
    for row in profile.regions:
        states = sum(getattr(row, state) for state in STATES)
        assert states == row.total_ns, f"states do not add up in {row}"
        assert max(getattr(row, state) for state in STATES) < 2**63, f"negative time in {row}"
        assert 0 <= row.implicit_ns <= row.work_ns, f"implicit work is not part of work in {row}"
        assert 0 <= row.lock_ns <= row.sync_ns, f"lock time is not part of sync in {row}"
        assert row.preempted_ns + row.blocked_ns <= row.total_ns, f"more off-CPU time than time in {row}"
        assert row.work_preempted_ns + row.work_blocked_ns <= row.work_ns, (
            f"more off-CPU time than work in {row}"
        )
        assert row.work_preempted_ns <= row.preempted_ns, f"preempted work is not part of preempted in {row}"
        assert row.work_blocked_ns <= row.blocked_ns, f"blocked work is not part of blocked in {row}"
        capacity[row.construct] += row.capacity_ns
        spent[row.construct] += row.total_ns + row.nested_ns
    for construct, capacity_ns in capacity.items():
        if construct != OUTSIDE:
            assert spent[construct] == capacity_ns, (
                f"region {construct}: {spent[construct]} ns spent of {capacity_ns}"
            )


def check_constructs(profile: _core.Run) -> None:
    """Checks that the rows of each construct are consistent."""
    by_construct: dict[int, list[_core.ConstructRow]] = defaultdict(list)
    for row in profile.constructs:
        by_construct[row.construct].append(row)
        assert row.preempted_ns + row.blocked_ns <= row.work_ns, f"more off-CPU time than work in {row}"
        assert row.min_ns <= row.max_ns, f"shortest is longer than longest in {row}"
        assert row.ready_max_ns <= row.ready_ns, f"one wait is longer than all together in {row}"
    for rows in by_construct.values():
        # Sums over threads, because the thread that fulfils the event of a detached task completes the task.
        n_timed = sum(row.n_timed for row in rows)
        n_completed = sum(row.n_completed for row in rows)
        in_histogram = sum(sum(row.histogram) for row in rows)
        assert n_timed <= in_histogram <= n_completed, f"histogram of {rows}"
        assert n_timed < n_completed or in_histogram == n_timed, f"histogram of {rows}"


def check_sound(run_dir: Path) -> _core.Run:
    """Checks that the run is complete and consistent; returns its profile."""
    problems = _core.validate(str(run_dir))
    assert not problems, "\n".join(problems)
    profile = _core.read_profile(str(run_dir))
    assert profile.complete, profile.incomplete_reasons
    assert not [text for text in profile.missing if "contradicted" in text], profile.missing
    check_identity(profile)
    check_constructs(profile)
    return profile


def check_accounts_agree(
    profile: _core.Run, replay: _core.Run, *, ends_in_region: bool = False, except_for: Collection[str] = ()
) -> None:
    """Compares the tool's profile with the profile recomputed from its events, except for some figures."""
    assert (profile.source, replay.source) == ("profile", "events")
    check_identity(replay)
    check_constructs(replay)
    is_estimated = has_untimed_tasks(profile)
    lacks_absences = ends_in_region or any(thread.cpu_source == "clocks" for thread in profile.threads)
    for name, figures in FIGURES.items():
        kept = {(row.construct, row.thread): row for row in getattr(profile, name)}
        again = {(row.construct, row.thread): row for row in getattr(replay, name)}
        assert kept.keys() == again.keys(), f"different {name}"
        for key, row in kept.items():
            pairs = {figure: (getattr(row, figure), getattr(again[key], figure)) for figure in figures}
            apart = {
                figure: pair
                for figure, pair in pairs.items()
                if (are_apart(*pair) if figure.endswith("_ns") else pair[0] != pair[1])
                and not (
                    figure.endswith(ABSENT) and (lacks_absences or (name == "constructs" and is_estimated))
                )
                and not (figure in OF_PARTS and is_untied(profile, row.construct))
                and figure not in except_for
            }
            assert not apart, f"{name} {key}: (profile, events) {apart}"
    inclusive, again_inclusive = (inclusive_by_construct(figures) for figures in (profile, replay))
    for construct, ns in inclusive.items():
        assert not are_apart(ns, again_inclusive[construct]), f"inclusive time of {construct}"


def are_apart(one_ns: int, other_ns: int) -> bool:
    return abs(one_ns - other_ns) > max(ROUNDING_NS, RELATIVE_TOLERANCE * max(one_ns, other_ns))


def has_untimed_tasks(profile: _core.Run) -> bool:
    """True if some tasks were not timed. Off-CPU time is then exact by region, but estimated by construct."""
    return any(row.n_timed < row.n_completed for row in profile.constructs)


def is_untied(profile: _core.Run, construct: int) -> bool:
    return construct >= 0 and bool(profile.definitions[construct].flags & OMPT_TASK_UNTIED)


def inclusive_by_construct(profile: _core.Run) -> dict[int, int]:
    """Returns inclusive time in ns by construct, over all threads."""
    sums: dict[int, int] = {}
    for row in profile.constructs:
        sums[row.construct] = sums.get(row.construct, 0) + row.inclusive_ns
    return sums
