# SPDX-License-Identifier: Apache-2.0
"""Runs a few cases of the fault campaign, and checks that its judge notices missing tasks and output."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from faults import judge, runs
from faults.cases import Case
from faults.kinds import KINDS
from faults.one_run import perform
from needs import require_toolchain


def case_of(name: str, seed: int = 1) -> Case:
    case = Case(KINDS[name], seed)
    require_toolchain(case.toolchain)
    return case


@pytest.mark.parametrize("name", ["kill", "exit", "fork", "dlclose"])
def test_program_with_a_fault_behaves_as_without_the_tool_and_loses_nothing(
    name: str, libompass: Path, tmp_path: Path
) -> None:
    perform(case_of(name), tmp_path, libompass)


def test_judge_notices_tasks_and_output_that_are_missing(libompass: Path, tmp_path: Path) -> None:
    case, run_dir = case_of("nothing"), tmp_path / "run.ompass"
    recorded = runs.run(case, tmp_path, "recorded", libompass, environment={"OMPASS_DIR": str(run_dir)})
    judge.check_program(case, recorded, recorded)
    judge.check_recording(case, run_dir, recorded)
    with pytest.raises(AssertionError, match="the output differs"):
        judge.check_program(case, replace(recorded, stdout=""), recorded)
    with pytest.raises(AssertionError, match="status"):
        judge.check_program(case, recorded, replace(recorded, status=1))
    n = recorded.progress.n_started
    for progress, reason in (
        (replace(recorded.progress, n_certain=n + 1), "are certain"),
        (replace(recorded.progress, n_started=n - 1), "only"),
        (replace(recorded.progress, n_started=n + 1), "tasks recorded"),
    ):
        with pytest.raises(AssertionError, match=reason):
            judge.check_recording(case, run_dir, replace(recorded, progress=progress))


def test_judge_notices_a_cut_run_that_claims_to_be_complete(libompass: Path, tmp_path: Path) -> None:
    """The output is the same with and without the tool, but this does not excuse the recording."""
    whole, run_dir = case_of("nothing"), tmp_path / "run.ompass"
    recorded = runs.run(whole, tmp_path, "recorded", libompass, environment={"OMPASS_DIR": str(run_dir)})
    for name in ("kill", "killed"):
        cut = replace(whole, kind=case_of(name).kind)
        with pytest.raises(AssertionError, match="cut off"):
            judge.check_recording(cut, run_dir, recorded)
