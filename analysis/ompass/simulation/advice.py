# SPDX-License-Identifier: Apache-2.0
"""Changes of a recorded program, each simulated and ranked by its gain.

Owns the set of changes, and the uncertainty of predictions. report.py puts changes into words.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from ompass.keeping.names import resolver_for
from ompass.model import Run
from ompass.readers.run import open_run
from ompass.reports.content import same_place
from ompass.simulation.machine import Machine, read_machine
from ompass.simulation.reader import (
    MOST_THREADS,
    SimulatedRun,
    SimulationOptions,
    TaskProgram,
    TaskShape,
    as_taskloop,
    balanced,
    coarser,
    finer,
    in_team,
    loop_shapes,
    placed,
    prioritised,
    read_task_program,
    run_simulation,
    spread_out,
    task_shapes,
    untied,
    with_dependences,
    with_larger_chunks,
    without_phases,
)
from ompass.simulation.runs import DeclaredData, notes_on, predict
from ompass.symbols.resolver import UNKNOWN, Location
from ompass.units import duration, plural

FASTER = 2.0  # speed-up of a construct in the causal profile
_LEAST_SHARE = 0.005  # least part of the work: smaller constructs are ignored
_LEAST_GAIN = 0.01
_EQUAL = 0.01  # relative difference below which runs count as equally long
_MANY = 32  # fewest consecutive tasks for advice on grain and producer
_PHASES = 3
_DEEPEST = 30
_TIMES_NS = tuple(250 * 2**k for k in range(13))  # 250 ns to 1 ms
_GRAINS = (2, 4, 8, 16, 32, 64)
_PARTS = (2, 4, 8, 16)
_CHUNKS = (2, 4, 8, 16, 32, 64)
_TASKS_OF_LOOP = (2, 8, 32)  # per thread
_UNBALANCED = 1.02  # least ratio of slowest thread to mean in an unbalanced loop
_MOST_ACCESSES = 2_000_000  # dependences are not derived from more
_SEEDS = (2, 3)
_COSTS = (0.5, 2.0)  # factors by which the machine's costs may be wrong
_CHECKED = 12  # changes with a computed uncertainty
_AT_LIMIT = 0.9  # least share of the time that a lock or a chain takes to be called its limit
_ENOUGH = 8  # times the threads: so many shorten a loop as far as a chain can matter
_FREE = SimulationOptions(costs={"create": ((1, 0.0),)})  # operations of the runtime take no time


@dataclass(frozen=True, slots=True)
class Tried:
    """One value of a change."""

    value: int
    wall_ns: int


@dataclass(frozen=True, slots=True)
class Change:
    """A change with its best value. Gains are shares of the simulated wall time without the change."""

    kind: str  # one of those in docs/simulation.md
    construct: int | None  # the changed construct; None: no particular one
    value: int  # best value: levels, ns, tasks, parts, chunks, domains, threads; 0: the change has no value
    wall_ns: int
    gain: float
    low: float = 0.0
    high: float = 0.0
    tried: tuple[Tried, ...] = ()
    at_most: bool = False  # an upper bound, because the trace does not show which waits are needed
    limit: str = ""  # threads: what forbids a larger gain: "lock", "chain", "memory" or "" (nothing known)
    limit_ns: int = 0  # the shortest possible time under this limit; 0: unknown
    iterations: int = 0  # grain, finer: iterations of a taskloop in each changed task; 0: unknown


@dataclass(frozen=True, slots=True)
class Causal:
    """The effect of a faster construct."""

    construct: int
    work_ns: int
    work_share: float
    gain: float  # if the construct is FASTER times as fast
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class AdviceContent:
    """All changes with a gain, best first, and the causal profile."""

    run: Run
    program: TaskProgram
    machine: Machine
    threads: int
    base: SimulatedRun
    changes: tuple[Change, ...]
    causal: tuple[Causal, ...]
    locations: Mapping[int, Location]
    notes: tuple[str, ...]

    def location(self, construct: int | None) -> Location:
        return self.locations.get(construct, UNKNOWN) if construct is not None else UNKNOWN

    def kind_of(self, construct: int) -> str:
        return self.run.kind_of(construct)


Simulate = Callable[..., SimulatedRun]

# The limit of the gain of more threads, as the end of a sentence.
LIMITS: Mapping[str, Callable[[Change], str]] = {
    "": lambda change: "",
    "lock": lambda change: (
        f": the program holds one lock for {duration(change.limit_ns)} in total, so no number of "
        "threads takes less"
    ),
    "chain": lambda change: (
        f": the longest chain of work takes {duration(change.limit_ns)}, so no number of threads takes less"
    ),
    "memory": lambda change: ", if the memory is fast enough for them, which the simulation does not model",
}


def advise(
    path: Path,
    *,
    machine: Machine | None = None,
    threads: int = 0,
    progress: Callable[[str], None] = lambda what: None,
) -> AdviceContent:
    """Simulates all changes of the run in a directory; `threads` 0 is the recorded number, but at least two.

    Raises the errors of read_task_program and Machine.check_threads.
    """
    run = open_run(path)
    program = read_task_program(path)
    machine = machine or read_machine()
    threads = threads or max(2, program.n_threads)
    machine.check_threads(threads)
    resolver = resolver_for(run)
    locations = {d.id: resolver.locate(d) for d in run.definitions}
    trial = _Trial(program, machine, threads, DeclaredData.of(path, program))
    found: list[tuple[Change, Simulate]] = []
    for what, change, again in _changes(trial):
        progress(what)
        found.append((change, again))
    notes = notes_on(program, [trial.base], other_team=True)
    notes += tuple(
        _no_gain(change)
        for change, _ in found
        if change.kind == "threads" and change.gain < _LEAST_GAIN and change.limit_ns
    )
    found = [one for one in found if one[0].gain >= _LEAST_GAIN]
    found.sort(key=lambda one: -one[0].gain)
    # More threads are no change of the program, so they come last.
    of_program = [one for one in found if one[0].kind != "threads"]
    found = of_program[:_CHECKED] + [one for one in found if one[0].kind == "threads"]
    progress("uncertainty")
    changes = [trial.with_range(change, again) for change, again in found]
    progress("causal profile")
    return AdviceContent(
        run=run,
        program=program,
        machine=machine,
        threads=threads,
        base=trial.base,
        changes=tuple(change for change in changes if change.low > 0),
        causal=tuple(causal_profile(trial, same_place(run, locations))),
        locations=locations,
        notes=notes,
    )


class _Trial:
    """Simulated runs of one program on one machine, compared with the unchanged program."""

    def __init__(
        self, program: TaskProgram, machine: Machine, threads: int, memory: DeclaredData | None
    ) -> None:
        self.program = program
        self.memory = memory
        self.machine = machine
        self.threads = threads
        self.base = self.simulate()
        self._variants = [
            *(partial(self.simulate, seed=seed) for seed in _SEEDS),
            *(partial(self.simulate, machine=self._with_costs(factor)) for factor in _COSTS),
        ]
        self._bases = [variant() for variant in self._variants]

    def simulate(
        self,
        program: TaskProgram | None = None,
        policy: str = "libomp",
        threads: int = 0,
        machine: Machine | None = None,
        **changes: Any,
    ) -> SimulatedRun:
        return predict(
            program or self.program,
            machine or self.machine,
            policy,
            threads or self.threads,
            SimulationOptions(**changes),
            untraced=True,
            memory=self.memory,
        )

    @property
    def chunk_ns(self) -> int:
        """The time to get a chunk of a loop."""
        points = self.machine.costs_of("libomp").get("chunk", ())
        return round(max((ns for n, ns in points if n <= self.threads), default=0))

    @property
    def n_domains(self) -> int:
        """Number of domains of the threads if data is declared and memory is modelled; else 1."""
        return max(self.machine.domains(self.threads), default=0) + 1 if self.base.levels else 1

    def limit_of(self, wall_ns: int) -> tuple[str, int]:
        """Returns what keeps more threads from shortening such a run, and the least possible time."""
        lock_ns = self.program.longest_hold_ns
        if lock_ns >= _AT_LIMIT * wall_ns:
            return "lock", lock_ns
        n_threads = _ENOUGH * self.threads if self.program.loop_counts[0] else MOST_THREADS
        chain_ns = run_simulation(in_team(self.program, n_threads), "help-first", n_threads, _FREE).wall_ns
        if chain_ns >= _AT_LIMIT * wall_ns:
            return "chain", chain_ns
        return ("", 0) if self.base.levels else ("memory", 0)

    def gain(self, changed: SimulatedRun) -> float:
        return _gain(self.base, changed)

    def range_of(self, gain: float, **how: object) -> tuple[float, float]:
        """Returns the smallest and the largest gain over other seeds and other costs."""
        gains = [
            _gain(base, variant(**how)) for base, variant in zip(self._bases, self._variants, strict=True)
        ]
        return min([gain, *gains]), max([gain, *gains])

    def with_range(self, change: Change, again: Simulate) -> Change:
        low, high = self.range_of(change.gain, **again.keywords)  # type: ignore[attr-defined]
        return replace(change, low=low, high=high)

    def _with_costs(self, factor: float) -> Machine:
        def scaled(
            costs: Mapping[str, Sequence[tuple[int, float]]],
        ) -> dict[str, tuple[tuple[int, float], ...]]:
            return {name: tuple((n, ns * factor) for n, ns in points) for name, points in costs.items()}

        return replace(
            self.machine,
            costs=scaled(self.machine.costs),
            by_runtime={runtime: scaled(costs) for runtime, costs in self.machine.by_runtime.items()},
        )


def _gain(base: SimulatedRun, changed: SimulatedRun) -> float:
    return 1 - changed.wall_ns / base.wall_ns if base.wall_ns else 0.0


def middle_of_shortest(walls: Sequence[float], n_tasks: Sequence[int]) -> int:
    """Returns the middle index of the shortest run and its neighbours that count as equally long.

    At the edge of this range, a small error of a prediction costs most. The middle is the geometric mean of
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


def _no_gain(change: Change) -> str:
    """Returns why more threads gain nothing."""
    return f"{plural(change.value, 'thread')} gain nothing{LIMITS[change.limit](change)}."


def _best(
    trial: _Trial, kind: str, construct: int | None, values: Sequence[int], run_of: Callable[[int], Simulate],
    at_most: bool = False,
) -> tuple[Change, Simulate]:  # fmt: skip
    """Returns the value with the shortest run, or the middle one of equally short runs."""
    runs = [run_of(value)() for value in values]
    tried = [Tried(value, run.wall_ns) for value, run in zip(values, runs, strict=True)]
    queued = [run.n_tasks - run.n_inlined for run in runs]
    best = tried[middle_of_shortest([run.wall_ns for run in runs], queued)]
    change = Change(
        kind,
        construct,
        best.value,
        best.wall_ns,
        1 - best.wall_ns / max(1, trial.base.wall_ns),
        tried=tuple(tried),
        at_most=at_most,
    )
    return change, run_of(best.value)


def _changes(trial: _Trial) -> Iterator[tuple[str, Change, Simulate]]:
    """Yields every change, with a function that repeats its simulation."""
    program = trial.program
    shapes = [shape for shape in task_shapes(program) if shape.n_tasks]
    tasks = [shape for shape in shapes if shape.deepest > 0]
    most = max(tasks, key=lambda shape: shape.n_tasks, default=None)
    deepest = max((shape.deepest for shape in tasks), default=0)
    construct = most.construct if most else None
    if deepest > 1:
        depths = range(1, min(deepest, _DEEPEST + 1))
        yield "cut-off by depth", *_best(
            trial, "depth", construct, depths,
            lambda depth: partial(trial.simulate, max_depth=depth, serial_below=True),
        )  # fmt: skip
    yield "cut-off by time", *_best(
        trial, "time", construct, _TIMES_NS,
        lambda ns: partial(trial.simulate, min_ns=ns, serial_below=True),
    )  # fmt: skip
    for shape in tasks:
        yield from _grains(trial, shape)
    for shape in shapes:
        if shape.most_phases >= _PHASES:
            yield "phases", *_without_waits(trial, shape)
    constructs = [shape.construct for shape in tasks if shape.n_deferred]
    for shape in tasks:
        if shape.n_deferred > shape.n_untied:
            yield "untied", *_changed(trial, "untied", shape.construct, untied)
        if shape.n_deferred and len(constructs) > 1:
            yield "priority", *_changed(trial, "priority", shape.construct, prioritised)
    yield from _loops(trial)
    yield (
        "extension",
        *_best(trial, "extension", None, [0], lambda _: partial(trial.simulate, policy="omp_ext")),
    )
    n_domains = trial.n_domains
    if n_domains > 1:
        for shape in tasks:
            programs = {n_domains: placed(program, shape.construct, n_domains)}
            yield "placement", *_best(
                trial, "placement", shape.construct, [n_domains],
                partial(_of_placed, trial, programs),
            )  # fmt: skip
    more = 2 * trial.threads
    if trial.machine.topology is None or more <= len(trial.machine.topology.cpus):
        change, again = _best(
            trial, "threads", None, [more], lambda n: partial(trial.simulate, threads=n),
            at_most=not trial.base.levels,
        )  # fmt: skip
        limit, limit_ns = trial.limit_of(change.wall_ns)
        yield "threads", replace(change, limit=limit, limit_ns=limit_ns), again


def _grains(trial: _Trial, shape: TaskShape) -> Iterator[tuple[str, Change, Simulate]]:
    """Yields changes of one construct to more, fewer or differently created tasks."""
    program, construct = trial.program, shape.construct
    each = shape.n_iterations / shape.n_deferred if shape.n_deferred else 0.0
    parts = [part for part in _PARTS if part <= each]
    if parts:
        programs = {part: finer(program, construct, part) for part in parts}
        change, again = _best(trial, "finer", construct, parts, partial(_of_program, trial, programs))
        yield "finer grain", replace(change, iterations=max(1, round(each / change.value))), again
    if shape.most_in_a_row < _MANY:
        return
    grains = [grain for grain in _GRAINS if grain * trial.threads <= shape.most_in_a_row]
    if grains:
        programs = {grain: coarser(program, construct, grain) for grain in grains}
        change, again = _best(trial, "grain", construct, grains, partial(_of_program, trial, programs))
        yield "grain", replace(change, iterations=round(each * change.value)), again
    parts = [trial.threads * k for k in (1, 4)]
    programs = {n: spread_out(program, construct, _MANY, n) for n in parts}
    yield "producer", *_best(trial, "producer", construct, parts, partial(_of_program, trial, programs))


def _without_waits(trial: _Trial, shape: TaskShape) -> tuple[Change, Simulate]:
    """Returns dependences on declared data instead of taskwaits; without such data, fewer taskwaits."""
    program = trial.program
    place = shape.wait or shape.construct
    if 0 < program.n_accesses <= _MOST_ACCESSES:
        depending = with_dependences(program, shape.construct)
        if depending.n_dependences > program.n_dependences:
            return _best(trial, "dependences", place, [0], partial(_of_program, trial, {0: depending}))
    programs = {0: without_phases(program, shape.construct)}
    return _best(trial, "phases", place, [0], partial(_of_program, trial, programs), at_most=True)


def _loops(trial: _Trial) -> Iterator[tuple[str, Change, Simulate]]:
    """Yields worksharing loops with other distributions."""
    program, threads = trial.program, trial.threads
    chunk_ns = trial.chunk_ns
    for loop in loop_shapes(program):
        construct = loop.construct
        if loop.work_ns < _LEAST_SHARE * program.work_ns:
            continue
        if loop.longest_ns * program.n_threads > _UNBALANCED * loop.work_ns:
            yield "schedule", *_changed(trial, "schedule", construct, balanced, at_most=True)
            numbers = [threads * k for k in _TASKS_OF_LOOP]
            programs = {n: as_taskloop(program, construct, n) for n in numbers}
            yield (
                "taskloop",
                *_best(
                    trial, "taskloop", construct, numbers, partial(_of_program, trial, programs), at_most=True
                ),
            )
        if loop.n_chunks * chunk_ns > _LEAST_GAIN * loop.work_ns:
            most = loop.n_chunks / loop.n_instances / threads
            factors = [factor for factor in _CHUNKS if factor * _MANY <= most]
            if factors:
                programs = {n: with_larger_chunks(program, construct, n, chunk_ns) for n in factors}
                yield (
                    "chunk",
                    *_best(trial, "chunk", construct, factors, partial(_of_program, trial, programs)),
                )


def _changed(
    trial: _Trial, kind: str, construct: int, change: Callable[[TaskProgram, int], TaskProgram],
    at_most: bool = False,
) -> tuple[Change, Simulate]:  # fmt: skip
    """Returns a change of one construct that has no values to choose from."""
    programs = {0: change(trial.program, construct)}
    return _best(trial, kind, construct, [0], partial(_of_program, trial, programs), at_most=at_most)


def _of_program(trial: _Trial, programs: Mapping[int, TaskProgram], value: int) -> Simulate:
    return partial(trial.simulate, program=programs[value])


def _of_placed(trial: _Trial, programs: Mapping[int, TaskProgram], value: int) -> Simulate:
    return partial(trial.simulate, program=programs[value], policy="locality")


def causal_profile(trial: _Trial, same: Mapping[int, int]) -> Iterator[Causal]:
    """Yields the gain from making each construct FASTER times as fast, best first."""
    total = max(1, trial.program.work_ns)
    groups: dict[int, list[int]] = {}
    work: dict[int, int] = {}
    for construct, ns in trial.program.work_of_constructs.items():
        first = same.get(construct, construct)
        groups.setdefault(first, []).append(construct)
        work[first] = work.get(first, 0) + ns
    found = []
    for first, members in groups.items():
        if work[first] < _LEAST_SHARE * total:
            continue
        speed = dict.fromkeys(members, FASTER)
        gain = trial.gain(trial.simulate(speed=speed))
        found.append(
            Causal(first, work[first], work[first] / total, gain, *trial.range_of(gain, speed=speed))
        )
    return iter(sorted(found, key=lambda one: -one.gain))
