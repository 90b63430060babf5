# SPDX-License-Identifier: Apache-2.0
"""Reasons why a trace cannot predict a run, most of them for another number of threads.

Each reason has a size: the time by which the prediction may be wrong. A prediction is refused if the size
exceeds a share of the predicted time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from ompass.simulation.reader import SimulatedRun, TaskProgram
from ompass.units import duration, percent, plural, size

MOST_DOUBT: Final = 0.1
"""Largest share of the predicted time that may be in doubt: the largest acceptable error of a prediction."""

MOST_MISFIT: Final = 0.15
"""Largest relative difference between a recorded run and its simulation. Benchmark programs: up to 10%."""

DEPENDENT_CREATION_NS: Final = 2000
"""Doubt about the creation of a task with depend clauses. Measured: 0.5 to 3.5 microseconds while other
threads complete such tasks, some 50 ns in a team of one."""


MEASURABLE_SYSTEM_NS: Final = 50_000_000
"""Shortest kernel time that counts. The kernel separates user and kernel time by ticks of 1 to 10 ms."""


FETCH_NS_PER_BYTE: Final = 0.1
"""The time to fetch data from another processor's cache or from memory: 10 GB/s."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """A reason why a prediction may be wrong."""

    ns: float  # the part of the predicted time in doubt
    reason: str  # a clause after "because"
    cure: str


REPRODUCIBLE_NS: Final = 50_000_000
"""Shortest time in regions that a simulation of the recorded run must reproduce."""

LITTLE: Final = 0.02
"""Largest share of preempted time in the work at which recorded and simulated times are comparable."""


def misfit(program: TaskProgram, as_recorded: SimulatedRun) -> Doubt | None:
    """Returns a doubt if the simulated time differs much from the recorded time; else None."""
    simulated_ns = as_recorded.wall_ns - as_recorded.serial_ns
    ns = abs(simulated_ns - program.regions_ns)
    is_long = program.regions_ns >= REPRODUCIBLE_NS
    is_comparable = program.preempted_ns <= LITTLE * program.work_ns
    if not (is_long and is_comparable and ns > MOST_MISFIT * program.regions_ns):
        return None
    return Doubt(
        ns,
        f"a simulation of the recorded run takes {duration(simulated_ns)} in parallel regions, not "
        f"{duration(program.regions_ns)}: the trace lacks a cause of waits",
        "record it on the number of threads of interest",
    )


def refusal(program: TaskProgram, threads: int, run: SimulatedRun) -> Doubt | None:
    """Returns the reason to refuse this prediction; None if the trace shows none."""
    worst = max(_doubts(program, threads), key=lambda doubt: doubt.ns)
    return worst if worst.ns > MOST_DOUBT * run.wall_ns else None


def _doubts(program: TaskProgram, threads: int) -> Iterator[Doubt]:
    yield _regions_of_other_threads(program)
    if threads != program.n_threads:
        for doubt in _DOUBTS:
            yield from doubt(program, threads)


def _regions_of_other_threads(program: TaskProgram) -> Doubt:
    return Doubt(
        float(program.other_regions_ns),
        f"threads that the program created spent {duration(program.other_regions_ns)} in parallel regions of "
        "their own, and the simulation runs all regions one after the other",
        "record a run in which one thread begins all parallel regions",
    )


def _undivided(ns: float, recorded: int, threads: int) -> float:
    """Returns the difference in time between a team that repeats this work and a team that divides it."""
    return ns * abs(1 / recorded - 1 / threads)


def _share(ns: int, program: TaskProgram) -> str:
    return percent(ns / max(1, program.work_ns))


def _unknown_dependences(program: TaskProgram, threads: int) -> Iterator[Doubt]:
    if program.n_unknown_dependences:
        yield Doubt(
            float(program.work_ns),
            f"the trace, of an older format, lacks the dependences of "
            f"{plural(program.n_unknown_dependences, 'task')} that one thread ran",
            "record it again",
        )


def _undivided_parts(program: TaskProgram, threads: int) -> Iterator[Doubt]:
    """Yields the parts of the work that another team might divide in a way that the trace does not show."""
    for attribute, weight, reason, cure in _UNDIVIDED:
        ns = getattr(program, attribute)
        yield Doubt(
            weight * _undivided(ns, program.n_threads, threads),
            f"{_share(ns, program)} of the work lies in {reason}",
            cure or f"record it on {plural(threads, 'thread')}",
        )


_UNDIVIDED: Final = (
    (
        "own_ns",
        1.0,
        "parallel regions outside of loops, sections, singles and tasks, and the trace does not show whether "
        "other threads divide or repeat it",
        "",
    ),
    (
        "kept_loop_ns",
        1.0,
        "worksharing loops that contain tasks, locks or declared data, which the simulation cannot divide "
        "among other threads",
        "",
    ),
    (
        "equal_loop_ns",
        0.5,
        "worksharing loops, and a team of one thread shows neither their chunks nor whether their iterations "
        "are equally long",
        "record it on two threads",
    ),
    ("sections_ns", 1.0, "sections, and the trace does not show the time of each section", ""),
)
"""For each part: the field with its time, the share of the difference in doubt, the reason, and the cure.

An empty cure means to record the run on the simulated number of threads.
"""


def _events(program: TaskProgram, threads: int) -> Iterator[Doubt]:
    yield Doubt(
        program.detached_ns / threads,
        f"the events of {plural(program.n_detached, 'detached task')} come from outside of the tasks, and "
        "their times may depend on the number of threads",
        f"record it on {plural(threads, 'thread')}",
    )


def _repeated_waits(program: TaskProgram, threads: int) -> Iterator[Doubt]:
    yield Doubt(
        program.blocked_ns / program.n_threads,
        "the threads waited in ordered loops, in taskyield or for locks without a number, and the trace does "
        "not show what ended these waits",
        f"record it on {plural(threads, 'thread')}",
    )


def _creations(program: TaskProgram, threads: int) -> Iterator[Doubt]:
    if threads > 1:
        yield Doubt(
            program.n_dependent_alone * DEPENDENT_CREATION_NS / threads,
            f"one thread alone created {plural(program.n_dependent_alone, 'task')} with depend clauses, and "
            "each creation takes many times longer while other threads complete such tasks",
            "record it on two threads",
        )


def _other_tasks(program: TaskProgram, threads: int) -> Iterator[Doubt]:
    if program.asks_for_threads:
        yield Doubt(
            _undivided(program.few_tasks_ns, program.n_threads, threads),
            "the program asks for its number of threads and creates few tasks at a time, and it may create "
            f"others on {plural(threads, 'thread')}",
            f"record it on {plural(threads, 'thread')}",
        )


def _locks(program: TaskProgram, threads: int) -> Iterator[Doubt]:
    yield Doubt(
        _undivided(program.locking_ns, program.n_threads, threads),
        f"{_share(program.locking_ns, program)} of the work lies in code that takes locks of the C library, "
        "and a team of one thread does not show how long it holds them",
        "record it on two threads",
    )


def _copies(program: TaskProgram, threads: int) -> Iterator[Doubt]:
    yield Doubt(
        _undivided(program.copied_bytes * FETCH_NS_PER_BYTE, program.n_threads, threads),
        f"the creations of tasks copied {size(program.copied_bytes)}, and a team of one thread does not show "
        "how long other threads need to fetch a copy",
        "record it on two threads",
    )


def _allocations(program: TaskProgram, threads: int) -> Iterator[Doubt]:
    yield Doubt(
        _ALLOCATOR_WEIGHT * _undivided(program.allocator_ns, program.n_threads, threads),
        f"{_share(program.allocator_ns, program)} of the work lies in the memory allocator, and a team of "
        "one thread does not show how long several threads wait for each other there",
        "record it on two threads",
    )


_ALLOCATOR_WEIGHT: Final = 0.5
"""Share of the difference in doubt. Measured: predictions of two threads are wrong by half of the share of
the allocator in the work."""


def _system_time(program: TaskProgram, threads: int) -> Iterator[Doubt]:
    if program.system_ns >= MEASURABLE_SYSTEM_NS:
        yield Doubt(
            _undivided(program.system_ns, program.n_threads, threads),
            f"{_share(program.system_ns, program)} of the work is time in the operating system's kernel "
            "(page faults, system calls), which may handle requests of several threads one after the other",
            f"record it on {plural(threads, 'thread')}",
        )


_DOUBTS: Final[tuple[Callable[[TaskProgram, int], Iterator[Doubt]], ...]] = (
    _unknown_dependences,
    _undivided_parts,
    _events,
    _repeated_waits,
    _creations,
    _other_tasks,
    _locks,
    _copies,
    _allocations,
    _system_time,
)
