# SPDX-License-Identifier: Apache-2.0
"""The benchmark programs' numbers: known answers from elsewhere, and task counts that the tool confirms.

Expected numbers are published, or derived here in another way than in the programs; the source is named.
"""

from __future__ import annotations

import re
import subprocess
from functools import cache
from itertools import product
from pathlib import Path

import bots_programs
import pytest
from bots_programs import Kind
from recorded_run import check_sound

from ompass.readers import open_run
from ompass.reports import collect, json_report
from toolchains import neutral_environment

# oneTBB's tasks are none of OpenMP's.
RECORDED = [name for name in bots_programs.versions() if not re.search(r"-serial$|-tbb", name)]


def result_of(program: Path, *options: str) -> str:
    """The line `result` of a run, which is verified."""
    ended = subprocess.run(
        [program, *options],
        env=neutral_environment(),
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert "verified  yes" in ended.stdout
    return next(
        line.split(maxsplit=1)[1] for line in ended.stdout.splitlines() if line.startswith("  result ")
    )


@pytest.mark.parametrize("version", RECORDED)
def test_the_report_counts_the_tasks_that_the_program_counts(
    bots_dir: Path, version: str, libompass: Path, tmp_path: Path
) -> None:
    program = bots_dir / version
    for number, (kind, threads) in enumerate(product(bots_programs.kinds(program), (1, 3))):
        run_dir = tmp_path / f"{number}.ompass"
        answer = bots_programs.run(
            program,
            threads=threads,
            kind=kind,
            environment={
                "OMP_TOOL_LIBRARIES": str(libompass),
                "OMPASS_MODE": "trace",
                "OMPASS_DIR": str(run_dir),
                "OMPASS_SUMMARY": "off",
            },
        )
        assert answer["tasks"] is not None, f"{version} {kind} does not know how many tasks it made"
        check_sound(run_dir)
        report = json_report(collect(open_run(run_dir)))
        assert report["tasks"] == answer["tasks"], f"{version}, {kind}, {threads} threads"


@cache
def fib_calls_above(n: int, levels: int) -> int:
    """Calls with n >= 2 in the first `levels` levels of the call tree, by walking it."""
    if n < 2 or levels == 0:
        return 0
    return 1 + fib_calls_above(n - 1, levels - 1) + fib_calls_above(n - 2, levels - 1)


@pytest.mark.parametrize(
    ("n", "depth"), [(0, 3), (1, 3), (2, 1), (2, 5), (7, 0), (15, 4), (15, 20), (20, 11)]
)
def test_fib_makes_two_tasks_for_every_call_above_the_cutoff(bots_dir: Path, n: int, depth: int) -> None:
    program = bots_dir / "fib-tasks"
    size = ("--size", str(n), "--depth", str(depth))
    manual = bots_programs.run(program, *size, threads=2, kind=Kind("manual", True), input_class="test")
    assert manual["tasks"] == 2 * fib_calls_above(n, depth)
    everything = bots_programs.run(program, *size, threads=2, kind=Kind("none", True))
    assert everything["tasks"] == 2 * fib_calls_above(n, n)


@pytest.mark.parametrize(
    ("n", "solutions"),
    # OEIS A000170
    [(1, 1), (2, 0), (3, 0), (4, 2), (5, 10), (6, 4), (7, 40), (8, 92), (9, 352), (10, 724), (11, 2680)],
)
def test_queens_have_the_published_numbers_of_solutions(bots_dir: Path, n: int, solutions: int) -> None:
    for version in ("serial", "tasks"):
        result = result_of(bots_dir / f"nqueens-{version}", "--size", str(n))
        assert result.startswith(f"{solutions} solutions")


def placements(n: int, columns: tuple[int, ...] = ()) -> int:
    """Ways to put one or more further queens, by comparing every pair of them."""
    if len(columns) == n:
        return 0
    row = len(columns)
    free = [
        column
        for column in range(n)
        if all(column != c and abs(column - c) != row - r for r, c in enumerate(columns))
    ]
    return sum(1 + placements(n, (*columns, column)) for column in free)


@pytest.mark.parametrize("n", range(1, 9))
def test_queens_make_a_task_for_every_placement(bots_dir: Path, n: int) -> None:
    answer = bots_programs.run(
        bots_dir / "nqueens-tasks", "--size", str(n), threads=2, kind=Kind("none", True)
    )
    assert answer["tasks"] == answer["units"] == placements(n)
