# SPDX-License-Identifier: Apache-2.0
"""Simulates and ranks changes of a recorded program, and computes the causal profile.

changes.py and order_changes.py make the changes, trial.py simulates them, words.py describes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from ompass.keeping.names import resolver_for
from ompass.model import Run
from ompass.readers.run import open_run
from ompass.reports.content import collect, same_place
from ompass.simulation.addresses import shared_address, variable_name
from ompass.simulation.changes import graph_changes, loop_changes, task_changes
from ompass.simulation.machine import Machine, read_machine
from ompass.simulation.order_changes import order_changes
from ompass.simulation.reader import (
    TaskProgram,
    read_task_program,
    with_constructs,
    with_earlier_work,
)
from ompass.simulation.refusals import Doubt
from ompass.simulation.runs import (
    DeclaredData,
    fitted,
    note_on_fit,
    notes_on,
    predict,
    recorded_policy,
    untraced_regions,
)
from ompass.simulation.trial import (
    LEAST_GAIN,
    Candidate,
    Change,
    Trial,
    Way,
    gain_of,
    middle_of_shortest,
)
from ompass.simulation.unmodelled import (
    doubt_of,
    hides_lock_passing,
    sampled_chunk_costs,
    without_sampled_loss,
)
from ompass.simulation.words import Advice, advice_of, on_more_threads
from ompass.symbols.resolver import UNKNOWN, Location, Resolver

__all__ = ["FASTER", "Advice", "AdviceContent", "Causal", "Change", "advise", "middle_of_shortest"]

FASTER = 2.0  # speed-up of a construct in the causal profile
_LEAST_SHARE = 0.005  # least part of the work: smaller constructs are ignored
_MOST_OF_LARGE = 6  # constructs of a large program in the causal profile: those with the most work
_CHECKED = 12  # number of best changes that are kept, each with a range of gains
_CLOSE = 0.01  # gains that differ by less are close: see ranked()
# Changes that come last, whatever they gain: no released runtime replays graphs, and more threads leave the
# program as it is.
_LAST = ("taskgraph", "threads")
_ADDS_TASKS = ("split", "finer")


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
    wall_ns: int  # predicted time without a change
    doubt: Doubt | None  # the reason to doubt the gains; None: there is none
    changes: tuple[Change, ...]
    causal: tuple[Causal, ...]
    locations: Mapping[int, Location]
    notes: tuple[str, ...]

    def location(self, construct: int | None) -> Location:
        return self.locations.get(construct, UNKNOWN) if construct is not None else UNKNOWN

    def kind_of(self, construct: int) -> str:
        return self.run.kind_of(construct)

    @property
    def advice(self) -> tuple[Advice, ...]:
        """The changes in words, best first."""
        return tuple(advice_of(change, self.location) for change in self.changes)


def advise(
    path: Path,
    *,
    machine: Machine | None = None,
    threads: int = 0,
    progress: Callable[[str], None] = lambda what: None,
) -> AdviceContent:
    """Simulates all changes of the run in a directory. Default `threads`: the recorded number, at least 2.

    Raises the errors of read_task_program and Machine.check_threads.
    """
    run = open_run(path)
    program = read_task_program(path)
    machine = machine or read_machine()
    threads = threads or max(2, program.n_threads)
    machine.check_threads(threads)
    resolver = resolver_for(run)
    locations = {d.id: resolver.locate(d) for d in run.definitions}
    groups = same_place(run, locations)
    program = with_constructs(program, groups)
    if run.earlier_cpu_ns:
        program = with_earlier_work(program, run.earlier_cpu_ns)
    machine, factor = fitted(program, machine)
    as_recorded = predict(program, machine, recorded_policy(program), program.n_threads)
    program = untraced_regions(program, machine)
    trial = Trial(program, machine, threads, DeclaredData.of(path, program))
    trial.hides_passing = hides_lock_passing(run, program, trial.base)
    found: list[Candidate] = []
    for candidate in _candidates(trial, run, resolver):
        progress(candidate[0].kind)
        found.append(candidate)
    notes = notes_on(program, [trial.base], other_team=True, trace_end=run.trace_end)
    notes += note_on_fit(machine, factor)
    doubt = doubt_of(run, trial, as_recorded)
    if not trial.base.levels:  # memory is not modelled
        notes += tuple(on_more_threads(change) for change, _ in found if change.kind == "threads")
        found = [one for one in found if one[0].kind != "threads"]
    progress("uncertainty")
    changes = [_with_address(run, groups, trial.with_range(change, way)) for change, way in ranked(found)]
    progress("causal profile")
    return AdviceContent(
        run=run,
        program=program,
        machine=machine,
        threads=threads,
        wall_ns=trial.base.wall_ns,
        doubt=doubt,
        changes=tuple(change for change in changes if change.low > 0),
        causal=tuple(causal_profile(trial)),
        locations=locations,
        notes=notes,
    )


def _candidates(trial: Trial, run: Run, resolver: Resolver) -> Iterator[Candidate]:
    yield from task_changes(trial)
    yield from graph_changes(trial)
    findings = collect(run, resolver).findings
    yield from loop_changes(trial, sampled_chunk_costs(findings))
    yield from order_changes(trial, run)
    yield from without_sampled_loss(trial, findings)
    more = 2 * trial.threads
    if more <= trial.machine.most_threads and trial.is_comparable(more):
        change, way = trial.best(
            "threads", None, {more: Way(options={"threads": more})}, at_most=not trial.base.levels
        )
        # Only a memory model allows advice on more threads; else the limit explains why they gain nothing.
        is_known = bool(trial.base.levels) or change.gain < LEAST_GAIN
        limit, limit_ns = trial.limit_of(change.wall_ns) if is_known else ("memory", 0)
        yield replace(change, limit=limit, limit_ns=limit_ns), way


def _with_address(run: Run, groups: Mapping[int, int], change: Change) -> Change:
    """Returns the change with the address by which its tasks depend on each other.

    `groups` maps constructs at one place to one of them.
    """
    if change.kind != "dependence" or change.construct is None:
        return change
    named = {change.construct, *change.also}
    members = named | {construct for construct, first in groups.items() if first in named}
    shared = shared_address(run.path, members)
    if shared is not None:
        shared = replace(shared, name=variable_name(run.modules, shared.address))
    return replace(change, shared=shared)


def ranked(found: Iterable[Candidate]) -> list[Candidate]:
    """Returns the changes that gain enough, best first; omits a change if a better one makes it redundant.

    If gains are close, changes that add tasks come last, bounds come after others, another scheduler comes
    after changes of the program, and changes of fewer constructs come first. A change of several constructs
    counts only if it gains more than the changes of the same kind that it contains.
    """
    enough = sorted((one for one in found if one[0].gain >= LEAST_GAIN), key=lambda one: -one[0].gain)
    groups: list[list[Candidate]] = []
    for one in enough:
        if groups and groups[-1][0][0].gain - one[0].gain < _CLOSE:
            groups[-1].append(one)
        else:
            groups.append([one])
    for group in groups:
        group.sort(
            key=lambda one: (
                one[0].kind in _ADDS_TASKS,
                one[0].at_most,
                one[0].kind == "extension",
                len(one[0].also),
                -one[0].gain,
            )
        )
    kept: list[Candidate] = []
    for change, way in chain.from_iterable(groups):
        if not any(_contains(other, change) for other, _ in kept):
            kept.append((change, way))
    first = [one for one in kept if one[0].kind not in _LAST]
    return first[:_CHECKED] + [one for kind in _LAST for one in kept if one[0].kind == kind]


# Pairs of kinds that remove the same waits: if the first kind gains as much, the second adds nothing.
_SAME = {("waits", "phases"), ("phases", "waits"), ("pipeline", "dependence")}


def _contains(better: Change, change: Change) -> bool:
    """True if the better change has the same kind and place, or removes the same waits at one place."""
    places = {change.construct, *change.also}
    if better.kind == change.kind:
        return better.construct == change.construct or bool({better.construct, *better.also} <= places)
    return (better.kind, change.kind) in _SAME and better.construct in places


def causal_profile(trial: Trial) -> Iterator[Causal]:
    """Yields the gain from making each construct FASTER times as fast, best first."""
    total = max(1, trial.program.work_ns)
    found = []
    works = sorted(trial.program.work_of_constructs.items(), key=lambda item: -item[1])
    for construct, ns in works[: _MOST_OF_LARGE if trial.is_large else None]:
        if ns < _LEAST_SHARE * total:
            continue
        way = Way(options={"speed": {construct: FASTER}})
        gain = gain_of(trial.base, trial.run(way))
        found.append(Causal(construct, ns, ns / total, gain, *trial.range_of(gain, way)))
    return iter(sorted(found, key=lambda one: -one.gain))
