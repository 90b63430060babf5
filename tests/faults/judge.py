# SPDX-License-Identifier: Apache-2.0
"""Judges a run: the program must behave as without the tool, and the recording must be complete.

If the fault permits missing parts, the recording may lack some, but must state them.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

import ompass
from faults.cases import Case
from faults.runs import Ended, Progress
from harsh_run import tool_lines
from ompass import _core
from ompass.errors import OmpassError
from recorded_run import check_constructs, check_identity, counted

MOST_MESSAGES = 2  # of the tool: about its directory and its logs, or about a log and OMPASS_LIMIT_MB


def check_program(case: Case, plain: Ended, recorded: Ended) -> None:
    """Checks that the tool changes nothing that the user sees, except for its own messages."""
    assert recorded.status == case.kind.status, f"status {recorded.status}: {recorded.stderr}"
    if case.kind.name == "killed":  # the program without the tool ran to its end
        assert plain.stdout.startswith(recorded.stdout), "the output differs"
    else:
        assert recorded.stdout == plain.stdout, "the output differs"
    own = [line for line in recorded.stderr.splitlines() if line not in tool_lines(recorded.stderr)]
    assert own == plain.stderr.splitlines(), f"stderr differs: {own}"


def check_two(case: Case, run_dir: Path, plain: Ended, *programs: Ended) -> None:
    """Checks that two programs with one OMPASS_DIR recorded into two run directories."""
    found = sorted(run_dir.parent.glob("*.ompass"))
    assert len(found) == len(programs), f"there are {[path.name for path in found]}"
    for program, directory in zip(programs, found, strict=True):
        check_program(case, plain, program)
        check_recording(case, directory, program)  # both programs run the same tasks


def check_recording(case: Case, run_dir: Path, recorded: Ended, *, killed_late: bool = False) -> None:
    """Checks a run directory against the program's own counts.

    killed_late: True if the kill came after the program's whole output, so perhaps after the recording's end.
    """
    messages = tool_lines(recorded.stderr)
    assert len(messages) == len(set(messages)) <= MOST_MESSAGES, f"too many or repeated messages: {messages}"
    if case.kind.misses and not is_recorded(run_dir):
        assert messages or case.kind.name == "removed", "nothing was recorded, and no line reports it"
        with contextlib.suppress(OmpassError):
            assert ompass.open(run_dir).report is None, "a report on nothing"
        return
    progress = recorded.progress
    profile = _core.read_profile(str(run_dir))
    problems = _core.validate(str(run_dir))
    assert not problems, problems
    check_identity(profile)
    # A pause or the program's end may fall between the tool's counts of a task's duration and of its end.
    if case.kind.ends == "whole" and not case.kind.pauses:
        check_constructs(profile)
    assert profile.complete == (not profile.incomplete_reasons)
    if case.kind.ends == "cut" and not killed_late:
        assert not profile.complete, "the run was cut off"
    check_counts(case, profile, progress, messages)
    if case.mode == "trace" and not case.kind.pauses:
        check_trace(case, run_dir, profile, may_lack=bool(messages))
    assert ompass.open(run_dir).report is not None


def is_recorded(run_dir: Path) -> bool:
    """True if the tool could begin a recording."""
    return any(path.stat().st_size for path in run_dir.glob("process.log"))


def n_interrupted(case: Case) -> int:
    """Returns how many threads may have counted an event without a record of it in the trace.

    A kill by another process may interrupt every thread between count and record. A thread that ends the
    program may interrupt every other thread there.
    """
    if case.kind.ends != "cut":
        return 0
    return case.threads if case.kind.name == "killed" else case.threads - 1


def check_trace(case: Case, run_dir: Path, profile: _core.Run, *, may_lack: bool) -> None:
    """Compares trace and profile. may_lack: True if the tool reported lost data (disk, limit)."""
    try:
        replay = _core.replay_trace(str(run_dir))
    except _core.LogError as error:
        assert may_lack and "not a single event could be written" in str(error), str(error)
        return
    assert not replay.complete or profile.complete
    if replay.incomplete_reasons == profile.incomplete_reasons:
        known = counted(profile)
        differences = {name: abs(n - known[name]) for name, n in counted(replay).items()}
        assert max(differences.values()) <= n_interrupted(case), f"trace and profile differ: {differences}"


def check_counts(case: Case, profile: _core.Run, progress: Progress, messages: list[str]) -> None:
    """Compares the recorded tasks and regions with the counts of the program itself."""
    figures = counted(profile)
    bounds = {
        "tasks": (progress.n_certain, progress.n_started),
        "regions": (progress.n_regions_ended, progress.n_regions_started),
    }
    for name, (certain, started) in bounds.items():
        assert figures[name] <= started, f"{figures[name]} {name} recorded, only {started} began"
        if case.kind.pauses or figures[name] >= certain:
            continue
        assert case.kind.misses, f"{figures[name]} {name} recorded, {certain} are certain"
        assert profile.incomplete_reasons and messages, (
            f"{certain - figures[name]} {name} are missing without a notice"
        )
    if case.kind.ends == "whole" and profile.complete and not case.kind.pauses:
        assert figures["tasks"] == progress.n_started, (
            f"{figures['tasks']} of {progress.n_started} tasks recorded"
        )
