# SPDX-License-Identifier: Apache-2.0
"""Measures the simulator's costs of runtime operations on this machine, with a small program.

Owns the derivation of the costs in machine.h from figures that a program can measure.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from ompass.errors import CannotRecordError
from ompass.installation import Component, library_path
from ompass.simulation.reader import read_task_program, run_simulation, task_shapes

_SOURCE = Path(__file__).parent / "calibrate.c"
_COMPILERS = ("clang", *(f"clang-{version}" for version in range(22, 13, -1)))
_LIMIT_S = 300
_ROUNDS = 8  # measurements of each kind; the smallest figure counts


def find_compiler() -> str:
    """Returns the path of a clang, whose programs use libomp. Raises CannotRecordError if there is none."""
    for name in _COMPILERS:
        if path := shutil.which(name):
            return path
    raise CannotRecordError(
        "this machine cannot be calibrated",
        "no clang was found to build the measuring program",
        "install clang and libomp-dev, or name a compiler with --compiler",
    )


def calibrate(compiler: str = "", threads: int = 0) -> dict[str, dict[str, float]]:
    """Measures costs on `threads` threads (0: all CPUs). Returns the tables of a machine file, in ns.

    The tables are libomp, omp_ext and recording. Raises CannotRecordError if the program cannot be built or
    run.
    """
    threads = threads or len(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory(prefix="ompass-calibrate-") as folder:
        program = Path(folder) / "calibrate"
        _run([compiler or find_compiler(), "-O2", "-fopenmp", str(_SOURCE), "-o", str(program)], {})
        rounds = [_measured(program, max(threads, 2), Path(folder) / str(k)) for k in range(_ROUNDS)]
    plain, extended, traced, deferred, serial = (_smallest(figures) for figures in zip(*rounds, strict=True))
    return {
        "libomp": costs_from(plain),
        "omp_ext": costs_from(extended),
        "recording": recording_from(plain, traced, deferred, serial),
    }


def recording_from(
    plain: Mapping[str, float],
    traced: Mapping[str, float],
    deferred: Mapping[str, float],
    serial: Mapping[str, float],
) -> dict[str, float]:
    """Returns the cost of tracing, from figures with and without it, and from traces in teams of 2 and 1."""
    figures = ("create", "run", "pair", "barrier", "region", "loop")
    added = {name: max(0.0, traced[name] - plain[name]) for name in figures}
    return {
        "task": deferred["task"],
        "creation": deferred["creation"],
        "schedule": max(0.0, added["run"] - deferred["task"]),
        "wait": max(0.0, added["pair"] - added["create"] - added["run"]),
        "create": plain["create"],
        "traced_create": deferred["create"],
        "serial_task": serial["task"],
        "serial_creation": serial["creation"],
        "barrier": added["barrier"],
        "fork": max(0.0, added["region"] - added["barrier"]),
        "loop": added["loop"],
    }


def _traced(trace: Path) -> list[str]:
    return [sys.executable, "-m", "ompass", "run", "--mode", "trace", "--quiet", "-o", str(trace), "--"]


def _measured(program: Path, threads: int, folder: Path) -> tuple[dict[str, float], ...]:
    """Returns figures: plain, with the extension, and traced; and costs in traces of 2 and of 1 thread."""
    folder.mkdir()
    measure = [str(program), str(threads)]
    extension = {"LD_PRELOAD": str(library_path(Component.EXT)), "OMP_EXT_SCHEDULE": "1"}

    def added(n: int) -> dict[str, float]:
        trace = folder / f"{n}.ompass"
        _run([*_traced(trace), str(program), str(n), "traced"], {})
        return _added_by(trace)

    return (
        _figures(_run(measure, {})),
        _figures(_run(measure, extension)),
        _figures(_run([*_traced(folder / "costs.ompass"), *measure], {})),
        added(2),
        added(1),
    )


def _smallest(rounds: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Returns the smallest figure of all rounds: other programs, and slow processors, only add time."""
    return {name: min(one[name] for one in rounds) for name in rounds[0]}


def _added_by(trace: Path) -> dict[str, float]:
    """Returns the costs per task in a trace of empty tasks, in ns: task, creator's work, creation."""
    program = read_task_program(trace)
    creator, empty = sorted(
        (shape for shape in task_shapes(program) if shape.deepest), key=lambda shape: shape.n_tasks
    )
    work = program.work_of_constructs
    as_recorded = run_simulation(program, "libomp", max(2, program.n_threads))
    return {
        "task": work.get(empty.construct, 0) / empty.n_tasks,
        "creation": work.get(creator.construct, 0) / empty.n_tasks,
        "create": as_recorded.create_ns / empty.n_tasks,
    }


def costs_from(figures: Mapping[str, float]) -> dict[str, float]:
    """Returns the simulator's costs.

    `dequeue` includes completion and wait, because the program measures them together.
    """
    create, pair, run = figures["create"], figures["pair"], figures["run"]
    dequeue = max(0.0, pair - create)
    between = max(0.0, run - dequeue)
    wake = max(0.0, figures["wake"] - create)
    steal = max(dequeue, figures["steal"] - between)
    return {
        "depend": max(0.0, figures["depend"] - create),
        "contended": max(0.0, figures["contended"] - create),
        "enqueue": 0.0,  # part of creation
        "dequeue": dequeue,
        "between": between,
        "steal": steal,
        "failed_steal": min(wake, steal),
        "inlined": figures["inlined"],
        "wake": wake,
        "lock": figures["lock"],
        "chunk": figures["chunk"],
        "fork": max(0.0, figures["region"] - figures["barrier"]),
        "barrier": figures["barrier"],
    }


def as_toml(name: str, costs: Mapping[str, Mapping[str, float]]) -> str:
    """Returns a machine file with these costs."""
    lines = [f'name = "{name}"', 'source = "ompass calibrate"', ""]
    for runtime, of_runtime in costs.items():
        lines += [f"[{runtime}]", *(f"{key} = {ns:.0f}" for key, ns in of_runtime.items()), ""]
    return "\n".join(lines)


def _run(command: list[str], environment: Mapping[str, str]) -> str:
    try:
        done = subprocess.run(
            command,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=_LIMIT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotRecordError("this machine cannot be calibrated", str(error)) from error
    if done.returncode != 0:
        raise CannotRecordError(
            "this machine cannot be calibrated",
            f"`{' '.join(command)}` failed: {done.stderr.strip() or f'exit code {done.returncode}'}",
            "install clang and libomp-dev, or name a compiler with --compiler",
        )
    return done.stdout


def _figures(text: str) -> dict[str, float]:
    return {name: float(value) for name, value in (line.split() for line in text.splitlines())}
