# SPDX-License-Identifier: Apache-2.0
"""Inspects the program to record: an ELF executable or a script, its libraries, its OpenMP runtime, its MPI.

A program calls MPI if it, or a library that it needs, imports MPI functions. Python counts as well if mpi4py
is installed in a folder where the interpreter looks for modules.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ompass.elf import ElfFacts, NotElfError, dynamic_symbols, imported_symbols, read_facts, static_symbols
from ompass.errors import CannotRecordError
from ompass.launch.libraries import Loaded, loaded_libraries
from ompass.launch.runtimes import Runtime, read_runtime
from ompass.runtime_names import is_python, runtime_kind

_MAX_INTERPRETERS = 5
_RUNTIME_SYMBOLS = {"__kmpc_fork_call": "libomp", "GOMP_parallel": "libgomp"}


class ProgramNotFoundError(CannotRecordError):
    """The program does not exist; a shell uses the same exit code."""

    exit_code = 127


class ProgramNotExecutableError(CannotRecordError):
    """The program exists but cannot be executed; a shell uses the same exit code."""

    exit_code = 126


@dataclass(frozen=True, slots=True)
class Program:
    """A program as found on disk."""

    path: Path  # executed file
    elf: ElfFacts | None  # facts about the program or the interpreter of a script; None: not ELF
    interpreters: tuple[Path, ...]  # interpreters of a script, outermost first
    libraries: tuple[Loaded, ...]
    runtimes: tuple[Runtime, ...]
    has_own_tool: bool  # exports ompt_start_tool itself
    is_privileged: bool  # set-user-ID or similar: the loader ignores LD_PRELOAD

    @property
    def is_script(self) -> bool:
        return bool(self.interpreters)

    @property
    def is_static(self) -> bool:
        """True if it is linked without a dynamic loader, so no library can be loaded into it."""
        return self.elf is not None and not self.elf.is_dynamic

    @property
    def missing(self) -> tuple[str, ...]:
        """Needed libraries that were not found."""
        return tuple(loaded.name for loaded in self.libraries if loaded.facts is None)


def inspect_program(name: str, environ: Mapping[str, str]) -> Program:
    """Returns the program that a shell would run for `name`.

    Raises ProgramNotFoundError, ProgramNotExecutableError.
    """
    path = find_executable(name, environ)
    interpreters: list[Path] = []
    target = path
    while (interpreter := read_interpreter(target, environ)) and len(interpreters) < _MAX_INTERPRETERS:
        interpreters.append(interpreter)
        target = interpreter
    try:
        elf = read_facts(target)
    except NotElfError:
        return Program(path, None, tuple(interpreters), (), (), False, False)
    libraries = loaded_libraries(elf, environ)
    runtimes = [runtime for loaded in libraries if (runtime := _as_runtime(loaded))]
    if not runtimes:
        runtimes = _built_in(target)
    return Program(
        path=path,
        elf=elf,
        interpreters=tuple(interpreters),
        libraries=libraries,
        runtimes=tuple(runtimes),
        has_own_tool="ompt_start_tool" in dynamic_symbols(target, ("ompt_start_tool",))[0]
        and not _has_static(runtimes),
        is_privileged=_is_privileged(target),
    )


def find_executable(name: str, environ: Mapping[str, str]) -> Path:
    """Returns the file that a shell would execute for `name`."""
    if "/" not in name:
        found = shutil.which(name, path=environ.get("PATH", os.defpath))
        if found is None:
            cure = (
                f"write ./{name} if it is in this directory"
                if Path(name).exists()
                else "check the name and PATH"
            )
            raise ProgramNotFoundError(f"{name}", "not found in PATH", cure)
        return Path(found)
    path = Path(name)
    if not path.exists():
        raise ProgramNotFoundError(f"{name}", "no such file", "check the name")
    if path.is_dir():
        raise ProgramNotExecutableError(f"{name}", "is a directory", "name a program in it")
    if not os.access(path, os.X_OK):
        built = path.with_suffix("")
        is_built = path.suffix and built.is_file() and os.access(built, os.X_OK)
        cure = f"name the program: {built}" if is_built else f"try `chmod +x {shlex.quote(name)}`"
        raise ProgramNotExecutableError(f"{name}", "is not executable", cure)
    return path


def read_interpreter(path: Path, environ: Mapping[str, str]) -> Path | None:
    """Returns the interpreter of a script, or the program that `env` starts; None if not a script."""
    try:
        with path.open("rb") as stream:
            first = stream.readline(512)
    except OSError:
        return None
    if not first.startswith(b"#!"):
        return None
    words = first[2:].decode(errors="replace").split()
    if not words:
        return None
    command = words[0]
    if Path(command).name == "env":
        # the program is the first word that is neither an option nor a variable
        rest = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
        command = rest[0] if rest else command
    try:
        return find_executable(command, environ)
    except CannotRecordError:
        return None


def _as_runtime(loaded: Loaded) -> Runtime | None:
    if loaded.facts is None:
        return None
    kind = runtime_kind(loaded.name) or runtime_kind(loaded.facts.path.name)
    return read_runtime(kind, loaded.facts.path) if kind else None


def _built_in(path: Path) -> list[Runtime]:
    """Returns the runtime that is linked into the program, identified by its symbols."""
    defined = static_symbols(path, _RUNTIME_SYMBOLS) | dynamic_symbols(path, _RUNTIME_SYMBOLS)[0]
    if not defined:
        return []
    # libomp defines both interfaces
    kind = "libomp" if "__kmpc_fork_call" in defined else "libgomp"
    has_ompt = bool(static_symbols(path, ("ompt_start_tool",)))
    return [Runtime(kind, path, has_ompt, "GOMP_parallel" in defined, is_static=True)]


def _has_static(runtimes: list[Runtime]) -> bool:
    return any(runtime.is_static for runtime in runtimes)


def _is_privileged(path: Path) -> bool:
    """True if the loader runs in secure mode and ignores LD_PRELOAD."""
    try:
        status = path.stat()
    except OSError:
        return False
    if status.st_mode & stat.S_ISUID and status.st_uid != os.geteuid():
        return True
    if status.st_mode & stat.S_ISGID and status.st_gid != os.getegid():
        return True
    try:
        return bool(os.getxattr(path, "security.capability")) and os.geteuid() != 0
    except OSError:
        return False


_MPI_LIBRARY = "libompass_mpi.so"
_MPI_PREFIXES = ("MPI_", "PMPI_", "mpi_", "pmpi_")
_MPI = re.compile(r"lib\w*mpi\w*(-\w+)?\.so")
_PACKAGE_FOLDERS = (
    "lib/python3*/site-packages",
    "lib64/python3*/site-packages",
    "lib/python3*/dist-packages",
    "lib/python3/dist-packages",
    "local/lib/python3*/dist-packages",
)


def mpi_library(tool: Path) -> Path | None:
    """Returns the library that forwards MPI calls to `tool`; None if this build has none."""
    path = tool.resolve().with_name(_MPI_LIBRARY)
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
        return bool(imported_symbols(path, _MPI_PREFIXES))
    except NotElfError:
        return False


def _is_python(program: Program) -> bool:
    names = {program.path.name, *(path.name for path in program.interpreters)}
    return any(is_python(name) for name in names)


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
