# SPDX-License-Identifier: Apache-2.0
"""Finds recorded runs in directories, with their age, size and program, and removes them.

Owns the removal. A directory must be a run that has ended, without other files; a file must be a packed run.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ompass.errors import IncompleteInstallationError, OmpassError, OutputError, RunNotFoundError
from ompass.packed import TRACE, is_packed_run, meta_text
from ompass.readers.meta import Meta, meta_of_text, read_meta
from ompass.readers.run import foreign_content, is_run_directory, open_run, what_still_runs


@dataclass(frozen=True, slots=True)
class KeptRun:
    """A run directory, or a packed run."""

    path: Path
    program: str  # command line; empty if unknown
    changed_s: float  # time of the last change of its recording, since 1970
    size_bytes: int
    obstacle: str  # the reason why it must not be removed; empty if it may be

    @property
    def age_s(self) -> float:
        return max(time.time() - self.changed_s, 0.0)


def find_runs(places: Iterable[Path]) -> list[KeptRun]:
    """Returns the runs that are these places or lie directly in them, the oldest first.

    Raises RunNotFoundError if a place does not exist.
    """
    found: dict[Path, KeptRun] = {}
    for place in places:
        if not place.exists():
            raise RunNotFoundError(f"{place}", "no such file or directory", "name a folder with runs")
        own = _run_at(place if place.name else place.resolve())
        for run in [own] if own else filter(None, map(_run_at, _entries(place))):
            found.setdefault(run.path.resolve(), run)
    return sorted(found.values(), key=lambda run: (run.changed_s, str(run.path)))


def remove_run(run: KeptRun) -> None:
    """Removes a run, file by file. Raises OutputError if this fails, or if the run has a new obstacle."""
    obstacle = _obstacle(run.path) if run.path.is_dir() else run.obstacle
    if obstacle:
        raise OutputError(f"{run.path} is not removed", obstacle)
    try:
        if run.path.is_dir():
            for directory in (run.path / TRACE, run.path):
                for path in _entries(directory):
                    path.unlink()
                if directory.exists():
                    directory.rmdir()
        else:
            run.path.unlink()
    except OSError as error:
        raise OutputError(f"{run.path} cannot be removed", error.strerror or str(error)) from error


def _entries(place: Path) -> list[Path]:
    try:
        return sorted(place.iterdir()) if place.is_dir() else []
    except OSError:
        return []


def _run_at(path: Path) -> KeptRun | None:
    try:
        if is_run_directory(path) and (path / "process.log").exists():
            return _directory(path)
        return _packed(path) if is_packed_run(path) else None
    except IncompleteInstallationError:  # a packed file, but zstd is missing
        return None
    except OSError:  # it vanished, or is not readable
        return None


def _directory(path: Path) -> KeptRun:
    entries = (*path.iterdir(), *_entries(path / TRACE))
    files = [entry.stat() for entry in entries if entry.is_file()]
    return KeptRun(
        path,
        _command(read_meta(path)),
        (path / "process.log").stat().st_mtime,
        sum(file.st_blocks * 512 for file in files),
        _obstacle(path),
    )


def _packed(path: Path) -> KeptRun:
    meta = meta_of_text(meta_text(path))
    status = path.stat()
    obstacle = "it is a symbolic link" if path.is_symlink() else ""
    return KeptRun(path, _command(meta), status.st_mtime, status.st_size, obstacle)


def _command(meta: Meta) -> str:
    return " ".join(meta.command) or meta.program


def _obstacle(path: Path) -> str:
    foreign = foreign_content(path)
    if foreign:
        return foreign
    try:
        return what_still_runs(open_run(path))
    except OmpassError:  # damaged, but a run
        return ""
