# SPDX-License-Identifier: Apache-2.0
"""Simulated runs of one program and of changed copies of it, compared with the unchanged program.

Owns the choice of the best value of a change, and the uncertainty of predictions.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

from ompass.simulation.addresses import SharedAddress
from ompass.simulation.machine import Machine
from ompass.simulation.reader import (
    MOST_THREADS,
    SimulatedRun,
    SimulationOptions,
    TaskProgram,
    in_team,
    run_simulation,
)
from ompass.simulation.runs import DeclaredData, predict, recorded_policy

LEAST_GAIN = 0.01
REVERSED = -1  # value of a change of kind "priority" that reverses the order of priorities
_EQUAL = 0.01  # relative difference below which runs count as equally long
_SEEDS = (2, 3)
_COSTS = (0.5, 2.0)  # factors by which the machine's costs may be wrong
LARGE = 500_000
"""Least total of tasks, dependences and accesses of a large program.

For a change of a large program, Trial tries fewer values, several at a time.
"""
_MOST_AT_A_TIME = 4  # each changed copy of a program takes memory
_COARSE = 3  # of a large program, every third value is tried first, then those near the best
_AT_LIMIT = 0.9  # least share of the time at which a lock or a chain counts as the limit
_ENOUGH = 8  # with this many times the threads, loops are so short that a chain becomes the limit
_FREE = SimulationOptions(costs={"create": ((1, 0.0),)})  # operations of the runtime take no time


@dataclass(frozen=True, slots=True)
class Tried:
    """One value of a change."""

    value: int
    wall_ns: int


@dataclass(frozen=True, slots=True)
class Change:
    """A change with its best value. Gains are shares of the simulated wall time without the change."""

    kind: str  # a kind in docs/simulation.md
    construct: int | None  # the changed construct; None: no particular one
    value: int  # best value: levels, ns, tasks, parts, chunks, domains, threads; 0: the change has no value
    wall_ns: int
    gain: float
    low: float = 0.0
    high: float = 0.0
    tried: tuple[Tried, ...] = ()
    at_most: bool = False  # True if the gain is an upper bound: the trace does not show the necessary order
    limit: str = ""  # for kind "threads": the limit of the gain: lock, chain, memory; empty: unknown
    limit_ns: int = 0  # the shortest possible time under this limit; 0: unknown
    iterations: int = 0  # grain, finer: iterations of a taskloop in each changed task; 0: unknown
    also: tuple[int, ...] = ()  # other constructs that the change concerns
    count: int = 0  # dependences, waits, acquisitions, barriers, regions or graphs that it concerns
    share_ns: int = 0  # the recorded time that it concerns; 0: unknown
    is_least: bool = False  # True if the gain lacks an unknown part, so the true gain may be larger
    priority: int = 0  # priority: the highest priority in the program; 0: it has none
    shared: SharedAddress | None = None  # dependence: the address that most of the tasks name; None: unknown


@dataclass(frozen=True)
class Way:
    """A way to simulate a change: the changed program, made when needed, and simulation options."""

    program: Callable[[], TaskProgram] | None = None  # None: the recorded program
    options: Mapping[str, Any] = field(default_factory=dict)


Candidate = tuple[Change, Way]


class Trial:
    """Simulated runs of one program on one machine, compared with the unchanged program."""

    def __init__(
        self, program: TaskProgram, machine: Machine, threads: int, memory: DeclaredData | None
    ) -> None:
        self.program = program
        self.memory = memory
        self.machine = machine
        self.threads = threads
        self.policy = recorded_policy(program)
        self.base = self.simulate()
        self.hides_passing = False  # True if the time to pass locks is unknown, because other programs ran

    def simulate(
        self,
        program: TaskProgram | None = None,
        policy: str = "",
        threads: int = 0,
        machine: Machine | None = None,
        **changes: Any,
    ) -> SimulatedRun:
        return predict(
            program or self.program,
            machine or self.machine,
            policy or self.policy,
            threads or self.threads,
            SimulationOptions(**changes),
            untraced=True,
            memory=self.memory,
        )

    def run(self, way: Way) -> SimulatedRun:
        return self.simulate(way.program() if way.program else None, **way.options)

    def best(
        self,
        kind: str,
        construct: int | None,
        ways: Mapping[int, Way],
        at_most: bool = False,
        **properties: Any,
    ) -> Candidate:
        """Returns the change with the best value: of the shortest run, or the middle one of equal runs."""
        runs = self._runs_of(ways)
        tried = [Tried(value, run.wall_ns) for value, run in runs.items()]
        queued = [run.n_tasks - run.n_inlined for run in runs.values()]
        best = tried[middle_of_shortest([one.wall_ns for one in tried], queued)]
        way = ways[best.value]
        gain = gain_of(self.base, runs[best.value])
        change = Change(kind, construct, best.value, best.wall_ns, gain, tried=tuple(tried), at_most=at_most)
        return replace(change, **properties), way

    @property
    def is_large(self) -> bool:
        program = self.program
        return program.n_tasks + program.n_dependences + program.n_accesses >= LARGE

    def _runs_of(self, ways: Mapping[int, Way]) -> dict[int, SimulatedRun]:
        """Returns the runs by value; for a large program, only every third value and those near the best."""
        values = list(ways)
        first = coarse_values(len(values)) if self.is_large else range(len(values))

        def run_at(places: Sequence[int]) -> dict[int, SimulatedRun]:
            work = [partial(self.run, ways[values[k]]) for k in places]
            return dict(zip(places, self._at_once(work), strict=True))

        runs = run_at(first)
        best = min(runs, key=lambda k: runs[k].wall_ns)
        rest = [k for k in range(len(values)) if k not in runs and abs(k - best) < _COARSE]
        runs |= run_at(rest)
        return {values[k]: runs[k] for k in sorted(runs)}

    def _at_once(self, work: Sequence[Callable[[], SimulatedRun]]) -> list[SimulatedRun]:
        """Returns the results in order; for a large program, simulates several at a time."""
        n_workers = min(len(work), _MOST_AT_A_TIME, len(os.sched_getaffinity(0)))
        if n_workers < 2 or not self.is_large:
            return [one() for one in work]
        with ThreadPoolExecutor(n_workers) as pool:
            return list(pool.map(lambda one: one(), work))

    def of_program(
        self,
        kind: str,
        construct: int | None,
        program: Callable[[], TaskProgram],
        **properties: Any,
    ) -> Candidate:
        """Returns a change that has no values to choose from."""
        return self.best(kind, construct, {0: Way(program)}, **properties)

    @property
    def chunk_ns(self) -> int:
        """The time to get a chunk of a loop."""
        points = self.machine.costs_of("libomp").get("chunk", ())
        return round(max((ns for n, ns in points if n <= self.threads), default=0))

    @property
    def n_domains(self) -> int:
        """Number of domains of the threads if data is declared and memory is modelled; else 1."""
        return max(self.machine.domains(self.threads), default=0) + 1 if self.base.levels else 1

    def is_comparable(self, threads: int) -> bool:
        """True if this number of threads and the unchanged run both model memory, or neither does."""
        is_modelled = self.memory is not None and self.memory.system(self.machine, threads) is not None
        return is_modelled == bool(self.base.levels)

    @property
    def most_by_order(self) -> float:
        """The gain of a change that removes all waits and no work."""
        waits_ns = self.base.sync_ns + self.base.idle_ns
        return waits_ns / max(1, self.threads * self.base.wall_ns)

    def limit_of(self, wall_ns: int) -> tuple[str, int]:
        """Returns Change.limit and Change.limit_ns of a run of `wall_ns` on more threads."""
        lock_ns = self.program.longest_hold_ns
        if lock_ns >= _AT_LIMIT * wall_ns:
            return "lock", lock_ns
        n_threads = MOST_THREADS
        if self.program.loop_counts[0]:
            n_threads = min(_ENOUGH * self.threads, MOST_THREADS)
        chain_ns = run_simulation(in_team(self.program, n_threads), "help-first", n_threads, _FREE).wall_ns
        if chain_ns >= _AT_LIMIT * wall_ns:
            return "chain", chain_ns
        return ("", 0) if self.base.levels else ("memory", 0)

    def range_of(self, gain: float, way: Way) -> tuple[float, float]:
        """Returns the smallest and the largest gain over other seeds and other costs."""
        program = way.program() if way.program else None
        runs = self._at_once(
            [partial(variant, program=program, **way.options) for _, variant in self._variants]
        )
        bases = (base for base, _ in self._variants)
        gains = [gain, *(gain_of(base, run) for base, run in zip(bases, runs, strict=True))]
        return min(gains), max(gains)

    def with_range(self, change: Change, way: Way) -> Change:
        low, high = self.range_of(change.gain, way)
        return replace(change, low=low, high=high)

    @cached_property
    def _variants(self) -> list[tuple[SimulatedRun, Callable[..., SimulatedRun]]]:
        """Simulations with other seeds or other costs, each with the run of the unchanged program."""
        variants = [
            *(partial(self.simulate, seed=seed) for seed in _SEEDS[: 1 if self.is_large else None]),
            *(partial(self.simulate, machine=self.machine.with_costs(factor)) for factor in _COSTS),
        ]
        return list(zip(self._at_once(variants), variants, strict=True))


def gain_of(base: SimulatedRun, changed: SimulatedRun) -> float:
    """Returns the part of the time of a run that a changed run saves."""
    return 1 - changed.wall_ns / base.wall_ns if base.wall_ns else 0.0


def coarse_values(n: int) -> list[int]:
    """Returns the indices to try first among n values, including the last one."""
    return sorted({*range(0, n, _COARSE), n - 1})


def middle_of_shortest(walls: Sequence[float], n_tasks: Sequence[int]) -> int:
    """Returns the middle index among the shortest run and the neighbours that count as equally long.

    A small error of a prediction costs most at the edges of this range. The middle is the geometric mean of
    the numbers of queued tasks, which determine the tasks' cost and balance. If these numbers are equal, it
    is the middle index.
    """
    low = high = min(range(len(walls)), key=walls.__getitem__)
    limit = walls[low] * (1 + _EQUAL)
    while low > 0 and walls[low - 1] <= limit:
        low -= 1
    while high + 1 < len(walls) and walls[high + 1] <= limit:
        high += 1
    size = [math.log(max(1, n)) for n in n_tasks]
    return min(
        range(low, high + 1),
        key=lambda k: (abs(2 * size[k] - size[low] - size[high]), abs(2 * k - low - high)),
    )
