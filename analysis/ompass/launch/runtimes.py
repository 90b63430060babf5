# SPDX-License-Identifier: Apache-2.0
"""Finds installed OpenMP runtimes, and checks whether a runtime supports OMPT and the GOMP interface.

Owns the places where runtimes are installed.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ompass.elf import NotElfError, dynamic_symbols, is_elf
from ompass.launch.libraries import loader_cache
from ompass.runtime_names import LLVM_FAMILY, runtime_kind

_ENTRY_POINTS = ("__kmpc_fork_call", "GOMP_parallel", "ompt_start_tool")
_INSTALLED_AT = (
    "/usr/lib/llvm-*/lib",
    "/usr/lib/*-linux-gnu",
    "/usr/lib64",
    "/usr/lib64/llvm*/lib*",
    "/usr/local/lib",
    "/opt/intel/oneapi/compiler/*/lib",
    "/opt/intel/oneapi/compiler/*/linux/compiler/lib/intel64_lin",
)


@dataclass(frozen=True, slots=True)
class Runtime:
    """An OpenMP runtime: a library, or a part of the program (then `path` is the program)."""

    kind: str  # "libomp", "libiomp5", "libgomp", "libnvomp"
    path: Path
    has_ompt: bool
    has_gomp: bool  # has the entry points that gcc's programs call
    is_static: bool = False

    @property
    def is_llvm(self) -> bool:
        return self.kind in LLVM_FAMILY


def read_runtime(kind: str, path: Path) -> Runtime | None:
    """Returns the runtime in the library at `path`; None if it cannot be read."""
    try:
        defined, undefined = dynamic_symbols(path, _ENTRY_POINTS)
    except NotElfError:
        return None
    # A runtime without OMPT neither defines nor imports a tool's entry point.
    has_ompt = "ompt_start_tool" in defined | undefined
    return Runtime(kind, path, has_ompt, "GOMP_parallel" in defined)


def find_runtimes(environ: Mapping[str, str]) -> tuple[Runtime, ...]:
    """Returns installed runtimes of the LLVM family, newest libomp first, each file once."""
    found: dict[Path, Runtime] = {}
    for path in _candidates(environ):
        real = path.resolve()
        if real in found or not is_elf(path):
            continue
        runtime = read_runtime(runtime_kind(path.name), path)
        if runtime is not None:
            found[real] = runtime
    return tuple(found.values())


def _candidates(environ: Mapping[str, str]) -> Iterator[Path]:
    names = ("libomp.so.5", "libomp.so", "libiomp5.so")
    directories = [Path(p) for p in environ.get("LD_LIBRARY_PATH", "").split(":") if p]
    for pattern in _INSTALLED_AT:
        directories += sorted(Path("/").glob(pattern.lstrip("/")), key=version_key, reverse=True)
    directories += [
        Path(prefix) / "lib" for prefix in (environ.get("CONDA_PREFIX", ""), sys.prefix) if prefix
    ]
    for name in names:
        for directory in directories:
            yield directory / name
        yield from loader_cache().get(name, ())


def version_key(path: Path) -> tuple[int, ...]:
    """Returns the numbers in a path, which sort llvm-19 after llvm-9."""
    return tuple(int(digits) for digits in re.findall(r"\d+", str(path)))
