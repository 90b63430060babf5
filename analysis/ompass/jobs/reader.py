# SPDX-License-Identifier: Apache-2.0
"""Replays the ranks of a job on an ideal network: calls the core."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from ompass import _core
from ompass.model import Run
from ompass.readers.meta import read_meta


def ideal_time_ns(runs: Sequence[Run]) -> tuple[int | None, str]:
    """Returns the time that the job of these traces would take if messages took no time.

    If it is unknown, returns None and the reason.
    """
    return _replayed(tuple((run.path.absolute(), run.start_epoch_ns, run.wall_ns) for run in runs))


@lru_cache(maxsize=8)
def _replayed(runs: tuple[tuple[Path, int, int], ...]) -> tuple[int | None, str]:
    """Replays the ranks. The times of a run distinguish it from a later run in the same directory."""
    ranks = [read_meta(path).rank or 0 for path, _, _ in runs]
    try:
        times, why = _core.ideal_network([str(path) for path, _, _ in runs], ranks)
    except _core.LogError as error:
        return None, str(error)
    return (max(times), "") if times else (None, why)
