# SPDX-License-Identifier: Apache-2.0
"""Steps that simulate programs with declared data: with caches and memory, and without their preparation.

The recorded program may prepare its data in parallel regions. Only the last of its region constructs is
measured, so the work of the others takes no time here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from ompass.simulation.machine import Machine, read_machine
from ompass.simulation.reader import (
    SimulatedRun,
    SimulationOptions,
    TaskProgram,
    parallel_regions,
    read_task_program,
)
from ompass.simulation.runs import DeclaredData, predict
from papers.model import Step, Workplace
from papers.recordings import COLUMNS, calmest_trace, row, trace_folder

_NO_TIME: Final = 1e9  # the speed of work that takes no time
_MEMORY: Final = ("local_bytes", "remote_bytes")


@dataclass(frozen=True, slots=True)
class SimulatedWithMemory:
    """A step that simulates the calmest trace of a case. Its value is a table with a row per run.

    The columns are those of Simulated, then `local_bytes` (from the own node) and `remote_bytes` (from other
    nodes and their caches), then `found_0`, … (the blocks found in each level of the caches).
    """

    case: str
    machine: str
    topology: str  # of a team; {cores} stands for the threads on each of `n_sockets`
    n_sockets: int
    policies: Sequence[str]
    threads: Sequence[int]
    n_seeds: int
    variant: str = ""  # name of a machine with other costs
    memory_of: str = ""  # the machine that gives the costs of caches and memory; empty: `machine`

    def step(self) -> Step:
        return Step(f"simulate {self.case}{self.variant}", self)

    def __call__(self, place: Workplace) -> dict[str, Any]:
        folder = trace_folder(place, self.case, calmest_trace(place.values, self.case)["number"])
        program = read_task_program(folder)
        memory = DeclaredData.of(folder, program)
        rows: list[list[Any]] = []
        for policy in self.policies:
            for n in self.threads:
                machine = self._machine(n)
                for seed in range(1, self.n_seeds + 1):
                    options = SimulationOptions(seed=seed, speed=unmeasured(program))
                    run = predict(program, machine, policy, n, options, untraced=True, memory=memory)
                    rows.append([*row(policy, n, seed, run), *_memory(run)])
        columns = [*COLUMNS, *_MEMORY]
        levels = [f"found_{level}" for level in range(len(rows[0]) - len(columns))]
        return {"columns": [*columns, *levels], "rows": rows}

    def _machine(self, threads: int) -> Machine:
        """Returns the machine with the cores that the team uses: threads are spread over the sockets."""
        cores = max(1, threads // self.n_sockets)
        machine = read_machine(self.machine).with_topology(self.topology.format(cores=cores))
        return replace(machine, memory=read_machine(self.memory_of).memory) if self.memory_of else machine


def unmeasured(program: TaskProgram) -> dict[int, float]:
    """Returns the speed of each region construct except the last one, so that their work takes no time."""
    *others, _ = sorted(region.construct for region in parallel_regions(program))
    return dict.fromkeys(others, _NO_TIME)


def _memory(run: SimulatedRun) -> list[int]:
    """Returns the values of _MEMORY, then the blocks found in each level."""
    local = sum(link[node] for node, link in enumerate(run.link_bytes))
    found = [level.n_hits for level in run.levels]
    remote = sum(map(sum, run.link_bytes)) - local
    return [local, remote, *found]
