# SPDX-License-Identifier: Apache-2.0
"""gcc programs on libomp: the results are those of libgomp, or the program is refused by name."""

from __future__ import annotations

from pathlib import Path

from command import ompass
from needs import require_toolchain
from toolchains import CompileProgram, toolchain_named

NOT_STARTED = 125


def test_a_program_that_calls_what_libomp_lacks_is_refused_by_name(
    compile_program: CompileProgram, tmp_path: Path
) -> None:
    program = compile_program("gomp/target_nowait.c", require_toolchain(toolchain_named("gcc-12-libomp-19")))
    refused = ompass("run", "-o", tmp_path / "run.ompass", "--", program, status=NOT_STARTED)
    assert not refused.stdout  # it did not start
    assert "calls GOMP_target_ext, which" in refused.stderr
    assert "calls GOMP_target_ext, which" in ompass("doctor", program, status=6).stdout
