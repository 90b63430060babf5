# SPDX-License-Identifier: Apache-2.0
"""Long runs of the scheduler: many runs under random sleeps, and very many strictly placed tasks."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ext_programs import compile_with_ext, ext_library
from toolchains import Toolchain

pytestmark = [pytest.mark.slow, pytest.mark.timeout(7200)]

N_RUNS = 1000
N_TASKS = 100_000_000


@pytest.mark.parametrize("name", ["fib", "nqueens", "sort", "health"])
def test_random_sleeps_hang_no_program(name: str, bots_dir: Path, default_toolchain: Toolchain) -> None:
    program = bots_dir / f"{name}-tasks"
    library = ext_library().with_name("libomp_ext_injected.so")
    for number in range(N_RUNS):
        settings = {
            "LD_PRELOAD": str(library),
            "OMP_EXT_SCHEDULE": "1",
            "OMP_EXT_STRICT": str(number % 2),
            "OMP_EXT_DOMAINS": str((1, 2, 4)[number % 3]),
            "OMP_NUM_THREADS": str((2, 4, 8)[number // 3 % 3]),
        }
        cutoff = ("none", "if", "final", "manual")[number % 4]
        size = ["--class", "test"] if cutoff != "none" or name != "fib" else ["--size", "16"]
        finished = subprocess.run(
            [str(program), *size, "--cutoff", cutoff],
            env=default_toolchain.run_environment(settings),
            capture_output=True,
            text=True,
            timeout=120.0,
            check=False,
        )
        assert finished.returncode == 0, f"{settings}:\n{finished.stdout}{finished.stderr}"


@pytest.mark.parametrize("domains", [2, 4])
@pytest.mark.parametrize("threads", [2, 4, 8])
def test_strict_mode_holds_over_very_many_tasks(
    threads: int, domains: int, default_toolchain: Toolchain
) -> None:
    if domains > threads:
        pytest.skip("domains without threads are served by their neighbours")
    program = compile_with_ext("ext/strict.c", default_toolchain)
    depth = 15
    settings = {
        "OMP_NUM_THREADS": str(threads),
        "OMP_EXT_DOMAINS": str(domains),
        "OMP_EXT_STRICT": "1",
    }
    finished = subprocess.run(
        [str(program), str(N_TASKS // (2 << depth) + 1), str(depth)],
        env=default_toolchain.run_environment(settings),
        capture_output=True,
        text=True,
        timeout=3600.0,
        check=False,
    )
    assert finished.returncode == 0, finished.stdout
    assert "outside 0," in finished.stdout
