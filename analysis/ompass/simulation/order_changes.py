# SPDX-License-Identifier: Apache-2.0
"""Changes that let more of the program run at the same time.

They remove waits in loops, false dependences, locks, barriers and short regions, deepen pipelines, and divide
serial work. A trace does not show which order the data require, so most of these gains are bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial, reduce

from ompass.model import Run, wait_kind
from ompass.simulation.reader import (
    DependenceShape,
    TaskProgram,
    barriers,
    blocking,
    deeper,
    dependences,
    locks,
    parallel_regions,
    serial_parts,
    waits,
    with_merged_barriers,
    with_merged_regions,
    with_merged_waits,
    with_shared_region,
    with_shared_serial_part,
    without_blocking,
    without_dependences,
    without_lock,
)
from ompass.simulation.trial import LEAST_GAIN, Candidate, Trial, Way

_IN_A_LOOP = 3  # this many waits of a task, barriers of a region, or regions count as a loop
_DEPTHS = (2, 4, 8)
_MOST_LOCKS = 4  # locks to try, those that are busy for longest
_ALONE = 0.5  # work counts as undivided if one thread does at least this part of it


def order_changes(trial: Trial, run: Run) -> Iterator[Candidate]:
    """Yields all changes of this module; none if the threads hardly wait."""
    if trial.most_by_order < LEAST_GAIN:
        return
    yield from _merged_waits(trial)
    yield from _dependences(trial)
    yield from _locks(trial, run)
    yield from _blocking(trial)
    yield from _barriers(trial)
    yield from _regions(trial, run)
    yield from _serial_parts(trial)


def _is_much(trial: Trial, ns: int) -> bool:
    return ns >= LEAST_GAIN * trial.base.wall_ns


def _merged_waits(trial: Trial) -> Iterator[Candidate]:
    for wait in waits(trial.program):
        if wait.most_in_task >= _IN_A_LOOP:
            make = partial(with_merged_waits, trial.program, wait.construct)
            yield trial.of_program("waits", wait.construct, make, at_most=True, count=wait.n_waits)


# ---------------------------------------------------------------- dependences


def _dependences(trial: Trial) -> Iterator[Candidate]:
    """Yields deeper pipelines, and programs without some dependences.

    Each program lacks the dependences between one pair of constructs, or those in one group of constructs
    that depend on each other, for example through one variable.
    """
    shapes = dependences(trial.program)
    for shape in shapes:
        if shape.depth:
            ways = {
                factor * shape.depth: Way(partial(deeper, trial.program, shape.after, shape.depth, factor))
                for factor in _DEPTHS
            }
            yield trial.best(
                "pipeline", shape.after, ways, also=(shape.before,), count=shape.depth, at_most=True
            )
    for shape in shapes:
        yield _without(trial, [shape])
    for group in _groups(shapes):
        if len(group) > 1:
            yield _without(trial, group)


def _without(trial: Trial, shapes: Sequence[DependenceShape]) -> Candidate:
    def make() -> TaskProgram:
        return reduce(
            lambda program, shape: without_dependences(program, shape.before, shape.after),
            shapes,
            trial.program,
        )

    first = max(shapes, key=lambda shape: shape.n)
    concerned = dict.fromkeys(construct for shape in shapes for construct in (shape.before, shape.after))
    return trial.of_program(
        "dependence",
        first.after,
        make,
        at_most=True,
        count=sum(shape.n for shape in shapes),
        also=tuple(construct for construct in concerned if construct != first.after),
    )


def _groups(shapes: Sequence[DependenceShape]) -> list[list[DependenceShape]]:
    """Returns the dependences in each group of constructs that depend on each other."""
    group_of: dict[int, int] = {}

    def root(construct: int) -> int:
        while group_of.setdefault(construct, construct) != construct:
            construct = group_of[construct]
        return construct

    for shape in shapes:
        group_of[root(shape.before)] = root(shape.after)
    groups: dict[int, list[DependenceShape]] = {}
    for shape in shapes:
        groups.setdefault(root(shape.after), []).append(shape)
    return list(groups.values())


# ---------------------------------------------------------------- locks, barriers, regions


def _locks(trial: Trial, run: Run) -> Iterator[Candidate]:
    ordered = {d.id for d in run.definitions if d.kind == "wait" and wait_kind(d.flags) == "ordered"}
    longest = sorted(locks(trial.program), key=lambda lock: -(lock.held_ns + lock.passing_ns))
    for lock in longest[:_MOST_LOCKS]:
        if _is_much(trial, lock.held_ns + lock.passing_ns):
            yield trial.of_program(
                "ordered" if lock.construct in ordered else "lock",
                lock.construct,
                partial(without_lock, trial.program, lock.lock),
                at_most=True,
                is_least=trial.hides_passing,
                count=lock.n_acquired,
                share_ns=lock.held_ns,
            )


def _blocking(trial: Trial) -> Iterator[Candidate]:
    for place in blocking(trial.program):
        if _is_much(trial, place.blocked_ns):
            make = partial(without_blocking, trial.program, place.construct)
            yield trial.of_program("order", place.construct, make, at_most=True, share_ns=place.blocked_ns)


def _barriers(trial: Trial) -> Iterator[Candidate]:
    found = [barrier for barrier in barriers(trial.program) if barrier.most_in_region >= _IN_A_LOOP]
    for barrier in found:
        make = partial(with_merged_barriers, trial.program, barrier.construct)
        yield trial.of_program("barrier", barrier.construct, make, at_most=True, count=barrier.n)
    for n in dict.fromkeys(barrier.n for barrier in found):
        alike = [barrier.construct for barrier in found if barrier.n == n]  # probably of one loop
        if len(alike) > 1:
            make = partial(reduce, with_merged_barriers, alike, trial.program)
            yield trial.of_program(
                "barrier", alike[0], make, at_most=True, count=n * len(alike), also=tuple(alike[1:])
            )


def _regions(trial: Trial, run: Run) -> Iterator[Candidate]:
    for region in parallel_regions(trial.program):
        construct = region.construct
        if region.n >= _IN_A_LOOP:
            make = partial(with_merged_regions, trial.program, construct)
            yield trial.of_program("region", construct, make, at_most=True, count=region.n)
        if _is_much(trial, region.longest_ns - region.work_ns // trial.program.n_threads):
            alone = region.alone_ns >= _ALONE * region.work_ns
            undeferred = region.most_of not in (0, construct) and run.kind_of(region.most_of) == "task"
            yield trial.of_program(
                "defer" if undeferred else "share" if alone else "balance",
                region.most_of if undeferred else construct,
                partial(with_shared_region, trial.program, construct),
                at_most=True,
                share_ns=region.work_ns,
            )


def _serial_parts(trial: Trial) -> Iterator[Candidate]:
    for part in serial_parts(trial.program):
        if _is_much(trial, part.work_ns):
            make: Callable[[], TaskProgram] = partial(
                with_shared_serial_part, trial.program, part.before, part.after, trial.threads
            )
            yield trial.of_program(
                "serial",
                part.before or part.after or None,
                make,
                at_most=True,
                value=0,
                also=tuple(filter(None, [part.after if part.before else 0])),
                count=0 if part.before else 1,
                share_ns=part.work_ns,
            )
