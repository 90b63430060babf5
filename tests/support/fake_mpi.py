# SPDX-License-Identifier: Apache-2.0
"""Builds the library of tests/programs/mpi, which has MPI's function names, and programs that use it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import toolchains
from needs import require
from toolchains import PROGRAMS, Toolchain

SOURCES = PROGRAMS / "mpi"


def build_fake_mpi(folder: Path) -> Path:
    """Builds the library in `folder`; returns its path."""
    library = folder / "libfakempi.so"
    command = ["cc", "-shared", "-fPIC", "-g", "-O1", "-o", str(library), str(SOURCES / "fake_mpi.c")]
    subprocess.run(command, check=True)
    return library


def compile_with(library: Path, source: str, toolchain: Toolchain) -> Path:
    """Compiles a program of tests/programs/mpi and links it with the library; returns its path."""
    flags = (f"-L{library.parent}", f"-Wl,-rpath,{library.parent}", "-Wl,--no-as-needed", "-lfakempi")
    return toolchains.compile_source(f"mpi/{source}", toolchain, flags=flags)


def forwarding_library(libompass: Path) -> Path:
    """Returns the libompass_mpi.so of the same build; skips or fails the test if the build has none."""
    library = libompass.resolve().with_name("libompass_mpi.so")
    require("this build", [] if library.is_file() else [library.name])
    return library
