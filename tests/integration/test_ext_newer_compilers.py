# SPDX-License-Identifier: Apache-2.0
"""Tests OpenMP 6.0 tasks under libomp_ext.so. Most programs make the calls of a newer compiler themselves.

clang 23 marks tasks with the clauses `threadset(omp_pool)` and `transparent`. libomp 14 to 20 take the first
mark for that of hidden helper tasks. libomp up to 23 ignores the second mark.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from ext_programs import ext_library, ways_to_load
from ompass import _core
from recorded_run import OUTSIDE, check_accounts_agree, check_sound
from toolchains import TOOLCHAINS, Toolchain, compile_source, toolchain_named

# Number of tasks in the program for each clause. The program creates transparent tasks in four ways: one adds
# a level of tasks, and another is a taskloop of four tasks.
N_TASKS = {"pool": 2000, "later": 2000, "transparent": 32 + 32 + 40 + 28}

TOOLCHAIN = pytest.mark.parametrize(
    "name", [toolchain.name for toolchain in TOOLCHAINS if not toolchain.name.startswith("gcc")]
)
MODES = pytest.mark.parametrize(
    "mode",
    [{}, {"OMP_EXT_TASKS": "runtime"}, {"OMP_EXT_STRICT": "1", "OMP_EXT_DOMAINS": "2"}],
    ids=["light", "runtime", "strict"],
)


def scheduled(
    source: str,
    toolchain: Toolchain,
    *arguments: str,
    mode: Mapping[str, str] | None = None,
    flags: Sequence[str] = (),
) -> tuple[int, str]:
    """Runs a program under the extension; returns the number of tasks that it scheduled, and stderr."""
    program = compile_source(source, toolchain, flags=flags)
    settings = {
        "LD_PRELOAD": str(ext_library()),
        "OMP_NUM_THREADS": "4",
        "OMP_EXT_SCHEDULE": "1",
        "OMP_EXT_STATISTICS": "1",
        **(mode or {}),
    }
    finished = toolchain.run([str(program), *arguments], settings)
    assert finished.returncode == 0, f"{arguments} {mode}:\n{finished.stdout}{finished.stderr}"
    found = re.search(r"tasks: (\d+) created", finished.stderr)
    return int(found[1]) if found else 0, finished.stderr


@TOOLCHAIN
@MODES
def test_a_thread_of_the_team_runs_each_task_for_the_pool(name: str, mode: dict[str, str]) -> None:
    n_created, _ = scheduled("ext/newer_compiler.c", toolchain_named(name), "pool", mode=mode)
    assert n_created == 2000


@TOOLCHAIN
@MODES
@pytest.mark.parametrize("threads", ["1", "2", "4"])
def test_siblings_wait_for_children_of_transparent_tasks(
    name: str, mode: dict[str, str], threads: str
) -> None:
    scheduled(
        "ext/newer_compiler.c",
        toolchain_named(name),
        "transparent",
        mode={**mode, "OMP_NUM_THREADS": threads},
    )


@TOOLCHAIN
@MODES
def test_address_minus_one_is_all_memory_and_a_null_pointer_is_none(name: str, mode: dict[str, str]) -> None:
    scheduled("ext/newer_compiler.c", toolchain_named(name), "memory", mode=mode)


@MODES
@pytest.mark.parametrize("name", ["clang-23"])
def test_clauses_of_a_compiler_that_knows_them_keep_their_meaning(name: str, mode: dict[str, str]) -> None:
    flags = ("-fopenmp-version=60",)
    n_created, _ = scheduled("ext/openmp6.c", toolchain_named(name), mode=mode, flags=flags)
    assert n_created == 5 * 100 + 10


@TOOLCHAIN
def test_the_runtime_gets_tasks_with_unknown_flags(name: str) -> None:
    n_created, _ = scheduled("ext/newer_compiler.c", toolchain_named(name), "later")
    assert n_created == 1000  # their children


@TOOLCHAIN
def test_the_runtime_gets_all_tasks_of_programs_with_unknown_calls(name: str) -> None:
    n_created, messages = scheduled("ext/taskgraph.c", toolchain_named(name))
    assert n_created == 0
    assert len(re.findall(r"calls __kmpc_\w+_record_task, which this library does not know", messages)) == 1


@pytest.mark.parametrize("order", ["extension-tool", "tool-extension"])
@pytest.mark.parametrize("recording", ["profile", "trace"])
@pytest.mark.parametrize("clause", ["pool", "transparent", "later"])
@TOOLCHAIN
def test_the_tool_records_these_tasks(
    name: str, clause: str, recording: str, order: str, libompass: Path, tmp_path: Path
) -> None:
    toolchain = toolchain_named(name)
    program = compile_source("ext/newer_compiler.c", toolchain)
    settings = {
        **ways_to_load(libompass)[order],
        "OMP_NUM_THREADS": "3",
        "OMPASS_DIR": str(tmp_path / "run.ompass"),
        "OMPASS_MODE": recording,
    }
    finished = toolchain.run([str(program), clause], settings)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    profile = check_sound(tmp_path / "run.ompass")
    if recording == "trace":
        check_accounts_agree(profile, _core.replay_trace(str(tmp_path / "run.ompass")))
    assert sum(row.n_tasks for row in profile.regions if row.construct != OUTSIDE) == N_TASKS[clause]
