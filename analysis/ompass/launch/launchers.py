# SPDX-License-Identifier: Apache-2.0
"""Finds the program that an MPI launcher starts: `mpirun -n 4 ./solver` starts ./solver.

Owns the names of launchers, and of their options that take values.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ompass.errors import CannotRecordError
from ompass.launch.program import Program, find_executable, inspect_program

_LAUNCHER: Final = re.compile(
    r"(mpirun|mpiexec|orterun|prterun|prun|srun|aprun|jsrun|ibrun)\b.*|mpirun_rsh|mpiexec_mpt|ccc_mprun|lrun"
)
_TWO_VALUES: Final = frozenset(["mca", "gmca", "pmixmca", "prtemca", "env", "genv"])
_ONE_VALUE: Final = frozenset(
    [
        "n",
        "np",
        "c",
        "N",
        "H",
        "x",
        "host",
        "hosts",
        "hostfile",
        "machinefile",
        "f",
        "ppn",
        "perhost",
        "npernode",
        "npersocket",
        "wd",
        "wdir",
        "map-by",
        "bind-to",
        "rank-by",
        "cpu-set",
        "cpu-list",
        "app",
        "tune",
        "report-bindings-to",
        "output-filename",
        "stdin",
        "path",
        "prefix",
        "genvlist",
        "envlist",
        "p",
        "partition",
        "A",
        "account",
        "t",
        "time",
        "J",
        "job-name",
        "o",
        "output",
        "e",
        "error",
        "i",
        "input",
        "w",
        "nodelist",
        "nodes",
        "ntasks",
        "ntasks-per-node",
        "cpus-per-task",
        "cpu-bind",
        "mem",
        "distribution",
        "mpi",
        "q",
        "qos",
        "d",
        "S",
        "a",
        "r",
        "g",
        "bind",
        "rs_per_host",
        "launcher",
        "rmk",
        "ranktoproc",
        "iface",
    ]
)
"""Options (without dashes) whose value is the next word. The value may look like a program's name."""


@dataclass(frozen=True, slots=True)
class Started:
    """The program of a command, and the file to execute first."""

    program: Program
    path: Path  # the file to execute: the launcher, or else the program
    has_launcher: bool


def inspect_command(command: Sequence[str], environ: Mapping[str, str]) -> Started:
    """Returns the program that a command starts. Raises ProgramNotFoundError, ProgramNotExecutableError."""
    position = position_of_program(command, environ)
    program = inspect_program(command[position], environ)
    path = find_executable(command[0], environ) if position else program.path
    return Started(program, path, position > 0)


def is_launcher(name: str) -> bool:
    """True if a command of this name starts the ranks of a job."""
    return _LAUNCHER.fullmatch(Path(name).name) is not None


def position_of_program(command: Sequence[str], environ: Mapping[str, str]) -> int:
    """Returns the position of the program that the command starts: 0 unless the command is a launcher.

    Also returns 0 if no word after a launcher names a program.
    """
    if not command or not is_launcher(command[0]):
        return 0
    position = 1
    while position < len(command):
        word = command[position]
        if word.startswith("-"):
            name = word.lstrip("-")
            position += 1 + (2 if name in _TWO_VALUES else name in _ONE_VALUE)
        elif _is_program(word, environ):
            return position
        else:
            position += 1
    return 0


def _is_program(word: str, environ: Mapping[str, str]) -> bool:
    try:
        find_executable(word, environ)
    except CannotRecordError:
        return False
    return True
