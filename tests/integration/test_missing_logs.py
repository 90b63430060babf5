# SPDX-License-Identifier: Apache-2.0
"""The tool reports threads whose logs it cannot create: their number, their tasks and the system's reason."""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from command import command_line
from harsh_run import RunIn, tool_lines
from ompass import _core
from recorded_run import check_identity, check_sound, counted, facts_in
from toolchains import CompileProgram

N_TASKS = 9000


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """Yields a directory that every user may enter. Pytest's are closed to other users."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "empty").mkdir()
        yield folder


def limit_files(soft: int, hard: int) -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def shown_by(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command_line(*arguments), capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("mode", ["profile", "trace"])
@pytest.mark.parametrize(
    ("way", "reason"),
    [
        ("user", "Permission denied"),
        ("root", "No such file or directory"),
        ("files", "the limit on open files is reached (ulimit -n)"),
    ],
)
def test_threads_without_a_log_are_counted_and_the_true_reason_is_reported(
    way: str, reason: str, mode: str, compile_program: CompileProgram, open_folder: Path, run_in: RunIn
) -> None:
    if way != "files" and os.geteuid() != 0:
        pytest.skip("only root can give up root's rights")
    program = compile_program("survival/gives_up_rights.c")
    run_dir = open_folder / "run.ompass"
    plain = run_in(program, way, workspace=open_folder, tool=None, prepare=lambda: limit_files(256, 4096))
    assert plain.returncode == 0, plain.stderr
    harsh = run_in(
        program,
        way,
        workspace=open_folder,
        environment={"OMPASS_DIR": str(run_dir), "OMPASS_MODE": mode, "OMPASS_SAMPLE": "off"},
        prepare=lambda: limit_files(256, 4096),
    )
    assert (harsh.returncode, harsh.stdout) == (0, plain.stdout), harsh.stderr
    (line,) = tool_lines(harsh.stderr)
    assert reason in line and "disk" not in line
    assert _core.validate(str(run_dir)) == []
    profile = _core.read_profile(str(run_dir))
    check_identity(profile)
    assert profile.n_unlogged == 3
    assert profile.n_unlogged_tasks > 0
    assert counted(profile)["tasks"] + profile.n_unlogged_tasks == N_TASKS == facts_in(harsh.stdout)["tasks"]
    shown = shown_by("validate", str(run_dir))
    assert shown.returncode == 10
    assert f"3 threads among them: {reason}" in shown.stdout and "sound" not in shown.stdout
    if mode == "trace":
        found = re.search(r"lacks (\d+) records", shown.stdout)
        assert found and int(found[1]) >= profile.n_unlogged_tasks, "each task has at least one record"
        assert f"the trace could not be extended ({reason})" in shown.stdout
    for command in ("info", "report"):
        text = " ".join(shown_by(command, str(run_dir)).stdout.split())
        assert reason in text, command
        assert "raise --limit" not in text and "has them all" not in text, command
    (value,) = json.loads(shown_by("validate", str(run_dir), "--json").stdout)
    assert (value["sound"], value["problems"]) == (False, []) and reason in " ".join(value["missing"])
    shutil.rmtree(run_dir)


@pytest.mark.parametrize("limits", [(256, 4096), (256, 256), (20000, 20000)])
@pytest.mark.parametrize("mode", ["profile", "trace"])
def test_program_that_uses_every_descriptor_keeps_its_files_and_its_recording(
    mode: str, limits: tuple[int, int], compile_program: CompileProgram, tmp_path: Path, run_in: RunIn
) -> None:
    if resource.getrlimit(resource.RLIMIT_NOFILE)[1] < limits[1] and os.geteuid() != 0:
        pytest.skip("only root can raise the limit")
    program = compile_program("survival/gives_up_rights.c")
    run_dir = tmp_path / "run.ompass"
    harsh = run_in(
        program,
        "close",
        environment={"OMPASS_DIR": str(run_dir), "OMPASS_MODE": mode},
        prepare=lambda: limit_files(*limits),
    )
    assert harsh.returncode == 0, harsh.stderr
    assert (tmp_path / "own-file").read_text() == "mine\n"
    assert counted(check_sound(run_dir))["tasks"] == N_TASKS


def test_tool_takes_no_descriptor_from_a_program_at_its_limit(
    compile_program: CompileProgram, libompass: Path, run_in: RunIn
) -> None:
    program = compile_program("survival/gives_up_rights.c")
    outputs = [
        run_in(program, "files", tool=tool, prepare=lambda: limit_files(256, 512))
        for tool in (None, libompass)
    ]
    assert [output.returncode for output in outputs] == [0, 0]
    assert outputs[0].stdout == outputs[1].stdout


def test_size_limit_counts_only_what_is_on_disk(
    compile_program: CompileProgram, tmp_path: Path, run_in: RunIn
) -> None:
    """The log of a thread shrinks when the thread ends."""
    run_dir = tmp_path / "run.ompass"
    settings = {"OMPASS_DIR": str(run_dir), "OMPASS_MODE": "trace", "OMPASS_LIMIT_MB": "10"}
    run_in(compile_program("survival/short_threads.c"), "200", environment=settings)
    assert sum(path.stat().st_size for path in run_dir.glob("*.log")) < 8 << 20
    assert sum(thread.n_dropped for thread in _core.read_profile(str(run_dir)).threads) == 0
    assert _core.validate(str(run_dir)) == []


def test_size_limit_is_named_by_validate(
    compile_program: CompileProgram, tmp_path: Path, run_in: RunIn
) -> None:
    program = compile_program("kinds/million_tasks.c")
    run_dir = tmp_path / "run.ompass"
    settings = {"OMPASS_DIR": str(run_dir), "OMPASS_MODE": "trace", "OMPASS_LIMIT_MB": "1"}
    run_in(program, environment=settings)
    n_dropped = sum(thread.n_dropped for thread in _core.read_profile(str(run_dir)).threads)
    shown = shown_by("validate", str(run_dir))
    assert shown.returncode == 10
    assert f"lacks {n_dropped} records" in shown.stdout and "OMPASS_LIMIT_MB" in shown.stdout
