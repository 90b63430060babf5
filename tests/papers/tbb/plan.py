# SPDX-License-Identifier: Apache-2.0
"""The measurements for Contreras and Martonosi: the recorded programs, and their simulations.

The inputs approximate the paper's Table II: the number of tasks, and the mean time of a task. A cycle of the
paper's processor counts as half a nanosecond, as in the machine file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from papers.model import Step
from papers.recordings import WITHOUT_VECTORS, Case, Simulated, profiles, traces, under_extension

MACHINE: Final = "cmp-32"
CYCLES_PER_NS: Final = 2.0
THREADS: Final = (1, 2, 4, 8, 9, 12, 16, 25, 32)
RANDOM, OCCUPANCY, GROUP = "random", "occupancy", "group"
IDEAL_OCCUPANCY, IDEAL_STEALER = "ideal-occupancy", "ideal-stealer"
POLICIES: Final = (RANDOM, OCCUPANCY, GROUP, IDEAL_OCCUPANCY, IDEAL_STEALER)
MEASURED_THREADS: Final = (1, 2)

N_SWAPTIONS: Final = 64
N_OPTIONS: Final = 1_228_800
GRAINS: Final = (1280, 128, 64)
"""Options in a task of blackscholes: about 96,000, 10,000 and 5,000 cycles."""
_N_GRAIN_TASKS: Final = 2**15
"""Tasks of each grain, about as many per core as in the paper. A power of two, so that all are equal."""
ATTEMPT: Final = 200
"""The most cycles of a failed steal in the paper."""
BACK_OFF: Final = 1000
"""Cycles of a failed steal and the pause that follows: TBB's 80 instructions of ten cycles."""
OTHER_BACK_OFFS: Final = (ATTEMPT, 5000)
"""Cycles of a failed steal without a pause, and with a long pause."""
_STEAL_CYCLES: Final = {"bitcounter": 560}
"""Cycles of a successful steal on any number of cores (V.A.2). The machine file has treeadd's."""
DEPTHS: Final = (11, 21)
"""Levels of treeadd that create tasks: 4,094 and 4,194,302 tasks. The paper compares 6,000 and 6,000,000."""


@dataclass(frozen=True, slots=True)
class Program:
    """A program of the paper's Table II, with the paper's figures, and its input."""

    name: str
    tasks: str  # the paper's number of tasks
    cycles: str  # the paper's mean time of a task
    options: str
    task_cycles: float = 0.0  # `cycles` as a number; 0: our tasks have the recorded time

    def case(self) -> Case:
        return Case(self.name, f"{self.name}-tasks", self.options, variables=WITHOUT_VECTORS)


# The paper's 5,740 tasks of bitcounter are 20 loops of 287 tasks; the 12,224 of matmult are 64 loops of 191.
# A loop over n pieces has n - 1 tasks.
_BITCOUNTER = "--size 288 --words 4500 --rounds 20 --grain 1"
_MATMULT = "--size 224 --block 16 --grain 1 --repeat 63"
_LU = "--size 1440 --block 32 --grain 0 --waves halved"
_TREEADD = "--size 21 --passes 3 --depth 11"

MICRO: Final = (
    Program("bitcounter", "5,740", "5K", _BITCOUNTER, 5000),
    Program("matmult", "12,224", "6K", _MATMULT, 6000),
    Program("lu", "31,200", "4K", _LU, 4000),
    Program("treeadd", "12,290", "not given", _TREEADD),
)
PARSEC: Final = (
    Program(
        "swaptions",
        "120,000",
        "25K",
        f"--size {N_SWAPTIONS} --paths 120000 --grain 64",
        25000,
    ),
    Program(
        "blackscholes",
        "1,200 N",
        "256K at 32 cores",
        f"--size {N_OPTIONS} --rounds 75 --grain 3200",
    ),
    Program(
        "fluidanimate",
        "420 N",
        "19M",
        "--size 300000 --steps 5 --grain 4",
    ),
    Program(
        "streamcluster",
        "11,000 + 6,000 N",
        "23M",
        "--size 16384 --dimensions 128 --clusters 10 --chunk 16384 --grain 256",
    ),
)
PROGRAMS: Final = (*MICRO, *PARSEC)
# blackscholes above has the tasks of 32 cores. This case has PARSEC's large input and 1,200 N tasks: N = 4.
_LARGE_BLACKSCHOLES: Final = Case(
    "blackscholes-large",
    "blackscholes-tasks",
    "--size 65536 --rounds 75 --grain 1024",
    variables=WITHOUT_VECTORS,
)


def on_four_processors(program: str) -> str:
    """Returns the case of a program of Tab. III, with PARSEC's large input or one that takes as long."""
    return _LARGE_BLACKSCHOLES.name if program == "blackscholes" else program


def grain_case(grain: int) -> Case:
    """Returns blackscholes, one round, with this many options in a task."""
    options = f"--size {_N_GRAIN_TASKS * grain} --rounds 1 --grain {grain}"
    return Case(f"grain-{grain}", "blackscholes-tasks", options, variables=WITHOUT_VECTORS)


def depth_case(depth: int) -> Case:
    """Returns treeadd, one pass, with tasks down to this level."""
    options = f"--size 22 --passes 1 --depth {depth}"
    return Case(f"depth-{depth}", "treeadd-tasks", options, variables=WITHOUT_VECTORS)


def with_back_off(program: str, cycles: int) -> str:
    return f"{program}, failed steals of {cycles} cycles"


def _simulated(program: str, policies: Sequence[str], n_seeds: int) -> Simulated:
    task_cycles = next((one.task_cycles for one in PROGRAMS if one.name == program), 0.0)
    costs = {"failed_steal": BACK_OFF}
    if program in _STEAL_CYCLES:
        costs["steal"] = _STEAL_CYCLES[program]
    costs_ns = {name: cycles / CYCLES_PER_NS for name, cycles in costs.items()}
    return Simulated(
        program, MACHINE, policies, THREADS, n_seeds, costs_ns=costs_ns, task_ns=task_cycles / CYCLES_PER_NS
    )


def _with_back_off(usual: Simulated, cycles: int) -> Simulated:
    costs_ns = {**usual.costs_ns, "failed_steal": cycles / CYCLES_PER_NS}
    return replace(usual, threads=(1, 16, 25, 32), variant=with_back_off("", cycles), costs_ns=costs_ns)


def measured_name(program: str, threads: int) -> str:
    return f"{program}-{threads}"


def _measured() -> list[Case]:
    """Returns the two programs of Fig. 4, under the extension with random stealing."""
    return [
        Case(
            measured_name(one.name, threads),
            f"{one.name}-tasks",
            one.case().options,
            threads,
            under_extension(RANDOM),
        )
        for one in MICRO
        if one.name in ("bitcounter", "treeadd")
        for threads in MEASURED_THREADS
    ]


def steps(size: str) -> Sequence[Step]:
    n_rounds, n_seeds, n_micro_seeds = (5, 5, 15) if size == "quick" else (10, 20, 20)
    programs = [*(one.case() for one in PROGRAMS), _LARGE_BLACKSCHOLES]
    lengths = [*map(grain_case, GRAINS), *map(depth_case, DEPTHS)]
    made = [*traces([*programs, *lengths], n_rounds), *profiles(_measured(), n_rounds)]
    made += [_simulated(one.name, POLICIES, n_micro_seeds).step() for one in MICRO]
    made += [_simulated(one.name, (RANDOM,), n_seeds).step() for one in PARSEC]
    made += [
        replace(_simulated(case.name, (RANDOM,), n_seeds), threads=(1, 8, 32)).step() for case in lengths
    ]
    made += [replace(_simulated(_LARGE_BLACKSCHOLES.name, (RANDOM,), n_seeds), threads=(1, 4)).step()]
    for cycles in OTHER_BACK_OFFS:
        usual = [_simulated(one.name, (*POLICIES[:3], IDEAL_STEALER), n_seeds) for one in MICRO[:3]]
        made += [_with_back_off(one, cycles).step() for one in usual]
    return made
