# SPDX-License-Identifier: Apache-2.0
"""Programs that enter a sandbox: the tool opens no file there, and reports its losses."""

from __future__ import annotations

import platform
import subprocess
from pathlib import Path

import pytest

from command import command_line
from harsh_run import RunIn, tool_lines
from ompass import _core
from recorded_run import check_identity, counted
from toolchains import CompileProgram

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="the filters name calls of x86-64")

FORBIDDEN = ["write", "open", "events", "most"]
LOADINGS = ["OMP_TOOL_LIBRARIES", "LD_PRELOAD"]


def validated(run_dir: Path) -> subprocess.CompletedProcess[str]:
    command = command_line("validate", run_dir)
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("answer", ["kill", "refuse"])
@pytest.mark.parametrize("mode", ["profile", "trace"])
@pytest.mark.parametrize("loading", LOADINGS)
@pytest.mark.parametrize("forbidden", FORBIDDEN)
def test_program_that_enters_a_sandbox_after_its_first_region_is_recorded_in_part(
    forbidden: str,
    loading: str,
    mode: str,
    answer: str,
    compile_program: CompileProgram,
    libompass: Path,
    tmp_path: Path,
    run_in: RunIn,
) -> None:
    program = compile_program("survival/enters_sandbox.c")
    arguments = (forbidden, "late", answer)
    plain = run_in(program, *arguments, tool=None)
    assert plain.returncode == 0, plain.stderr
    run_dir = tmp_path / "run.ompass"
    settings = {loading: str(libompass), "OMPASS_MODE": mode, "OMPASS_DIR": str(run_dir)}
    harsh = run_in(program, *arguments, tool=None, environment=settings)
    assert (harsh.returncode, harsh.stdout) == (0, plain.stdout), harsh.stderr
    (line,) = tool_lines(harsh.stderr)
    assert "sandbox (seccomp)" in line
    assert _core.validate(str(run_dir)) == []
    profile = _core.read_profile(str(run_dir))
    check_identity(profile)
    assert profile.n_unlogged == 2, "the threads that began inside"
    recorded = counted(profile)["tasks"]
    # Under the other filters, the program ends by _exit, so the tool does not count its unlogged tasks.
    if forbidden in ("write", "events"):
        assert recorded + profile.n_unlogged_tasks == 300128
    assert recorded >= 200128, "existing logs grew"
    assert profile.n_throttled == -1, "files of control groups are not opened in the sandbox"
    assert any("sandbox (seccomp)" in sentence for sentence in profile.missing)
    shown = validated(run_dir)
    assert (shown.returncode, "sound" in shown.stdout) == (10, False), shown.stdout
    assert "sandbox (seccomp)" in shown.stdout


@pytest.mark.parametrize("mode", ["profile", "trace"])
@pytest.mark.parametrize("loading", LOADINGS)
@pytest.mark.parametrize("forbidden", FORBIDDEN)
def test_program_that_first_uses_openmp_in_its_sandbox_is_not_recorded(
    forbidden: str,
    loading: str,
    mode: str,
    compile_program: CompileProgram,
    libompass: Path,
    tmp_path: Path,
    run_in: RunIn,
) -> None:
    program = compile_program("survival/enters_sandbox.c")
    arguments = (forbidden, "early", "kill")
    plain = run_in(program, *arguments, tool=None)
    run_dir = tmp_path / "run.ompass"
    settings = {loading: str(libompass), "OMPASS_MODE": mode, "OMPASS_DIR": str(run_dir)}
    harsh = run_in(program, *arguments, tool=None, environment=settings)
    assert harsh.returncode == plain.returncode, harsh.stderr
    assert harsh.stdout == plain.stdout
    assert not run_dir.exists()
    if plain.returncode == 0:  # otherwise libomp itself could not open a file at its start
        (line,) = tool_lines(harsh.stderr)
        assert "nothing is recorded" in line and "sandbox (seccomp)" in line
