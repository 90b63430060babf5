# SPDX-License-Identifier: Apache-2.0
"""Decoded events of a trace, as columns; the caller interprets them."""

from __future__ import annotations

from pathlib import Path

from ompass import _core
from ompass._core import EventTable
from ompass.readers.core import check_directory, core_errors

__all__ = ["EventTable", "event_kinds", "read_events"]


def event_kinds() -> list[tuple[str, str]]:
    """Returns (name, meaning) of every event kind, indexed by its number."""
    return _core.event_kinds()


def read_events(
    path: Path, *, thread: int = -1, start_ns: int = 0, end_ns: int = -1, limit: int = -1
) -> EventTable:
    """Returns events of one thread (-1: all) in [start_ns, end_ns) (-1: to the end), `limit` or all (-1).

    Raises RunNotFoundError, DamagedRunError (also if the run has no trace).
    """
    check_directory(path)
    with core_errors(path):
        return _core.read_events(str(path), thread, start_ns, end_ns, limit)
