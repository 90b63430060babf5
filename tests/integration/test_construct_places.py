# SPDX-License-Identifier: Apache-2.0
"""Checks that constructs of gcc and flang have the lines of their directives, whatever code precedes them."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from needs import require_commands
from ompass.elf import code_between, imported_functions, read_functions
from ompass.model import Module
from ompass.symbols.call_arguments import task_bytes
from ompass.symbols.program_files import ModuleFile

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="reads x86-64 instructions")

C_SOURCE = """
#include <stdlib.h>
#define N 4096
double *values;
static void fill(void) {
  for (int i = 0; i < N; i++) values[i] = i * 0.5;
}
static void each(int i) { values[i] += 1; }
static void tasks(void) {
  for (int i = 0; i < N; i++) {
#ifndef NONE
#pragma omp task firstprivate(i)                  // GOMP_task tasks
#endif
    {
      each(i);
    }
  }
#pragma omp taskwait                              // GOMP_taskwait tasks
}
int main(void) {
  values = malloc(sizeof(double) * N);
  fill();                                         // inlined: its code precedes the call
#pragma omp parallel                              // GOMP_parallel main
#pragma omp single
  tasks();
  fill();
#pragma omp parallel for schedule(dynamic)        // GOMP_parallel_loop_nonmonotonic_dynamic main
  for (int i = 0; i < N; i++) each(i);
  return 0;
}
"""


TASKS_SOURCE = """
module tree
  implicit none
contains
  recursive subroutine branch(depth)
    integer, intent(in) :: depth
    integer :: child
    if (depth == 0) return
    do child = 1, 2
      !$omp task firstprivate(depth)   ! __kmpc_omp_task_alloc
      call branch(depth - 1)
      !$omp end task
    end do
    !$omp taskwait                     ! __kmpc_omp_taskwait
    if (depth == 5) print *, child
  end subroutine
end module
program leaves
  use tree
  implicit none
  !$omp parallel
  !$omp single
  call branch(5)
  !$omp end single
  !$omp end parallel
end program
"""


COPYING_SOURCE = """
struct field { double values[2500]; };
int use(const struct field *f, int k) { return f->values[k] > 0; }
int main(void) {
  struct field f = {{0}};
  int sum = 0;
#pragma omp parallel
#pragma omp single
  for (int k = 0; k < 100; k++) {
#pragma omp task firstprivate(f, k) shared(sum)   // large
    sum += use(&f, k);
#pragma omp task shared(f, sum) firstprivate(k)   // small
    sum += use(&f, k);
  }
  return sum;
}
"""


INLINED_SOURCE = """
#include <stdlib.h>
struct cell { double now, before; };
static void step(struct cell *c) {
  const double change = c->now - c->before;
  c->before = c->now;
  c->now += 0.5 * change;
}
int main(void) {
  struct cell *cells = calloc(1000, sizeof *cells);



#pragma omp parallel
  for (int round = 0; round < 10; round++) {
#pragma omp for
    for (int i = 0; i < 1000; i++) step(&cells[i]);
  }
#pragma omp parallel
#pragma omp single
  {
#pragma omp task
    cells[0].now = 1;
    step(&cells[1]);
#pragma omp taskwait
    cells[0].now = 2;
  }
  return cells[0].now > 1;
}
"""


FORTRAN_SOURCE = """
module relaxation
  implicit none
contains
  subroutine smooth(values, weight)
    double precision, intent(inout) :: values(:)
    double precision, intent(in) :: weight
    double precision :: sum
    integer :: i
    sum = weight
    !$omp parallel do reduction(+:sum)
    do i = 1, size(values)
      sum = sum + values(i)
    end do
    values = values / sum
    !$omp parallel do if(weight > 2)
    do i = 1, size(values)
      values(i) = 2 * values(i)
    end do
  end subroutine
end module
program regions
  use relaxation
  implicit none
  double precision :: field(1000)
  integer :: round
  field = 1
  do round = 1, 3
    call smooth(field, 1d0 + round)
  end do
  print *, field(1)
end program
"""


@pytest.mark.parametrize("opt_level", ["-O0", "-O2", "-O3"])
@pytest.mark.parametrize("flags", [(), ("-no-pie",), ("-fcf-protection",)])
def test_constructs_of_gcc_have_the_lines_of_their_pragmas(
    opt_level: str, flags: tuple[str, ...], tmp_path: Path
) -> None:
    program = compiled(tmp_path / "program.c", C_SOURCE, "gcc", opt_level, *flags)
    found = dict(places_of_calls(program, "GOMP_"))
    lines = enumerate(C_SOURCE.splitlines(), 1)
    marked = {line.split()[-2]: (number, line.split()[-1]) for number, line in lines if "// GOMP" in line}
    assert {name: found[name] for name in marked} == marked


def test_waits_of_gcc_do_not_get_the_line_of_inlined_code(tmp_path: Path) -> None:
    program = compiled(tmp_path / "program.c", INLINED_SOURCE, "gcc", "-O2")
    loop = 1 + next(k for k, line in enumerate(INLINED_SOURCE.splitlines()) if "omp for" in line)
    found = [place for name, place in places_of_calls(program, "GOMP_barrier")]
    assert {function for _, function in found} == {"main"}
    assert loop in {line for line, _ in found}
    wait = 1 + next(k for k, line in enumerate(INLINED_SOURCE.splitlines()) if "taskwait" in line)
    assert {place for _, place in places_of_calls(program, "GOMP_taskwait")} == {(wait, "main")}


# Without optimization, bodies of flang have lines of declarations too.
@pytest.mark.parametrize("opt_level", ["-O1", "-O2", "-O3"])
def test_regions_of_flang_have_the_lines_of_their_directives(opt_level: str, tmp_path: Path) -> None:
    program = compiled(tmp_path / "program.f90", FORTRAN_SOURCE, "flang-new-19", opt_level)
    found = {place for _, place in places_of_calls(program, "__kmpc_fork_call")}  # flang inlines smooth() too
    lines = [k for k, line in enumerate(FORTRAN_SOURCE.splitlines(), 1) if "!$omp parallel" in line]
    assert {function for _, function in found} == {"relaxation::smooth"}
    assert sorted(line for line, _ in found) == lines


@pytest.mark.parametrize("opt_level", ["-O1", "-O2"])
def test_tasks_and_waits_of_flang_have_the_lines_of_their_directives(opt_level: str, tmp_path: Path) -> None:
    program = compiled(tmp_path / "program.f90", TASKS_SOURCE, "flang-new-19", opt_level)
    lines = enumerate(TASKS_SOURCE.splitlines(), 1)
    marked = {line.split()[-1]: number for number, line in lines if "! __kmpc" in line}
    found = places_of_calls(program, "__kmpc_omp_task")
    assert {name: place[0] for name, place in found if name in marked} == marked


@pytest.mark.parametrize("compiler", ["gcc", "clang-19"])
@pytest.mark.parametrize("opt_level", ["-O0", "-O2"])
def test_the_code_shows_how_much_a_task_copies(compiler: str, opt_level: str, tmp_path: Path) -> None:
    program = compiled(tmp_path / "program.c", COPYING_SOURCE, compiler, opt_level)
    copies = {
        place[0]: task_bytes(program, after)
        for name, place, after in calls_of(program, ("__kmpc_omp_task", "GOMP_task"))
        if name in ("__kmpc_omp_task_alloc", "__kmpc_omp_task", "GOMP_task")
    }
    lines = COPYING_SOURCE.splitlines()
    large, small = (
        next(k for k, line in enumerate(lines, 1) if f"// {n}" in line) for n in ("large", "small")
    )
    assert 20_000 <= copies[large] <= 20_064
    assert 0 < copies[small] <= 64


def compiled(source: Path, text: str, compiler: str, *flags: str) -> Path:
    """Returns the program of a text. Compiles in the folder of `source`, where flang also writes modules."""
    require_commands(compiler)
    source.write_text(text, encoding="utf-8")
    program = source.with_name("program")
    command = [compiler, *flags, "-g", "-fopenmp", str(source), "-o", str(program)]
    subprocess.run(command, check=True, cwd=source.parent)
    return program


def places_of_calls(program: Path, runtime: str) -> Iterator[tuple[str, tuple[int, str]]]:
    """Yields the name of each called function of the runtime, and the line and function of the call."""
    yield from ((name, place) for name, place, _ in calls_of(program, (runtime,)))


def calls_of(program: Path, runtime: tuple[str, ...]) -> Iterator[tuple[str, tuple[int, str], int]]:
    """Yields each called function of the runtime, the call's line and function, and its return address."""
    file = ModuleFile(Module(path=str(program)), 2**62, ())
    stubs = imported_functions(program)
    for start, size, _ in read_functions(program).functions:
        code = code_between(program, start, start + size)
        for k in range(len(code) - 5):
            after = start + k + 5
            name = stubs.get(after + int.from_bytes(code[k + 1 : k + 5], "little", signed=True), "")
            if code[k] == 0xE8 and name.startswith(runtime):
                place = file.location_of_call(after)
                yield name, (place.line, place.function), after
