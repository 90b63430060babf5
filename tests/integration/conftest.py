# SPDX-License-Identifier: Apache-2.0
"""Keeps what killed programs leave behind in the system from reaching the programs of later tests.

The fixtures that tests ask for are in the folder above.
"""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

import pytest

SHARED_MEMORY = Path("/dev/shm")
REGISTRATION = re.compile(r"__KMP_REGISTERED_LIB_(\d+)_\d+")


@pytest.fixture(autouse=True)
def _no_registrations_of_the_dead() -> None:
    """Remove libomp's notes about processes that are no more.

    libomp notes every process that uses it in a file named by the number of the process, and removes the note
    at the end; a killed process cannot. A later process of that number finds the note, and libomp ends it, by
    a bus error when the note is empty.
    """
    if not SHARED_MEMORY.is_dir():
        return
    for note in SHARED_MEMORY.iterdir():
        match = REGISTRATION.fullmatch(note.name)
        if match and not Path("/proc", match[1]).exists():
            with contextlib.suppress(OSError):  # somebody else's
                note.unlink()
