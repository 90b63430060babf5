# SPDX-License-Identifier: Apache-2.0
"""Debug information from debuginfod servers, by build id, through the system's libdebuginfod.

Asks only servers that DEBUGINFOD_URLS names. libdebuginfod caches the loaded files.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import re
import time
from pathlib import Path
from typing import Any, Final

_URLS: Final = "DEBUGINFOD_URLS"
_LIBRARY: Final = "libdebuginfod.so.1"
_PATIENCE_S: Final = 5.0
"""A server that sends nothing for this time is not asked again; DEBUGINFOD_TIMEOUT changes it."""

_Progress = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_long, ctypes.c_long)


class Servers:
    """The servers of DEBUGINFOD_URLS.

    `problem` states why nothing was found; empty if DEBUGINFOD_URLS is not set.
    """

    def __init__(self, library: str = _LIBRARY) -> None:
        self.problem = ""
        self._functions: Any = None
        if not os.environ.get(_URLS, "").strip():
            return
        self.problem = f"the servers of {_URLS} do not have it"
        try:
            self._functions = _functions_of(library)
        except (OSError, AttributeError):
            self.problem = f"{library} is missing, so {_URLS} was not asked"

    def find(self, build_id: str) -> Path | None:
        """Returns the debug file of a module; None if no server has it or the servers do not answer."""
        if self._functions is None or not re.fullmatch(r"[0-9a-f]{4,}", build_id.lower()):
            return None
        watch = _Watch(_patience_s())
        progress = _Progress(watch.interrupts)
        client = self._functions.debuginfod_begin()
        if not client:
            return None
        path = ctypes.c_void_p()
        try:
            self._functions.debuginfod_set_progressfn(client, progress)
            found = self._functions.debuginfod_find_debuginfo(
                client, build_id.lower().encode(), 0, ctypes.byref(path)
            )
        finally:
            self._functions.debuginfod_end(client)
        if found < 0:
            if watch.expired or found == -errno.ETIME:  # an interrupted call returns -ENOENT
                self._give_up("did not answer in time")
            elif found != -errno.ENOENT:
                self._give_up(f"failed ({os.strerror(-found)})")
            return None
        os.close(found)
        return Path(_taken(path)) if path.value else None

    def _give_up(self, why: str) -> None:
        """Asks no server again, because each further module would wait as long."""
        self.problem = f"the servers of {_URLS} {why}"
        self._functions = None


def _taken(path: ctypes.c_void_p) -> str:
    """Returns a string of the library, and frees it."""
    text = os.fsdecode(ctypes.string_at(path.value or 0))
    free = ctypes.CDLL(None).free
    free.argtypes, free.restype = [ctypes.c_void_p], None
    free(path)
    return text


class _Watch:
    """Interrupts a transfer that makes no progress."""

    def __init__(self, patience_s: float) -> None:
        self.expired = False
        self._patience_s = patience_s
        self._state: tuple[int, int] | None = None
        self._since = time.monotonic()

    def interrupts(self, _client: int | None, done: int, of: int) -> int:
        """Returns 1 to interrupt; libdebuginfod calls it repeatedly."""
        now = time.monotonic()
        # Without a size, `done` only counts the calls.
        state = (done, of) if of else (0, 0)
        if state != self._state:
            self._state, self._since = state, now
        self.expired = now - self._since > self._patience_s
        return int(self.expired)


def _patience_s() -> float:
    text = os.environ.get("DEBUGINFOD_TIMEOUT", "")
    return float(text) if text.isdigit() and int(text) else _PATIENCE_S


def _functions_of(library: str) -> Any:
    """Returns the library with the types of its functions. Raises OSError, AttributeError."""
    functions = ctypes.CDLL(library)
    client = ctypes.c_void_p
    functions.debuginfod_begin.restype = client
    functions.debuginfod_end.argtypes = [client]
    functions.debuginfod_end.restype = None
    functions.debuginfod_set_progressfn.argtypes = [client, _Progress]
    functions.debuginfod_set_progressfn.restype = None
    functions.debuginfod_find_debuginfo.argtypes = [
        client, ctypes.c_char_p, ctypes.c_int, ctypes.POINTER(ctypes.c_void_p),
    ]  # fmt: skip
    return functions


@functools.cache
def servers() -> Servers:
    """Returns the servers, which all runs of a command share."""
    return Servers()
