# SPDX-License-Identifier: Apache-2.0
"""Programs that bind their threads: each thread may run where it may without the tool."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from command import PATIENCE_S, call
from needs import require_toolchain
from toolchains import CompileProgram, neutral_environment, toolchain_named

BINDINGS: tuple[dict[str, str], ...] = (
    {"OMP_PROC_BIND": "true"},
    {"OMP_PROC_BIND": "close"},
    {"OMP_PROC_BIND": "spread"},
    {"OMP_PROC_BIND": "spread", "OMP_PLACES": "cores"},
    {"OMP_PROC_BIND": "true", "OMP_PLACES": "{0},{1}"},
    {"GOMP_CPU_AFFINITY": "0 1"},
    {"OMP_PROC_BIND": "false"},
    {},
)

pytestmark = pytest.mark.skipif(
    not {0, 1} <= os.sched_getaffinity(0), reason="the masks differ only where processors 0 and 1 may be used"
)


@pytest.mark.parametrize("binding", BINDINGS, ids=lambda binding: " ".join(binding.values()) or "none")
@pytest.mark.parametrize("options", [(), ("--no-brackets",)], ids=["brackets", "no brackets"])
def test_threads_of_a_gcc_program_are_bound_as_without_the_tool(
    compile_program: CompileProgram, tmp_path: Path, binding: dict[str, str], options: tuple[str, ...]
) -> None:
    program = compile_program("binding/masks.c", require_toolchain(toolchain_named("gcc-12-libomp-19")))
    # The real libgomp, which the program needs: it is loaded beside libomp.
    environment = neutral_environment() | {"PYTHONPATH": os.environ.get("PYTHONPATH", "")} | binding
    alone = subprocess.run(
        [program], env=environment, capture_output=True, text=True, timeout=PATIENCE_S, check=True
    )
    recorded = call(environment, tmp_path, "run", "--quiet", *options, "--", program)
    assert recorded.stdout == alone.stdout


def test_a_sweep_gives_each_thread_of_a_gcc_program_a_processor_of_its_own(
    compile_program: CompileProgram, tmp_path: Path
) -> None:
    program = compile_program("binding/masks.c", require_toolchain(toolchain_named("gcc-12-libomp-19")))
    environment = neutral_environment() | {"PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    folder = tmp_path / "sweep"
    call(environment, tmp_path, "scale", "-t", "1,2", "-r", "1", "-o", folder, "--", program)
    outputs = list((folder / "runs").glob("*-t2-*.out"))
    assert outputs
    for output in outputs:
        first, second = output.read_text().split()
        assert first != second
