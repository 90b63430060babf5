# SPDX-License-Identifier: Apache-2.0
"""Finds the copies of gcc's libgomp that Python packages bundle, and a runtime that can replace them.

Wheels such as scikit-learn's and LightGBM's bundle a libgomp under another name. No tool can record it,
but a runtime of the LLVM family that is loaded first receives all calls. Reads files; runs no interpreter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ompass.elf import NotElfError, read_facts
from ompass.launch.plan import unreplaced_functions
from ompass.launch.runtimes import Runtime
from ompass.runtime_names import runtime_kind

_PACKAGES = ("lib/python3*/site-packages", "lib/python3*/dist-packages", "lib/python3/dist-packages")
_COPIES = ("*.libs/libgomp*.so*", "*/lib/libgomp*.so*", "*/.libs/libgomp*.so*", "*/libgomp*.so*")


@dataclass(frozen=True, slots=True)
class Bundled:
    """A copy of libgomp in a Python environment, with the modules that call it."""

    copy: Path
    users: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class Replacement:
    """The answer for one environment: the runtime, or the functions that it lacks."""

    copies: tuple[Path, ...]
    runtime: Runtime | None  # None: none is installed
    lacking: tuple[str, ...]  # empty: the runtime may replace all copies


def replacement_for(
    interpreter: Path, environ: Mapping[str, str], installed: Sequence[Runtime], tool: Path
) -> Replacement | None:
    """Returns the replacement of the libgomp copies in this interpreter's packages; None without copies."""
    found = [bundled for folder in _folders(interpreter, environ) for bundled in _bundled_in(folder)]
    if not found:
        return None
    copies = tuple(bundled.copy for bundled in found)
    runtime = next((r for r in installed if r.has_ompt and r.has_gomp), None)
    users = [user for bundled in found for user in bundled.users]
    lacking = unreplaced_functions(users, runtime, tool) if runtime else []
    return Replacement(copies, runtime, tuple(lacking))


def _folders(interpreter: Path, environ: Mapping[str, str]) -> Iterator[Path]:
    """Yields the folders of packages: PYTHONPATH, then the virtual environment's or the interpreter's."""
    seen: set[Path] = set()
    prefixes = [interpreter.absolute().parent.parent]
    if not (prefixes[0] / "pyvenv.cfg").exists():
        prefixes += [interpreter.resolve().parent.parent, Path("/usr/local"), Path.home() / ".local"]
    named = [Path(p) for p in environ.get("PYTHONPATH", "").split(":") if p]
    folders = [folder for prefix in prefixes for pattern in _PACKAGES for folder in prefix.glob(pattern)]
    for folder in (*named, *folders):
        real = folder.resolve()
        if real not in seen and folder.is_dir():
            seen.add(real)
            yield folder


def _bundled_in(folder: Path) -> Iterator[Bundled]:
    for copy in sorted({path for pattern in _COPIES for path in folder.glob(pattern)}):
        if runtime_kind(copy.name) == "libgomp":
            yield Bundled(copy, tuple(_users(folder, copy)))


def _users(folder: Path, copy: Path) -> Iterator[Path]:
    """Yields the libraries of the package that need this copy."""
    for path in _libraries_beside(folder, copy):
        try:
            facts = read_facts(path)
        except (NotElfError, OSError):
            continue
        if copy.name in facts.needed:
            yield path


def _libraries_beside(folder: Path, copy: Path) -> list[Path]:
    """Returns the libraries of the package that installed the copy, by its list of files if it has one."""
    own = copy.relative_to(folder).as_posix()
    for record in folder.glob("*.dist-info/RECORD"):
        lines = record.read_text(encoding="utf-8", errors="replace").splitlines()
        names = [line.split(",")[0] for line in lines]
        if own in names:
            return [folder / name for name in names if ".so" in Path(name).name]
    package = folder / copy.relative_to(folder).parts[0]
    return sorted(path for path in package.rglob("*.so*") if path.is_file())
