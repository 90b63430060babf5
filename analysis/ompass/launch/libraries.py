# SPDX-License-Identifier: Apache-2.0
"""Finds the shared libraries that a program will load, as glibc's dynamic loader does.

Owns the search order (RPATH, LD_LIBRARY_PATH, RUNPATH, the loader's cache, the system directories). Executes
nothing except `ldconfig -p`.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ompass.elf import ElfFacts, NotElfError, is_elf, read_facts
from ompass.system import answer_of

_SYSTEM_DIRECTORIES = tuple(Path(p) for p in ("/lib64", "/usr/lib64", "/lib", "/usr/lib"))
_LDCONFIG_LINE = re.compile(r"\s*(?P<name>\S+) \((?P<abi>[^)]*)\) => (?P<path>/.+)")


@dataclass(frozen=True, slots=True)
class Loaded:
    """A library that the program needs; `facts` is None if it was not found."""

    name: str
    facts: ElfFacts | None


def loaded_libraries(program: ElfFacts, environ: Mapping[str, str]) -> tuple[Loaded, ...]:
    """Returns all libraries that the program needs, directly or indirectly, in loading order."""
    found: dict[str, Loaded] = {}
    queue: list[tuple[ElfFacts, tuple[ElfFacts, ...]]] = [(program, ())]
    while queue:
        user, ancestors = queue.pop(0)
        for name in user.needed:
            if name in found:
                continue
            facts = find_library(name, user, ancestors, environ)
            found[name] = Loaded(name, facts)
            if facts is not None:
                queue.append((facts, (*ancestors, user)))
    return tuple(found.values())


def find_library(
    name: str, user: ElfFacts, ancestors: tuple[ElfFacts, ...], environ: Mapping[str, str]
) -> ElfFacts | None:
    """Returns the file that the loader finds when `user` needs `name`; None if there is none."""
    if "/" in name:
        return _fitting(Path(name), user)
    # The loader also searches the RPATHs of the libraries that loaded `user`; RUNPATH disables RPATH.
    inherited: list[Path] = []
    if not user.runpath:
        for elf in (user, *reversed(ancestors)):
            if not elf.runpath:
                inherited += expand_origin(elf.rpath, elf)
    from_environment = [Path(p or ".") for p in environ.get("LD_LIBRARY_PATH", "").split(":")]
    if not environ.get("LD_LIBRARY_PATH"):
        from_environment = []
    for directory in (*inherited, *from_environment, *expand_origin(user.runpath, user)):
        if facts := _fitting(directory / name, user):
            return facts
    for path in (*loader_cache().get(name, ()), *(d / name for d in _SYSTEM_DIRECTORIES)):
        if facts := _fitting(path, user):
            return facts
    return None


def expand_origin(directories: tuple[str, ...], elf: ElfFacts) -> list[Path]:
    """Returns run paths with expanded $ORIGIN, $LIB and $PLATFORM."""
    origin = str(elf.path.resolve().parent)
    values = {"ORIGIN": origin, "LIB": "lib64" if elf.bits == 64 else "lib", "PLATFORM": os.uname().machine}
    expanded = []
    for directory in directories:
        text = directory
        for name, value in values.items():
            text = text.replace(f"${{{name}}}", value).replace(f"${name}", value)
        expanded.append(Path(text))
    return expanded


def _fitting(path: Path, user: ElfFacts) -> ElfFacts | None:
    """Returns the file's facts if it exists and has the word size and machine that the loader requires."""
    if not is_elf(path):
        return None
    try:
        facts = read_facts(path)
    except NotElfError:
        return None
    return facts if (facts.bits, facts.machine) == (user.bits, user.machine) else None


@functools.cache
def loader_cache() -> dict[str, tuple[Path, ...]]:
    """Returns the loader's cache: library name to paths, best first; empty without ldconfig."""
    tool = shutil.which("ldconfig") or shutil.which("ldconfig", path="/sbin:/usr/sbin")
    if tool is None:
        return {}
    text = answer_of([tool, "-p"])
    return parse_loader_cache(text or "")


def parse_loader_cache(text: str) -> dict[str, tuple[Path, ...]]:
    """Returns the paths in the output of `ldconfig -p`, by library name."""
    cache: dict[str, list[Path]] = {}
    for line in text.splitlines():
        if match := _LDCONFIG_LINE.fullmatch(line):
            cache.setdefault(match["name"], []).append(Path(match["path"]))
    return {name: tuple(paths) for name, paths in cache.items()}
