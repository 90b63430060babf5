# SPDX-License-Identifier: Apache-2.0
"""Opens a run directory as a `Run`."""

from __future__ import annotations

from pathlib import Path

from ompass import _core
from ompass.model import Run
from ompass.readers.core import check_directory, core_errors
from ompass.readers.meta import meta_problems
from ompass.units import plural


def is_run_directory(path: Path) -> bool:
    """True if `path` looks like a run directory (opens no log)."""
    return path.is_dir() and ((path / "meta.json").exists() or (path / "process.log").exists())


def open_run(path: Path, source: str = "profile", window: tuple[int, int] = (0, -1)) -> Run:
    """Returns the recorded run.

    `source` "profile" takes the tool's figures; "events" recomputes them from the trace, in a window in
    nanoseconds since the start (-1: to the end). Times are cut at the window; tasks, waits and kernels count
    where they end.

    Raises RunNotFoundError, DamagedRunError (also for source "events" without a trace).
    """
    check_directory(path)
    with core_errors(path):
        return _core.replay_trace(str(path), *window) if source == "events" else _core.read_profile(str(path))


def find_problems(path: Path) -> list[str]:
    """Returns every inconsistency in the run directory, one sentence each; empty if it is sound."""
    check_directory(path)
    with core_errors(path):
        return [*_core.validate(str(path)), *_sample_problems(path), *meta_problems(path)]


def find_missing(path: Path) -> list[str]:
    """Returns what the tool could not write and why, one sentence each. None of it is damage."""
    check_directory(path)
    with core_errors(path):
        n_dropped = sum(thread.n_dropped for thread in _core.read_samples(str(path)).threads)
        samples = [f"{path}: {plural(n_dropped, 'sample')} could not be written."] if n_dropped else []
        return [*_core.read_profile(str(path)).missing, *samples]


def _sample_problems(path: Path) -> list[str]:
    try:
        _core.read_samples(str(path))
    except _core.LogError as error:
        return [f"{error}."]
    return []
