# SPDX-License-Identifier: Apache-2.0
"""The measurements for Duran et al.: timed programs with every kind of tasks, and simulated recordings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from papers.model import Step
from papers.olivier.plan import COUNTRY
from papers.recordings import WITHOUT_VECTORS, Case, Simulated, traces, under_extension
from papers.timings import Group, timings

MACHINE: Final = "4x-xeon-x7550"
POLICY: Final = "libomp"
THREADS: Final = (1, 2, 4, 8, 16, 32)
MEASURED_THREADS: Final = (1, 2)

LIBOMP, LIBGOMP, EXTENSION = "libomp", "libgomp", "extension"
RUNTIMES: Final = (LIBOMP, LIBGOMP, EXTENSION)
NONE, IF, FINAL, MANUAL = "none", "if", "final", "manual"
CUTOFFS: Final = (NONE, IF, FINAL, MANUAL)
SERIAL: Final = "serial"


@dataclass(frozen=True, slots=True)
class Program:
    """A program, its inputs by size, and the cut-offs that are measured; the last one is the usual one."""

    name: str
    quick: str
    full: str
    cutoffs: Sequence[str] = CUTOFFS
    version: str = "tasks"
    n_repeats: int = 20
    n_recorded: int = 1  # repeats in a recording; many make the preparation a small part of it

    @property
    def usual(self) -> str:
        return self.cutoffs[-1]

    @property
    def group(self) -> str:
        return self.name if self.version == "tasks" else f"{self.name}-{self.version}"

    def options(self, size: str) -> str:
        return self.quick if size == "quick" else self.full


_SPARSELU: Final = ("--size 24 --block 48", "--size 50 --block 80")
SPARSELU: Final = Program("sparselu", *_SPARSELU, (NONE,))
WITH_CUTOFFS: Final = (
    Program("fib", "--size 27 --depth 9", "--size 30 --depth 10", n_repeats=3),
    Program("floorplan", "--size 11 --depth 5", "--size 13 --depth 5"),
    Program(
        "health",
        "--size 4 --children 18 --people 10 --steps 50 --depth 2",
        f"{COUNTRY} --steps 365 --depth 2",
    ),
    Program("nqueens", "--size 11 --depth 3", "--size 12 --depth 3", n_repeats=10),
    Program("strassen", "--size 512 --grain 128", "--size 1024 --grain 128", n_recorded=20),
)
"""The programs for which the suite has versions with a manual cut-off and with an if clause."""
WITHOUT_CUTOFFS: Final = (
    Program("alignment", "--size 20 --residues 150", "--size 100 --residues 150", (NONE,)),
    Program("fft", "--size 17", "--size 20", (NONE, MANUAL)),
    Program("sort", "--size 300000", "--size 4000000", (NONE, MANUAL)),
    SPARSELU,
    Program("uts", "--tree tiny", "--tree T1", (NONE, MANUAL)),
)
LOOPS: Final = Program("sparselu", *_SPARSELU, (NONE,), "for")
"""sparselu with multiple generators; the other version has a single one."""
PROGRAMS: Final = (*WITH_CUTOFFS, *WITHOUT_CUTOFFS)

WIDE: Final = (
    Program("alignment", "--size 100 --residues 100", "--size 100 --residues 250", (NONE,)),
    Program("fib", "--size 43 --depth 15", "--size 46 --depth 16"),
    Program("health", f"{COUNTRY} --steps 40 --depth 2", f"{COUNTRY} --steps 365 --depth 2"),
    Program("nqueens", "--size 14 --depth 4", "--size 14 --depth 4"),
    Program("sort", "--size 32000000 --grain 8192", "--size 128000000 --grain 8192"),
    Program("sparselu", "--size 100 --block 96", "--size 100 --block 96"),
    Program("strassen", "--size 1024 --grain 128", "--size 4096 --grain 256", n_recorded=20),
)
"""The seven programs of Olivier et al., Figs. 1 and 2. The paper has 100 sequences, fib of 50, 144 cities, 14
queens, 128 million integers, 100 x 100 blocks of 100 x 100, and matrices of 8192."""


def variant(runtime: str, threads: int, cutoff: str, tied: bool = True) -> str:
    """Returns the name of a timed case in the group of its program."""
    return f"{runtime} {threads} {cutoff} {'tied' if tied else 'untied'}"


def traced_name(program: str, cutoff: str) -> str:
    return f"{program}-{cutoff}"


def wide_name(program: str) -> str:
    return f"{program}-wide"


def _timed(program: Program, size: str) -> Iterator[Case]:
    if program.version == "tasks":
        yield Case(SERIAL, f"{program.name}-serial", _without_cuts(program.options(size)), 0)
    for runtime in RUNTIMES:
        for threads in MEASURED_THREADS:
            kinds = [(cutoff, True) for cutoff in program.cutoffs]
            kinds += [(cutoff, False) for cutoff in dict.fromkeys((program.cutoffs[0], program.usual))]
            for cutoff, tied in kinds:
                yield Case(
                    variant(runtime, threads, cutoff, tied),
                    f"{program.name}-{program.version}",
                    f"{_task_options(program, size, cutoff)} --{'tied' if tied else 'untied'}",
                    threads,
                    under_extension("nearest") if runtime == EXTENSION else {},
                    "bots-gcc" if runtime == LIBGOMP else "bots",
                )


def _task_options(program: Program, size: str, cutoff: str) -> str:
    options = _without_cuts(program.options(size)) if cutoff == NONE else program.options(size)
    return f"{options} --cutoff {cutoff}"


def _without_cuts(options: str) -> str:
    """Returns the options without a depth or grain, which only cut-offs have."""
    return options.partition(" --depth")[0].partition(" --grain")[0]


def _recorded(
    program: Program, size: str, name: str, cutoff: str, variables: Mapping[str, str] = MappingProxyType({})
) -> Case:
    options = f"{_task_options(program, size, cutoff)} --repeat {program.n_recorded}"
    return Case(name, f"{program.name}-{program.version}", options, variables=variables)


def steps(size: str) -> Sequence[Step]:
    n_traces, n_rounds, n_seeds = (3, 3, 3) if size == "quick" else (10, 15, 10)
    wide = [_recorded(one, size, wide_name(one.name), one.usual, WITHOUT_VECTORS) for one in WIDE]
    narrow = [
        _recorded(one, "quick", traced_name(one.name, cutoff), cutoff)
        for one in WITH_CUTOFFS
        for cutoff in CUTOFFS
    ]
    groups = [Group(one.group, list(_timed(one, size)), one.n_repeats) for one in (*PROGRAMS, LOOPS)]
    made = [*traces([*wide, *narrow], n_traces)]
    made += [Simulated(case.name, MACHINE, (POLICY,), THREADS, n_seeds).step() for case in (*wide, *narrow)]
    return [*made, *timings(groups, n_rounds)]
