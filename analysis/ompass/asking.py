# SPDX-License-Identifier: Apache-2.0
"""Runs other programs (compilers, symbolizers, ldconfig) and returns their output. Calls time out."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence

_SECONDS = 60


def answer_of(
    command: Sequence[str], environ: Mapping[str, str] | None = None, *, errors_too: bool = False
) -> str | None:
    """Returns the command's output (`errors_too`: and stderr); None if it cannot be run, or fails."""
    try:
        return subprocess.run(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if errors_too else subprocess.DEVNULL,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            check=True,
            env=environ,
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
