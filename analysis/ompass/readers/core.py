# SPDX-License-Identifier: Apache-2.0
"""Converts errors of the C++ core to Python errors with advice."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ompass._core import LogError
from ompass.errors import DamagedRunError, RunNotFoundError


@contextmanager
def core_errors(directory: Path) -> Iterator[None]:
    """Turns LogError and file errors of the core into typed errors that name the directory."""
    try:
        yield
    except LogError as error:
        raise DamagedRunError(
            f"{directory} cannot be read",
            str(error),
            f"`ompass validate {directory}` lists every inconsistency",
        ) from error
    except OSError as error:
        raise RunNotFoundError(f"{directory} cannot be read", str(error)) from error


def check_directory(path: Path) -> None:
    """Refuses a path that cannot be a run directory, with the reason, before the core opens it."""
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
            "it has no process.log: the process ended before it recorded anything, or the file is lost",
            "record the program again",
        )
    raise RunNotFoundError(
        f"{path}",
        "it is not a run directory: it contains neither meta.json nor process.log",
        "name a directory that `ompass run` or the tool wrote (NAME.ompass)",
    )
