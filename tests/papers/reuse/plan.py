# SPDX-License-Identifier: Apache-2.0
"""The measurements for Pericàs et al.: matmul and fmm, recorded here and simulated on the paper's machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from papers.model import Step
from papers.recordings import Case, Simulated, traces

MACHINE: Final = "4x-xeon-e7-4807"
SOCKET: Final = 6
"""Cores of a socket; threads fill one socket after another."""
THREADS: Final = (1, 3, 6, 12, 18, 24)

MTH, NESTED, CORE, SHARED = "work-first", "libomp", "help-first", "shared-lifo"
POLICIES: Final = (MTH, NESTED, CORE, SHARED)
"""Simulated policies in the place of MassiveThreads, TBB, QThread/Core and QThread/Socket."""

MATMUL, FMM = "matmul", "fmm"
PROGRAMS: Final = (MATMUL, FMM)


def _recorded(program: str, size: str) -> Case:
    options = {
        MATMUL: "--size 3072 --grain 48" if size == "quick" else "--size 4096 --grain 48",
        FMM: "--size 100000" if size == "quick" else "--size 1000000",
    }
    return Case(program, f"{program}-tasks-marked", options[program])


def steps(size: str) -> Sequence[Step]:
    n_traces, n_seeds = (5, 3) if size == "quick" else (10, 10)
    made = [*traces([_recorded(program, size) for program in PROGRAMS], n_traces)]
    made += [Simulated(program, MACHINE, POLICIES, THREADS, n_seeds).step() for program in PROGRAMS]
    return made
