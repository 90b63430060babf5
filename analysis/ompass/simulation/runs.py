# SPDX-License-Identifier: Apache-2.0
"""Simulates a recorded program on one machine, under several policies and numbers of threads."""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, reduce
from pathlib import Path
from typing import Final

from ompass.errors import NothingToShowError, UsageError
from ompass.files import read_small_file
from ompass.readers.run import open_run
from ompass.reuse.metrics import ReuseHistogram, total_histogram
from ompass.reuse.reader import without_accesses
from ompass.simulation.machine import Machine, Recording, read_machine
from ompass.simulation.reader import (
    POLICIES,
    RECORDABLE,
    UNCHANGED,
    AccessLog,
    MemorySystem,
    RecordedMemory,
    SimulatedRun,
    SimulationOptions,
    TaskProgram,
    barriers,
    graphs,
    in_team,
    loop_shapes,
    parallel_regions,
    read_task_program,
    recorded_memory,
    replayed,
    run_simulation,
    without_region_recording,
)
from ompass.simulation.refusals import LITTLE, REPRODUCIBLE_NS, Doubt, misfit, refusal
from ompass.topology import Topology, recorded_topology
from ompass.units import duration, percent, plural

_WITHOUT_CACHES = (
    " because no caches are known: choose threads that the recorded machine has, or name a --topology."
)
_SUPPOSED = ", and each is assumed to wait for its children before it continues"
_MUCH = 0.01  # least share of the work that a note mentions


@dataclass(frozen=True, slots=True)
class Prediction:
    """One simulated run."""

    policy: str
    threads: int
    run: SimulatedRun
    wall_1_ns: int  # wall time of the same policy on one thread; 0: not simulated
    reuse: ReuseHistogram | None = None  # of the accesses in the order of this run; None: not requested

    @property
    def speedup(self) -> float | None:
        """Speed-up over the same policy on one thread."""
        return self.wall_1_ns / self.run.wall_ns if self.wall_1_ns and self.run.wall_ns else None

    @property
    def regions_ns(self) -> int:
        return self.run.wall_ns - self.run.serial_ns


@dataclass(frozen=True, slots=True)
class Refusal:
    """A run that the trace cannot predict."""

    policy: str
    threads: int
    doubt: Doubt


@dataclass(frozen=True, slots=True)
class Simulation:
    """All simulated runs of one program on one machine."""

    path: Path
    program: TaskProgram
    machine: Machine
    seed: int
    predictions: tuple[Prediction, ...]
    refusals: tuple[Refusal, ...]  # runs without predictions, or with doubtful ones
    notes: tuple[str, ...]  # on the limits of the model

    def is_made(self, refusal: Refusal) -> bool:
        """True if the run was predicted in spite of this refusal."""
        run = (refusal.policy, refusal.threads)
        return run in {(one.policy, one.threads) for one in self.predictions}


def simulate(
    path: Path,
    *,
    machine: Machine | None = None,
    threads: Sequence[int] = (),
    policies: Sequence[str] = ("libomp",),
    seed: int = 1,
    fit: bool = False,
    untraced: bool = False,
    anyway: bool = False,
    taskgraph: bool = False,
    program: TaskProgram | None = None,
    record: Path | None = None,
    reuse: bool = False,
    progress: Callable[[str], None] = lambda what: None,
) -> Simulation:
    """Simulates the run in a directory. Default `threads`: the recorded number.

    `fit`: fit the machine's costs to the recorded run. `untraced`: subtract the cost of recording.
    `anyway`: predict even where the trace lacks facts. `taskgraph`: replay repeated graphs of tasks.
    `program`: the program, if it has been read before. `record`: run directory to create; then there must be
    only one simulated run. `reuse`: compute the reuse distances of declared accesses.

    Raises UsageError for unknown policies and too many threads, NothingToShowError if every prediction is
    refused or if `reuse` lacks accesses, and the errors of read_task_program.
    """
    machine = machine or read_machine()
    for policy in policies:
        check_policy(policy)
    program = program or read_task_program(path)
    known = read_machine()
    fitting: tuple[str, ...] = ()
    if fit:
        machine, factor = fitted(program, machine)
        known, fitting = machine, note_on_fit(machine, factor)
    threads = threads or (program.n_threads,)
    for n in threads:
        machine.check_threads(n)
    topology = machine.topology or recorded_topology(path)
    memory = DeclaredData.of(path, program)
    if memory and any(memory.system(machine, n) is None for n in threads):
        memory = None  # for all runs, so they can be compared
    options = SimulationOptions(seed=seed, record_in=str(record or ""), recorded_run=str(path))
    unfit = misfit(program, predict(program, known, recorded_policy(program), program.n_threads))
    replays: tuple[str, ...] = ()
    if reuse and not program.n_accesses:
        raise without_accesses(path)
    log = AccessLog() if reuse else None
    options = replace(options, accesses=log)
    if untraced:
        program = untraced_regions(program, machine)
    if taskgraph:
        program, replays = _with_replays(program)
    found: list[Prediction] = []
    refused: list[Refusal] = []
    with _prepared(record, path, machine, policies, threads, seed) if record else contextlib.nullcontext():
        for policy, n in itertools.product(policies, threads):
            progress(f"simulating {policy} on {plural(n, 'thread')}")
            run = predict(program, machine, policy, n, options, untraced=untraced, memory=memory)
            doubt = refusal(program, n, run) or (unfit if n != program.n_threads else None)
            if doubt:
                refused.append(Refusal(policy, n, doubt))
                if not anyway:
                    continue
            distances = reuse_of(log, topology, n) if log is not None else None
            found.append(Prediction(policy, n, run, 0, distances))
        if not found:
            doubt = refused[0].doubt
            raise NothingToShowError(
                f"{path} does not predict {plural(threads[0], 'thread')}",
                doubt.reason,
                f"{doubt.cure}, or add --anyway for a rough estimate",
            )
    wall_1_ns = {one.policy: one.run.wall_ns for one in found if one.threads == 1}
    found = [replace(one, wall_1_ns=wall_1_ns.get(one.policy, 0)) for one in found]
    return Simulation(
        path,
        program,
        machine,
        seed,
        tuple(found),
        tuple(refused),
        notes_on(
            program,
            [one.run for one in found],
            any(n != program.n_threads for n in threads),
            open_run(path).trace_end,
        )
        + fitting
        + replays
        + ((f"This prediction is doubtful, because {unfit.reason}.",) if unfit else ()),
    )


def reuse_of(log: AccessLog, topology: Topology, threads: int, *, coherent: bool = True) -> ReuseHistogram:
    """Returns the reuse distances of the last simulated run that filled the log, over all cache groups."""
    groups = [group.with_sizes() for group in topology.groups]
    return total_histogram(
        log.reuse(
            topology.group_of_thread(threads),
            [(group.l2_bytes, group.llc_bytes) for group in groups],
            coherent=coherent,
        )
    )


def _with_replays(program: TaskProgram) -> tuple[TaskProgram, tuple[str, ...]]:
    """Returns the program with all repeated graphs replayed, and a note on them."""
    found = graphs(program)
    if not found:
        return program, ("No place creates the same graph of tasks three times, so none is replayed.",)
    n_graphs, n_tasks = (sum(getattr(one, name) for one in found) for name in ("n_graphs", "n_replayed"))
    note = (
        f"{plural(n_graphs, 'graph')} of {plural(n_tasks, 'task')} in total are replayed from a record. The "
        "machine file has the cost of a replay."
    )
    return reduce(lambda made, shape: replayed(made, shape.construct), found, program), (note,)


@contextlib.contextmanager
def _prepared(
    record: Path, recorded: Path, machine: Machine, policies: Sequence[str], threads: Sequence[int], seed: int
) -> Iterator[None]:
    """Creates the directory as _prepare does, and removes it if the simulation fails or is refused."""
    _prepare(record, recorded, machine, policies, threads, seed)
    try:
        yield
    except BaseException:
        shutil.rmtree(record, ignore_errors=True)
        raise


def _prepare(
    record: Path, recorded: Path, machine: Machine, policies: Sequence[str], threads: Sequence[int], seed: int
) -> None:
    """Creates the directory with all files of a run directory except the logs."""
    if len(policies) != 1 or len(threads) != 1:
        raise UsageError(
            f"--record {record}", "it contains one run", "name one policy and one number of threads"
        )
    if policies[0] not in RECORDABLE:
        raise UsageError(
            f"--record {record}",
            f"under {policies[0]} threads move between implicit tasks, which traces cannot represent",
            f"choose from {', '.join(RECORDABLE)}",
        )
    try:
        record.mkdir(parents=True)
        try:
            meta = json.loads(read_small_file(recorded / "meta.json"))
        except (OSError, ValueError):
            meta = {}
        meta |= {
            "mode": "trace",
            "runtime": f"simulated: {policies[0]} on {machine.name}, seed {seed}",
            "counters": [],
            "environment": {"OMP_NUM_THREADS": str(threads[0])},
        }
        (record / "meta.json").write_text(json.dumps(meta, indent=2), encoding="utf-8")
        topology = machine.topology or recorded_topology(recorded)
        if topology.xml:
            (record / "topology.xml").write_text(topology.xml, encoding="utf-8")
    except OSError as error:
        raise UsageError(
            f"--record {record}", error.strerror or str(error), "name a directory that does not exist yet"
        ) from error


@dataclass(frozen=True, slots=True)
class DeclaredData:
    """Costs of the declared data in the recorded run, and the topology of its machine."""

    topology: Topology
    recorded: RecordedMemory

    @classmethod
    def of(cls, path: Path, program: TaskProgram) -> DeclaredData | None:
        """Returns the data; None if the program declares none, or if the machine's caches are unknown."""
        topology = recorded_topology(path)
        costs = read_machine().memory
        if not program.n_accesses or costs is None:
            return None
        system = costs.system(topology, max(program.n_threads, len(topology.cpus)))
        return cls(topology, recorded_memory(program, system)) if system else None

    def system(self, machine: Machine, threads: int) -> MemorySystem | None:
        """Returns the machine's memory. A machine without a topology gets the recorded machine's."""
        topology = machine.topology or self.topology
        if machine.memory is None or threads > len(topology.cpus):
            return None
        return machine.memory.system(topology, threads)


def check_policy(name: str) -> None:
    """Raises UsageError unless the policy exists."""
    if name not in POLICIES:
        raise UsageError(f"--policy {name}", "there is no such policy", f"choose from {', '.join(POLICIES)}")


def untraced_regions(program: TaskProgram, machine: Machine) -> TaskProgram:
    """Returns the program without the cost of recording regions, barriers and loops.

    predict() subtracts the other costs of recording.

    Returns the same program if this cost is small, or if one thread ran all regions.
    """
    added = machine.recording
    n_regions = sum(region.n for region in parallel_regions(program))
    n_barriers = sum(barrier.n for barrier in barriers(program))
    n_loops = sum(loop.n_instances for loop in loop_shapes(program))
    cost_ns = n_regions * added.fork + n_barriers * added.barrier + n_loops * added.loop
    if program.n_threads < 2 or cost_ns < _MUCH * program.regions_ns:
        return program
    return without_region_recording(program, round(added.fork), round(added.barrier), round(added.loop))


def recorded_policy(program: TaskProgram) -> str:
    """Returns the policy of the runtime with which the program was recorded."""
    return "omp_ext" if program.n_domains else "libomp"


def predict(
    program: TaskProgram,
    machine: Machine,
    policy: str,
    threads: int,
    options: SimulationOptions = UNCHANGED,
    *,
    untraced: bool = False,
    memory: DeclaredData | None = None,
) -> SimulatedRun:
    """Returns one run of the program, unchanged or changed by `options`, with the costs of the machine.

    `untraced`: subtract the cost of recording; `memory`: model caches and memory.
    """
    costs = dict(machine.costs_of(policy))
    added = machine.recording
    plain = added.create or 0.0
    # Costs of recording in the simulated run. Tasks recorded in a team of one get the costs of a larger team.
    kept = Recording() if untraced else added
    if threads > 1:
        for name, ns in (("dequeue", kept.schedule), ("steal", kept.schedule), ("wait", kept.wait)):
            costs[name] = tuple((n, cost + ns) for n, cost in costs.get(name, ((1, 0.0),)))
    on_machine = replace(
        options,
        domains=machine.domains(threads),
        clock_ratio=machine.clock_ratio,
        costs=costs,
        untraced_task_ns=round(added.task) if untraced else 0,
        untraced_creation_ns=round(added.creation) if untraced else 0,
        untraced_create=(max(0, round(added.traced_create - plain)), round(plain)) if untraced else (0, 0),
        serialised=(
            round(added.serial_task - kept.task),
            round(added.serial_creation - kept.creation),
            round(plain if untraced else added.traced_create),
        ),
        as_recorded=not untraced,
        memory=memory.system(machine, threads) if memory else None,
        recorded=memory.recorded if memory else None,
    )
    return run_simulation(_in_team(program, threads), policy, threads, on_machine)


_CLOSE: Final = 0.05
"""Relative difference of times up to which the machine's costs are kept."""

_MOST: Final = 16.0
"""Largest factor. A larger one would mean that the runtime's operations do not explain the time."""

_STEPS: Final = 6


def fitted(program: TaskProgram, machine: Machine) -> tuple[Machine, float]:
    """Returns the machine with costs that fit the recorded run, and their factor.

    The costs of a machine file come from one runtime on one machine. Elsewhere, small operations can take
    several times as long. So one factor scales the costs of the runtime and of recording, until the
    simulation of the recorded run takes the recorded time.

    Returns the same machine and 1 if its costs fit, if no factor fits, or if the recorded time is not
    comparable (one thread, or a short or disturbed run).
    """
    target_ns = program.regions_ns
    if (
        program.n_threads < 2
        or target_ns < REPRODUCIBLE_NS
        or program.preempted_ns > LITTLE * program.work_ns
    ):
        return machine, 1.0

    def excess(factor: float) -> float:
        """Returns the relative difference between the simulated and the recorded time."""
        run = predict(program, machine.slowed(factor), recorded_policy(program), program.n_threads)
        return (run.wall_ns - run.serial_ns) / target_ns - 1

    first = excess(1.0)
    if abs(first) <= _CLOSE:
        return machine, 1.0
    far = _MOST if first < 0 else 1 / _MOST
    if (excess(far) < 0) == (first < 0):
        return machine, 1.0
    low, high = sorted((1.0, far))
    for _ in range(_STEPS):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if excess(middle) < 0 else (low, middle)
    factor = math.sqrt(low * high)
    return machine.slowed(factor), factor


def note_on_fit(machine: Machine, factor: float) -> tuple[str, ...]:
    """Returns a note on the factor of fitted(); none if it is 1."""
    if factor == 1.0:
        return ()
    return (
        f"In this run, operations of the runtime took {factor:.1f} times as long as on the {machine.name}. "
        "The simulation uses these costs.",
    )


@lru_cache(maxsize=2)  # advice simulates the same program many times
def _in_team(program: TaskProgram, threads: int) -> TaskProgram:
    is_other = threads != program.n_threads and program.loop_counts[0]
    return in_team(program, threads) if is_other else program


def notes_on(
    program: TaskProgram, runs: Sequence[SimulatedRun] = (), other_team: bool = False, trace_end: str = ""
) -> tuple[str, ...]:
    """Returns notes on the limits of the simulation of this program.

    `other_team`: a simulated team has another size than the recorded one. `trace_end`: the reason why the
    trace ends before the run (Run.trace_end).
    """
    notes = []
    if not all(run.levels for run in runs) or not runs:
        notes.append(
            "Work takes the recorded time: the effects of other caches and memory are not "
            "modelled" + (_WITHOUT_CACHES if program.n_accesses else ".")
        )
    else:
        notes.append(
            "Caches and memory are modelled for "
            f"{plural(program.n_accesses, 'declared access', 'declared accesses')}; other work takes the "
            "recorded time."
        )
    if program.n_serialised:
        notes.append(
            f"{plural(program.n_serialised, 'task')} ran in a team of one thread, where every task runs at "
            f"once: all are assumed to be deferred{_SUPPOSED if program.n_supposed_waits else ''}. "
            "Record on two threads to be certain."
        )
    if other_team:
        notes += _notes_on_loops(program)
    if program.preempted_ns > _MUCH * program.work_ns:
        notes.append(
            f"Other programs used the processors for {duration(program.preempted_ns)} of the recorded work: "
            "the prediction is for a run without them."
        )
    if program.blocked_ns > _MUCH * program.work_ns:
        notes.append(
            f"Waits for locks that the trace does not identify, {duration(program.blocked_ns)} "
            f"({percent(program.blocked_ns / program.work_ns)} of the work), are repeated as "
            "recorded, on any number of threads. They are waits in ordered loops or in taskyield, or the "
            "trace has an old format; in that case, record it again."
        )
    if program.called_ns > _MUCH * program.work_ns:
        notes.append(
            f"The time in MPI calls and target constructs, {duration(program.called_ns)}, is repeated as "
            "recorded, although other ranks may change it."
        )
    if program.off_cpu_ns > _MUCH * program.work_ns:
        notes.append(
            f"Tasks were blocked for {duration(program.off_cpu_ns)} (sleep, input and output, locks that are "
            "not OpenMP's). The simulation repeats these times as recorded."
        )
    if program.n_nested:
        notes.append("Nested regions run on the thread that enters them.")
    if program.n_dependent_waits:
        notes.append(
            f"The simulation of {plural(program.n_dependent_waits, 'taskwait')} with dependences waits for "
            "all children."
        )
    if program.n_unfulfilled:
        notes.append(
            f"The events of {plural(program.n_unfulfilled, 'detached task')} are not in the trace: "
            "these tasks complete at their end."
        )
    if program.n_detached > program.n_unfulfilled:
        notes.append(
            f"{plural(program.n_detached - program.n_unfulfilled, 'detached task')}: from the end to the "
            "completion takes as long as in the recorded run, on any number of threads."
        )
    if trace_end:
        notes.append(f"The simulated program lacks the last part of the run, because {trace_end}.")
    if program.n_out_of_order:
        notes.append(
            f"{plural(program.n_out_of_order, 'event')} had to be processed before the events that cause "
            "them: the trace is incomplete, and so is the prediction."
        )
    return tuple(notes)


def _notes_on_loops(program: TaskProgram) -> list[str]:
    n_shared, n_kept = program.loop_counts
    notes = []
    if n_shared:
        notes.append(
            f"Schedules divide the work of {plural(n_shared, 'execution')} of worksharing loops. The trace "
            "has no times of single iterations, so all iterations of one recorded thread count as equal."
        )
    if n_kept:
        notes.append(
            f"More threads do not shorten {plural(n_kept, 'execution')} of worksharing loops here: they "
            "contain tasks, locks or declared data, so each thread keeps its recorded part."
        )
    return notes
