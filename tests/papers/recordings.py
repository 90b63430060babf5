# SPDX-License-Identifier: Apache-2.0
"""Steps that several papers share: recorded benchmark programs, and simulations of the best recording.

Rounds are interleaved, so a disturbance affects all programs. The best recording of a program is the one with
the least work: other programs on the same processors can only add to it.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Any, Final

import toolchains
from ompass.readers.run import open_run
from ompass.simulation.machine import read_machine
from ompass.simulation.reader import SimulatedRun, read_task_program
from ompass.simulation.runs import predict, simulate
from papers import priority
from papers.model import Step, Values, Workplace

EXTENSION: Final = toolchains.BUILD / "lib" / "libomp_ext.so"
PATIENCE_S: Final = 300.0
_MANY_THREADS: Final = 256  # simulated to find the span of a recording

_FIGURES: Final = [
    "policy",
    "threads",
    "seed",
    "wall_ns",
    "serial_ns",
    "work_ns",
    "create_ns",
    "schedule_ns",
    "sync_ns",
    "idle_ns",
    "n_steals_attempted",
    "n_steals_successful",
    "n_steals_false_negative",
    "n_remote",
    "memory_ns",
    "busy_ns",
]
_OPERATIONS: Final = ("dequeue", "steal", "failed_steal", "wake")
COLUMNS: Final = [
    *_FIGURES,
    "llc_misses",
    *(f"{name}_{what}" for name in _OPERATIONS for what in ("n", "ns")),
]
"""The columns of a table of simulated runs; `row` returns the values."""


WITHOUT_VECTORS: Final = {"BOTS_VECTORS": "0"}
"""The environment of programs whose results are compared with those of processors without AVX."""


@dataclass(frozen=True, slots=True)
class Case:
    """A program with its options; `name` distinguishes the cases of one program."""

    name: str
    program: str  # file in build/release/bots, or bots-gcc
    options: str
    threads: int = 1  # 0 for serial versions
    variables: Mapping[str, str] = field(default_factory=dict)
    build: str = "bots"
    traced: bool = False  # True if timed runs record a trace

    def command(self) -> list[str]:
        threads = ["--threads", str(self.threads)] if self.threads else []
        return [str(toolchains.BUILD / self.build / self.program), *self.options.split(), *threads]


def under_extension(policy: str) -> dict[str, str]:
    """Returns the environment variables that run a program's tasks under libomp_ext.so."""
    return {"LD_PRELOAD": str(EXTENSION), "OMP_EXT_SCHEDULE": "1", "OMP_EXT_STEAL": policy}


def record(case: Case, folder: Path, mode: str) -> None:
    """Records a run of the program. Raises CalledProcessError with its output."""
    shutil.rmtree(folder, ignore_errors=True)
    command = [
        *priority.prefix(), sys.executable, "-m", "ompass", "run", "--quiet", "--once", "--no-report",
        "--sample", "off", "--mode", mode,
        "-o", str(folder), "--", *case.command(),
    ]  # fmt: skip
    environment = toolchains.neutral_environment() | {"OMP_PROC_BIND": "close", **case.variables}
    subprocess.run(command, env=environment, check=True, capture_output=True, text=True, timeout=PATIENCE_S)


def traces(cases: Sequence[Case], n_rounds: int) -> Iterator[Step]:
    """Yields a step per recording. Its value has the times of the recording."""
    for number in range(n_rounds):
        for case in cases:
            yield Step(_trace_key(case.name, number), _Traced(case, number))


def profiles(cases: Sequence[Case], n_rounds: int) -> Iterator[Step]:
    """Yields a step per recorded profile. Its value has the sums over all threads and regions."""
    for number in range(n_rounds):
        for case in cases:
            yield Step(f"profile {case.name} {number}", _Profiled(case))


def profiled(values: Values, name: str) -> list[dict[str, int]]:
    """Returns the profiles of all rounds of a case."""
    return [value for key, value in values.items() if key.rpartition(" ")[0] == f"profile {name}"]


def traced(values: Values, name: str) -> list[dict[str, int]]:
    """Returns the times of all recordings of a case."""
    return [value for key, value in values.items() if key.rpartition(" ")[0] == f"trace {name}"]


def best_trace(values: Values, name: str) -> dict[str, int]:
    """Returns the times of the best recording, which steps simulate; `work_ns` is the work of its tasks."""
    return min(traced(values, name), key=lambda times: times["work_ns"])


def calmest_trace(values: Values, name: str) -> dict[str, int]:
    """Returns the times of the recording with the shortest span: one disturbed task can make a span long."""
    return min(traced(values, name), key=lambda times: times["span_ns"])


def n_rounds(values: Values, name: str) -> int:
    return len(traced(values, name))


def n_seeds(values: Values, case: str, threads: int | None = None) -> int:
    """Returns the number of seeds with which a case was simulated, on `threads` threads if it is given."""
    table = values[f"simulate {case}"]
    seed, of_threads = (table["columns"].index(name) for name in ("seed", "threads"))
    return len({row[seed] for row in table["rows"] if threads in (None, row[of_threads])})


def disturbance(values: Values, names: Sequence[str]) -> float:
    """Returns the preempted time of all threads in these cases' recordings over their wall time."""
    times = [one for name in names for one in traced(values, name)]
    return sum(one["preempted_ns"] for one in times) / sum(one["wall_ns"] for one in times)


def spread(values: Values, names: Sequence[str]) -> float:
    """Returns the largest difference in work between recordings of one case, as a share of the best."""
    return max(
        max(one["work_ns"] for one in traced(values, name)) / best_trace(values, name)["work_ns"] - 1
        for name in names
    )


def _trace_key(name: str, number: int) -> str:
    return f"trace {name} {number}"


@dataclass(frozen=True, slots=True)
class _Traced:
    case: Case
    number: int

    def __call__(self, place: Workplace) -> dict[str, int]:
        folder = trace_folder(place, self.case.name, self.number)
        record(self.case, folder, "trace")
        program = read_task_program(folder)
        alone = predict(program, read_machine(), "random", 1, untraced=True)
        wide = predict(program, read_machine(), "ideal-stealer", _MANY_THREADS, untraced=True)
        return {
            "number": self.number,
            "n_tasks": alone.n_tasks,
            "wall_ns": program.wall_ns,
            "work_ns": alone.wall_ns - alone.serial_ns - alone.create_ns - alone.schedule_ns,
            "preempted_ns": program.preempted_ns,
            "span_ns": wide.wall_ns - wide.serial_ns,
        }


def best_folder(place: Workplace, name: str) -> Path:
    """Returns the run directory of the best recording of a case."""
    return trace_folder(place, name, best_trace(place.values, name)["number"])


def trace_folder(place: Workplace, name: str, number: int) -> Path:
    return place.folder / f"{name}-{number}.ompass"


@dataclass(frozen=True, slots=True)
class _Profiled:
    case: Case

    def __call__(self, place: Workplace) -> dict[str, int]:
        folder = place.folder / "profile.ompass"
        record(self.case, folder, "profile")
        run = open_run(folder)
        names = [
            "n_tasks",
            "work_ns",
            "create_ns",
            "schedule_ns",
            "sync_ns",
            "idle_ns",
            "preempted_ns",
            "schedule_preempted_ns",
            "work_preempted_ns",
            "n_steals",
            "steal_ns",
            "n_failed_steals",
            "failed_steal_ns",
        ]
        return {name: sum(getattr(row, name) for row in run.regions) for name in names}


@dataclass(frozen=True, slots=True)
class Simulated:
    """A step that simulates the best trace of a case. Its value is a table with a row per run."""

    case: str
    machine: str
    policies: Sequence[str]
    threads: Sequence[int]
    n_seeds: int
    seeds_of: Mapping[int, int] = field(default_factory=dict)  # exceptions to n_seeds, by number of threads
    variant: str = ""  # name of a machine with other costs
    costs_ns: Mapping[str, float] = field(default_factory=dict)  # the costs that differ
    task_ns: float = 0.0  # mean work of a task, which sets the speed of the cores; 0: the recorded speed

    def step(self) -> Step:
        return Step(f"simulate {self.case}{self.variant}", self)

    def __call__(self, place: Workplace) -> dict[str, Any]:
        folder = best_folder(place, self.case)
        program = read_task_program(folder)
        machine = read_machine(self.machine)
        other = {name: ((1, ns),) for name, ns in self.costs_ns.items()}
        machine = replace(machine, costs={**machine.costs, **other})
        if self.task_ns:
            best = best_trace(place.values, self.case)
            machine = replace(machine, clock_ratio=best["work_ns"] / best["n_tasks"] / self.task_ns)
        rows = []
        for seed in range(1, max(self.n_seeds, *self.seeds_of.values(), 0) + 1):
            done = simulate(
                folder,
                machine=machine,
                threads=[n for n in self.threads if seed <= self.seeds_of.get(n, self.n_seeds)],
                policies=self.policies,
                seed=seed,
                untraced=True,
                program=program,
            )
            rows += [row(one.policy, one.threads, seed, one.run) for one in done.predictions]
        return {"columns": COLUMNS, "rows": rows}


def row(policy: str, threads: int, seed: int, run: SimulatedRun) -> list[Any]:
    figures = [getattr(run, name) for name in _FIGURES[3:]]
    operations = [number for name in _OPERATIONS for number in run.operations[name]]
    llc_misses = run.levels[-1].n_misses if run.levels else 0  # 0: caches are not modelled
    return [policy, threads, seed, *figures, llc_misses, *operations]


def simulated(values: Values, case: str, policy: str, threads: int) -> list[dict[str, int]]:
    """Returns the simulated runs of a case, one per seed. `case` includes the name of a variant."""
    table = values[f"simulate {case}"]
    return [
        dict(zip(table["columns"], row, strict=True))
        for row in table["rows"]
        if row[0] == policy and row[1] == threads
    ]


def stolen_share(values: Values, case: str, policy: str, threads: int) -> float:
    """Returns the successful steals per task of the simulated runs."""
    runs = simulated(values, case, policy, threads)
    return median(run["n_steals_successful"] for run in runs) / best_trace(values, case)["n_tasks"]


def regions_ns(values: Values, case: str, policy: str, threads: int) -> float:
    """Returns the simulated time of the parallel regions, the median over the seeds."""
    return median(run["wall_ns"] - run["serial_ns"] for run in simulated(values, case, policy, threads))


def regions_work_ns(values: Values, case: str, policy: str, threads: int) -> float:
    """Returns the simulated work of all threads in parallel regions, the median over the seeds."""
    return median(run["work_ns"] - run["serial_ns"] for run in simulated(values, case, policy, threads))
