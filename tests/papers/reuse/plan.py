# SPDX-License-Identifier: Apache-2.0
"""The measurements for Pericàs et al.: matmul and fmm, measured here, simulated on the paper's machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from papers.model import Step
from papers.recordings import WITHOUT_VECTORS, Case, Simulated, traces, under_extension
from papers.reuse.distances import RecordedReuse, SimulatedReuse
from papers.timings import Group, timings

MACHINE: Final = "4x-xeon-e7-4807"
SOCKET: Final = 6
"""Cores of a socket; threads fill one socket after another."""
THREADS: Final = (1, 3, 6, 12, 18, 24)

MTH, NESTED, CORE, SHARED = "work-first", "tbb", "help-first", "shared-lifo"
POLICIES: Final = (MTH, NESTED, CORE, SHARED)
"""Policies that replace MassiveThreads, TBB (its waits nest), QThread/Core and QThread/Socket."""

MATMUL, FMM = "matmul", "fmm"
PROGRAMS: Final = (MATMUL, FMM)
SYMMETRIC: Final = "matmul-symmetric"
"""matmul with 64 x 64 tiles: halving divides them evenly, as in the paper, but not the tiles of 4096 rows."""


REUSE_THREADS: Final = (1, 6, 12, 24)
"""One core, and one, two and four sockets."""

LIBOMP, EXTENSION, TBB = "libomp", "extension", "oneTBB"
RUNTIMES: Final = (LIBOMP, EXTENSION, TBB)
SERIAL: Final = "serial"
ALONE, TRACED = "alone", "traced"
"""A program with its marks, without and with the tool."""


def traced_name(program: str) -> str:
    return f"{program} with the tool"


def speed_name(program: str) -> str:
    return f"{program} by runtime"


def options(program: str, size: str) -> str:
    """Returns the inputs that are recorded."""
    if program == MATMUL:
        return "--size 4096 --grain 48"
    return "--size 600000" if size == "quick" else "--size 1000000"


def pair_name(program: str) -> str:
    """Returns the name of the case that was recorded on two threads."""
    return f"{program}-2"


def _recorded(program: str, size: str, threads: int = 1) -> Case:
    name = program if threads == 1 else pair_name(program)
    return Case(name, f"{program}-tasks-marked", options(program, size), threads, WITHOUT_VECTORS)


def _timed_inputs(program: str) -> str:
    """Returns an input that takes some milliseconds, less than other programs' turns on the processor."""
    return "--size 384" if program == MATMUL else "--size 1500"


def _with_cuts(program: str) -> str:
    return _timed_inputs(program) + (" --grain 48" if program == MATMUL else "")


def _timed(program: str) -> Group:
    """Returns the cases of a program: on one thread of every runtime, and without tasks."""
    cuts = _with_cuts(program)
    cases = [
        Case(SERIAL, f"{program}-serial", _timed_inputs(program), 0),
        Case(LIBOMP, f"{program}-tasks", cuts),
        Case(EXTENSION, f"{program}-tasks", cuts, variables=under_extension("nearest")),
        Case(TBB, f"{program}-tbb", cuts),
    ]
    return Group(speed_name(program), cases, 60)


def _traced(program: str) -> Group:
    """Returns the cases of a program with its marks: alone, and with the tool."""
    cuts = _with_cuts(program)
    marked = f"{program}-tasks-marked"
    cases = [Case(name, marked, cuts, 1, WITHOUT_VECTORS, traced=name == TRACED) for name in (ALONE, TRACED)]
    return Group(traced_name(program), cases, 60)


def steps(size: str) -> Sequence[Step]:
    n_traces, n_pairs, n_rounds, n_seeds = (4, 2, 4, 3) if size == "quick" else (10, 5, 10, 10)
    seeds = {MATMUL: 5 if size == "quick" else 10, FMM: n_seeds}
    more = {MATMUL: {12: 24}, FMM: {}}  # more, because two schedulers differ little on two sockets
    pairs = [pair_name(program) for program in PROGRAMS]
    made = [*traces([_recorded(program, size) for program in PROGRAMS], n_traces)]
    made += traces([Case(SYMMETRIC, "matmul-tasks-marked", "--size 3072", 1, WITHOUT_VECTORS)], 1)
    made += traces([_recorded(program, size, 2) for program in PROGRAMS], n_pairs)
    made += timings([group(program) for program in PROGRAMS for group in (_timed, _traced)], n_rounds)
    made += [
        Simulated(program, MACHINE, POLICIES, THREADS, seeds[program], more[program]).step()
        for program in PROGRAMS
    ]
    made += [
        SimulatedReuse(program, MACHINE, POLICIES, REUSE_THREADS, seeds[program], more[program]).step()
        for program in PROGRAMS
    ]
    made.append(SimulatedReuse(SYMMETRIC, MACHINE, (MTH, CORE), (1,), 1).step())
    made += [SimulatedReuse(pair, MACHINE, (LIBOMP,), (2,), n_seeds).step() for pair in pairs]
    made += [RecordedReuse(pair, MACHINE).step() for pair in pairs]
    return made
