# SPDX-License-Identifier: Apache-2.0
"""The programs, inputs and schedulers for Olivier et al. steps.py has the measurements."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from papers.recordings import WITHOUT_VECTORS, Case

MACHINE: Final = "4x-xeon-x7550"
THREADS: Final = (1, 8, 16, 24, 32)
PARALLEL: Final = THREADS[1:]
N_DOMAINS: Final = 4

TOPOLOGY: Final = "pack:4 numa:1 l3:1(size=18874368) l2:{cores}(size=262144) core:1 pu:1"
"""The paper's machine with the cores that a team uses: its threads are spread evenly over the sockets."""

REFERENCE_MEMORY: Final = ", reference memory"
"""The variant with the costs of caches and memory of the reference machine, a current server."""

MEASURED_THREADS: Final = (1, 2)
SERIAL, TASKS, LOCALITY, STRICTLY = "serial", "tasks", "not strict", "strict"
"""The names of the timed versions; a number of threads follows all but the first."""

_ON_FOUR_DOMAINS: Final = {
    "OMP_EXT_DOMAINS": f"synthetic:pack:{N_DOMAINS} numa:1 l3:1 core:1 pu:1",
    "OMP_EXT_STRICT": "1",
    "OMP_PROC_BIND": "false",
    "OMP_WAIT_POLICY": "passive",  # four threads share fewer processors
    **WITHOUT_VECTORS,
}
"""A described machine with one thread in each domain, so that the trace has the domain of every task."""


@dataclass(frozen=True, slots=True)
class Scheduler:
    """One of the paper's schedulers: our policy, and its name on the page."""

    label: str
    policy: str
    spreads: bool = True  # True: pages are spread even if the paper's program initializes them in one thread


INTEL: Final = Scheduler("queue per thread", "libomp", spreads=False)
QTHREADS: Final = Scheduler("queue per socket", "shared-lifo", spreads=False)
SPREAD: Final = Scheduler("spread pages", "shared-lifo")
NON_STRICT: Final = Scheduler("not strict", "locality")
STRICT: Final = Scheduler("strict", "strict")
SCHEDULERS: Final = (INTEL, QTHREADS, SPREAD, NON_STRICT, STRICT)


@dataclass(frozen=True, slots=True)
class Program:
    """A program, and its inputs by size: of simulated recordings and of timed runs."""

    name: str
    simulated: Mapping[str, str]
    measured: Mapping[str, str]
    data: str  # size of the data of the simulated quick input
    their_data: str
    # The paper's oblivious version initializes its data in one thread, as our version `tasks` does.
    has_serial_pages: bool = False
    has_locality: bool = True

    @property
    def schedulers(self) -> Sequence[Scheduler]:
        if not self.has_locality:
            return [INTEL, QTHREADS]
        return [one for one in SCHEDULERS if one is not SPREAD or self.has_serial_pages]

    def trace_of(self, scheduler: Scheduler) -> str:
        """Returns the name of the recording that is simulated under this scheduler."""
        is_spread = scheduler.spreads or not self.has_serial_pages
        return self.name if self.has_locality and is_spread else f"{self.name}-tasks"

    def recorded(self, size: str) -> Iterator[Case]:
        """Yields the recordings for simulations."""
        options = self.simulated[size]
        if self.has_locality:
            yield Case(self.name, f"{self.name}-locality-marked", options, N_DOMAINS, _ON_FOUR_DOMAINS)
        if self.has_serial_pages or not self.has_locality:
            yield Case(f"{self.name}-tasks", f"{self.name}-tasks-marked", options, 2, WITHOUT_VECTORS)

    def timed(self, size: str) -> Iterator[Case]:
        options = self.measured[size]
        serial = options.partition(" --depth")[0].partition(" --grain")[0]  # serial versions have no cut-off
        yield Case(SERIAL, f"{self.name}-serial", serial, 0)
        for n in MEASURED_THREADS:
            yield Case(f"{TASKS} {n}", f"{self.name}-tasks", options, n, {"OMP_PROC_BIND": "close"})
        if self.has_locality:
            n = MEASURED_THREADS[-1]
            for name, strict in ((LOCALITY, "0"), (STRICTLY, "1")):
                variables = {"OMP_EXT_DOMAINS": str(n), "OMP_EXT_STRICT": strict, "OMP_PROC_BIND": "false"}
                yield Case(f"{name} {n}", f"{self.name}-locality", options, n, variables)

    def profiled(self, size: str) -> Iterator[Case]:
        """Yields the timed versions with tasks, under names for profiles."""
        for case in self.timed(size):
            if case.threads:
                yield replace(case, name=profile_name(self, case.name))


def profile_name(program: Program, version: str) -> str:
    return f"{program.name} {version}"


COUNTRY: Final = "--size 4 --children 36 --people 10"
"""The country of BOTS' medium input, for which the suite allocates 64 bytes a patient, and our program 32."""

# The data do not fit into one L3 of the paper's machine (18 MB). Only those of Health fit into all four.
HEALTH: Final = Program(
    "health",
    {"quick": f"{COUNTRY} --steps 40 --depth 2", "full": f"{COUNTRY} --steps 365 --depth 2"},
    {"quick": f"{COUNTRY} --steps 40 --depth 2", "full": f"{COUNTRY} --steps 365 --depth 2"},
    "41 MB",
    "69 MB: the suite's medium input, four levels of 36 cities, which are 144",
    has_serial_pages=True,
)
HEAT: Final = Program(
    "heat",
    {"quick": "--size 4000 --steps 20 --grain 16", "full": "--size 4000 --steps 100 --grain 16"},
    {"quick": "--size 2000 --steps 40 --grain 16", "full": "--size 4000 --steps 200 --grain 16"},
    "256 MB",
    "more than 72 MB: 32 threads read as much from memory as one",
)
SORT: Final = Program(
    "sort",
    {"quick": "--size 32000000 --grain 32768", "full": "--size 128000000 --grain 32768"},
    {"quick": "--size 2000000 --grain 32768", "full": "--size 32000000 --grain 32768"},
    "256 MB",
    "1 GB: 128 million integers, twice",
)
STRASSEN: Final = Program(
    "strassen",
    {"quick": "--size 2048 --grain 128", "full": "--size 4096 --grain 128"},
    {"quick": "--size 1024 --grain 128", "full": "--size 2048 --grain 128"},
    "101 MB",
    "1.6 GB: three matrices of 8192 x 8192",
)
SPARSELU: Final = Program(
    "sparselu",
    {"quick": "--size 80 --block 64", "full": "--size 100 --block 96"},
    {"quick": "--size 30 --block 48", "full": "--size 50 --block 80"},
    "up to 210 MB",
    "up to 800 MB: 10,000 x 10,000 elements",
    has_locality=False,
)
LOCAL: Final = (HEALTH, HEAT)
"""The programs to which the paper adds locality."""
PROGRAMS: Final = (*LOCAL, SORT, STRASSEN, SPARSELU)
