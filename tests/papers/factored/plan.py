# SPDX-License-Identifier: Apache-2.0
"""The measurements for Acar et al.: the charts of Cilksort in Figure 3, and array walks as in Figure 5."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from papers.model import Step
from papers.recordings import Case, Simulated, traces

MACHINE: Final = "4x-xeon-e7-4870"
POLICY: Final = "work-first"
"""A thread runs one branch of a fork immediately, and others may steal the rest, as in Cilk and PASL."""
THREADS: Final = (1, 5, 10, 20, 30, 40)
SHRINKING_THREADS: Final = (1, 10, 20, 40)
SHRINKING: Final = 8000
"""Chart (f): the cut-off is this number of elements divided by the number of cores."""

SMALL, LARGE = 200_000, 10_000_000
CHARTS: Final = {"a": (SMALL, 200), "b": (SMALL, 10_000), "c": (LARGE, 200), "d": (LARGE, 1000)}
"""Elements and cut-off of each chart."""

CELLS: Final = (320_000, 64_000_000)
"""Arrays of 2.5 MB and 512 MB."""


def shrinking_name(threads: int) -> str:
    return f"f-{threads}"


def walk_name(cells: int) -> str:
    return f"walk-{cells}"


def _sort(name: str, size: int, cutoff: int) -> Case:
    cuts = f"--sort-grain {cutoff} --merge-grain {cutoff}"
    return Case(name, "cilksort-tasks", f"--size {size} {cuts}")


def _walk(cells: int) -> Case:
    return Case(
        walk_name(cells),
        "arraywalk-tasks",
        f"--size {cells} --gap 32 --additions 1 --rounds {CELLS[-1] // cells}",
    )


def steps(size: str) -> Sequence[Step]:
    n_rounds, n_seeds = (5, 5) if size == "quick" else (20, 20)
    cases = [
        *(_sort(letter, n, cutoff) for letter, (n, cutoff) in CHARTS.items()),
        *(_sort(shrinking_name(n), LARGE, SHRINKING // n) for n in SHRINKING_THREADS),
    ]
    made = [*traces([*cases, *map(_walk, CELLS)], n_rounds)]
    made += [Simulated(letter, MACHINE, (POLICY,), THREADS, n_seeds).step() for letter in CHARTS]
    made += [
        Simulated(shrinking_name(n), MACHINE, (POLICY,), sorted({1, n}), n_seeds).step()
        for n in SHRINKING_THREADS
    ]
    return made
