# SPDX-License-Identifier: Apache-2.0
"""Runs the command `ompass` as a separate process.

`call` and `ompass` fork a process that has loaded the command, because that is faster than a new interpreter.
They start a new interpreter if the environment changes how an interpreter starts. Tests whose claim depends
on the start of the command use `command_line` or `run_newly`, as do tests that run several commands at the
same time.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from loaded_command import loaded_command, works_like_a_new_process
from toolchains import neutral_environment

PATIENCE_S = 120


def command_line(*arguments: object) -> list[str]:
    """Returns the command line that runs the command with these arguments."""
    return [sys.executable, "-m", "ompass", *map(str, arguments)]


def run_newly(
    environment: Mapping[str, str], cwd: Path | None, *arguments: object
) -> subprocess.CompletedProcess[str]:
    """Runs the command to its end in a new interpreter."""
    return subprocess.run(
        command_line(*arguments),
        env=environment,
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


def call(
    environment: Mapping[str, str], cwd: Path | None, *arguments: object, status: int = 0
) -> subprocess.CompletedProcess[str]:
    """Runs the command to its end. Raises AssertionError, with its output, if its status differs."""
    if works_like_a_new_process(environment):
        ended = loaded_command().run(list(map(str, arguments)), environment, cwd, PATIENCE_S)
    else:
        ended = run_newly(environment, cwd, *arguments)
    assert ended.returncode == status, ended.stderr + ended.stdout
    return ended


def ompass(*arguments: object, status: int = 0) -> subprocess.CompletedProcess[str]:
    """Runs the command in the current directory, without variables that control a runtime or the tool."""
    environment = neutral_environment() | {"PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    return call(environment, None, *arguments, status=status)


def loaded_modules(*arguments: object) -> set[str]:
    """Runs a command, which must succeed, and returns the names of all modules that it loaded."""
    code = (
        "import sys\nfrom ompass.__main__ import main\n"
        "try: main()\nexcept SystemExit as end: assert not end.code\n"
        "print('loaded:', *sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE_S,
    )
    return set(done.stdout.rpartition("loaded:")[2].split())
