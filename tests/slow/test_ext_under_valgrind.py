# SPDX-License-Identifier: Apache-2.0
"""Valgrind knows the stacks of tasks that step aside: it reports no error and no unknown switch of stacks."""

from __future__ import annotations

import pytest

from ext_programs import compile_with_ext
from needs import require_commands
from task_programs import flags_for
from toolchains import Toolchain


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "case",
    [
        ("ext/aside.c", "taskwait", "20"),
        ("ext/aside.c", "critical", "20"),
        ("ext/untied.c", "tree", "6"),
        ("ext/aside_exceptions.cpp",),
    ],
    ids=" ".join,
)
def test_valgrind_knows_the_stacks(case: tuple[str, ...], default_toolchain: Toolchain) -> None:
    require_commands("valgrind")
    source, *arguments = case
    program = compile_with_ext(source, default_toolchain, *flags_for(default_toolchain), "-frounding-math")
    settings = {
        "OMP_NUM_THREADS": "2",
        "OMP_EXT_DOMAINS": "2",
        "OMP_EXT_STRICT": "1",
        "OMP_WAIT_POLICY": "passive",
    }
    finished = default_toolchain.run(
        ["valgrind", "--error-exitcode=9", "--fair-sched=yes", str(program), *arguments],
        settings,
        timeout_s=600,
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert "switching stacks" not in finished.stderr
    assert "ERROR SUMMARY: 0 errors" in finished.stderr
