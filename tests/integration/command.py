# SPDX-License-Identifier: Apache-2.0
"""The command `ompass`, as a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys

from toolchains import neutral_environment


def ompass(*arguments: str, status: int = 0) -> subprocess.CompletedProcess[str]:
    """Run the command to its end; AssertionError, with what it complained of, when its status is another."""
    ended = subprocess.run(
        [sys.executable, "-m", "ompass", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=neutral_environment() | {"PYTHONPATH": os.environ.get("PYTHONPATH", "")},
    )
    assert ended.returncode == status, ended.stderr
    return ended
