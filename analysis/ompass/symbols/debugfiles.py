# SPDX-License-Identifier: Apache-2.0
"""Finds the file with the symbols of a recorded module: itself, or its separate debug file.

Owns the check that the file on disk is the one that ran.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ompass.elf import ElfFacts, NotElfError, read_facts
from ompass.model import Module
from ompass.symbols.debuginfod import servers

DEBUG_ROOTS = (Path("/usr/lib/debug"),)


@dataclass(frozen=True, slots=True)
class DebugFile:
    """The file to look a module up in; `path` None: there is none, and `problem` is the reason."""

    path: Path | None
    has_lines: bool
    problem: str
    is_own: bool = False  # True if the module itself is there, and is the recorded one


def find_debug_file(module: Module, recorded_ns: int = 0, roots: Sequence[Path] = DEBUG_ROOTS) -> DebugFile:
    """Returns the best description of `module` on this machine.

    Never uses a file with another build id than recorded, because its lines would be wrong. `recorded_ns`
    (start of the run since the epoch) guards modules without a build id by their modification time.
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
    if module.build_id and facts.build_id and module.build_id.lower() != facts.build_id.lower():
        return (
            f"{module.path} has changed since the run (recorded build id {module.build_id[:12]}, "
            f"now {facts.build_id[:12]}), {changed}"
        )
    if not module.build_id and recorded_ns and facts.path.stat().st_mtime_ns > recorded_ns:
        return f"{module.path} was modified after the run was recorded, {changed}"
    return ""


def _by_build_id(build_id: str, roots: Sequence[Path]) -> Path | None:
    if len(build_id) < 3:
        return None
    for root in roots:
        path = root / ".build-id" / build_id[:2].lower() / f"{build_id[2:].lower()}.debug"
        if _usable(path, build_id):
            return path
    return None


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
