# SPDX-License-Identifier: Apache-2.0
"""Checks that a path is writable before long work begins; reads and syncs files without blocking at FIFOs."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path
from typing import IO, Final

_NAME_BYTES = 255  # longest name, if the file system reports no limit


def file_problem(path: Path) -> str:
    """Returns the reason why a file cannot be written; empty if it can. Keeps an existing file unchanged."""
    try:
        if path.is_dir():
            return "it is a directory"
        if path.exists():
            return "" if os.access(path, os.W_OK) else "it is not writable"
        if not path.absolute().parent.is_dir():
            return "its directory does not exist"
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666))
        path.unlink()
    except OSError as error:
        return error.strerror or str(error)
    return ""


def folder_problem(path: Path, *, may_exist: bool = True) -> str:
    """Returns why a directory cannot be made, or why an existing one cannot be used; empty if it can."""
    path = path.absolute()
    try:
        if path.is_dir():
            return _folder_problem(path) if may_exist else "it exists"
        if path.is_symlink() or path.exists():
            return "it is a file"
        parent = path.parent
        while not parent.exists():
            parent = parent.parent
        if not parent.is_dir():
            return f"{parent} is a file"
        longest = _longest_name(parent)
        for name in path.relative_to(parent).parts:
            if len(os.fsencode(name)) > longest:
                return f"its name is too long ({len(os.fsencode(name))} bytes; {longest} are allowed)"
        return _folder_problem(parent)
    except OSError as error:
        return error.strerror or str(error)


def _longest_name(folder: Path) -> int:
    with contextlib.suppress(OSError, ValueError):
        return os.pathconf(folder, "PC_NAME_MAX")
    return _NAME_BYTES


def _folder_problem(folder: Path) -> str:
    """Returns the reason why no directory can be made in `folder`; empty if one can. Tries to make one."""
    attempt = folder / f".ompass-{os.getpid()}"
    try:
        attempt.mkdir()
        attempt.rmdir()
    except OSError as error:
        return f"no directory can be made in {folder}: {error.strerror or error}"
    return ""


def sync(file: IO[bytes]) -> None:
    """Waits until a regular file is on disk; does nothing for pipes and devices. Raises OSError."""
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        os.fsync(file.fileno())


_LARGEST_BYTES: Final = 64 << 20


def read_small_file(path: Path) -> str:
    """Returns the text of a regular file; replaces bytes that are not UTF-8.

    Raises OSError for other kinds of files, and for files above 64 MiB.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # opening a FIFO does not block
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(f"{path} is not a regular file")
        if status.st_size > _LARGEST_BYTES:
            raise OSError(f"{path} is larger than {_LARGEST_BYTES >> 20} MiB")
        return file.read(_LARGEST_BYTES).decode("utf-8", "replace")
