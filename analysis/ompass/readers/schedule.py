# SPDX-License-Identifier: Apache-2.0
"""What ran when and where in a window of a trace; the core owns the rules and the columns."""

from __future__ import annotations

from pathlib import Path

from ompass import _core
from ompass._core import Schedule
from ompass.readers.core import check_directory, core_errors

__all__ = ["DEFAULT_LIMIT", "Schedule", "read_schedule"]

DEFAULT_LIMIT = 5_000
"""Stretches in a window unless more are asked for: as many as a figure still shows."""


def read_schedule(
    path: Path,
    *,
    start_ns: int = 0,
    end_ns: int = -1,
    limit: int = DEFAULT_LIMIT,
    by_home: bool = False,
    n_bins: int = 200,
) -> Schedule:
    """The schedule in [start_ns, end_ns) (-1: to the end), of at most `limit` stretches, or four per thread.

    `by_home`: tasks are pooled by their homes, not by their constructs. Raises
    RunNotFoundError, DamagedRunError (also when the run has no trace).
    """
    check_directory(path)
    with core_errors(path):
        return _core.read_schedule(str(path), start_ns, end_ns, limit, by_home, n_bins)
