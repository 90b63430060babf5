# SPDX-License-Identifier: Apache-2.0
"""The stack space that the tool and the extension use, as docs/limitations.md states it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ext_programs import ext_library
from toolchains import REPOSITORY, CompileProgram, Toolchain

EMPTY_TOOL = REPOSITORY / "tests" / "benchmarks" / "empty_tool.c"
PAGE = REPOSITORY / "docs" / "limitations.md"


def bytes_per_level(program: Path, toolchain: Toolchain, n_threads: int, **environment: str) -> int:
    ended = subprocess.run(
        [str(program), str(n_threads)],
        env=toolchain.run_environment({"OMPASS_SUMMARY": "off", **environment}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return int(ended.stdout)


# A wrapper's stack frame: one per task that runs inside its creation.
WRAPPER_BYTES = 96


@pytest.mark.parametrize(
    ("n_threads", "how"), [(1, "LD_PRELOAD"), (1, "OMP_TOOL_LIBRARIES"), (2, "LD_PRELOAD")]
)
def test_recording_takes_as_much_stack_as_a_tool_that_does_nothing(
    n_threads: int,
    how: str,
    tmp_path: Path,
    libompass: Path,
    default_toolchain: Toolchain,
    compile_program: CompileProgram,
) -> None:
    program = compile_program("stacks/levels.c", default_toolchain)
    empty_tool = compile_program(EMPTY_TOOL, default_toolchain, flags=("-shared", "-fPIC"))
    empty = bytes_per_level(program, default_toolchain, n_threads, OMP_TOOL_LIBRARIES=str(empty_tool))
    inline = n_threads == 1 and how == "LD_PRELOAD"
    for mode in ("profile", "trace"):
        recorded = {how: str(libompass), "OMPASS_MODE": mode, "OMPASS_DIR": str(tmp_path / mode)}
        taken = bytes_per_level(program, default_toolchain, n_threads, **recorded)
        assert taken <= empty + (WRAPPER_BYTES if inline else 0)


def test_the_extension_takes_less_stack_than_the_runtime(
    default_toolchain: Toolchain, compile_program: CompileProgram
) -> None:
    program = compile_program("stacks/levels.c", default_toolchain)
    preloaded = {"LD_PRELOAD": str(ext_library()), "OMP_EXT_SCHEDULE": "1"}
    for n_threads in (1, 2):
        alone = bytes_per_level(program, default_toolchain, n_threads)
        assert bytes_per_level(program, default_toolchain, n_threads, **preloaded) < alone


def test_the_page_states_the_stack_of_a_level(
    default_toolchain: Toolchain, compile_program: CompileProgram
) -> None:
    program = compile_program("stacks/levels.c", default_toolchain)
    empty_tool = compile_program(EMPTY_TOOL, default_toolchain, flags=("-shared", "-fPIC"))
    page = PAGE.read_text(encoding="utf-8")
    for environment in ({}, {"OMP_TOOL_LIBRARIES": str(empty_tool)}):
        assert f"{bytes_per_level(program, default_toolchain, 2, **environment)} bytes" in page
