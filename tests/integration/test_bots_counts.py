# SPDX-License-Identifier: Apache-2.0
"""Compares the results of the benchmark programs with known answers, and their task counts with the tool's.

Each expected number is published, with the source given here, or this file computes it by another algorithm.
"""

from __future__ import annotations

import math
import re
import subprocess
from collections.abc import Iterable, Iterator
from functools import cache
from hashlib import sha1
from itertools import count, islice
from pathlib import Path

import pytest

import bots_programs
from bots_programs import Kind
from ompass.readers.run import open_run
from ompass.reports.content import collect
from ompass.reports.model import plain
from ompass.reports.run import run_report
from toolchains import neutral_environment

# oneTBB's tasks are not OpenMP tasks.
RECORDED = [name for name in bots_programs.versions() if not re.search(r"-serial$|-tbb", name)]


def result_of(program: Path, *options: str) -> str:
    """Returns the text of the line `result` of a verified run."""
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


def check_counts(program: Path, libompass: Path, tmp_path: Path, kinds: Iterable[Kind], threads: int) -> None:
    for number, kind in enumerate(kinds):
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
        assert answer["tasks"] is not None, f"{program.name} {kind} does not report its number of tasks"
        report = plain(run_report(collect(open_run(run_dir))))
        assert report["tasks"] == answer["tasks"], f"{program.name}, {kind}, {threads} threads"


@pytest.mark.list_takes_turns
@pytest.mark.parametrize(("name", "version"), [name.split("-", 1) for name in RECORDED])
def test_the_report_counts_the_tasks_that_the_program_counts(
    bots_dir: Path, name: str, version: str, libompass: Path, tmp_path: Path
) -> None:
    """Runs the first kind, which has no cut-off and so creates the most tasks."""
    program = bots_dir / f"{name}-{version}"
    check_counts(program, libompass, tmp_path, islice(bots_programs.kinds(program), 1), threads=2)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("version", RECORDED)
def test_the_report_counts_every_kind_of_task(
    bots_dir: Path, version: str, libompass: Path, tmp_path: Path
) -> None:
    program = bots_dir / version
    check_counts(program, libompass, tmp_path, bots_programs.kinds(program), threads=3)


@cache
def fib_calls_above(n: int, levels: int) -> int:
    """Counts calls with n >= 2 in the first `levels` levels of the call tree, by walking it."""
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
    """Counts the ways to place one or more further queens. Compares every pair of queens."""
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


# Sizes published with the sample trees of UTS 2.1: nodes, leaves, depth.
SAMPLE_TREES = {
    "T1": (4_130_071, 3_305_118, 10),
    "T2": (4_117_769, 2_342_762, 81),
    "T3": (4_112_897, 3_599_034, 1572),
    "T4": (4_132_453, 3_108_986, 134),
    "T5": (4_147_582, 2_181_318, 20),
}


@pytest.mark.parametrize(("tree", "version"), [("T1", "serial"), ("T3", "tasks"), ("T4", "tasks")])
def test_sample_trees_have_the_published_sizes(bots_dir: Path, tree: str, version: str) -> None:
    check_sample_tree(bots_dir / f"uts-{version}", tree)


@pytest.mark.slow
@pytest.mark.parametrize("tree", SAMPLE_TREES)
@pytest.mark.parametrize("version", ["serial", "tasks"])
def test_all_sample_trees_have_the_published_sizes(bots_dir: Path, tree: str, version: str) -> None:
    check_sample_tree(bots_dir / f"uts-{version}", tree)


def check_sample_tree(program: Path, tree: str) -> None:
    nodes, leaves, depth = SAMPLE_TREES[tree]
    result = result_of(program, "--tree", tree)
    assert result == f"{tree} has {nodes} nodes, {leaves} leaves, depth {depth}"


def test_the_tiny_tree_follows_its_rule(bots_dir: Path) -> None:
    """Searches the tree (geometric, about four children per node, depth six) here with hashlib's SHA-1."""

    def search(state: bytes, depth: int) -> tuple[int, int]:
        number = (int.from_bytes(state[16:], "big") & 0x7FFFFFFF) / 2**31
        n = min(100, math.floor(math.log(1 - number) / math.log(1 - 1 / (1 + 4)))) if depth < 6 else 0
        below = [search(sha1(state + i.to_bytes(4, "big")).digest(), depth + 1) for i in range(n)]
        return 1 + sum(nodes for nodes, _ in below), sum(leaves for _, leaves in below) if n else 1

    nodes, leaves = search(sha1(bytes(16) + (19).to_bytes(4, "big")).digest(), 0)
    for version in ("serial", "tasks"):
        result = result_of(bots_dir / f"uts-{version}", "--tree", "tiny")
        assert result == f"tiny has {nodes} nodes, {leaves} leaves, depth 6"


MASK = 2**64 - 1


def mixed(word: int) -> int:
    """Applies SplitMix64's finalizer (Steele, Lea, Flood, 2014) to a word."""
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    word = (word ^ (word >> 27)) * 0x94D049BB133111EB & MASK
    return word ^ (word >> 31)


def random_words(seed: int) -> Iterator[int]:
    for i in count(1):
        yield mixed(seed + i * 0x9E3779B97F4A7C15 & MASK)


def knapsack_optimum(n_items: int) -> int:
    """Returns the optimum by dynamic programming over values; the programs use capacities."""
    words = random_words(mixed(n_items))
    least_weight = {0: 0}
    total = 0
    for _ in range(n_items):
        weight = 1 + next(words) % 1000
        value = max(1, weight + next(words) % 201 - 100)
        total += weight
        for packed, packed_weight in list(least_weight.items()):
            new, new_weight = packed + value, packed_weight + weight
            if new_weight < least_weight.get(new, new_weight + 1):
                least_weight[new] = new_weight
    return max(value for value, weight in least_weight.items() if weight <= total // 2)


@pytest.mark.parametrize("n_items", [1, 2, 7, 20, 45])
def test_knapsacks_have_the_optimum_that_another_recurrence_finds(bots_dir: Path, n_items: int) -> None:
    for version in ("serial", "tasks"):
        result = result_of(bots_dir / f"knapsack-{version}", "--size", str(n_items))
        assert result.startswith(f"value {knapsack_optimum(n_items)} of {n_items} items")


def least_floorplan(n_cells: int) -> int:
    """Returns the least area. Tries every shape and position of every cell, without a bound."""
    words = random_words(19830401)
    cells = []
    for i in range(n_cells):
        width, height = (1 + (next(words) >> 32) % 5 for _ in range(2))
        owner = i - 4 if i % 4 == 0 else i - 1
        cells.append((((width, height), (height, width), (width + 1, (height + 1) // 2)), owner, i % 4 != 0))

    def least(placed: tuple[tuple[int, int, int, int], ...]) -> float:
        if len(placed) == n_cells:
            return max(right for _, _, right, _ in placed) * max(bottom for *_, bottom in placed)
        shapes, owner, to_the_right = cells[len(placed)]
        best = math.inf
        for width, height in shapes:
            corners = [(0, 0)]
            if placed:
                left, top, right, bottom = placed[owner]
                if to_the_right:
                    corners = [(right, y) for y in range(max(0, top - height + 1), bottom)]
                else:
                    corners = [(x, bottom) for x in range(max(0, left - width + 1), right)]
            for x, y in corners:
                if all(
                    x >= right or left >= x + width or y >= bottom or top >= y + height
                    for left, top, right, bottom in placed
                ):
                    best = min(best, least((*placed, (x, y, x + width, y + height))))
        return best

    return int(least(()))


@pytest.mark.parametrize("n_cells", range(1, 7))
def test_floorplans_have_the_least_area_of_all(bots_dir: Path, n_cells: int) -> None:
    area = least_floorplan(n_cells)
    for version in ("serial", "tasks"):
        result = result_of(bots_dir / f"floorplan-{version}", "--size", str(n_cells))
        found = re.match(r"area (\d+) x (\d+),", result)
        assert found
        assert int(found[1]) * int(found[2]) == area
