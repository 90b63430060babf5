# SPDX-License-Identifier: Apache-2.0
"""Ompass finds the program behind the options of an MPI launcher."""

from __future__ import annotations

from pathlib import Path

import pytest

from ompass.launch.launchers import is_launcher, position_of_program


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """Makes a PATH of programs whose names also occur as values of options."""
    for name in ("solver", "node1", "4", "core", "OMP_NUM_THREADS"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    return {"PATH": str(tmp_path)}


@pytest.mark.parametrize(
    "words",
    [
        "mpirun solver input",
        "mpirun -n 4 solver -n 4",
        "/usr/bin/mpirun.openmpi -np 4 -H node1 -x OMP_NUM_THREADS --map-by slot:PE=2 solver",
        "mpirun --oversubscribe --mca btl self --bind-to core solver node1",
        "mpiexec.hydra -genv OMP_NUM_THREADS 4 -hosts node1 -n 4 solver",
        "srun -N 4 --ntasks=4 -p core solver",
        "mpiexec --unknown-flag -n 4 solver",
        "orterun --unknown value solver",
    ],
)
def test_the_program_behind_a_launcher_is_found(words: str, environ: dict[str, str]) -> None:
    command = words.split()
    assert command[position_of_program(command, environ)] == "solver"


@pytest.mark.parametrize(
    "words", ["solver -n 4", "numactl -N 0 solver", "mpirun -n 4", "mpirun --version", ""]
)
def test_without_a_launched_program_the_first_word_is_the_program(
    words: str, environ: dict[str, str]
) -> None:
    assert position_of_program(words.split(), environ) == 0


@pytest.mark.parametrize(
    "name",
    [
        *("mpirun", "/opt/mpi/bin/mpiexec", "mpiexec.hydra", "mpiexec.mpich", "mpirun.mpich", "srun"),
        *("/usr/bin/mpirun.openmpi", "mpirun-openmpi-mp", "mpirun_rsh", "mpiexec_mpt"),
    ],
)
def test_launchers_are_known_by_their_names(name: str) -> None:
    assert is_launcher(name)


@pytest.mark.parametrize("name", ["mpirunner", "solver", "srun_report"])
def test_similar_names_are_not_launchers(name: str) -> None:
    assert not is_launcher(name)
