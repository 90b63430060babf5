# SPDX-License-Identifier: Apache-2.0
"""Reads small files of a run directory, which may contain anything: FIFOs and devices are refused."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

_LARGEST_BYTES: Final = 64 << 20


def read_small_file(path: Path) -> str:
    """Returns the text of a regular file, with replacements for broken characters.

    Raises OSError for other kinds of files, and above 64 MiB.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # waits for no FIFO's writer
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(f"{path} is not a regular file")
        if status.st_size > _LARGEST_BYTES:
            raise OSError(f"{path} is larger than {_LARGEST_BYTES >> 20} MiB")
        return file.read(_LARGEST_BYTES).decode("utf-8", "replace")
