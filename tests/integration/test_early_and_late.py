# SPDX-License-Identifier: Apache-2.0
"""Checks that no task before or after main is lost: in constructors, exit handlers and destructors.

A library that links the runtime may run its constructor before the constructors of the tool and the
extension, and its destructor after theirs. The program is tests/programs/loading/early_and_late.cpp.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ext_programs import ext_library, ways_to_load
from needs import require_toolchain
from ompass import _core
from recorded_run import check_accounts_agree, check_facts, check_sound, facts_in
from toolchains import Toolchain, compile_source, toolchain_named

SOURCE = "loading/early_and_late.cpp"
TASKS_OF_LIBRARY = 400  # 100 each: constructor and destructor of the library and of a static object
TASKS_OF_PROGRAM = 300  # 100 each: main, an exit handler, the destructor of an object
TOOLCHAINS = ("clang-19", "gcc-12-libomp-19")


@pytest.fixture(params=TOOLCHAINS)
def toolchain(request: pytest.FixtureRequest) -> Toolchain:
    return require_toolchain(toolchain_named(request.param))


def command_of(toolchain: Toolchain, *, linked: bool, uses: bool) -> list[str]:
    """Returns the command that runs the program. `uses`: the program uses OpenMP, as its library does."""
    library = compile_source(SOURCE, toolchain, flags=("-DLIBRARY", "-shared", "-fPIC"))
    if not linked:
        return [str(compile_source(SOURCE, toolchain, openmp=uses)), str(library)]
    linking = ("-DLINKED", "-Wl,--no-as-needed", str(library), f"-Wl,-rpath,{library.parent}")
    return [str(compile_source(SOURCE, toolchain, flags=linking, openmp=uses))]


@pytest.mark.parametrize("mode", ["profile", "trace"])
@pytest.mark.parametrize("loading", ["tool", "preload", "extension", "extension-tool", "tool-extension"])
@pytest.mark.parametrize("uses", [True, False], ids=["program-too", "library-alone"])
@pytest.mark.parametrize("linked", [True, False], ids=["linked", "dlopened"])
def test_no_task_before_or_after_main_is_lost(
    linked: bool, uses: bool, loading: str, mode: str, toolchain: Toolchain, libompass: Path, tmp_path: Path
) -> None:
    run_dir = tmp_path / "run.ompass"
    environment = {"OMPASS_DIR": str(run_dir), "OMPASS_MODE": mode, "OMPASS_SUMMARY": "off"}
    environment.update({"OMP_NUM_THREADS": "2", **ways_to_load(libompass)[loading]})
    ran = toolchain.run(command_of(toolchain, linked=linked, uses=uses), environment, timeout_s=20)
    assert (ran.returncode, ran.stderr) == (0, "")
    facts = facts_in(ran.stdout)
    assert facts["tasks"] == TASKS_OF_LIBRARY + (TASKS_OF_PROGRAM if uses else 0)
    if loading == "extension":
        return
    profile = check_sound(run_dir)
    check_facts(facts, profile)
    assert profile.complete
    if mode == "trace":
        check_accounts_agree(profile, _core.replay_trace(str(run_dir)))


@pytest.mark.parametrize("uses", [True, False], ids=["program-too", "library-alone"])
@pytest.mark.parametrize("linked", [True, False], ids=["linked", "dlopened"])
def test_command_records_what_runs_before_and_after_main(
    linked: bool, uses: bool, toolchain: Toolchain, libompass: Path, tmp_path: Path
) -> None:
    options = [] if linked or uses else ["--libomp", str(toolchain.runtime_library)]
    ran = toolchain.run(
        [
            *(sys.executable, "-m", "ompass", "run", "-q", "-o", "run.ompass", *options, "--"),
            *command_of(toolchain, linked=linked, uses=uses),
        ],
        {"OMPASS_LIBRARY": str(libompass), "OMP_NUM_THREADS": "2"},
        cwd=tmp_path,
        timeout_s=120,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    check_facts(facts_in(ran.stdout), check_sound(tmp_path / "run.ompass"))


def test_statistics_of_the_extension_include_tasks_after_main(toolchain: Toolchain) -> None:
    preloaded = {"LD_PRELOAD": str(ext_library()), "OMP_EXT_SCHEDULE": "1", "OMP_EXT_STATISTICS": "1"}
    ran = subprocess.run(
        command_of(toolchain, linked=True, uses=True),
        env=toolchain.run_environment({**preloaded, "OMP_NUM_THREADS": "2"}),
        capture_output=True,
        text=True,
        timeout=20,
        check=True,
    )
    assert f"{TASKS_OF_LIBRARY + TASKS_OF_PROGRAM} created" in ran.stderr
