# SPDX-License-Identifier: Apache-2.0
"""gcc programs have the result of libgomp on LLVM's runtimes, or are refused by name: a slice of the matrix.

`./run gcc-matrix` runs all of it, several times, and writes docs/gcc-programs.md.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from gcc_matrix.page import UNKNOWN, cells_of, named_in
from gcc_matrix.programs import SOURCES, build, compiler, corpus, functions_of_libgomp
from gcc_matrix.runs import OTHER, REFUSED, RUNTIMES, SAME, Campaign, Case, Outcome
from needs import require
from toolchains import REPOSITORY

# Each failed on some runtime before the tool mended or refused what it calls, with what it must come to.
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
NEWEST, OLDEST = "libomp 19", "libomp 14"


@pytest.fixture(scope="module")
def gcc() -> str:
    toolchain = compiler("gcc-12")
    absent = [str(path.relative_to(REPOSITORY)) for path in RUNTIMES.values() if not path.is_file()]
    require("gcc-12", toolchain.missing() + absent)
    return "gcc-12"


@pytest.mark.parametrize("name", SLICE)
@pytest.mark.parametrize(("runtime", "mode"), [(NEWEST, "trace"), (OLDEST, "profile")])
def test_the_result_is_that_of_libgomp_or_a_refusal(
    name: str, runtime: str, mode: str, gcc: str, libompass: Path
) -> None:
    program = build(SOURCES / name, compiler(gcc))
    outcome = Campaign(libompass).run(Case(program, runtime, 2, mode))
    assert (outcome.kind, outcome.detail) == (SLICE[name], "")


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
