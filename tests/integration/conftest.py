# SPDX-License-Identifier: Apache-2.0
"""Provides a fixture that runs programs under limits. Removes files that killed programs left behind.

tests/conftest.py has the other fixtures.
"""

from __future__ import annotations

import contextlib
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from harsh_run import RunIn, run_program
from toolchains import Toolchain

SHARED_MEMORY = Path("/dev/shm")
REGISTRATION = re.compile(r"__KMP_REGISTERED_LIB_(\d+)_\d+")


@pytest.fixture(autouse=True)
def _remove_stale_registrations() -> None:
    """Removes libomp's registrations of processes that have ended.

    libomp registers each process that uses it in a file named by the process id. It removes the file when the
    process ends, but not when the process is killed. If a later process has the same id, libomp finds the
    file and aborts the process; an empty file causes a bus error.
    """
    if not SHARED_MEMORY.is_dir():
        return
    for note in SHARED_MEMORY.iterdir():
        match = REGISTRATION.fullmatch(note.name)
        if match and not Path("/proc", match[1]).exists():
            with contextlib.suppress(OSError):  # another user's file
                note.unlink()


@pytest.fixture
def run_in(default_toolchain: Toolchain, libompass: Path, tmp_path: Path) -> RunIn:
    """Returns a function that runs a program with the tool, by default in tmp_path; see run_program."""

    def run(
        program: Path, *arguments: str, workspace: Path | None = None, **options: Any
    ) -> subprocess.CompletedProcess[str]:
        options = {"tool": libompass, **options}
        return run_program(workspace or tmp_path, program, default_toolchain, *arguments, **options)

    return run
