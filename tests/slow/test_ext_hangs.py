# SPDX-License-Identifier: Apache-2.0
"""Long tests of the scheduler: many runs under random sleeps, and very many strictly placed tasks.

OMPASS_EXT_RUNS sets the number of runs, and OMPASS_EXT_TASKS the number of tasks; `-rA` shows the counters.
"""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import pytest

import bots_programs
from ext_programs import compile_with_ext, ext_library
from toolchains import Toolchain

pytestmark = [pytest.mark.slow, pytest.mark.timeout(7200)]

N_RUNS = int(os.environ.get("OMPASS_EXT_RUNS", "1000"))
N_TASKS = int(os.environ.get("OMPASS_EXT_TASKS", "100000000"))
WATCHDOG_S = 300.0
TASK_VERSIONS = [name for name in bots_programs.versions() if name.endswith(("-tasks", "-locality"))]


@pytest.mark.parametrize("version", TASK_VERSIONS)
def test_no_program_hangs_under_random_sleeps(version: str, bots_dir: Path) -> None:
    program = bots_dir / version
    ways = itertools.cycle(
        itertools.product(bots_programs.kinds(program), ("1", "2", "4"), ("0", "1"), (2, 4, 8))
    )
    library = ext_library().with_name("libomp_ext_injected.so")
    for kind, domains, strict, threads in itertools.islice(ways, N_RUNS):
        environment = {
            "LD_PRELOAD": str(library),
            "OMP_EXT_SCHEDULE": "1",
            "OMP_EXT_STRICT": strict,
            "OMP_EXT_DOMAINS": domains,
        }
        bots_programs.run(program, threads=threads, kind=kind, environment=environment, timeout_s=WATCHDOG_S)
    print(f"{version}: {N_RUNS} runs")


# With fewer threads than domains, threads of a neighbour would serve the domains that have none.
@pytest.mark.parametrize("tied", ["strict", "relaxed"])
@pytest.mark.parametrize(("threads", "domains"), [(2, 2), (4, 2), (8, 2), (4, 4), (8, 4)])
def test_strict_mode_holds_over_very_many_tasks(
    threads: int, domains: int, tied: str, default_toolchain: Toolchain
) -> None:
    program = compile_with_ext("ext/strict.c", default_toolchain)
    depth = 15
    settings = {
        "OMP_NUM_THREADS": str(threads),
        "OMP_EXT_DOMAINS": str(domains),
        "OMP_EXT_STRICT": "1",
        "OMP_EXT_TIED": tied,
    }
    finished = default_toolchain.run(
        [str(program), str(N_TASKS // (2 << depth) + 1), str(depth)], settings, timeout_s=3600.0
    )
    print(finished.stdout)
    # The program fails unless every task that ran outside of its domain was counted as a rescue.
    assert finished.returncode == 0, finished.stdout
    assert "outside 0," in finished.stdout
    assert "rescued 0," in finished.stdout


@pytest.mark.parametrize(
    "how",
    [
        "taskwait",
        "taskgroup",
        "depend",
        "undeferred",
        "taskloop",
        "taskyield",
        "critical",
        "lock",
        "nest_lock",
    ],
)
def test_no_task_that_steps_aside_hangs_under_random_sleeps(how: str, default_toolchain: Toolchain) -> None:
    program = compile_with_ext("ext/aside.c", default_toolchain, "-fopenmp-version=51")
    library = ext_library().with_name("libomp_ext_injected.so")
    ways = itertools.cycle(((2, 2), (4, 2), (4, 4), (8, 4)))
    for threads, domains in itertools.islice(ways, N_RUNS):
        settings = {
            "LD_PRELOAD": str(library),
            "OMP_EXT_STRICT": "1",
            "OMP_NUM_THREADS": str(threads),
            "OMP_EXT_DOMAINS": str(domains),
        }
        finished = default_toolchain.run([str(program), how, "60"], settings, timeout_s=WATCHDOG_S)
        assert finished.returncode == 0, finished.stdout + finished.stderr
        assert finished.stdout.endswith("outside 0, rescued 0\n")
