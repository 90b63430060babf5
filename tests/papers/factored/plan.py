# SPDX-License-Identifier: Apache-2.0
"""The measurements for Acar et al.: the charts of Cilksort in Figure 3, and array walks as in Figure 5."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from papers.model import Step
from papers.recordings import Case, Simulated, traces
from papers.timings import Group, timings

MACHINE: Final = "4x-xeon-e7-4870"
POLICY: Final = "work-first"
"""A thread runs one branch of a fork immediately, and others may steal the rest, as in Cilk and PASL."""
THREADS: Final = (1, 5, 10, 20, 30, 40)
SHRINKING_THREADS: Final = (1, 10, 20, 40)
SHRINKING: Final = 8000
"""Chart (f): the cut-off is this number of elements divided by the number of cores."""

SMALL, LARGE, HUGE = 200_000, 10_000_000, 100_000_000
CHARTS: Final = {
    "a": (SMALL, 200),
    "b": (SMALL, 10_000),
    "c": (LARGE, 200),
    "d": (LARGE, 1000),
    "e": (HUGE, 1000),
}
"""Elements and cut-off of each chart."""
BASELINE: Final = "quicksort"

CELLS: Final = (320_000, 64_000_000)
"""Arrays of 2.5 MB and 512 MB."""
SCALED_CELLS: Final = 2_000_000
"""An array of 16 MB, which the 30 MB of an L3 hold: 2,000 tasks in each round."""
GAP: Final = 32
"""Cells between two visits."""


def shrinking_name(threads: int) -> str:
    return f"f-{threads}"


def walk_name(cells: int, gap: int = GAP) -> str:
    return f"walk-{cells}" if gap == GAP else f"walk-{cells}-gap-{gap}"


def baseline_name(size: int) -> str:
    return f"quicksort of {size}"


def _sort(name: str, size: int, cutoff: int) -> Case:
    cuts = f"--sort-grain {cutoff} --merge-grain {cutoff}"
    return Case(name, "cilksort-tasks", f"--size {size} {cuts}")


def _walk(cells: int, gap: int = GAP) -> Case:
    options = f"--size {cells} --gap {gap} --additions 1 --rounds {CELLS[-1] // cells}"
    return Case(walk_name(cells, gap), "arraywalk-tasks", options)


def _baseline(size: int) -> Group:
    """Returns the group that times the quicksort of a whole array."""
    n_repeats = max(1, min(50, LARGE // size))
    return Group(baseline_name(size), [Case(BASELINE, "cilksort-serial", f"--size {size}", 0)], n_repeats)


def steps(size: str) -> Sequence[Step]:
    n_small, n_rounds, n_huge, n_seeds = (15, 5, 2, 5) if size == "quick" else (40, 20, 5, 20)
    sorts = {letter: _sort(letter, n, cutoff) for letter, (n, cutoff) in CHARTS.items()}
    huge = sorts.pop("e")
    small = [case for letter, case in sorts.items() if CHARTS[letter][0] == SMALL]
    large = [case for case in sorts.values() if case not in small]
    shrinking = [_sort(shrinking_name(n), LARGE, SHRINKING // n) for n in SHRINKING_THREADS]
    walks = [*map(_walk, (*CELLS, SCALED_CELLS)), _walk(CELLS[-1], 1)]
    made = [*traces([*large, *shrinking, *walks], n_rounds), *traces(small, n_small), *traces([huge], n_huge)]
    made += [*timings([_baseline(n) for n in (SMALL, LARGE)], n_rounds), *timings([_baseline(HUGE)], n_huge)]
    made += [Simulated(letter, MACHINE, (POLICY,), THREADS, n_seeds).step() for letter in sorts]
    made.append(Simulated(huge.name, MACHINE, (POLICY,), THREADS, 1).step())
    made += [
        Simulated(shrinking_name(n), MACHINE, (POLICY,), sorted({1, n}), n_seeds).step()
        for n in SHRINKING_THREADS
    ]
    scaled = walk_name(SCALED_CELLS)
    return [*made, Simulated(scaled, MACHINE, (POLICY,), (1, THREADS[-1]), n_seeds).step()]
