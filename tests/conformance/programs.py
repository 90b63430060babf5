# SPDX-License-Identifier: Apache-2.0
"""Finds the OpenMP programs in the checkout of a suite, and builds each once."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from conformance.suites import Made, Suite, suite_of
from toolchains import Toolchain, compile_source

_SUFFIXES: Final = frozenset({".c", ".cc", ".cpp", ".cxx", ".f90", ".F90", ".f95", ".F95"})
_DIRECTIVE: Final = re.compile(r'^\s*#\s*pragma\s+omp\b|_Pragma\("omp|^\s*[!cC*]\$omp\b', re.M | re.I)
_MAIN: Final = {
    True: re.compile(r"^\s*program\b", re.M | re.I),  # Fortran
    False: re.compile(r"\bmain\s*\("),
}


@dataclass(frozen=True, slots=True)
class Program:
    """A program: its sources, how to build it, and its arguments."""

    key: str  # SUITE/PATH, unique
    source: Path
    others: tuple[Path, ...] = ()
    flags: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    has_race: bool = False  # a data race decides the result
    free: str = ""  # pattern of the lines that may differ


@dataclass(frozen=True, slots=True)
class Built:
    """A program and its executable, or the message of the compiler."""

    program: Program
    executable: Path | None
    message: str = ""


def programs_in(folder: Path, only: str = "*") -> list[Program]:
    """Returns the programs of a checkout in the order of their keys. `only` is a pattern of keys."""
    folder = folder.resolve()
    suite = suite_of(folder)
    found = [*_single_files(suite, folder), *(_made(suite, folder, made) for made in suite.made)]
    return sorted(
        (program for program in found if fnmatch.fnmatch(program.key, only)), key=lambda program: program.key
    )


def _single_files(suite: Suite, folder: Path) -> Iterator[Program]:
    for path in sorted({path for inner in suite.folders for path in (folder / inner).rglob("*")}):
        if path.suffix not in _SUFFIXES or not path.is_file():
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        if not is_program(path.suffix, text):
            continue
        name = str(path.relative_to(folder))
        if any(fnmatch.fnmatch(name, pattern) for pattern in suite.undefined):
            continue
        needed = [file for word, files in suite.needs.items() if word in text for file in files]
        if any(Path(file).suffix != path.suffix for file in needed):
            continue  # one compiler must build all files of a program
        arguments = next((a for pattern, a in suite.arguments.items() if fnmatch.fnmatch(name, pattern)), ())
        yield Program(
            f"{suite.name}/{name}",
            path,
            tuple(folder / file for file in needed),
            _flags(folder, suite.includes, suite.flags if _is_c(path) else ()),
            arguments,
            bool(suite.races) and fnmatch.fnmatch(name, suite.races),
        )


def is_program(suffix: str, text: str) -> bool:
    """True if the text of a source file is a whole program that uses OpenMP."""
    return bool(_DIRECTIVE.search(text) and _MAIN[suffix.lower().startswith(".f")].search(text))


def _made(suite: Suite, folder: Path, made: Made) -> Program:
    source = folder / made.source
    others = [path for pattern in made.others for path in sorted(folder.glob(pattern)) if path != source]
    return Program(
        f"{suite.name}/{made.name}",
        source,
        tuple(others),
        _flags(folder, made.includes, made.flags),
        tuple(argument.replace("{suite}", str(folder)) for argument in made.arguments),
        free=made.free,
    )


def _is_c(path: Path) -> bool:
    return path.suffix == ".c"


def _flags(folder: Path, includes: Sequence[str], flags: Sequence[str]) -> tuple[str, ...]:
    return (*flags, *(f"-I{folder / include}" for include in includes))


def build(program: Program, toolchain: Toolchain) -> Built:
    """Builds a program, unless its executable exists.

    clang ignores unknown clauses with a warning. This warning is an error here: without the clause, the
    program may have a race.
    """
    is_by_clang = "clang" in toolchain.cc and not program.source.suffix.lower().startswith(".f")
    warnings = ("-Wno-everything", "-Werror=extra-tokens") if is_by_clang else ("-w",)
    try:
        executable = compile_source(
            program.source,
            toolchain,
            opt_level="-O1",
            flags=(*warnings, *program.flags),
            extra_sources=program.others,
        )
    except (AssertionError, OSError) as error:
        return Built(program, None, str(error))
    return Built(program, executable)


def build_all(programs: Sequence[Program], toolchain: Toolchain, at_once: int) -> Iterator[Built]:
    """Yields the built programs in order; builds `at_once` programs at a time."""
    with ThreadPoolExecutor(at_once) as pool:
        yield from pool.map(lambda program: build(program, toolchain), programs)
