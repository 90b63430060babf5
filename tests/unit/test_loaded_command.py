# SPDX-License-Identifier: Apache-2.0
"""Forks of a loaded command, which most tests use, behave like new processes."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from command import run_newly
from loaded_command import LoadedCommand, loaded_command, works_like_a_new_process

PATIENCE_S = 60


@pytest.mark.parametrize(
    "arguments",
    [("--version",), ("report", "none.ompass"), ("report", "--nonsense"), ("run", "--", "false")],
)
def test_a_fork_prints_and_ends_as_a_new_process_does(arguments: tuple[str, ...], tmp_path: Path) -> None:
    new = run_newly(os.environ, tmp_path, *arguments)
    forked = loaded_command().run(arguments, os.environ, tmp_path, PATIENCE_S)
    assert (forked.returncode, forked.stdout, forked.stderr) == (new.returncode, new.stdout, new.stderr)


def test_a_fork_has_its_own_folder_variables_and_empty_input(tmp_path: Path) -> None:
    script = 'echo "$WORD"; echo; cat; pwd -P; kill -TERM $$'
    environment = {**os.environ, "WORD": "given"}
    forked = loaded_command().run(("run", "--", "sh", "-c", script), environment, tmp_path, PATIENCE_S)
    assert forked.stdout == f"given\n\n{tmp_path.resolve()}\n"
    assert forked.returncode == -signal.SIGTERM
    other = loaded_command().run(("run", "--", "sh", "-c", script), os.environ, tmp_path.parent, PATIENCE_S)
    assert other.stdout == f"\n\n{tmp_path.parent.resolve()}\n"


def test_a_fork_that_takes_too_long_is_ended_and_the_next_one_runs(tmp_path: Path) -> None:
    command = LoadedCommand()
    with pytest.raises(subprocess.TimeoutExpired):
        command.run(("run", "--", "sleep", "60"), os.environ, tmp_path, 1.0)
    assert command.run(("--version",), os.environ, tmp_path, PATIENCE_S).returncode == 0
    command.close()


def test_variables_of_the_interpreter_require_a_new_process() -> None:
    assert works_like_a_new_process({**os.environ, "OMP_NUM_THREADS": "2", "LD_LIBRARY_PATH": "/nowhere"})
    assert not works_like_a_new_process({**os.environ, "PYTHONPATH": "/nowhere"})
    assert not works_like_a_new_process({**os.environ, "LD_PRELOAD": "/nowhere/lib.so"})
