# SPDX-License-Identifier: Apache-2.0
"""Skips a test whose needs the machine lacks, or fails it where the whole matrix is required."""

from __future__ import annotations

import shutil
from collections.abc import Sequence

import pytest

from toolchains import Toolchain, matrix_is_required


def require(what: str, missing: Sequence[str], installed_by: str = "./run test") -> None:
    """Nothing when nothing is missing. Else a skipped test, or, under ./run test, a failed one."""
    if not missing:
        return
    reason = f"{what} lacks {', '.join(missing)} ({installed_by} installs it)"
    if matrix_is_required():
        pytest.fail(reason)
    pytest.skip(reason)


def require_toolchain(toolchain: Toolchain) -> Toolchain:
    """The toolchain, when it is complete."""
    require(f"toolchain {toolchain.name}", toolchain.missing())
    return toolchain


def require_commands(*names: str) -> None:
    """All of these commands are there."""
    require("this machine", [name for name in names if shutil.which(name) is None])
