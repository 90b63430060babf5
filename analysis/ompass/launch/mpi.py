# SPDX-License-Identifier: Apache-2.0
"""Finds whether a program calls MPI, and the library that records its calls.

A program calls MPI if it, or a library that it needs, imports MPI functions. Python counts as well if mpi4py
is installed in a folder where the interpreter looks for modules.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from ompass.elf import NotElfError, imported_symbols
from ompass.launch.program import Program

_LIBRARY = "libompass_mpi.so"
_PREFIXES = ("MPI_", "PMPI_", "mpi_", "pmpi_")
_MPI = re.compile(r"lib\w*mpi\w*(-\w+)?\.so")
_PYTHON = re.compile(r"(python|pypy)[\d.]*")
_PACKAGE_FOLDERS = (
    "lib/python3*/site-packages",
    "lib64/python3*/site-packages",
    "lib/python3*/dist-packages",
    "lib/python3/dist-packages",
    "local/lib/python3*/dist-packages",
)


def mpi_library(tool: Path) -> Path | None:
    """Returns the library that forwards MPI calls to `tool`; None if this build has none."""
    path = tool.resolve().with_name(_LIBRARY)
    return path if path.is_file() else None


def calls_mpi(program: Program, environ: Mapping[str, str]) -> bool:
    """True if the program calls MPI, or is a Python that can load mpi4py."""
    if program.elf is None:
        return False
    if _is_python(program):
        return any((folder / "mpi4py").is_dir() for folder in _module_folders(program, environ))
    if not any(_MPI.match(loaded.name) for loaded in program.libraries):
        return False
    others = [each for each in program.libraries if not _MPI.match(each.name)]
    users = [program.elf.path, *(each.facts.path for each in others if each.facts)]
    return any(_imports_mpi(path) for path in users)


def _imports_mpi(path: Path) -> bool:
    try:
        return bool(imported_symbols(path, _PREFIXES))
    except NotElfError:
        return False


def _is_python(program: Program) -> bool:
    names = {program.path.name, *(path.name for path in program.interpreters)}
    return any(_PYTHON.fullmatch(name) for name in names)


def _module_folders(program: Program, environ: Mapping[str, str]) -> Iterator[Path]:
    """Yields the folders in which the interpreter looks for modules."""
    for text in environ.get("PYTHONPATH", "").split(":"):
        if text:
            yield Path(text)
    interpreter = program.interpreters[-1] if program.interpreters else program.path
    roots = {interpreter.absolute().parent.parent, interpreter.resolve().parent.parent}
    roots |= {Path(environ[name]) for name in ("VIRTUAL_ENV", "CONDA_PREFIX") if environ.get(name)}
    if home := environ.get("HOME"):
        roots.add(Path(home) / ".local")
    for root in sorted(roots):
        for pattern in _PACKAGE_FOLDERS:
            yield from sorted(root.glob(pattern))
