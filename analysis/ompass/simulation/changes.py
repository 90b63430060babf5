# SPDX-License-Identifier: Apache-2.0
"""Changes of tasks and loops: their number, their creators, and their order.

order_changes.py has the changes that let more of the program run at the same time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from ompass.metrics.thresholds import COPYING_CREATE_NS, COPYING_DEPENDENT_CREATE_NS, PLAIN_CREATE_NS
from ompass.simulation.reader import (
    LoopShape,
    TaskProgram,
    TaskShape,
    as_taskloop,
    balanced,
    coarser,
    finer,
    graphs,
    loop_shapes,
    placed,
    prioritised,
    replayed,
    reversed_priorities,
    spread_out,
    task_shapes,
    untied,
    with_dependences,
    with_larger_chunks,
    with_shared_data,
    without_phases,
)
from ompass.simulation.trial import LEAST_GAIN, REVERSED, Candidate, Trial, Way

_LEAST_SHARE = 0.005  # least part of the work: smaller constructs are ignored
_MANY = 32  # fewest consecutive tasks for advice on grain and producer
_PHASES = 3
_DEEPEST = 30
_TIMES_NS = tuple(250 * 2**k for k in range(13))  # 250 ns to 1 ms
_GRAINS = (2, 4, 8, 16, 32, 64)
_PARTS = (2, 4, 8, 16)
_SPLITS = (2, 4, 8)
_FINE_SPLITS = (16, 32, 64)  # only where the longest task is _UNEQUAL times as long as the mean
_UNEQUAL = 4
_FEW = 4096  # most tasks of a construct that are worth a split
_CHUNKS = (2, 4, 8, 16, 32, 64)
_TASKS_OF_LOOP = (2, 8, 32)  # per thread
_MOST_ADDED = 2_000_000  # most tasks that replace the instances of one loop
_UNBALANCED = 1.02  # least ratio of slowest thread to mean in an unbalanced loop
_FEW_ITERATIONS = 4  # per thread: another schedule cannot balance so few
_MOST_ACCESSES = 2_000_000  # with more accesses, no dependences are derived


def task_changes(trial: Trial) -> Iterator[Candidate]:
    """Yields all changes of tasks."""
    shapes = [shape for shape in task_shapes(trial.program) if shape.n_tasks]
    tasks = [shape for shape in shapes if shape.deepest > 0]
    if tasks:
        yield from _cut_offs(trial, tasks)
    if tasks and trial.policy != "omp_ext":
        yield trial.best("extension", None, {0: Way(options={"policy": "omp_ext"})})
    for shape in tasks:
        yield from _grains(trial, shape)
    for shape in shapes:
        if shape.most_phases >= _PHASES:
            yield _without_waits(trial, shape)
    constructs = [shape.construct for shape in tasks if shape.n_deferred]
    for shape in tasks:
        if shape.n_deferred > shape.n_untied:
            yield _changed(trial, "untied", shape.construct, untied)
        ways = {}
        if shape.n_deferred and len(constructs) > 1:
            ways[1] = Way(partial(prioritised, trial.program, shape.construct))
        if shape.n_priorities > 1:
            ways[REVERSED] = Way(partial(reversed_priorities, trial.program, shape.construct))
        if ways:
            priority = trial.program.highest_priority
            yield trial.best("priority", shape.construct, ways, priority=priority)
    n_domains = trial.n_domains
    if n_domains > 1:
        for shape in tasks:
            make = partial(placed, trial.program, shape.construct, n_domains)
            yield trial.best("placement", shape.construct, {n_domains: Way(make, {"policy": "locality"})})


def _cut_offs(trial: Trial, tasks: Sequence[TaskShape]) -> Iterator[Candidate]:
    """Yields calls of a serial function in place of deep or short tasks."""
    most = max(tasks, key=lambda shape: shape.n_tasks, default=None)
    deepest = max((shape.deepest for shape in tasks), default=0)
    construct = most.construct if most else None
    if most and most.n_iterations:
        if _is_tree(most):
            yield from _larger_grains(trial, most)
        return
    if deepest > 1:
        depths = range(1, min(deepest, _DEEPEST + 1))
        ways = {n: Way(options={"max_depth": n, "serial_below": True}) for n in depths}
        yield trial.best("depth", construct, ways)
    ways = {ns: Way(options={"min_ns": ns, "serial_below": True}) for ns in _TIMES_NS}
    yield trial.best("time", construct, ways)


def _is_tree(shape: TaskShape) -> bool:
    """True for a taskloop that the runtime splits recursively: its tasks create tasks."""
    return shape.n_iterations > 0 and shape.deepest > 1


def _larger_grains(trial: Trial, shape: TaskShape) -> Iterator[Candidate]:
    """Yields a larger grain size for a taskloop that the runtime splits recursively."""
    task_ns = max(1.0, shape.divisible_ns / max(1, shape.n_divisible))
    ways = {
        round(ns / task_ns): Way(options={"min_ns": ns, "serial_below": True})
        for ns in _TIMES_NS
        if ns > 1.5 * task_ns
    }
    if ways:
        change, way = trial.best("grain", shape.construct, ways)
        each = shape.n_iterations / max(1, shape.n_divisible)
        yield replace(change, iterations=max(1, round(each * change.value))), way


def _ways(
    change: Callable[[TaskProgram, int, int], TaskProgram],
    trial: Trial,
    construct: int,
    values: Sequence[int],
) -> dict[int, Way]:
    """Returns the ways to simulate a change of one construct with each of the values."""
    return {value: Way(partial(change, trial.program, construct, value)) for value in values}


def _grains(trial: Trial, shape: TaskShape) -> Iterator[Candidate]:
    """Yields changes that give one construct more tasks, fewer tasks or several creators."""
    construct = shape.construct
    each = shape.n_iterations / shape.n_deferred if shape.n_deferred else 0.0
    parts = [part for part in _PARTS if part <= each]
    if parts:
        change, way = trial.best("finer", construct, _ways(finer, trial, construct, parts))
        yield replace(change, iterations=max(1, round(each / change.value))), way
    elif not shape.n_iterations and 0 < shape.n_divisible <= _FEW and trial.most_by_order >= LEAST_GAIN:
        # If undeferred tasks inside do most of the work, the advice is to defer these tasks.
        kind = "split" if shape.most_of == construct else "defer"
        most = shape.longest_ns * shape.n_divisible / shape.divisible_ns  # longest / mean length
        ways = _ways(finer, trial, construct, _SPLITS if most < _UNEQUAL else (*_SPLITS, *_FINE_SPLITS))
        place = construct if kind == "split" else shape.most_of
        yield trial.best(kind, place, ways, at_most=kind == "defer")
    if _copies_data(shape):
        way = Way(partial(with_shared_data, trial.program, construct, PLAIN_CREATE_NS))
        yield trial.best("data", construct, {0: way}, count=shape.n_deferred, share_ns=shape.create_ns)
        return
    if shape.most_in_a_row < _MANY:
        return
    grains = [grain for grain in _GRAINS if grain * trial.threads <= shape.most_in_a_row]
    if grains and not _is_tree(shape):
        change, way = trial.best("grain", construct, _ways(coarser, trial, construct, grains))
        yield replace(change, iterations=round(each * change.value)), way
    parts = [trial.threads * k for k in (1, 4)]
    ways = {n: Way(partial(spread_out, trial.program, construct, _MANY, n)) for n in parts}
    yield trial.best("producer", construct, ways)


def _copies_data(shape: TaskShape) -> bool:
    """True if creating a task of this shape takes so long that it must copy data."""
    may_depend = shape.n_divisible < shape.n_deferred
    least_ns = COPYING_DEPENDENT_CREATE_NS if may_depend else COPYING_CREATE_NS
    return 0 < least_ns * shape.n_deferred <= shape.create_ns


def _without_waits(trial: Trial, shape: TaskShape) -> Candidate:
    """Returns the change that replaces waits with dependences on declared data, or else with one wait."""
    program = trial.program
    place = shape.wait or shape.construct
    if 0 < program.n_accesses <= _MOST_ACCESSES:
        depending = with_dependences(program, shape.construct)
        if any(
            one.construct == shape.construct and one.most_phases < shape.most_phases
            for one in task_shapes(depending)
        ):
            return trial.of_program("dependences", place, lambda: depending)
    make = partial(without_phases, program, shape.construct)
    return trial.of_program("phases", place, make, at_most=True, count=shape.most_phases)


def graph_changes(trial: Trial) -> Iterator[Candidate]:
    """Yields replays of graphs of tasks, if their recorded creations take enough time."""
    for shape in graphs(trial.program):
        if shape.create_ns >= LEAST_GAIN * trial.base.wall_ns:
            way = Way(partial(replayed, trial.program, shape.construct))
            yield trial.best(
                "taskgraph",
                shape.construct,
                {shape.n_tasks: way},
                count=shape.n_graphs,
                share_ns=shape.create_ns,
            )


def loop_changes(trial: Trial, chunk_costs: Mapping[int, float]) -> Iterator[Candidate]:
    """Yields worksharing loops with other distributions.

    `chunk_costs`: measured times to get a chunk, in ns, by construct; other loops use the machine's cost.
    """
    program, threads = trial.program, trial.threads
    for loop in loop_shapes(program):
        construct = loop.construct
        if loop.work_ns < _LEAST_SHARE * program.work_ns:
            continue
        if loop.longest_ns * program.n_threads > _UNBALANCED * loop.work_ns:
            if _has_long_iterations(loop, threads):
                yield _changed(trial, "iterations", construct, balanced, at_most=True)
            else:
                yield _changed(trial, "schedule", construct, balanced, at_most=True)
                numbers = [threads * k for k in _TASKS_OF_LOOP]
                ways = _ways(
                    as_taskloop, trial, construct, [n for n in numbers if n * loop.n_instances <= _MOST_ADDED]
                )
                if ways:
                    yield trial.best("taskloop", construct, ways, at_most=True)
        chunk_ns = round(chunk_costs.get(construct, trial.chunk_ns))
        if loop.n_chunks * chunk_ns > LEAST_GAIN * loop.work_ns:
            most = loop.n_chunks / loop.n_instances / threads
            factors = [factor for factor in _CHUNKS if factor * _MANY <= most]
            ways = {
                factor: Way(partial(with_larger_chunks, program, construct, factor, chunk_ns))
                for factor in factors
            }
            if ways:
                yield trial.best("chunk", construct, ways)


def _has_long_iterations(loop: LoopShape, threads: int) -> bool:
    """True if no schedule balances the loop: it has few iterations, or its chunks are single iterations."""
    each = loop.n_iterations / loop.n_instances
    return 0 < each < _FEW_ITERATIONS * threads or (
        not loop.is_static and 0 < each <= loop.n_chunks / loop.n_instances
    )


def _changed(
    trial: Trial, kind: str, construct: int, change: Callable[[TaskProgram, int], TaskProgram],
    at_most: bool = False,
) -> Candidate:  # fmt: skip
    """Returns a change of one construct that has no values to choose from."""
    return trial.of_program(kind, construct, partial(change, trial.program, construct), at_most=at_most)
