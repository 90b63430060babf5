# SPDX-License-Identifier: Apache-2.0
"""Every kind of task on every toolchain: the tool does not change the output, and its counts are right.

task_programs.py lists the programs, and recorded_run.py checks recorded runs. Each program is recorded in
five ways on the default toolchain, and in two on the others. In quick runs, the toolchains and ways take
turns.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ompass import _core
from recorded_run import (
    check_accounts_agree,
    check_facts,
    check_sound,
    counted,
    facts_in,
    run_directories,
)
from task_programs import TASK_PROGRAMS, TaskProgram, compiled
from toolchains import (
    AARCH64,
    DEFAULT_TOOLCHAIN,
    IS_EMULATED,
    NATIVE_TOOLCHAINS,
    TOOLCHAINS,
    Record,
    RunRecorded,
    Toolchain,
    toolchain_named,
)

# (optimization, mode, threads)
EVERY_WAY = (
    ("-O0", "profile", 3),
    ("-O0", "trace", 2),
    ("-O2", "profile", 2),
    ("-O2", "trace", 1),
    ("-O2", "trace", 4),
)
OTHER_WAYS = (("-O2", "trace", 2), ("-O0", "profile", 3))

CASES = [
    pytest.param(program, toolchain.name, *way, id="-".join([program.name, toolchain.name, *map(str, way)]))
    for toolchain in TOOLCHAINS
    for program in TASK_PROGRAMS
    if toolchain.name not in program.lacks
    for way in (EVERY_WAY if toolchain.name == DEFAULT_TOOLCHAIN else OTHER_WAYS)
]


def run_without_tool(
    command: list[str], program: TaskProgram, toolchain: Toolchain, threads: int
) -> subprocess.CompletedProcess[str]:
    finished = toolchain.run(command, {"OMP_NUM_THREADS": str(threads), **program.environment})
    assert finished.returncode == 0, f"fails without the tool: {finished.stdout}{finished.stderr}"
    return finished


def without_facts(stdout: str) -> list[str]:
    """Returns all lines but FACTS lines. They must not depend on the schedule."""
    return [line for line in stdout.splitlines() if not line.startswith("FACTS ")]


@pytest.mark.list_takes_turns
@pytest.mark.parametrize(
    ("program", "toolchain", "opt_level", "mode", "threads"), CASES, indirect=["toolchain"]
)
def test_tool_records_what_happened_and_changes_nothing(
    program: TaskProgram,
    toolchain: Toolchain,
    opt_level: str,
    mode: str,
    threads: int,
    run_recorded: RunRecorded,
) -> None:
    command = compiled(program, toolchain, opt_level)
    recorded = run_recorded(
        Path(command[0]), toolchain, *command[1:], mode=mode, threads=threads, environment=program.environment
    )
    stdout = recorded.process.stdout
    plain = run_without_tool(command, program, toolchain, threads)
    assert without_facts(stdout) == without_facts(plain.stdout)
    assert recorded.process.stderr == plain.stderr  # a runtime may warn, but equally with and without a tool

    assert len(run_directories(recorded.run_dir.parent)) == program.n_processes
    profile = check_sound(recorded.run_dir)
    assert profile.mode == mode
    check_facts(facts_in(stdout), profile, ends_in_flight=program.ends_in_flight)
    assert "helper" in program.source or all(thread.kind != "helper" for thread in profile.threads)
    if mode == "trace":
        replay = _core.replay_trace(str(recorded.run_dir))
        check_accounts_agree(profile, replay, ends_in_region=program.ends_in_region)
        assert counted(replay) == counted(profile)


@pytest.mark.parametrize(
    "program",
    [program for program in TASK_PROGRAMS if DEFAULT_TOOLCHAIN not in program.lacks],
    ids=lambda program: program.name,
)
def test_wrappers_change_neither_output_nor_counts(
    program: TaskProgram, default_toolchain: Toolchain, run_recorded: RunRecorded
) -> None:
    executable, *arguments = compiled(program, default_toolchain)
    recorded = run_recorded(
        Path(executable),
        default_toolchain,
        *arguments,
        mode="trace",
        preload=True,
        environment=program.environment,
    )
    profile = check_sound(recorded.run_dir)
    check_facts(facts_in(recorded.process.stdout), profile, ends_in_flight=program.ends_in_flight)
    replay = _core.replay_trace(str(recorded.run_dir))
    check_accounts_agree(profile, replay, ends_in_region=program.ends_in_region)
    assert not profile.create_estimated, "with wrappers, creation is measured"


@pytest.mark.skipif(IS_EMULATED, reason="the emulator can neither fork with threads nor exec")
@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("kinds/fork_exec.c", {"tasks": 41, "created": 41, "cancelled": 0, "regions": 1}),
        ("kinds/fork_openmp.c", {"tasks": 1540, "created": 1540, "cancelled": 0, "regions": 20}),
    ],
)
@pytest.mark.parametrize("mode", ["profile", "trace"])
@pytest.mark.parametrize("preload", [False, True])
def test_a_child_process_records_a_run_of_its_own(
    source: str, expected: dict[str, int], mode: str, preload: bool, record: Record
) -> None:
    recorded = record(source, mode=mode, preload=preload)
    others = [path for path in run_directories(recorded.run_dir.parent) if path != recorded.run_dir]
    assert len(others) == 1
    child = check_sound(others[0])
    assert counted(child) == expected
    assert child.pid != check_sound(recorded.run_dir).pid
    assert child.create_estimated is not preload, "wrappers measure in the child too"
    if mode == "trace":
        check_accounts_agree(child, _core.replay_trace(str(others[0])))


def test_only_known_toolchains_may_lack_a_program_and_never_the_default_one() -> None:
    known = {toolchain.name for toolchain in (*NATIVE_TOOLCHAINS, AARCH64)}
    for program in TASK_PROGRAMS:
        assert set(program.lacks) <= known, f"{program.name} names an unknown toolchain"
        assert "clang-19" not in program.lacks, f"{program.name} must run on the default toolchain"
    assert toolchain_named(DEFAULT_TOOLCHAIN).cc in ("clang-19",)
