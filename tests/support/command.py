# SPDX-License-Identifier: Apache-2.0
"""Runs the command `ompass` as a separate process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from toolchains import neutral_environment

PATIENCE_S = 120


def command_line(*arguments: object) -> list[str]:
    """Returns the command line that runs the command with these arguments."""
    return [sys.executable, "-m", "ompass", *map(str, arguments)]


def call(
    environment: Mapping[str, str], cwd: Path | None, *arguments: object, status: int = 0
) -> subprocess.CompletedProcess[str]:
    """Runs the command to its end; AssertionError, with its stderr, if it exits with another status."""
    ended = subprocess.run(
        command_line(*arguments),
        env=environment,
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert ended.returncode == status, ended.stderr + ended.stdout
    return ended


def ompass(*arguments: object, status: int = 0) -> subprocess.CompletedProcess[str]:
    """Runs the command in the current directory, without variables that control a runtime or the tool."""
    environment = neutral_environment() | {"PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    return call(environment, None, *arguments, status=status)


def loaded_modules(*arguments: object) -> set[str]:
    """Runs a command, which must succeed, and returns the names of all modules that it has loaded."""
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
