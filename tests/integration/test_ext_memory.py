# SPDX-License-Identifier: Apache-2.0
"""Checks that, under the extension, no task is used after the runtime has freed it, and no memory is lost.

The settings make the runtime return each large block to glibc at once, and glibc unmap it. Any use of an
ended task then causes a segmentation fault.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from ext_programs import ext_library
from recorded_run import check_sound, counted, facts_in
from toolchains import RunRecorded, Toolchain, compile_source

UNMAPPED_AT_ONCE = {
    "KMP_MALLOC_POOL_INCR": "4k",
    "GLIBC_TUNABLES": "glibc.malloc.mmap_threshold=8192:glibc.malloc.mmap_max=1000000",
}
SCHEDULED = {"OMP_EXT_SCHEDULE": "1"}
WAYS = {
    "light": {},
    "runtime": {"OMP_EXT_TASKS": "runtime"},
    "cancellable": {"OMP_CANCELLATION": "true"},
    "strict": {"OMP_EXT_STRICT": "1", "OMP_EXT_DOMAINS": "2"},
    "relaxed": {"OMP_EXT_TIED": "relaxed"},
}


def compile_freed(toolchain: Toolchain) -> Path:
    # libomp lacks the symbol version of omp_fulfill_event that gcc programs need.
    flags = () if toolchain.cc.startswith("gcc") else ("-DHAS_DETACH",)
    return compile_source("ext/freed.c", toolchain, flags=flags)


@pytest.mark.parametrize("way", WAYS)
def test_no_ended_task_is_used(way: str, toolchain: Toolchain) -> None:
    environment = {"LD_PRELOAD": str(ext_library()), **SCHEDULED, **UNMAPPED_AT_ONCE, **WAYS[way]}
    finished = toolchain.run([str(compile_freed(toolchain))], environment)
    assert finished.returncode == 0, finished.stderr
    assert facts_in(finished.stdout)["tasks"] > 1000


@pytest.mark.parametrize("way", WAYS)
def test_no_ended_task_is_used_under_the_tool(
    way: str, toolchain: Toolchain, libompass: Path, run_recorded: RunRecorded
) -> None:
    libraries = {"LD_PRELOAD": f"{ext_library()}:{libompass}", "OMP_TOOL_LIBRARIES": ""}
    recorded = run_recorded(
        compile_freed(toolchain),
        toolchain,
        threads=4,
        environment={**libraries, **SCHEDULED, **UNMAPPED_AT_ONCE, **WAYS[way]},
    )
    profile = check_sound(recorded.run_dir)
    assert counted(profile)["tasks"] == facts_in(recorded.process.stdout)["tasks"]


@pytest.mark.parametrize("way", WAYS)
def test_no_ended_task_is_used_under_any_tool(
    way: str, toolchain: Toolchain, default_toolchain: Toolchain
) -> None:
    checker = compile_source(
        "ext/life_cycle_checker.c", default_toolchain, flags=("-shared", "-fPIC"), openmp=False
    )
    libraries = {"LD_PRELOAD": str(ext_library()), "OMP_TOOL_LIBRARIES": str(checker)}
    environment = {**libraries, **SCHEDULED, **UNMAPPED_AT_ONCE, **WAYS[way]}
    finished = toolchain.run([str(compile_freed(toolchain))], environment)
    assert finished.returncode == 0, finished.stderr
    lines = [line for line in finished.stderr.splitlines() if line.startswith("life_cycle_checker: ")]
    assert lines and all(line.endswith("faults 0") for line in lines), finished.stderr


@pytest.mark.parametrize("way", WAYS)
def test_light_parents_of_runtime_tasks_return_their_memory(way: str, default_toolchain: Toolchain) -> None:
    program = compile_source("ext/light_parents.c", default_toolchain)
    environment = {"LD_PRELOAD": str(ext_library()), **SCHEDULED, **WAYS[way]}
    finished = default_toolchain.run([str(program)], environment)
    assert finished.returncode == 0, finished.stderr
    facts = facts_in(finished.stdout)
    assert facts["tasks"] == 600_000
    assert facts["grown_kib"] < 8_000
