# SPDX-License-Identifier: Apache-2.0
"""Compiles and runs programs with each installed implementation of MPI."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from needs import require_commands
from toolchains import PROGRAMS, Toolchain, neutral_environment

IMPLEMENTATIONS = ("openmpi", "mpich")
PATIENCE_S = 120
_LAUNCHING = {
    # allows root, and fewer cores than threads
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
}


def compile_mpi(
    source: str,
    implementation: str,
    toolchain: Toolchain,
    folder: Path,
    flags: tuple[str, ...] = (),
    name: str = "",
) -> Path:
    """Compiles a program with the implementation's own command; skips or fails the test if there is none.

    `source` is below tests/programs, and `name`, by default the source's, begins the program's name.
    """
    fortran = source.lower().endswith(".f90")
    command = f"{'mpifort' if fortran else 'mpicc'}.{implementation}"
    compiler = (toolchain.fc or "gfortran-12") if fortran else toolchain.cc
    require_commands(command, compiler)
    environment = {
        **os.environ,
        "OMPI_CC": compiler,
        "OMPI_FC": compiler,
        "MPICH_CC": compiler,
        "MPICH_FC": compiler,
    }
    program = folder / f"{name or Path(source).stem}-{implementation}{''.join(flags)}"
    words = [command, "-O1", "-g", "-fopenmp", *flags, f"-I{PROGRAMS}", str(PROGRAMS / source)]
    done = subprocess.run(
        [*words, "-o", str(program), "-lpthread"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return program


def run_mpi(
    implementation: str, command: list[object], cwd: Path, environment: Mapping[str, str], n_ranks: int = 2
) -> str:
    """Runs a job; returns its output."""
    launcher = f"mpirun.{implementation}"
    require_commands(launcher)
    done = subprocess.run(
        [launcher, "-n", str(n_ranks), *map(str, command)],
        cwd=cwd,
        env={**neutral_environment(), **_LAUNCHING, **environment},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
