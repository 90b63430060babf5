# SPDX-License-Identifier: Apache-2.0
"""Checks that the doctor tries each runtime with the tool and the extension, and does not trust versions."""

from __future__ import annotations

from pathlib import Path

import pytest

from ext_programs import ext_library
from ompass.doctor import probes, trial
from ompass.launch.runtime_versions import runtime_version
from toolchains import Toolchain

LIBC_FAULT = "GLIBC"  # a runtime that needs a newer libc than this system has


@pytest.fixture(scope="module")
def future_runtime(tmp_path_factory: pytest.TempPathFactory, default_toolchain: Toolchain) -> Path:
    """Makes a copy of a real runtime that claims a release that does not exist yet."""
    path = tmp_path_factory.mktemp("future") / "libomp.so.5"
    content = default_toolchain.runtime_library.read_bytes()
    assert b"build compiler: Clang 19.1" in content
    # The text that names the release keeps its length. The functions remain the ones of libomp 19.
    path.write_bytes(content.replace(b"build compiler: Clang 19.1", b"build compiler: Clang 99.1"))
    return path


def test_tool_and_extension_work_on_every_runtime(toolchain: Toolchain, libompass: Path) -> None:
    answer = probes.ask_runtime(toolchain.runtime_library)
    if LIBC_FAULT in answer.problem:
        pytest.skip(answer.problem)
    assert answer.has_ompt
    assert trial.problem_of_tool(toolchain.runtime_library, libompass) == ""
    assert trial.problem_of_extension(toolchain.runtime_library, ext_library()) == ""


def test_version_matches_the_directory_of_the_runtime(toolchain: Toolchain) -> None:
    version = runtime_version(toolchain.runtime_library)
    home = toolchain.runtime_library.resolve().parents[1].name
    if home == "intel":
        assert version.name.startswith("Intel, built 20")
    else:
        major = int(home.removeprefix("llvm-"))
        assert version.first == version.last == major, version


def test_a_runtime_that_lies_about_its_release_is_judged_by_its_functions(future_runtime: Path) -> None:
    assert runtime_version(future_runtime).name == "LLVM 19 to 20"


def test_trial_names_the_problem(default_toolchain: Toolchain, tmp_path: Path, libompass: Path) -> None:
    not_a_tool = tmp_path / "libempty.so"
    not_a_tool.write_bytes(default_toolchain.runtime_library.read_bytes())
    assert trial.problem_of_tool(default_toolchain.runtime_library, not_a_tool) == "nothing was recorded"
    no_extension = trial.problem_of_extension(default_toolchain.runtime_library, libompass)
    assert no_extension == f"it ran 0 of {trial.N_TASKS} tasks"
    assert trial.problem_of_tool(tmp_path / "missing.so", libompass) != ""
