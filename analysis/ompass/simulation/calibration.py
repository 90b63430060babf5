# SPDX-License-Identifier: Apache-2.0
"""Measures here what the simulator must know: the costs of a runtime's operations, by a small program.

Owns how its figures become the costs of machine.h, which are parts of what can be measured from outside.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from ompass.errors import CannotRecordError
from ompass.installation import Component, library_path
from ompass.readers import open_run
from ompass.readers.simulation import read_task_program

_SOURCE = Path(__file__).parent / "calibrate.c"
_COMPILERS = ("clang", *(f"clang-{version}" for version in range(22, 13, -1)))
_LIMIT_S = 300
_TRACES = 5


def find_compiler() -> str:
    """A clang, whose programs run on libomp. CannotRecordError when there is none."""
    for name in _COMPILERS:
        if path := shutil.which(name):
            return path
    raise CannotRecordError(
        "this machine cannot be calibrated",
        "no clang was found, which the measuring program is built with",
        "install clang and libomp-dev, or name a compiler by --compiler",
    )


def calibrate(compiler: str = "", threads: int = 0) -> dict[str, dict[str, float]]:
    """Tables of a machine file, in ns: libomp, omp_ext, recording; at `threads` (0: all CPUs). Some seconds.

    CannotRecordError when the program cannot be built or run.
    """
    threads = threads or len(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory(prefix="ompass-calibrate-") as folder:
        program = Path(folder) / "calibrate"
        _run([compiler or find_compiler(), "-O2", "-fopenmp", str(_SOURCE), "-o", str(program)], {})
        measure = [str(program), str(max(threads, 2))]
        plain = _figures(_run(measure, {}))
        extended = _figures(
            _run(measure, {"LD_PRELOAD": str(library_path(Component.EXT)), "OMP_EXT_SCHEDULE": "1"})
        )
        traces = [Path(folder) / f"{k}.ompass" for k in range(_TRACES)]
        for trace in traces:
            ompass = [
                sys.executable,
                "-m",
                "ompass",
                "run",
                "--mode",
                "trace",
                "--quiet",
                "-o",
                str(trace),
                "--",
            ]
            _run([*ompass, *measure, "traced"], {})
        added = [_added_to(trace) for trace in traces]
    recording = {
        "task": min(task for task, _ in added),
        "creation": min(creation for _, creation in added),
        "create": plain["create"],
    }
    return {"libomp": costs_from(plain), "omp_ext": costs_from(extended), "recording": recording}


def _added_to(trace: Path) -> tuple[float, float]:
    """What the trace of empty tasks holds as work of a task, and of its creator for each of them, in ns."""
    program = read_task_program(trace)
    kinds = {definition.id: definition.kind for definition in open_run(trace).definitions}
    work = dict.fromkeys(("program", "parallel", "task"), 0.0)
    for construct, ns in program.work_of_constructs.items():
        work[kinds[construct]] += ns / program.n_deferred
    return work["task"], work["parallel"]


def costs_from(figures: Mapping[str, float]) -> dict[str, float]:
    """The simulator's costs. Dequeue stands for completion and wait as well, since they come together."""
    create, pair, run = figures["create"], figures["pair"], figures["run"]
    dequeue = max(0.0, pair - create)
    between = max(0.0, run - dequeue)
    wake = max(0.0, figures["wake"] - create)
    steal = max(dequeue, figures["steal"] - between)
    return {
        "enqueue": 0.0,  # is part of creation
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
    """A machine file with these costs."""
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
            "install clang and libomp-dev, or name a compiler by --compiler",
        )
    return done.stdout


def _figures(text: str) -> dict[str, float]:
    return {name: float(value) for name, value in (line.split() for line in text.splitlines())}
