# SPDX-License-Identifier: Apache-2.0
"""Judges a run: the program is as without the tool, nothing is lost, missing parts are stated."""

from __future__ import annotations

from pathlib import Path

import ompass
from faults.cases import Case
from faults.runs import Ended, Progress, SkippedError
from harsh_run import tool_lines
from ompass import _core
from recorded_run import check_constructs, check_identity, counted


def check_program(case: Case, plain: Ended, recorded: Ended) -> None:
    """Checks that the tool changes nothing that the program's user sees, but for its messages."""
    stock = case.kind.status if case.kind.is_inside else 0
    if plain.status != stock:
        raise SkippedError(f"without the tool the program ended with {plain.status} instead of {stock}")
    assert recorded.status == case.kind.status, f"status {recorded.status}: {recorded.stderr}"
    if case.kind.name == "killed":  # the program without the tool ran to its end
        assert plain.stdout.startswith(recorded.stdout), "the output differs"
    else:
        assert recorded.stdout == plain.stdout, "the output differs"
    own = [line for line in recorded.stderr.splitlines() if line not in tool_lines(recorded.stderr)]
    assert own == plain.stderr.splitlines(), f"stderr differs: {own}"


def check_recording(case: Case, run_dir: Path, progress: Progress, messages: list[str]) -> None:
    """Checks a run directory against the program's own counts. `messages`: what the tool said."""
    profile = _core.read_profile(str(run_dir))
    problems = _core.validate(str(run_dir))
    assert not problems, problems
    check_identity(profile)
    check_constructs(profile)
    assert profile.complete == (not profile.incomplete_reasons)
    if case.kind.ends == "cut":
        assert not profile.complete, "the run was cut off"
    check_counts(case, profile, progress, messages)
    if case.mode == "trace" and not case.kind.pauses:
        replay = _core.replay_trace(str(run_dir))
        assert not replay.complete or profile.complete
        if replay.incomplete_reasons == profile.incomplete_reasons:
            assert counted(replay) == counted(profile), "trace and profile differ"
    assert ompass.open(run_dir).report is not None


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
            f"{certain - figures[name]} {name} are missing, unstated"
        )
    if case.kind.ends == "whole" and profile.complete and not case.kind.pauses:
        assert figures["tasks"] == progress.n_started, (
            f"{figures['tasks']} of {progress.n_started} tasks recorded"
        )
