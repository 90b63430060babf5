# SPDX-License-Identifier: Apache-2.0
"""Checks that gcc programs have the same results on LLVM's runtimes as on libgomp, or are refused by name.

These tests run a slice of the matrix. `./run gcc-matrix` runs all of it, several times, and writes
docs/gcc-programs.md.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from command import call
from gcc_matrix.page import UNKNOWN, cells_of, named_in
from gcc_matrix.programs import SOURCES, build, compiler, corpus, functions_of_libgomp
from gcc_matrix.runs import OTHER, REFUSED, RUNTIMES, SAME, Campaign, Case, Outcome
from needs import require
from toolchains import REPOSITORY, neutral_environment

# Programs that failed on a runtime before the tool replaced or refused their calls, with the right outcomes.
SLICE = {
    "allocators.c": SAME,
    "cancel_loops.c": REFUSED,
    "cancellation_points.c": SAME,
    "doacross_unsigned.c": REFUSED,
    "loops.c": SAME,
    "ordered_loops.c": SAME,
    "places.c": SAME,
    "places.f90": SAME,
    "queries.f90": SAME,
    "taskloops.c": SAME,
    "taskloops_ull.c": SAME,
    "tasks.c": SAME,
}
NEWEST, OLDEST = "libomp 22", "libomp 14"


@pytest.fixture(scope="module")
def gcc() -> str:
    toolchain = compiler("gcc-12")
    libraries = [RUNTIMES[name] for name in (NEWEST, OLDEST)]
    absent = [str(path.relative_to(REPOSITORY)) for path in libraries if not path.is_file()]
    require("gcc-12", toolchain.missing() + absent)
    return "gcc-12"


@pytest.mark.parametrize("name", SLICE)
@pytest.mark.parametrize(("runtime", "mode"), [(NEWEST, "trace"), (OLDEST, "profile")])
def test_the_result_is_the_same_as_on_libgomp_or_a_refusal(
    name: str, runtime: str, mode: str, gcc: str, libompass: Path
) -> None:
    program = build(SOURCES / name, compiler(gcc))
    outcome = Campaign(libompass).run(Case(program, runtime, 2, mode))
    assert (outcome.kind, outcome.detail) == (SLICE[name], "")


@pytest.mark.parametrize("name", ["cancel.c", "taskloops.c", "taskloops_ull.c"])
def test_the_result_under_the_extension_is_the_same_as_on_libgomp(
    name: str, gcc: str, libompass: Path
) -> None:
    outcome = Campaign(libompass).run(Case(build(SOURCES / name, compiler(gcc)), NEWEST, 2, "extension"))
    assert (outcome.kind, outcome.detail) == (SAME, "")


def test_the_page_names_each_function_of_libgomp_once(gcc: str) -> None:
    assert sorted(named_in()) == list(functions_of_libgomp(gcc))


def test_the_programs_call_each_function(gcc: str) -> None:
    called = {name for program in corpus(gcc) for name in program.calls}
    assert set(functions_of_libgomp(gcc)) - called == set()


def test_a_function_is_judged_by_the_runs_of_programs_that_call_it(gcc: str) -> None:
    programs = {
        name: build(SOURCES / name, compiler(gcc)) for name in ("locks.c", "scan.c", "loop_reductions.c")
    }
    case = {name: Case(program, NEWEST, 2, "profile") for name, program in programs.items()}
    outcomes = [
        Outcome(case["locks.c"], OTHER),
        Outcome(case["scan.c"], REFUSED, frozenset({"GOMP_loop_start"})),
        Outcome(case["loop_reductions.c"], SAME),
    ]
    functions = ("omp_set_lock", "GOMP_loop_start", "GOMP_task", "GOMP_teams")
    cells = cells_of(functions, [NEWEST], outcomes)
    assert [cells[name][NEWEST] for name in functions] == [OTHER, "same or refused", SAME, UNKNOWN]


# Functions that later versions of gcc added to libgomp, with their symbol versions.
LATER = {
    "GOMP_taskwait_depend_nowait": "GOMP_5.1.1",  # gcc 13
    "omp_get_mapped_ptr": "OMP_5.1.1",
    "omp_target_is_accessible": "OMP_5.1.1",
    "omp_target_memcpy_async": "OMP_5.1.1",
    "omp_in_explicit_task": "OMP_5.2",
    "GOMP_target_map_indirect_ptr": "GOMP_5.1.2",  # gcc 14
}


@pytest.mark.parametrize("name", LATER)
@pytest.mark.parametrize("runtime", [NEWEST, OLDEST])
def test_functions_of_later_versions_of_gcc_are_refused_by_name(
    name: str, runtime: str, gcc: str, libompass: Path, tmp_path: Path
) -> None:
    library, versions, source = tmp_path / "libgomp.so.1", tmp_path / "versions", tmp_path / "program.c"
    versions.write_text(f"{LATER[name]} {{ {name}; }};\n")
    (tmp_path / "library.c").write_text(f"void {name}(void) {{}}\n")
    source.write_text(f"void {name}(void);\nint main(void) {{ {name}(); }}\n")
    build_library = (
        "-shared",
        "-fPIC",
        f"-Wl,--version-script={versions},-soname=libgomp.so.1",
        "-o",
        library,
    )
    subprocess.run([gcc, *build_library, tmp_path / "library.c"], check=True)
    subprocess.run([gcc, source, library, f"-Wl,-rpath,{tmp_path}", "-o", tmp_path / "program"], check=True)
    environment = {**neutral_environment(), "OMPASS_LIBRARY": str(libompass)}
    arguments = ("run", "--libomp", RUNTIMES[runtime], "--", tmp_path / "program")
    refused = call(environment, tmp_path, *arguments, status=125)
    assert f"calls {name}, which" in refused.stderr
