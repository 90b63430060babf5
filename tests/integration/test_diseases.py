# SPDX-License-Identifier: Apache-2.0
"""Checks that the first finding is the disease, for real programs that a busy machine does not disturb.

`./run diseases` judges all programs of tests/diseases, on more threads and under worse conditions.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from diseases.conditions import QUIET
from diseases.labels import all_labels
from diseases.matrix import judge
from diseases.runs import Case, record
from ompass.readers.run import open_run
from ompass.reports.content import collect

LABELS = {label.program: label for label in all_labels()}
CLANG, GCC = "clang-19", "gcc-12-libomp-19"
# At most one program for each disease, and one whose serial part has page faults.
ROBUST = (
    ("fine_tree.c", CLANG), ("coarse_blocks.c", CLANG), ("undeferred_sort.f90", GCC),
    ("producer_reads.c", CLANG),
    ("wait_in_loop.c", GCC), ("chain_cells.cpp", CLANG), ("loop_mandelbrot.f90", CLANG),
    ("undivided_cutoff.c", GCC), ("serial_setup.c", GCC), ("blocked_sleep.c", CLANG),
    ("page_faults_tasks.c", CLANG), ("page_faults_serial.c", CLANG), ("priority_lengths.cpp", CLANG),
)  # fmt: skip
FURTHER = (
    ("fine_tree.f90", GCC), ("blocked_loop.f90", GCC), ("page_faults_steps.f90", GCC),
    ("priority_chain.c", CLANG),
)  # fmt: skip
ATTEMPTS = 4
CURED = (("wait_in_loop.c", CLANG), ("critical_loop.cpp", GCC), ("serial_check.f90", CLANG))
HEALTHY_ONES = (("healthy_list.cpp", CLANG), ("healthy_reuse.c", CLANG), ("healthy_loop.f90", GCC))


def found_in(
    program: str, compiler: str, libompass: Path, tmp_path: Path, *, cured: bool = False
) -> tuple[str, ...]:
    """Returns the kinds of problem in a run on two threads, in order.

    Repeats a run that other processes disturbed, up to ATTEMPTS runs.
    """
    case = Case(LABELS[program], compiler, 2, QUIET, 0, cured)
    if program.startswith("page_faults"):
        # In a virtual machine, the host provides memory at its very first use. That takes three times as
        # long as the kernel's work, and counts as time in the kernel. So an extra run uses the memory first.
        record(case, libompass, tmp_path / "first.ompass")
    for attempt in range(ATTEMPTS):
        record(case, libompass, tmp_path / f"{attempt}.ompass")
        problems = judge(case, tmp_path / f"{attempt}.ompass").problems
        if "disturbed" not in problems:
            break
    return problems


@pytest.mark.parametrize(
    ("program", "compiler"), [*ROBUST, *(pytest.param(*case, marks=pytest.mark.slow) for case in FURTHER)]
)
def test_the_disease_is_found_first(program: str, compiler: str, libompass: Path, tmp_path: Path) -> None:
    found = found_in(program, compiler, libompass, tmp_path)
    undisturbed = [kind for kind in found if kind != "disturbed"]
    assert undisturbed[:1] == [LABELS[program].disease] or found == ("disturbed",)


@pytest.mark.parametrize(("program", "compiler"), HEALTHY_ONES)
def test_nothing_is_found_in_a_healthy_program(
    program: str, compiler: str, libompass: Path, tmp_path: Path
) -> None:
    assert set(found_in(program, compiler, libompass, tmp_path)) <= {"disturbed"}


@pytest.mark.parametrize(("program", "compiler"), CURED)
def test_a_cure_removes_the_disease(program: str, compiler: str, libompass: Path, tmp_path: Path) -> None:
    found = found_in(program, compiler, libompass, tmp_path, cured=True)
    assert LABELS[program].disease not in found


def test_processor_time_before_the_first_use_of_openmp_is_recorded(libompass: Path, tmp_path: Path) -> None:
    record(Case(LABELS["serial_setup.c"], CLANG, 2, QUIET, 0), libompass, tmp_path / "run.ompass")
    assert open_run(tmp_path / "run.ompass").earlier_cpu_ns > 200_000_000


def findings_of(case: Case, libompass: Path, run_dir: Path) -> dict[str, str]:
    """Records a case; returns the evidence of each finding, by its kind."""
    record(case, libompass, run_dir)
    return {finding.kind: finding.because for finding in collect(open_run(run_dir)).findings}


def test_the_finding_on_a_serial_part_names_the_code_that_ran(libompass: Path, tmp_path: Path) -> None:
    case = Case(LABELS["serial_between.cpp"], CLANG, 2, QUIET, 0)
    because = findings_of(case, libompass, tmp_path / "run.ompass")["serial_fraction"]
    assert "of its samples are in take_steps" in because
    assert "most of them at disease.h:" in because
