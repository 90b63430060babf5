# SPDX-License-Identifier: Apache-2.0
"""Wraps the C++ core: task programs for the simulator, their changes, and simulated runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from ompass import _core
from ompass._core import (
    AccessLog,
    BarrierShape,
    Blocking,
    DependenceShape,
    GraphShape,
    LockShape,
    LogError,
    LoopShape,
    MemorySystem,
    RecordedMemory,
    RegionShape,
    SerialPart,
    SimulatedRun,
    TaskProgram,
    TaskShape,
    WaitShape,
    recorded_memory,
)
from ompass.elf import NotElfError, imported_symbols
from ompass.errors import DamagedRunError, NothingToShowError
from ompass.model import Run
from ompass.readers.run import SampledThread, check_whole_trace, core_errors, open_run, read_samples
from ompass.sampled import LOCK, MEMORY
from ompass.symbols.libraries import group_of, may_create_tasks
from ompass.symbols.location import Location
from ompass.symbols.resolver import Resolver
from ompass.symbols.unwinder import Code, code_of

__all__ = [
    "AccessLog",
    "DependenceShape",
    "GraphShape",
    "LoopShape",
    "MemorySystem",
    "RecordedMemory",
    "SimulatedRun",
    "TaskProgram",
    "TaskShape",
    "recorded_memory",
]

MOST_THREADS = _core.MAX_SIMULATED_THREADS
COSTS = tuple(cost.name for cost in _core.simulated_costs())
POLICIES = tuple(policy.name for policy in _core.policies())
RECORDABLE = tuple(policy.name for policy in _core.policies() if policy.can_record)


def read_task_program(path: Path) -> TaskProgram:
    """Returns the program: the operations of every task of a recorded run.

    Raises RunNotFoundError, DamagedRunError, and NothingToShowError if the run lacks a whole trace or
    regions, or has more threads than MOST_THREADS.
    """
    check_whole_trace(path)
    run = open_run(path)
    if run.mode != "trace":
        raise NothingToShowError(
            f"{path} holds no events", "it was recorded in profile mode", "record it with --mode trace"
        )
    with core_errors(path):
        program = _core.task_program(str(path))
    if not program.regions_ns:
        raise NothingToShowError(
            f"{path} holds no parallel regions",
            "there is nothing to schedule",
            "record a program with `#pragma omp parallel`",
        )
    if program.n_threads > MOST_THREADS:
        raise NothingToShowError(
            f"{path} has {program.n_threads:,} threads",
            f"the simulation has at most {MOST_THREADS:,}",
            "record the program on fewer threads",
        )
    locking_ns = copied_bytes = allocator_ns = 0
    if program.n_threads == 1:
        resolver = Resolver.of_run(run)
        locking_ns, copied_bytes = _locking_ns(run, program, resolver), _copied_bytes(run, program, resolver)
        allocator_ns = _allocator_ns(run, program, resolver)
    program.set_facts(
        system_ns=sum(max(0, row.system_ns) for row in run.regions),
        asks_for_threads=any(_asks_for_threads(module.path) for module in run.modules),
        locking_ns=locking_ns,
        copied_bytes=copied_bytes,
        allocator_ns=allocator_ns,
    )
    return program


def _asks_for_threads(module: str) -> bool:
    """True if the file may create tasks and asks for a number of threads or processors."""
    try:
        return may_create_tasks(module) and bool(imported_symbols(Path(module), _ASKING))
    except NotElfError:
        return False


_ASKING: Final = (
    "omp_get_num_threads",
    "omp_get_max_threads",
    "omp_get_num_procs",
    "_ZNSt6thread20hardware_concurrencyEv",
)


def _locking_ns(run: Run, program: TaskProgram, resolver: Resolver) -> int:
    """Returns the work of the main constructs whose code takes locks of the C library.

    A team of one never waits for a lock, so its trace does not show how long tasks hold one.
    """
    works = program.work_of_constructs
    return sum(
        ns
        for construct, ns in works.items()
        if ns > _MAIN_SHARE * program.work_ns
        and any(call.kind == LOCK for call in resolver.blocking_calls(run.definitions[construct]))
    )


def _copied_bytes(run: Run, program: TaskProgram, resolver: Resolver) -> int:
    """Returns the total size of the large copies that creations made.

    A trace of one thread does not show how long other threads need to fetch such a copy.
    """
    shapes = [shape for shape in task_shapes(program) if shape.construct and shape.n_tasks]
    copied = [(shape.n_tasks, resolver.task_bytes(run.definitions[shape.construct])) for shape in shapes]
    return sum(n_tasks * n_bytes for n_tasks, n_bytes in copied if n_bytes >= _FETCHED_BYTES)


def _allocator_ns(run: Run, program: TaskProgram, resolver: Resolver) -> int:
    """Returns the work in the memory allocator by samples; 0 if few samples show the allocator.

    The C library's allocator takes no locks in a process of one thread, and threads of a larger team may wait
    for each other there.
    """
    samples: Counter[Code] = Counter()

    def take(thread: SampledThread) -> None:
        if thread.period:
            return
        for sample in thread.samples:
            is_parallel_work = sample.state == "work" and (sample.construct >= 0 or sample.region >= 0)
            if is_parallel_work and sample.chain and (code := code_of(sample.chain[0])):
                samples[code] += sample.weight

    try:
        read_samples(run.path, take)
    except DamagedRunError:
        return 0
    inside = sum(n for code, n in samples.items() if _is_in_allocator(resolver.locate_code(*code)[-1]))
    return program.work_ns * inside // samples.total() if inside >= _LEAST_SAMPLES else 0


def _is_in_allocator(place: Location) -> bool:
    return group_of(place.module, place.function) == MEMORY


_LEAST_SAMPLES: Final = 8
_FETCHED_BYTES: Final = 1 << 10  # fetching a smaller copy takes little longer than fetching the task itself
_MAIN_SHARE: Final = 0.02  # of the work: reading the code of a construct takes up to a few seconds


@dataclass(frozen=True)
class SimulationOptions:
    """The options of a simulated run, with the names that the core gives them."""

    domains: Sequence[int] = ()  # the domain of each thread
    clock_ratio: float = 1.0
    costs: Mapping[str, Sequence[tuple[int, float]]] = field(default_factory=dict)
    seed: int = 1
    speed: Mapping[int, float] = field(default_factory=dict)  # speed-up by construct
    max_depth: int = 0  # deeper tasks run inside their creator; 0: no limit
    min_ns: int = 0  # tasks with less work run inside their creator, unless they depend on others
    serial_below: bool = False  # True: such tasks are plain calls of a serial function
    untied: bool = False
    untraced_task_ns: int = 0
    untraced_creation_ns: int = 0
    untraced_create: tuple[int, int] = (0, 0)  # subtracted from each creation; least time that remains
    # For tasks recorded in a team of one, in ns: the time to subtract from the work of each task and from the
    # work of its creator, and the cost of its creation. Ignored on one thread if `as_recorded`.
    serialised: tuple[int, int, int] = (0, 0, 0)
    as_recorded: bool = False
    memory: MemorySystem | None = None
    recorded: RecordedMemory | None = None
    record_in: str = ""  # an existing directory for the logs of the run
    recorded_run: str = ""  # the directory with the definitions for these logs
    accesses: AccessLog | None = None  # receives the accesses of the run


UNCHANGED = SimulationOptions()


def run_simulation(
    program: TaskProgram, policy: str, threads: int, options: SimulationOptions = UNCHANGED
) -> SimulatedRun:
    """Returns one simulated run. Raises NothingToShowError if its tasks wait for each other."""
    n_domains = max(options.domains, default=0) + 1
    try:
        return _core.simulate(program, policy=policy, threads=threads, n_domains=n_domains, **vars(options))
    except LogError as error:
        raise NothingToShowError(
            f"{policy} on {threads} threads never ends",
            str(error),
            "record the whole program, without pauses or a size limit",
        ) from error


def task_shapes(program: TaskProgram) -> tuple[TaskShape, ...]:
    """Returns the numbers, depths and creation patterns of tasks, by construct."""
    return _core.shapes(program)


def loop_shapes(program: TaskProgram) -> tuple[LoopShape, ...]:
    """Returns the worksharing loops of several threads that contain only work."""
    return _core.loops(program)


def coarser(program: TaskProgram, construct: int, grain: int) -> TaskProgram:
    """Returns the program with every `grain` consecutive leaf tasks of the construct merged into one."""
    return _core.coarsen(program, construct, grain)


def with_earlier_work(program: TaskProgram, ns: int) -> TaskProgram:
    """Returns the program with work before all other work, for the time before the recording began."""
    return _core.with_earlier_work(program, ns)


def with_constructs(program: TaskProgram, instead: Mapping[int, int]) -> TaskProgram:
    """Returns the program with the constructs in `instead` replaced by others."""
    return _core.with_constructs(program, instead)


def finer(program: TaskProgram, construct: int, parts: int) -> TaskProgram:
    """Returns the program with split tasks, each at most 1 / `parts` as long as the construct's longest."""
    return _core.refine(program, construct, parts)


def spread_out(program: TaskProgram, construct: int, least: int, parts: int) -> TaskProgram:
    """Returns the program in which `parts` tasks share the creation of `least` or more tasks in a row."""
    return _core.spread(program, construct, least, parts)


def without_phases(program: TaskProgram, construct: int) -> TaskProgram:
    """Returns the program in which each task of the construct keeps only its last taskwait."""
    return _core.join_phases(program, construct)


def with_dependences(program: TaskProgram, construct: int) -> TaskProgram:
    """Returns the program with dependences on declared data instead of waits in tasks of the construct."""
    return _core.depend_on_data(program, construct)


def with_shared_data(program: TaskProgram, construct: int, create_ns: int) -> TaskProgram:
    """Returns the program in which creating a task of the construct takes at most `create_ns`."""
    return _core.limit_creations(program, construct, create_ns)


def untied(program: TaskProgram, construct: int) -> TaskProgram:
    """Returns the program with untied tasks of the construct."""
    return _core.untie(program, construct)


def prioritised(program: TaskProgram, construct: int) -> TaskProgram:
    """Returns the program with a higher priority for tasks of the construct."""
    return _core.prioritise(program, construct)


def reversed_priorities(program: TaskProgram, construct: int) -> TaskProgram:
    """Returns the program with the priorities of the construct's tasks in the opposite order."""
    return _core.reverse_priorities(program, construct)


def balanced(program: TaskProgram, construct: int) -> TaskProgram:
    """Returns the program in which all threads work equally long in each instance of the worksharing loop."""
    return _core.balance_loop(program, construct)


def as_taskloop(program: TaskProgram, construct: int, tasks: int) -> TaskProgram:
    """Returns the program with a taskloop of `tasks` tasks in place of each instance of the loop."""
    return _core.loop_to_tasks(program, construct, tasks)


def in_team(program: TaskProgram, threads: int) -> TaskProgram:
    """Returns the program with its worksharing loops divided among `threads` threads, by their schedules."""
    return _core.share_loops(program, threads)


def with_larger_chunks(program: TaskProgram, construct: int, factor: int, chunk_ns: int) -> TaskProgram:
    """Returns the program with chunks of the loop `factor` times as large."""
    return _core.enlarge_chunks(program, construct, factor, chunk_ns)


def graphs(program: TaskProgram) -> tuple[GraphShape, ...]:
    """Returns the task graphs that one place creates at least three times without a change."""
    return _core.graphs(program)


def replayed(program: TaskProgram, construct: int) -> TaskProgram:
    """Returns the program that replays the graphs that begin with a task of the construct (taskgraph)."""
    return _core.replay_graphs(program, construct)


def placed(program: TaskProgram, construct: int, n_domains: int) -> TaskProgram:
    """Returns the program with the construct's outermost tasks placed in domains, in blocks of equal size."""
    return _core.place_subtrees(program, construct, n_domains)


# ---------------------------------------------------------------- order: waits, dependences, locks, barriers


def waits(program: TaskProgram) -> tuple[WaitShape, ...]:
    """Returns the taskwaits and taskgroups, by place."""
    return _core.waits(program)


def dependences(program: TaskProgram) -> tuple[DependenceShape, ...]:
    """Returns the dependences, by pairs of constructs."""
    return _core.dependences(program)


def locks(program: TaskProgram) -> tuple[LockShape, ...]:
    """Returns the locks and critical sections."""
    return _core.locks(program)


def blocking(program: TaskProgram) -> tuple[Blocking, ...]:
    """Returns the recorded waits that the simulation repeats unchanged, by place."""
    return _core.blocking(program)


def barriers(program: TaskProgram) -> tuple[BarrierShape, ...]:
    """Returns the barriers, by place."""
    return _core.barriers(program)


def parallel_regions(program: TaskProgram) -> tuple[RegionShape, ...]:
    """Returns the parallel regions, by construct."""
    return _core.regions(program)


def serial_parts(program: TaskProgram) -> tuple[SerialPart, ...]:
    """Returns the work outside of regions, by the regions around it."""
    return _core.serial_parts(program)


def with_merged_waits(program: TaskProgram, construct: int) -> TaskProgram:
    """Returns the program in which each task keeps only its last wait for tasks at that place."""
    return _core.merge_waits(program, construct)


def without_region_recording(
    program: TaskProgram, fork_ns: int, barrier_ns: int, loop_ns: int
) -> TaskProgram:
    """Returns the program without the time that recording adds to each implicit task, barrier and loop."""
    return _core.without_region_recording(program, fork_ns, barrier_ns, loop_ns)


def with_merged_barriers(program: TaskProgram, construct: int) -> TaskProgram:
    """Returns the program in which each region keeps only its last barrier at that place."""
    return _core.merge_barriers(program, construct)


def with_merged_regions(program: TaskProgram, construct: int) -> TaskProgram:
    """Returns the program in which successive regions of the construct are merged, without inner barriers."""
    return _core.merge_regions(program, construct)


def with_shared_region(program: TaskProgram, construct: int) -> TaskProgram:
    """Returns the program whose threads do equal work outside of loops in the construct's regions."""
    return _core.share_region(program, construct)


def with_shared_serial_part(program: TaskProgram, before: int, after: int, threads: int) -> TaskProgram:
    """Returns the program with the work between regions of these constructs divided by `threads`."""
    return _core.share_serial(program, before, after, threads)


def without_dependences(program: TaskProgram, before: int, after: int) -> TaskProgram:
    """Returns the program without dependences of tasks of construct `after` on tasks of `before`."""
    return _core.without_dependences(program, before, after)


def without_lock(program: TaskProgram, lock: int) -> TaskProgram:
    """Returns the program without that lock."""
    return _core.without_lock(program, lock)


def without_blocking(program: TaskProgram, construct: int) -> TaskProgram:
    """Returns the program without the recorded waits at that place."""
    return _core.without_blocking(program, construct)


def deeper(program: TaskProgram, construct: int, depth: int, factor: int) -> TaskProgram:
    """Returns the program with `factor` times `depth` items in flight in the pipeline of the construct."""
    return _core.deepen(program, construct, depth, factor)
