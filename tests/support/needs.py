# SPDX-License-Identifier: Apache-2.0
"""Skips a test if the machine lacks something that it needs; fails it if the whole matrix is required."""

from __future__ import annotations

import shutil
from collections.abc import Sequence

import pytest

from toolchains import Toolchain, matrix_is_required


def require(what: str, missing: Sequence[str], installed_by: str = "./run test") -> None:
    """Skips the test if something is missing; under ./run test, fails it."""
    if not missing:
        return
    reason = f"{what} lacks {', '.join(missing)} ({installed_by} installs it)"
    if matrix_is_required():
        pytest.fail(reason)
    pytest.skip(reason)


def require_toolchain(toolchain: Toolchain) -> Toolchain:
    """Returns the toolchain; skips or fails the test if it is incomplete."""
    require(f"toolchain {toolchain.name}", toolchain.missing())
    return toolchain


def require_commands(*names: str) -> None:
    """Skips or fails the test unless all of these commands exist."""
    require("this machine", [name for name in names if shutil.which(name) is None])
