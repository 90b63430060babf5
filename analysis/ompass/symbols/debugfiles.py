# SPDX-License-Identifier: Apache-2.0
"""Finds the file with the symbols of a recorded module: itself, or its separate debug file.

Owns the check that the file on disk is the one that ran. The system's libdebuginfod loads missing debug files
by build id, but only from servers that DEBUGINFOD_URLS names, and caches them.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ompass.elf import ElfFacts, NotElfError, read_facts
from ompass.model import Module
from ompass.symbols.debug_places import DEBUG_ROOTS, installed_debug_files


@dataclass(frozen=True, slots=True)
class DebugFile:
    """The file with the symbols of a module. `path` is None without one; `problem` states what is missing."""

    path: Path | None
    has_lines: bool
    problem: str
    is_own: bool = False  # True if the module itself exists, and is the recorded one


def find_debug_file(module: Module, recorded_ns: int = 0, roots: Sequence[Path] = DEBUG_ROOTS) -> DebugFile:
    """Returns the best file with symbols of `module` on this machine.

    Never uses a file with another build id than recorded, because its lines would be wrong. Ignores a
    module without a build id if its file was modified after `recorded_ns` (start of the run since the epoch).
    """
    path = Path(module.path)
    separate = _by_build_id(module.build_id, roots)
    try:
        facts = read_facts(path)
        problem = _mismatch(module, facts, recorded_ns)
    except NotElfError:
        facts = None
        gone = "is no longer there" if not path.exists() else "cannot be read"
        problem = f"{module.path} {gone}, so its functions and lines are unknown"
    is_own = facts is not None and not problem
    if facts is not None and is_own:
        if facts.has_lines:
            return DebugFile(path, True, "", is_own)
        separate = separate or _by_link(facts, roots)
    separate = separate or _by_server(module.build_id)
    if separate is not None:
        return DebugFile(separate, True, "", is_own)
    if facts is None or problem:
        return DebugFile(None, False, problem)
    return DebugFile(path, False, _without_lines(facts), is_own)


def _without_lines(facts: ElfFacts) -> str:
    names = "" if facts.has_names else ", and names only of the functions that it exports"
    asked = servers().problem
    others = "" if asked else ", or set DEBUGINFOD_URLS"
    return (
        f"{facts.path.name} has no debug information{names}{asked and f' ({asked})'}: compile with -g, or "
        f"install its debug symbols (a package -dbgsym or -debuginfo){others}, to see files and lines"
    )


def _mismatch(module: Module, facts: ElfFacts, recorded_ns: int) -> str:
    changed = "so its functions and lines are omitted; record again"
    if module.build_id and module.build_id.lower() != facts.build_id.lower():
        return (
            f"{module.path} has changed since the run (recorded build id {module.build_id[:12]}, "
            f"now {facts.build_id[:12] or 'none'}), {changed}"
        )
    if not module.build_id and recorded_ns and facts.path.stat().st_mtime_ns > recorded_ns:
        return f"{module.path} was modified after the run was recorded, {changed}"
    return ""


def _by_build_id(build_id: str, roots: Sequence[Path]) -> Path | None:
    return next((path for path in installed_debug_files(build_id, roots) if _usable(path, build_id)), None)


def _by_server(build_id: str) -> Path | None:
    path = servers().find(build_id)
    return path if path is not None and _usable(path, build_id) else None


def _by_link(facts: ElfFacts, roots: Sequence[Path]) -> Path | None:
    if not facts.debug_link:
        return None
    folder = facts.path.resolve().parent
    candidates = [folder / facts.debug_link, folder / ".debug" / facts.debug_link]
    candidates += [root / folder.relative_to("/") / facts.debug_link for root in roots]
    for path in candidates:
        if path != facts.path.resolve() and _usable(path, facts.build_id):
            return path
    return None


def _usable(path: Path, build_id: str) -> bool:
    try:
        facts = read_facts(path)
    except NotElfError:
        return False
    return facts.has_lines and (
        not build_id or not facts.build_id or facts.build_id.lower() == build_id.lower()
    )


_URLS: Final = "DEBUGINFOD_URLS"
_LIBRARY: Final = "libdebuginfod.so.1"
_PATIENCE_S: Final = 5.0
"""Default of DEBUGINFOD_TIMEOUT: if a server sends nothing for this time, ompass asks no server again."""

_Progress = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_long, ctypes.c_long)


class Servers:
    """The servers of DEBUGINFOD_URLS.

    `problem` is the reason if no file is found; empty if DEBUGINFOD_URLS is not set.
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
            self.problem = f"{library} is missing, so {_URLS} has no effect"

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
        """Stops asking servers, because each further module would wait as long."""
        self.problem = f"the servers of {_URLS} {why}"
        self._functions = None


def _taken(path: ctypes.c_void_p) -> str:
    """Returns a copy of the library's string, and frees the string."""
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
        """Returns 1 to interrupt the transfer; libdebuginfod calls this repeatedly."""
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
