# SPDX-License-Identifier: Apache-2.0
"""Checks that constructs of gcc programs have the lines of their pragmas, whatever code precedes them."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from needs import require_commands
from ompass.elf import code_between, imported_functions, read_functions
from ompass.model import Module
from ompass.symbols.program_files import ModuleFile

SOURCE = """
#include <stdlib.h>
#define N 4096
double *values;
static void fill(void) {
  for (int i = 0; i < N; i++) values[i] = i * 0.5;
}
static void each(int i) { values[i] += 1; }
static void tasks(void) {
  for (int i = 0; i < N; i++) {
#pragma omp task firstprivate(i)                  // GOMP_task tasks
    each(i);
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


@pytest.mark.skipif(platform.machine() != "x86_64", reason="reads x86-64 instructions")
@pytest.mark.parametrize("opt_level", ["-O0", "-O2", "-O3"])
@pytest.mark.parametrize("flags", [(), ("-no-pie",), ("-fcf-protection",)])
def test_constructs_have_the_lines_of_their_pragmas(
    opt_level: str, flags: tuple[str, ...], tmp_path: Path
) -> None:
    require_commands("gcc")
    source, program = tmp_path / "program.c", tmp_path / "program"
    source.write_text(SOURCE, encoding="utf-8")
    subprocess.run(["gcc", opt_level, "-g", "-fopenmp", *flags, source, "-o", program], check=True)
    file = ModuleFile(Module(path=str(program)), 2**62, ())
    found = {}
    for name, offset in calls(program):
        place = file.location_of_call(offset)
        found[name] = (place.line, place.function)
    lines = enumerate(SOURCE.splitlines(), 1)
    marked = {line.split()[-2]: (number, line.split()[-1]) for number, line in lines if "// GOMP" in line}
    for name, (line, function) in marked.items():
        assert found[name][1] == function
        # The line of a wait, which has no body, may be off by one, and so may the line of a task, because -O2
        # moves the first statement of a short body.
        assert abs(found[name][0] - line) <= (name in ("GOMP_task", "GOMP_taskwait")), name


def calls(program: Path) -> Iterator[tuple[str, int]]:
    """Yields the function's name and the return address of each call of gcc's runtime."""
    stubs = imported_functions(program)
    for start, size, _ in read_functions(program).functions:
        code = code_between(program, start, start + size)
        for k in range(len(code) - 5):
            after = start + k + 5
            name = stubs.get(after + int.from_bytes(code[k + 1 : k + 5], "little", signed=True), "")
            if code[k] == 0xE8 and name.startswith("GOMP_"):
                yield name, after
