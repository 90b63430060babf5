# SPDX-License-Identifier: Apache-2.0
"""Loads the C++ core on first use and turns its errors into ours.

Kept lazy so that everything that reads no run directory works without the compiled part.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, cast

from ompass.errors import DamagedRunError, IncompleteInstallationError, RunNotFoundError

if TYPE_CHECKING:
    from typing import Protocol

    from ompass._core import EventColumns, Reuse, RunProfile, Schedule, Slices, TaskGraph

    class Core(Protocol):
        """The functions of `ompass._core` that the readers call."""

        LogError: type[Exception]

        def read_profile(self, directory: str) -> RunProfile: ...
        def replay_trace(self, directory: str) -> RunProfile: ...
        def read_events(
            self, directory: str, thread: int = -1, start_ns: int = 0, end_ns: int = -1, limit: int = -1
        ) -> EventColumns: ...
        def event_kinds(self) -> list[tuple[str, str]]: ...
        def task_graph(
            self, directory: str, depth: int, expanded: list[int], max_tasks: int
        ) -> TaskGraph: ...
        def read_schedule(
            self, directory: str, start_ns: int, end_ns: int, limit: int, by_home: bool, n_bins: int
        ) -> Schedule: ...
        def read_rows(
            self,
            directory: str,
            table: str,
            columns: list[str],
            batch_rows: int,
            deliver: Callable[[list[object]], None],
        ) -> None: ...
        def reuse_of_run(
            self,
            directory: str,
            group_of_thread: list[int],
            group_of_cpu: list[int],
            class_bytes: list[tuple[int, int]],
            rate: float = 1.0,
            block_bytes: int = 0,
            coherent: bool = True,
            n_jobs: int = 1,
            progress: object = None,
        ) -> Reuse: ...
        def slices_of_run(
            self, directory: str, threads: list[int], start_ns: int, end_ns: int, limit: int
        ) -> Slices: ...
        def validate(self, directory: str) -> list[str]: ...


def load_core() -> Core:
    """The compiled core; IncompleteInstallationError says what to do when it is not there."""
    try:
        return cast("Core", importlib.import_module("ompass._core"))
    except ImportError as error:
        raise IncompleteInstallationError(
            "the compiled part of ompass (ompass._core) cannot be loaded",
            str(error),
            "reinstall the package with `pip install --force-reinstall .` in the source directory",
        ) from error


@contextmanager
def core_errors(core: Core, directory: Path) -> Iterator[None]:
    """Turn LogError and file errors of the core into typed errors that name the directory."""
    try:
        yield
    except core.LogError as error:
        raise DamagedRunError(
            f"{directory} cannot be read",
            str(error),
            f"`ompass validate {directory}` lists every inconsistency",
        ) from error
    except OSError as error:
        raise RunNotFoundError(f"{directory} cannot be read", str(error)) from error


def check_directory(path: Path) -> None:
    """Refuse what cannot be a run directory, with the reason, before the core sees it."""
    if not path.exists():
        raise RunNotFoundError(
            f"{path}",
            "no such directory",
            "name a directory that `ompass run` or the tool wrote (NAME.ompass)",
        )
    if not path.is_dir():
        raise RunNotFoundError(f"{path}", "not a directory", "name the run directory, not a file in it")
    if (path / "process.log").exists():
        return
    if (path / "meta.json").exists():
        raise RunNotFoundError(
            f"{path}",
            "it has no process.log: the process ended before anything was recorded, or the file is lost",
            "record the program again",
        )
    raise RunNotFoundError(
        f"{path}",
        "neither meta.json nor process.log is in it, so it is no run directory",
        "name a directory that `ompass run` or the tool wrote (NAME.ompass)",
    )
