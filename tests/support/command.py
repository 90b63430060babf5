# SPDX-License-Identifier: Apache-2.0
"""The command `ompass`, as a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from toolchains import neutral_environment

PATIENCE_S = 120


def command_line(*arguments: object) -> list[str]:
    """The words that run the command with these arguments."""
    return [sys.executable, "-m", "ompass", *map(str, arguments)]


def call(
    environment: Mapping[str, str], cwd: Path | None, *arguments: object, status: int = 0
) -> subprocess.CompletedProcess[str]:
    """Run the command to its end; AssertionError, with what it complained of, when its status is another."""
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
    """The same here, where nothing steers a runtime or the tool."""
    environment = neutral_environment() | {"PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    return call(environment, None, *arguments, status=status)
