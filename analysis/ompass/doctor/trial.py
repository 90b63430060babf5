# SPDX-License-Identifier: Apache-2.0
"""Tries a runtime: a small program with tasks runs on it, under the tool and under the extension.

No compiler is needed: a Python process calls the runtime functions that compiled programs call. A runtime
that crashes cannot harm the doctor, which is another process.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from ompass.launch.tool import preloadable
from ompass.readers.run import find_problems, open_run
from ompass.system import answer_of

_LIMIT_S: Final = 20.0
N_REGIONS: Final = 2
N_TASKS: Final = 200
"""Tasks of each region. The extension schedules only the second region: the program finds the task functions
by dlsym, so the extension does not know that tasks exist until the first region runs."""

# The first of two threads creates tasks and waits for them. The runtime is the last preloaded library. A call
# goes to the first preloaded library that has the function, as in a program that is linked with the runtime.
_PROGRAM: Final = f"""
import ctypes as c
runtime = c.CDLL(None)
class Location(c.Structure):
    _fields_ = [(name, c.c_int32) for name in ("a", "flags", "b", "c")] + [("source", c.c_char_p)]
here = c.byref(Location(0, 2, 0, 0, b";trial;trial;1;1;;"))
n_run = 0
@c.CFUNCTYPE(c.c_int32, c.c_int32, c.c_void_p)
def task(thread, block):
    global n_run
    n_run += 1
    return 0
runtime.__kmpc_omp_task_alloc.restype = c.c_void_p
@c.CFUNCTYPE(None, c.POINTER(c.c_int32), c.POINTER(c.c_int32))
def region(thread, number):
    if number[0] == 0:
        for _ in range({N_TASKS}):
            block = runtime.__kmpc_omp_task_alloc(here, thread[0], 1, c.c_size_t(40), c.c_size_t(0), task)
            runtime.__kmpc_omp_task(here, thread[0], c.c_void_p(block))
        runtime.__kmpc_omp_taskwait(here, thread[0])
for _ in range({N_REGIONS}):
    runtime.__kmpc_fork_call(here, 0, region)
print("tasks run:", n_run)
"""
_RUN_BY_EXTENSION: Final = re.compile(r"omp_ext: tasks: \d+ created, (\d+) run")


def problem_of_tool(runtime: Path, tool: Path) -> str:
    """Records the small program on this runtime. Returns the problem; empty if all tasks were counted."""
    with tempfile.TemporaryDirectory() as folder:
        run_dir = Path(folder) / "trial.ompass"
        settings = {"OMPASS_DIR": str(run_dir), "OMPASS_SUMMARY": "off", "OMPASS_MODE": "trace"}
        if problem := _problem_of(_run((tool, runtime), settings, folder)):
            return problem
        if not run_dir.is_dir():
            return "nothing was recorded"
        if problems := find_problems(run_dir):
            return problems[0]
        counted = sum(row.n_completed for row in open_run(run_dir).constructs)
    n_tasks = N_TASKS * N_REGIONS
    return "" if counted == n_tasks else f"the tool counted {counted} of {n_tasks} tasks"


def problem_of_extension(runtime: Path, extension: Path) -> str:
    """Runs the small program. Returns the problem; empty if the extension ran the tasks of one region."""
    with tempfile.TemporaryDirectory() as folder:
        settings = {"OMP_EXT_SCHEDULE": "1", "OMP_EXT_STATISTICS": "1", "OMP_EXT_DOMAINS": "1"}
        answer = _run((extension, runtime), settings, folder)
    if problem := _problem_of(answer):
        return problem
    match = _RUN_BY_EXTENSION.search(answer or "")
    n_run = int(match[1]) if match else 0
    return "" if n_run == N_TASKS else f"it ran {n_run} of {N_TASKS} tasks"


def _run(libraries: tuple[Path, ...], settings: Mapping[str, str], folder: str) -> str | None:
    """Returns the output of the small program; None if it failed."""
    steering = ("OMP_", "KMP_", "GOMP_", "LIBOMP_", "OMPASS_", "LD_PRELOAD")
    environ = {name: value for name, value in os.environ.items() if not name.startswith(steering)}
    environ |= {
        "LD_PRELOAD": " ".join(str(preloadable(path, Path(folder))) for path in libraries),
        "OMP_NUM_THREADS": "2",
        "OMPASS_DIR": str(Path(folder) / "trial.ompass"),
        **settings,
    }
    return answer_of([sys.executable, "-c", _PROGRAM], environ, errors_too=True, limit_s=_LIMIT_S)


def _problem_of(answer: str | None) -> str:
    if answer is None:
        return "the trial crashed or hung"
    match = re.search(r"^tasks run: (\d+)$", answer, re.MULTILINE)
    n_run, n_tasks = int(match[1]) if match else 0, N_TASKS * N_REGIONS
    return "" if n_run == n_tasks else f"{n_run} of {n_tasks} tasks ran"
