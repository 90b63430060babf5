# SPDX-License-Identifier: Apache-2.0
"""Each of two programs on one processor is preempted half the time, and gets as much CPU time as alone."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from command import ompass
from toolchains import CompileProgram, Toolchain

ROUNDS, TASKS = "20000000", "60"
pytestmark = pytest.mark.alone

N_TRIES = 3  # because other processes may use the same processor


def start(program: Path, toolchain: Toolchain, libompass: Path, run_dir: Path) -> subprocess.Popen[bytes]:
    settings = {
        "OMP_TOOL_LIBRARIES": str(libompass),
        "OMPASS_DIR": str(run_dir),
        "OMPASS_SUMMARY": "off",
        "OMP_NUM_THREADS": "1",
    }
    return subprocess.Popen(
        ["taskset", "-c", "0", str(program), ROUNDS, TASKS], env=toolchain.run_environment(settings)
    )


def work_of(run_dir: Path) -> dict[str, int]:
    report = json.loads(ompass("report", str(run_dir), "--json").stdout)
    cpu: dict[str, int] = report["work_cpu"]
    assert sum(cpu.values()) == report["work_ns"]
    return cpu


def test_two_programs_on_one_processor_are_preempted_half_the_time(
    compile_program: CompileProgram, default_toolchain: Toolchain, libompass: Path, tmp_path: Path
) -> None:
    program = compile_program("processor/shares.c", default_toolchain, opt_level="-O1")
    seen = []
    for attempt in range(N_TRIES):
        alone, one, other = (tmp_path / f"{name}-{attempt}.ompass" for name in ("alone", "one", "other"))
        assert start(program, default_toolchain, libompass, alone).wait() == 0
        both = [start(program, default_toolchain, libompass, run_dir) for run_dir in (one, other)]
        assert [process.wait() for process in both] == [0, 0]
        quiet_ns = work_of(alone)["running_ns"]
        for run_dir in (one, other):
            cpu = work_of(run_dir)
            seen.append((cpu["preempted_ns"] / sum(cpu.values()), cpu["running_ns"] / quiet_ns))
        if all(abs(share - 0.5) <= 0.05 and abs(work - 1) <= 0.05 for share, work in seen[-2:]):
            return
    pytest.fail(f"preempted, and running against the quiet run: {seen}")
