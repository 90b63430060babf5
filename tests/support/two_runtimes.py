# SPDX-License-Identifier: Apache-2.0
"""Processes with several OpenMP runtimes: a program and its libraries, built by different compilers.

Each library is linked with its own runtime by run path. The source is tests/programs/loading/two_runtimes.c.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from needs import require_toolchain
from toolchains import Toolchain, compile_source, neutral_environment, toolchain_named

SOURCE = "loading/two_runtimes.c"
ROUNDS, TASKS = 20, 200
GCC, CLANG, INTEL = "gcc-12-libomp-19", "clang-19", "clang-19-libiomp5"
WHEEL = "wheel"  # gcc with a copy of libgomp under another name, as in Python wheels
NAME_OF_LIBGOMP, NAME_IN_WHEEL = b"libgomp.so.1\0", b"libgomp-1.so\0"


@dataclass(frozen=True)
class Layout:
    """The compilers of the program ("": no OpenMP) and of its libraries."""

    program: str
    libraries: tuple[str, ...]
    is_linked: bool = False  # the program is linked with its first library
    is_first: bool = False  # the program's runtime starts before the others are loaded

    @property
    def name(self) -> str:
        """Returns a short name for the names of tests."""
        how = "linked" if self.is_linked else "first" if self.is_first else "dlopen"
        return "+".join([self.program or "none", *self.libraries, how])

    @property
    def tasks(self) -> int:
        """Returns the number of tasks that the program runs."""
        return (ROUNDS + self.is_first) * TASKS if self.program else 0

    @property
    def library_tasks(self) -> int:
        """Returns the number of tasks of all libraries; each thread of the program adds a round."""
        return len(self.libraries) * (ROUNDS + (2 if self.program else 1)) * TASKS


LAYOUTS = (
    Layout(GCC, (CLANG,), is_linked=True),
    Layout(CLANG, (GCC,), is_linked=True),
    Layout(GCC, (CLANG,)),
    Layout(GCC, (CLANG,), is_first=True),
    Layout(CLANG, (GCC,), is_first=True),
    Layout(CLANG, (WHEEL,), is_first=True),
    Layout("", (WHEEL, CLANG)),
    Layout("", (CLANG, WHEEL)),
    Layout("", (GCC, WHEEL)),
    Layout("", (INTEL, CLANG)),
    Layout("", (CLANG, INTEL)),
    Layout(GCC, (CLANG, WHEEL, INTEL), is_linked=True),
)


def toolchain_of(name: str) -> Toolchain:
    """Returns the toolchain, or skips the test."""
    return require_toolchain(toolchain_named(GCC if name in (WHEEL, "") else name))


def system_libgomp() -> Path:
    """Returns the libgomp of the system's gcc."""
    gcc = toolchain_of(GCC).cc
    asked = subprocess.run([gcc, "-print-file-name=libgomp.so.1"], capture_output=True, text=True, check=True)
    return Path(asked.stdout.strip())


def _run_path(name: str) -> tuple[str, ...]:
    return () if name == GCC else (f"-Wl,-rpath,{toolchain_of(name).runtime_dir}",)


def compile_library(name: str, folder: Path) -> Path:
    """Builds the library of one compiler; `folder` receives a wheel's library and libgomp."""
    if name != WHEEL:
        flags = ("-DLIBRARY", "-shared", "-fPIC", *_run_path(name))
        return compile_source(SOURCE, toolchain_of(name), flags=flags)
    libgomp = folder / "libgomp-1.so"
    libgomp.write_bytes(system_libgomp().read_bytes().replace(NAME_OF_LIBGOMP, NAME_IN_WHEEL))
    unlinked = compile_source(SOURCE, toolchain_of(WHEEL), flags=("-DLIBRARY", "-c", "-fPIC"))
    library = folder / "library-of-wheel.so"
    linking: list[str | Path] = [
        "-shared",
        "-o",
        library,
        "-x",
        "none",
        unlinked,
        libgomp,
        f"-Wl,-rpath,{folder}",
    ]
    subprocess.run([toolchain_of(WHEEL).cc, *linking], check=True)
    return library


def command_of(layout: Layout, folder: Path) -> list[str]:
    """Returns the command that runs the program with its libraries."""
    libraries = [str(compile_library(name, folder)) for name in layout.libraries]
    flags = _run_path(layout.program) if layout.program else ()
    if layout.is_linked:
        first = Path(libraries.pop(0))
        flags = (*flags, "-DLINKED", "-Wl,--no-as-needed", str(first), f"-Wl,-rpath,{first.parent}")
    program = compile_source(SOURCE, toolchain_of(layout.program), flags=flags, openmp=bool(layout.program))
    return [str(program), *(["first"] if layout.is_first else []), *libraries]


def environment_of_two(**settings: str) -> dict[str, str]:
    """Returns an environment with two threads that allows two LLVM runtimes in one process."""
    return neutral_environment() | {"OMP_NUM_THREADS": "2", "KMP_DUPLICATE_LIB_OK": "TRUE"} | settings
