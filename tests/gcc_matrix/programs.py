# SPDX-License-Identifier: Apache-2.0
"""The programs of the matrix, and the functions of libgomp that each of them calls.

Owns the corpus: the sources in `programs` and in tests/programs/gomp, and one program that is linked against
all functions that no other program calls. A source may have two directives in comments at its head:
`environment:`, variables for its runs, and `flags:` for its compiler.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import toolchains
from ompass.elf import imported_symbols
from toolchains import Toolchain

SOURCES = Path(__file__).parent / "programs"
_OTHERS = toolchains.PROGRAMS / "gomp"
_OF_LIBRARIES = ("target_library.c", "loads_library.c")  # tested elsewhere, together
_VERSION = re.compile(r"(GOMP_PLUGIN|GOMP|OMP|GOACC|OACC)_[\d.]+")  # a version, not a function
PREFIXES = ("GOMP_", "GOACC_", "omp_", "acc_")


@dataclass(frozen=True, slots=True)
class MatrixProgram:
    """A compiled program."""

    name: str
    path: Path
    environment: Mapping[str, str]
    calls: frozenset[str]  # functions of libgomp


def compiler(name: str) -> Toolchain:
    """Returns the toolchain of this gcc (such as gcc-12); its programs run on gcc's own runtime."""
    version = name.removeprefix("gcc-")
    return replace(
        toolchains.toolchain_named("gcc-12-libomp-19"),
        name=name,
        cc=name,
        cxx=f"g++-{version}",
        fc=f"gfortran-{version}",
    )


@cache
def functions_of_libgomp(gcc: str) -> tuple[str, ...]:
    """Returns the functions that the libgomp of this gcc exports, in order."""
    library = subprocess.run(
        [gcc, "-print-file-name=libgomp.so.1"], capture_output=True, text=True, check=True
    ).stdout.strip()
    listed = subprocess.run(
        ["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True
    ).stdout
    names = {line.split()[-1].split("@")[0] for line in listed.splitlines()}
    return tuple(sorted(name for name in names if name.startswith(PREFIXES) and not _VERSION.fullmatch(name)))


def build(source: Path, toolchain: Toolchain) -> MatrixProgram:
    """Builds and returns the program of one source. Raises AssertionError if it does not compile."""
    head = source.read_text(encoding="utf-8")
    flags = re.findall(r"^(?://|!) flags: (.*)$", head, re.MULTILINE)
    variables = re.findall(r"^(?://|!) environment: (.*)$", head, re.MULTILINE)
    path = toolchains.compile_source(source, toolchain, flags=" ".join(flags).split())
    return MatrixProgram(
        source.name,
        path,
        dict(setting.split("=", 1) for setting in " ".join(variables).split()),
        frozenset(name for name, _ in imported_symbols(path, PREFIXES)),
    )


def corpus(gcc: str, only: str = "") -> list[MatrixProgram]:
    """Returns all programs built by this gcc, or those whose names `only` lists, separated by commas."""
    toolchain = compiler(gcc)
    sources = [path for path in sorted(SOURCES.iterdir()) if path.suffix in {".c", ".f90"}]
    sources += [path for path in sorted(_OTHERS.iterdir()) if path.name not in _OF_LIBRARIES]
    wanted = set(only.split(",")) if only else set()
    programs = [build(path, toolchain) for path in sources if not only or path.name in wanted]
    if not only or NAMING in wanted:
        called = {name for path in sources for name in build(path, toolchain).calls}
        programs.append(_naming(set(functions_of_libgomp(gcc)) - called, toolchain))
    return programs


NAMING = "naming.c"


def _naming(names: set[str], toolchain: Toolchain) -> MatrixProgram:
    """Returns a program that is linked against these functions but calls none of them."""
    folder = toolchains.COMPILED / "gcc_matrix"
    folder.mkdir(parents=True, exist_ok=True)
    source = folder / NAMING
    declared = "\n".join(f"extern void {name}(void);" for name in sorted(names))
    listed = ", ".join(sorted(names))
    source.write_text(
        f"#include <stdio.h>\n{declared}\nvoid (*functions[])(void) = {{{listed}}};\n"
        'int main(void) { printf("%d\\n", functions[0] != 0); }\n',
        encoding="utf-8",
    )
    return build(source, toolchain)
