# SPDX-License-Identifier: Apache-2.0
"""The measurements for Olivier et al.: recordings with placed tasks and declared data, simulated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from papers.declared_data import SimulatedWithMemory
from papers.model import Step
from papers.recordings import Case, traces

MACHINE: Final = "4x-xeon-x7550"
THREADS: Final = (1, 8, 16, 24, 32)
PARALLEL: Final = THREADS[1:]
N_DOMAINS: Final = 4

TOPOLOGY: Final = "pack:4 numa:1 l3:1(size=18874368) l2:{cores}(size=262144) core:1 pu:1"
"""The paper's machine with the cores that a team uses: its threads are spread evenly over the sockets."""


@dataclass(frozen=True, slots=True)
class Scheduler:
    """One of the paper's schedulers: our policy, and its name on the page."""

    label: str
    policy: str
    serial_pages: bool = False  # one thread initializes the data, if the program has such a version


INTEL: Final = Scheduler("queue per thread", "libomp", serial_pages=True)
QTHREADS: Final = Scheduler("queue per socket", "shared-lifo", serial_pages=True)
SPREAD_PAGES: Final = Scheduler("spread pages", "shared-lifo")
NON_STRICT: Final = Scheduler("not strict", "locality")
STRICT: Final = Scheduler("strict", "strict")
SCHEDULERS: Final = (INTEL, QTHREADS, NON_STRICT, STRICT, SPREAD_PAGES)


@dataclass(frozen=True, slots=True)
class Program:
    """A program and its inputs by size."""

    name: str
    quick: str
    full: str
    has_serial_pages: bool = (
        False  # the version with tasks but without locality initializes its data serially
    )

    @property
    def schedulers(self) -> Sequence[Scheduler]:
        return [one for one in SCHEDULERS if one is not SPREAD_PAGES or self.has_serial_pages]

    def trace_of(self, scheduler: Scheduler) -> str:
        """Returns the name of the recording that is simulated under this scheduler."""
        return f"{self.name}-tasks" if self.has_serial_pages and scheduler.serial_pages else self.name

    def options(self, size: str) -> str:
        return self.quick if size == "quick" else self.full

    def cases(self, size: str) -> Iterator[Case]:
        """Yields the recordings."""
        options = self.options(size)
        yield Case(self.name, f"{self.name}-locality-marked", options, N_DOMAINS, _ON_FOUR_DOMAINS)
        if self.has_serial_pages:
            yield Case(self.trace_of(INTEL), f"{self.name}-tasks-marked", options, 2)

    def simulations(self, n_seeds: int) -> Iterator[SimulatedWithMemory]:
        for trace in dict.fromkeys(map(self.trace_of, self.schedulers)):
            policies = {one.policy: None for one in self.schedulers if self.trace_of(one) == trace}
            yield SimulatedWithMemory(trace, MACHINE, TOPOLOGY, N_DOMAINS, list(policies), THREADS, n_seeds)


_ON_FOUR_DOMAINS: Final = {
    "OMP_EXT_DOMAINS": f"synthetic:pack:{N_DOMAINS} numa:1 l3:1 core:1 pu:1",
    "OMP_EXT_STRICT": "1",
    "OMP_PROC_BIND": "false",
    "OMP_WAIT_POLICY": "passive",  # four threads share fewer processors
}
"""A described machine with one thread in each domain, so that the trace has the domain of every task."""

HEALTH: Final = Program(
    "health", "--size 7 --steps 40 --depth 4", "--size 7 --steps 200 --depth 4", has_serial_pages=True
)
HEAT: Final = Program("heat", "--size 2000 --steps 40 --grain 16", "--size 2000 --steps 200 --grain 16")
SIMULATED: Final = (HEALTH, HEAT)


def steps(size: str) -> Sequence[Step]:
    n_rounds, n_seeds = (5, 3) if size == "quick" else (10, 10)
    made = [*traces([case for one in SIMULATED for case in one.cases(size)], n_rounds)]
    return [*made, *(one.step() for program in SIMULATED for one in program.simulations(n_seeds))]
