# SPDX-License-Identifier: Apache-2.0
"""Activity of threads over time, at every zoom; the core owns its rules and its file."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from ompass import _core
from ompass._core import NO_HOME, Pyramid, TaskLinks, WindowStretches
from ompass.readers.core import check_directory, core_errors

__all__ = ["DIMENSIONS", "NO_HOME", "Pyramid", "TaskLinks", "WindowStretches", "open_pyramid"]

DIMENSIONS: Final = ("state", "construct", "home", "depth", "kernel", "absent")
"""By their numbers in the core."""


def open_pyramid(path: Path, *, keep: bool = True) -> Pyramid:
    """Returns the pyramid of a trace; `keep` saves it in the run directory, if possible, for the next time.

    Raises RunNotFoundError, DamagedRunError (also if the run has no trace).
    """
    check_directory(path)
    with core_errors(path):
        return _core.Pyramid(str(path), keep)
