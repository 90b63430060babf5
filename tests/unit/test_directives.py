# SPDX-License-Identifier: Apache-2.0
"""Finds the directive of a call in sources that mark where the search begins, FROM, and the RIGHT line."""

from __future__ import annotations

from pathlib import Path

import pytest

from ompass.symbols.directives import Directives
from ompass.symbols.lookup import Frame


def of_call(folder: Path, called: str, source: str, suffix: str = "c") -> tuple[int, int]:
    """Returns the line found for a call at the line marked FROM, and the line marked RIGHT (else FROM)."""
    path = folder / f"source.{suffix}"
    path.write_text(source, encoding="utf-8")
    lines = source.splitlines()
    begin = next(n for n, line in enumerate(lines, 1) if "FROM" in line)
    right = next((n for n, line in enumerate(lines, 1) if "RIGHT" in line), begin)
    (frame,) = Directives(0).of_call([Frame("f", str(path), begin)], called)
    return frame.line, right


CASES = {
    "a taskgroup, from its end": (
        "__kmpc_end_taskgroup",
        "#pragma omp parallel\n#pragma omp taskgroup // RIGHT\n{\n#pragma omp task\nwork();\n} // FROM\n",
    ),
    "a taskgroup, not one of an earlier region": (
        "__kmpc_end_taskgroup",
        "#pragma omp taskgroup\n{\n}\n#pragma omp parallel\n{\n} // FROM\n",
    ),
    "a taskgroup, not one of the function before": (
        "__kmpc_end_taskgroup",
        "#pragma omp taskgroup\n{ work(); }\n}\nvoid g(void) {\n  work(); // FROM\n",
    ),
    "sections of gcc, from the code before": (
        "GOMP_sections_start",
        "work(); // FROM\n#pragma omp single\nwork();\n#pragma omp sections // RIGHT\n{\n",
    ),
    "a loop of gcc, from the code before": (
        "GOMP_loop_nonmonotonic_dynamic_start",
        "int mine = 0; // FROM\n#pragma omp for schedule(dynamic, 1) // RIGHT\nfor (;;) {}\n",
    ),
    "a loop of gcc, not one of the next function": (
        "GOMP_loop_dynamic_start",
        "  int mine = 0; // FROM\n}\nvoid g(void) {\n#pragma omp for schedule(dynamic, 1)\n",
    ),
    "clang's lines are right or after the directive": (
        "__kmpc_dispatch_init_4",
        "int mine = 0; // FROM\n#pragma omp for schedule(dynamic, 1)\nfor (;;) {}\n",
    ),
    "a loop, from its first statement": (
        "__kmpc_dispatch_init_4",
        "#ifdef A\n#pragma omp for\n#else\n#pragma omp parallel for // RIGHT\n#endif\nfor (;;) // FROM\n",
    ),
    "a barrier belongs to no loop with nowait": (
        "GOMP_barrier",
        "for (;;) { // FROM\n#pragma omp for nowait\nfor (;;) {}\n#pragma omp for // RIGHT\nfor (;;) {}\n",
    ),
    "an ordered region, not the loop's clause": (
        "GOMP_ordered_start",
        "#pragma omp parallel for ordered\nfor (;;) { // FROM\nwork();\n#pragma omp ordered // RIGHT\n",
    ),
    "an ordered directive far away is another one": (
        "GOMP_ordered_start",
        "work(); // FROM\n" + "work();\n" * 12 + "#pragma omp ordered\n",
    ),
    "the line of an unknown function stays": ("unknown", "#pragma omp task\nwork(); // FROM\n"),
}


@pytest.mark.parametrize("name", CASES)
def test_the_directive_of_a_call_is_found(name: str, tmp_path: Path) -> None:
    found, right = of_call(tmp_path, *CASES[name])
    assert found == right


FORTRAN = {
    "a task of flang, from a declaration": (
        "__kmpc_omp_task",
        "subroutine s(block)\ninteger :: block ! FROM\ncall f(block)\n!$omp task ! RIGHT\n",
    ),
    "a task, not one of the next procedure": (
        "__kmpc_omp_task",
        "integer :: block ! FROM\ncall f(block)\nend subroutine\nsubroutine s\n!$omp task\n",
    ),
    "a region, from the other alternative's statement": (
        "__kmpc_fork_call",
        "!$omp parallel ! RIGHT\n#ifdef A\ncall f()\n#else\n!$omp master\ncall g() ! FROM\n",
    ),
    "a task, before two alternatives": (
        "__kmpc_omp_task",
        "!$omp task ! RIGHT\n#ifdef A\ncall f()\n#endif\ncall g() ! FROM\n",
    ),
}


@pytest.mark.parametrize("name", FORTRAN)
def test_the_directive_of_a_call_in_fortran_is_found(name: str, tmp_path: Path) -> None:
    called, source = FORTRAN[name]
    found, right = of_call(tmp_path, called, source, "f90")
    assert found == right


def test_frames_of_inlined_code_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "source.c"
    path.write_text("#pragma omp for\nfor (;;) f();\n", encoding="utf-8")
    inlined, outer = Frame("f", str(tmp_path / "header.h"), 3), Frame("g", str(path), 2)
    (found,) = Directives(0).of_call([inlined, outer], "GOMP_barrier")
    assert (found.symbol, found.line) == ("g", 1)
    assert Directives(0).of_call([inlined], "GOMP_barrier") == [inlined]
