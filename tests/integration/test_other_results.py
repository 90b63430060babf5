# SPDX-License-Identifier: Apache-2.0
"""The steps of docs/other-results.md find the missing wait of a program, and no error after its repair."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from ext_programs import ext_library
from toolchains import PROGRAMS, REPOSITORY, Toolchain

PAGE = REPOSITORY / "docs" / "other-results.md"
SOURCE = PROGRAMS / "documents" / "missing_wait.c"
PATIENCE_S = 120


def steps(sanitizer: str) -> str:
    """Returns the page's block that builds and runs a program under this sanitizer."""
    blocks = re.findall(r"(?:^    .+\n)+", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    found = [block for block in blocks if f"-fsanitize={sanitizer}" in block]
    assert len(found) == 1
    return "\n".join(line[4:] for line in found[0].splitlines())


def follow(
    sanitizer: str, folder: Path, toolchain: Toolchain, *flags: str, environment: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    """Follows the page's steps on a copy of the program; passes `flags` to the compiler."""
    shutil.copy(SOURCE, folder / "my_program.c")
    compiler = " ".join((toolchain.cc, *toolchain.compile_flags, *toolchain.link_flags, *flags))
    return toolchain.run(
        ["bash", "-c", steps(sanitizer).replace("clang -fopenmp", compiler)],
        {"OMP_NUM_THREADS": "4", **environment},
        cwd=folder,
        timeout_s=PATIENCE_S,
    )


@pytest.fixture(params=["runtime alone", "extension"])
def environment(request: pytest.FixtureRequest) -> dict[str, str]:
    if request.param == "runtime alone":
        return {}
    return {"LD_PRELOAD": str(ext_library()), "OMP_EXT_SCHEDULE": "1"}


def test_thread_sanitizer_names_the_line_that_does_not_wait(
    tmp_path: Path, default_toolchain: Toolchain, environment: dict[str, str]
) -> None:
    line = 1 + SOURCE.read_text(encoding="utf-8").splitlines().index("    return left + right;")
    # ThreadSanitizer reports a race only in a run in which it occurs.
    texts = (follow("thread", tmp_path, default_toolchain, environment=environment).stderr for _ in range(5))
    assert any("data race" in each and f"my_program.c:{line}" in each for each in texts)


def test_thread_sanitizer_reports_nothing_once_the_program_waits(
    tmp_path: Path, default_toolchain: Toolchain, environment: dict[str, str]
) -> None:
    ended = follow("thread", tmp_path, default_toolchain, "-DMENDED", environment=environment)
    assert (ended.returncode, ended.stdout) == (0, "4096\n"), ended.stderr
    assert "WARNING: ThreadSanitizer" not in ended.stderr


def test_address_sanitizer_finds_data_of_a_creator_that_has_ended(
    tmp_path: Path, default_toolchain: Toolchain, environment: dict[str, str]
) -> None:
    texts = (follow("address", tmp_path, default_toolchain, environment=environment).stderr for _ in range(5))
    assert any("stack-use-after-return" in each for each in texts)
    ended = follow("address", tmp_path, default_toolchain, "-DMENDED", environment=environment)
    assert (ended.returncode, ended.stdout) == (0, "4096\n"), ended.stderr
