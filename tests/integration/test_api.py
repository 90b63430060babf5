# SPDX-License-Identifier: Apache-2.0
"""Tests ompass.h and the Fortran module in C, C++ and Fortran programs, with and without the tool and OpenMP.

The programs, in tests/programs/api, print the expected kernels and phases as lines KERNEL and PHASES.
"""

from __future__ import annotations

import subprocess
from collections import defaultdict
from pathlib import Path

import pytest

from ompass import _core
from recorded_run import check_accounts_agree, check_facts, check_sound, facts_in
from toolchains import PROGRAMS, REPOSITORY, CompileProgram, RunRecorded, Toolchain, toolchain_named

FORTRAN_MODULE = REPOSITORY / "ompt_tool" / "fortran" / "ompass.f90"
# language -> the program, and the other sources that are compiled with it
SOURCES: dict[str, tuple[str, list[Path]]] = {
    "C": ("api/kernels.c", []),
    "C++": ("api/scoped_kernels.cpp", [PROGRAMS / "api" / "scoped_kernels_other.cpp"]),
    "Fortran": ("api/kernels.f90", [FORTRAN_MODULE]),
}
LANGUAGES = sorted(SOURCES)
WITH_OPENMP = pytest.mark.parametrize("openmp", [True, False], ids=["with-openmp", "without-openmp"])


@pytest.fixture(params=["clang-19", "gcc-12-libomp-19"])
def compilers(request: pytest.FixtureRequest) -> Toolchain:
    """Returns one of the two toolchains that have a Fortran compiler."""
    toolchain = toolchain_named(request.param)
    assert not toolchain.missing()
    return toolchain


def build(
    language: str, openmp: bool, toolchain: Toolchain, compile_program: CompileProgram, *flags: str
) -> Path:
    source, extra_sources = SOURCES[language]
    return compile_program(source, toolchain, flags=flags, extra_sources=extra_sources, openmp=openmp)


def run_plainly(program: Path, toolchain: Toolchain, **environment: str) -> str:
    finished = toolchain.run([str(program)], {"OMP_NUM_THREADS": "2", **environment})
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert finished.stderr == ""
    return finished.stdout


def kernels_in(stdout: str) -> dict[str, dict[str, int]]:
    """Returns the numbers of each KERNEL line, by the kernel's name."""
    lines = [line.split() for line in stdout.splitlines() if line.startswith("KERNEL ")]
    return {
        words[1]: {figure: int(value) for figure, value in (word.split("=") for word in words[2:])}
        for words in lines
    }


def phases_in(stdout: str) -> list[str]:
    (line,) = (line for line in stdout.splitlines() if line.startswith("PHASES "))
    return line.split()[1:]


def recorded_kernels(profile: _core.Run) -> dict[str, dict[str, int]]:
    """Returns the numbers of each kernel construct, summed over threads, by the kernel's name."""
    names = {entry.id: entry.name for entry in profile.definitions if entry.kind == "kernel"}
    found: dict[str, dict[str, int]] = defaultdict(lambda: {"count": 0, "read_bytes": 0, "write_bytes": 0})
    for row in profile.constructs:
        if row.construct in names:
            kernel = found[names[row.construct]]
            kernel["count"] += row.n_completed
            kernel["read_bytes"] += row.read_bytes
            kernel["write_bytes"] += row.write_bytes
    return dict(found)


def check_marks(profile: _core.Run, stdout: str) -> None:
    assert recorded_kernels(profile) == kernels_in(stdout)
    phases = [entry.name for entry in profile.definitions if entry.kind == "phase" and entry.name]
    assert phases == phases_in(stdout)
    numbers = {entry.id for entry in profile.definitions if entry.kind == "phase" and entry.name}
    lasted_ns = [row.work_ns for row in profile.constructs if row.construct in numbers]
    assert len(lasted_ns) == len(numbers)
    assert all(ns > 0 for ns in lasted_ns)
    assert sum(lasted_ns) <= profile.wall_ns


@WITH_OPENMP
@pytest.mark.parametrize("language", LANGUAGES)
def test_marks_do_nothing_without_the_tool(
    language: str, openmp: bool, compilers: Toolchain, compile_program: CompileProgram, tmp_path: Path
) -> None:
    program = build(language, openmp, compilers, compile_program)
    run_plainly(program, compilers, OMPASS_DIR=str(tmp_path / "run.ompass"))
    # OMP_TOOL_LIBRARIES names other tools, which the marks must not load.
    run_plainly(program, compilers, OMP_TOOL_LIBRARIES=f"{tmp_path}/other.so:{tmp_path}/libompass.so")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("preload", [False, True], ids=["tool-libraries", "preload"])
@pytest.mark.parametrize("mode", ["profile", "trace"])
@WITH_OPENMP
@pytest.mark.parametrize("language", LANGUAGES)
def test_marks_are_recorded(
    language: str,
    openmp: bool,
    mode: str,
    preload: bool,
    compilers: Toolchain,
    compile_program: CompileProgram,
    run_recorded: RunRecorded,
) -> None:
    program = build(language, openmp, compilers, compile_program)
    recorded = run_recorded(program, compilers, mode=mode, preload=preload)
    stdout = recorded.process.stdout
    assert stdout == run_plainly(program, compilers)
    profile = check_sound(recorded.run_dir)
    check_marks(profile, stdout)
    check_facts(facts_in(stdout), profile)
    assert profile.threads[0].kind == "initial", "begun by a mark or by OpenMP"
    if mode == "trace":
        replay = _core.replay_trace(str(recorded.run_dir))
        check_accounts_agree(profile, replay)
        check_marks(replay, stdout)


def test_kernel_bytes_and_time_belong_to_the_innermost_kernel(
    default_toolchain: Toolchain, compile_program: CompileProgram, run_recorded: RunRecorded
) -> None:
    program = build("C", True, default_toolchain, compile_program)
    profile = check_sound(run_recorded(program, default_toolchain).run_dir)
    names = {entry.id: entry.name for entry in profile.definitions if entry.kind == "kernel"}
    rows = [row for row in profile.constructs if names.get(row.construct) == "reduce"]
    assert sum(row.write_bytes for row in rows) == 0, "writes of the inner kernel do not belong to the outer"
    for row in rows:
        assert row.work_ns <= row.inclusive_ns, "own time is part of inclusive time"


def test_statically_linked_program_runs_with_and_without_the_tool(
    compile_program: CompileProgram, libompass: Path, tmp_path: Path
) -> None:
    """The marks must do nothing in a program that cannot load a tool."""
    toolchain = toolchain_named("gcc-12-libomp-19")
    program = compile_program("api/kernels.c", toolchain, flags=["-static"], openmp=False)
    expected = run_plainly(program, toolchain)
    directory = tmp_path / "run.ompass"
    settings = {"OMPASS_DIR": str(directory), "OMPASS_SUMMARY": "off"}
    assert run_plainly(program, toolchain, OMP_TOOL_LIBRARIES=str(libompass), **settings) == expected


@pytest.mark.parametrize("language", ["C", "C++"])
def test_marks_compile_to_nothing_when_disabled(
    language: str,
    default_toolchain: Toolchain,
    compile_program: CompileProgram,
    run_recorded: RunRecorded,
) -> None:
    program = build(language, True, default_toolchain, compile_program, "-DOMPASS_DISABLE")
    recorded = run_recorded(program, default_toolchain)
    profile = check_sound(recorded.run_dir)
    check_facts(facts_in(recorded.process.stdout), profile)
    assert recorded_kernels(profile) == {}


@pytest.mark.parametrize("compiler", ["gcc-12", "clang-14", "clang-19"])
@pytest.mark.parametrize(
    "language_flags",
    [("-xc", "-std=c99"), ("-xc", "-std=c17"), ("-xc++", "-std=c++11"), ("-xc++", "-std=c++20")],
)
def test_header_compiles_without_warnings(compiler: str, language_flags: tuple[str, str]) -> None:
    header = REPOSITORY / "ompt_tool" / "include" / "ompass.h"
    warnings = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror"]
    finished = subprocess.run(
        [compiler, *language_flags, *warnings, "-fsyntax-only", "-include", str(header), "-"],
        input='int main(void) { ompass_kernel_begin("k"); ompass_kernel_end(); return 0; }\n',
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr


@pytest.mark.parametrize("compiler", ["gfortran-12", "flang-new-19"])
def test_fortran_module_compiles_under_strict_standard_flags(compiler: str, tmp_path: Path) -> None:
    strict = (
        ["-std=f2018", "-Wall", "-Wextra", "-Werror"]
        if compiler.startswith("gfortran")
        else ["-pedantic", "-Werror"]
    )
    finished = subprocess.run(
        [compiler, *strict, "-c", str(FORTRAN_MODULE), "-o", str(tmp_path / "ompass.o")],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
