# SPDX-License-Identifier: Apache-2.0
"""gcc programs print the same on an LLVM runtime as on libgomp, or are refused for a missing function."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from command import PATIENCE_S, call
from needs import require_toolchain
from toolchains import (
    DEFAULT_TOOLCHAIN,
    PROGRAMS,
    CompileProgram,
    Toolchain,
    neutral_environment,
    toolchain_named,
)

NOT_STARTED = 125
SAME = (
    "allocate.c",
    "deep_stack.c",
    "integers_of_8.f90",
    "ordered_dependences.c",
    "scope.c",
    "settings.c",
)
REFUSED = {
    "detach.c": "omp_fulfill_event",
    "target_nowait.c": "GOMP_target_ext",
    "teams.c": "GOMP_teams_reg",
}
REFUSED_AT_THE_CALL = {"inscan.c": "GOMP_loop_start for a scan or conditional lastprivate"}


@pytest.fixture(scope="module")
def gcc() -> Toolchain:
    return require_toolchain(toolchain_named("gcc-12-libomp-19"))


@pytest.fixture
def environment(libompass: Path) -> dict[str, str]:
    return {**neutral_environment(), "OMPASS_LIBRARY": str(libompass)}


def test_every_gcc_program_is_classified() -> None:
    assert {path.name for path in (PROGRAMS / "gomp").iterdir()} == {
        *SAME, *REFUSED, *REFUSED_AT_THE_CALL, "target_library.c", "loads_library.c"
    }  # fmt: skip


@pytest.mark.parametrize("name", SAME)
@pytest.mark.parametrize("wrappers", ["--wrappers", "--no-wrappers"])
def test_the_output_is_the_same_as_on_libgomp(
    name: str, wrappers: str, gcc: Toolchain, compile_program: CompileProgram, environment: dict[str, str],
    tmp_path: Path,
) -> None:  # fmt: skip
    program = compile_program(f"gomp/{name}", gcc)
    alone = subprocess.run(
        [program], env=environment, capture_output=True, text=True, timeout=PATIENCE_S, check=True
    )
    recorded = call(environment, tmp_path, "run", "-q", wrappers, "--", program)
    assert recorded.stdout == alone.stdout


@pytest.mark.parametrize("name", REFUSED)
def test_a_program_that_calls_a_missing_function_is_refused_with_its_name(
    name: str, gcc: Toolchain, compile_program: CompileProgram, environment: dict[str, str], tmp_path: Path
) -> None:
    program = compile_program(f"gomp/{name}", gcc)
    refused = call(environment, tmp_path, "run", "--", program, status=NOT_STARTED)
    assert not refused.stdout  # the program did not start
    reason = f"calls {REFUSED[name]}, which"
    assert reason in refused.stderr
    assert refused.stderr.count("\n") == 1
    assert reason in call(environment, tmp_path, "doctor", program, status=6).stdout


def test_a_scan_is_refused_when_it_begins(
    gcc: Toolchain, compile_program: CompileProgram, environment: dict[str, str], tmp_path: Path
) -> None:
    for name, function in REFUSED_AT_THE_CALL.items():
        program = compile_program(f"gomp/{name}", gcc)
        refused = call(environment, tmp_path, "run", "-q", "--", program, status=NOT_STARTED)
        assert not refused.stdout
        assert f"calls {function}, which" in refused.stderr


def test_a_library_that_is_loaded_later_is_refused_when_it_calls_a_missing_function(
    gcc: Toolchain, compile_program: CompileProgram, environment: dict[str, str], tmp_path: Path
) -> None:
    library = tmp_path / "library.so"
    source = PROGRAMS / "gomp" / "target_library.c"
    subprocess.run([gcc.cc, "-fopenmp", "-shared", "-fPIC", "-o", library, source], check=True)
    program = compile_program("gomp/loads_library.c", gcc)
    alone = subprocess.run(
        [program, library], env=environment, capture_output=True, text=True, timeout=PATIENCE_S, check=True
    )
    assert alone.stdout == "5\n"
    refused = call(environment, tmp_path, "run", "-q", "--", program, library, status=NOT_STARTED)
    assert not refused.stdout
    assert "calls GOMP_target_ext, which" in refused.stderr


def test_the_tool_refuses_nothing_on_libgomp_itself(
    gcc: Toolchain, compile_program: CompileProgram, environment: dict[str, str], libompass: Path
) -> None:
    preloaded = environment | {"LD_PRELOAD": str(libompass)}
    for name in (*SAME, *REFUSED, *REFUSED_AT_THE_CALL):
        program = compile_program(f"gomp/{name}", gcc)
        printed = [
            subprocess.run(
                [program], env=variables, capture_output=True, text=True, timeout=PATIENCE_S, check=True
            ).stdout
            for variables in (environment, preloaded)
        ]
        assert printed[0] == printed[1]


def test_programs_of_clang_keep_the_answers_of_their_runtime(
    compile_program: CompileProgram, libompass: Path, tmp_path: Path
) -> None:
    toolchain = require_toolchain(toolchain_named(DEFAULT_TOOLCHAIN))
    program = compile_program("binding/runtime_answers.c", toolchain)
    environment = toolchain.run_environment(
        {"OMPASS_SUMMARY": "off", "OMPASS_DIR": str(tmp_path / "run.ompass")}
    )
    alone, recorded = (
        subprocess.run(
            [program], env=variables, capture_output=True, text=True, timeout=PATIENCE_S, check=True
        )
        for variables in (environment, environment | {"LD_PRELOAD": str(libompass)})
    )
    assert "from Fortran: 0\n" in alone.stdout
    assert (recorded.stdout, recorded.stderr) == (alone.stdout, alone.stderr)
    assert (tmp_path / "run.ompass").is_dir()


def test_settings_of_the_user_are_kept(
    gcc: Toolchain, compile_program: CompileProgram, environment: dict[str, str], tmp_path: Path
) -> None:
    environment |= {"OMP_SCHEDULE": "guided,3"}
    recorded = call(environment, tmp_path, "run", "-q", "--", compile_program("gomp/settings.c", gcc))
    assert "schedule 3,3 " in recorded.stdout
