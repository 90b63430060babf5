# SPDX-License-Identifier: Apache-2.0
"""The programs, inputs and schedulers for Olivier et al. steps.py has the measurements."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from papers.recordings import Case

MACHINE: Final = "4x-xeon-x7550"
THREADS: Final = (1, 8, 16, 24, 32)
PARALLEL: Final = THREADS[1:]
N_DOMAINS: Final = 4

TOPOLOGY: Final = "pack:4 numa:1 l3:1(size=18874368) l2:{cores}(size=262144) core:1 pu:1"
"""The paper's machine with the cores that a team uses: its threads are spread evenly over the sockets."""

SLOW_LINKS: Final = ", slow links"
"""The variant in which data of other sockets, also in their caches, cost SLOW_LINK times the own memory."""
SLOW_LINK: Final = 2.0

MEASURED_THREADS: Final = (1, 2)
SERIAL, TASKS, LOCALITY, STRICTLY = "serial", "tasks", "not strict", "strict"
"""The names of the timed versions; a number of threads follows all but the first."""

_ON_FOUR_DOMAINS: Final = {
    "OMP_EXT_DOMAINS": f"synthetic:pack:{N_DOMAINS} numa:1 l3:1 core:1 pu:1",
    "OMP_EXT_STRICT": "1",
    "OMP_PROC_BIND": "false",
    "OMP_WAIT_POLICY": "passive",  # four threads share fewer processors
}
"""A described machine with one thread in each domain, so that the trace has the domain of every task."""


@dataclass(frozen=True, slots=True)
class Scheduler:
    """One of the paper's schedulers: our policy, and its name on the page."""

    label: str
    policy: str
    serial_pages: bool = False  # one thread initializes the data


INTEL: Final = Scheduler("queue per thread", "libomp")
QTHREADS: Final = Scheduler("queue per socket", "shared-lifo")
NON_STRICT: Final = Scheduler("not strict", "locality")
STRICT: Final = Scheduler("strict", "strict")
SERIAL_PAGES: Final = Scheduler("serial pages", "shared-lifo", serial_pages=True)
SCHEDULERS: Final = (INTEL, QTHREADS, NON_STRICT, STRICT, SERIAL_PAGES)


@dataclass(frozen=True, slots=True)
class Program:
    """A program, and its inputs by size: of simulated recordings and of timed runs."""

    name: str
    simulated: Mapping[str, str]
    measured: Mapping[str, str]
    # The version `tasks` initializes its data in one thread. It is recorded, too.
    has_serial_pages: bool = False
    has_locality: bool = True

    @property
    def schedulers(self) -> Sequence[Scheduler]:
        if not self.has_locality:
            return [INTEL, QTHREADS]
        return [one for one in SCHEDULERS if not one.serial_pages or self.has_serial_pages]

    def trace_of(self, scheduler: Scheduler) -> str:
        """Returns the name of the recording that is simulated under this scheduler."""
        return self.name if self.has_locality and not scheduler.serial_pages else f"{self.name}-tasks"

    def recorded(self, size: str) -> Iterator[Case]:
        """Yields the recordings for simulations."""
        options = self.simulated[size]
        if self.has_locality:
            yield Case(self.name, f"{self.name}-locality-marked", options, N_DOMAINS, _ON_FOUR_DOMAINS)
        if self.has_serial_pages or not self.has_locality:
            yield Case(f"{self.name}-tasks", f"{self.name}-tasks-marked", options, 2)

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


HEALTH: Final = Program(
    "health",
    {"quick": "--size 7 --steps 40 --depth 4", "full": "--size 7 --steps 200 --depth 4"},
    {"quick": "--size 6 --steps 40 --depth 4", "full": "--size 7 --steps 200 --depth 4"},
    has_serial_pages=True,
)
HEAT: Final = Program(
    "heat",
    {"quick": "--size 2000 --steps 40 --grain 16", "full": "--size 2000 --steps 200 --grain 16"},
    {"quick": "--size 2000 --steps 40 --grain 16", "full": "--size 4000 --steps 200 --grain 16"},
)
SORT: Final = Program(
    "sort",
    {"quick": "--size 8000000 --grain 32768", "full": "--size 64000000 --grain 32768"},
    {"quick": "--size 2000000 --grain 32768", "full": "--size 32000000 --grain 32768"},
)
STRASSEN: Final = Program(
    "strassen",
    {"quick": "--size 1024 --grain 128", "full": "--size 2048 --grain 128"},
    {"quick": "--size 1024 --grain 128", "full": "--size 2048 --grain 128"},
)
SPARSELU: Final = Program(
    "sparselu",
    {"quick": "--size 50 --block 48", "full": "--size 80 --block 64"},
    {"quick": "--size 30 --block 48", "full": "--size 50 --block 80"},
    has_locality=False,
)
LOCAL: Final = (HEALTH, HEAT)
"""The programs to which the paper adds locality."""
PROGRAMS: Final = (*LOCAL, SORT, STRASSEN, SPARSELU)
