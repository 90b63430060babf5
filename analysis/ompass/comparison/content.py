# SPDX-License-Identifier: Apache-2.0
"""The content of a comparison: two sides, and their changes at each number of threads.

Owns the choice of figures that noise of the machine barely changes: counts, work on processors, span and
simulated time. Counts and work come from the profile. A trace gives the span, and the time of a simulated run
on the recorded number of threads.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Final

from ompass.comparison.metrics import SIGNIFICANT_P, Change, Count, Repeat, changes, counts
from ompass.comparison.pairing import Pair, SourceLines, pairs_of
from ompass.errors import OmpassError
from ompass.jobs.scaling import mean_efficiencies
from ompass.metrics.breakdown import Breakdown, Scope, program_ns, sum_states
from ompass.metrics.constructs import construct_totals
from ompass.metrics.processors import knows_switches
from ompass.model import Run, sums
from ompass.readers.run import read_task_graph
from ompass.reports.content import ReportContent
from ompass.samples.content import owner_label
from ompass.samples.stacks import Stacks, mean_stacks, sample_ms
from ompass.scaling.content import Place, work_of
from ompass.scaling.metrics import WorkOf
from ompass.simulation.runs import simulate
from ompass.units import percent, plural


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a comparison: repeated runs of one program, by number of threads."""

    name: str
    is_sweep: bool
    repeats: Mapping[int, tuple[Repeat[Place], ...]]
    n_disturbed: int = 0  # runs during which other programs used the processors
    lines: SourceLines = field(default_factory=dict)  # known lines of its source
    stacks: Mapping[int, Stacks] = field(default_factory=dict)  # mean samples of a run, by number of threads
    grain_ms: float = 1.0  # the value of one sample in these means
    efficiencies: Mapping[int, Mapping[str, float]] = field(default_factory=dict)  # of jobs, by threads


@dataclass(frozen=True, slots=True)
class Compared:
    """The changes at one number of threads. If the sides are not sweeps, each side has its own number."""

    threads_before: int
    threads_after: int
    n_before: int
    n_after: int
    changes: tuple[Change[Place], ...]
    counts: tuple[Count, ...] = ()
    pairs: tuple[Pair, ...] = ()  # the constructs that are on both sides
    program_ns: tuple[float, float] = (0.0, 0.0)  # median times of the whole program; 0: unknown
    stacks: tuple[Stacks, Stacks] | None = None  # before (with the names of after) and after, in ms
    grain_ms: float = 1.0  # the value of one sample in the stacks
    efficiencies: tuple[tuple[str, float, float], ...] = ()  # of jobs: name, before, after

    @property
    def alternating(self) -> bool:
        return self.time.alternating

    @property
    def is_undecided(self) -> bool:
        """True if the runs are too few for the test."""
        return self.time.least_p > SIGNIFICANT_P

    @property
    def time(self) -> Change[Place]:
        return self.changes[0]

    @property
    def deciding(self) -> Change[Place]:
        """The change that decides: the time, or the work on processors if only the work certainly differs.

        Other programs make the time vary, but not this work.
        """
        if self.time.verdict == "same":
            for change in self.changes:
                if change.figure == WORK_ON_PROCESSORS and change.verdict in ("more", "less"):
                    return change
        return self.time


@dataclass(frozen=True, slots=True)
class ComparisonContent:
    """The content of a comparison of two sides."""

    before: str
    after: str
    scope: Scope
    compared: tuple[Compared, ...]
    notes: tuple[str, ...]
    lines: tuple[SourceLines, SourceLines] = ({}, {})  # known lines of the source, before and after


Ranks = Sequence[ReportContent]
"""The reports on one repeat: a single one, or one for each rank of a job."""


def side_of(name: str, runs: Mapping[int, Sequence[tuple[Ranks, int]]], is_sweep: bool) -> Side:
    """Returns a side from the reports of its runs or jobs, each with its time."""
    parts = [content for those in runs.values() for contents, _ in those for content in contents]
    return Side(
        name,
        is_sweep,
        {
            threads: tuple(_repeat(contents, time_ns) for contents, time_ns in those)
            for threads, those in runs.items()
        },
        sum(any(f.kind == "disturbed" for f in content.findings) for content in parts),
        {file: lines for content in parts for file, lines in content.source_lines.items()},
        {
            threads: mean_stacks([c.samples for contents, _ in those for c in contents], across_builds=True)
            for threads, those in runs.items()
        },
        max(
            (
                sample_ms(content.samples) / sum(len(contents) for contents, _ in those)
                for those in runs.values()
                for contents, _ in those
                for content in contents
            ),
            default=1.0,
        ),
        {threads: mean_efficiencies([contents for contents, _ in those]) for threads, those in runs.items()},
    )


def compare_sides(before: Side, after: Side, scope: Scope, least: float | None = None) -> ComparisonContent:
    """Returns the changes between two sides. `least` is a minimum difference in place of the default one.

    Raises ValueError if two sweeps share no number of threads, or if only one side is a sweep.
    """
    if before.is_sweep and after.is_sweep:
        pairs = [(n, n) for n in sorted(before.repeats.keys() & after.repeats.keys())]
    elif not before.is_sweep and not after.is_sweep:
        pairs = list(zip(sorted(before.repeats), sorted(after.repeats), strict=False))[:1]
    else:
        pairs = []
    if not pairs:
        raise ValueError("the sides share no number of threads")
    compared = tuple(_compared(before, after, n, m, least) for n, m in pairs)
    notes = tuple(_notes(before, after, compared, least))
    return ComparisonContent(before.name, after.name, scope, compared, notes, (before.lines, after.lines))


def _repeat(contents: Ranks, time_ns: int) -> Repeat[Place]:
    """Returns the figures of one run; for a job, the sums over its ranks."""
    works = [work_of(content) for content in contents]
    places = dict.fromkeys(place for work in works for place in work)
    counts = Counter[str]()
    for content in contents:
        counts.update(counts_of(content.run, content.breakdown))
    if len(contents) > 1:
        counts["ranks"] = len(contents)
    return Repeat(
        time_ns,
        sum_states(content.breakdown.states for content in contents),
        sum(content.breakdown.n_tasks for content in contents),
        {place: _sum_of_work([work[place] for work in works if place in work]) for place in places},
        min(content.run.start_epoch_ns for content in contents),
        counts,
        _further_times(contents),
        max(program_ns(content.run) for content in contents),
    )


def _sum_of_work(parts: Sequence[WorkOf]) -> WorkOf:
    return WorkOf(**sums(parts, "work_ns n_runs create_ns"))


def _further_times(contents: Ranks) -> dict[str, int]:
    """Returns the further times of a run; for a job, only the work on processors, if all ranks have it."""
    times = [further_times(content.run, content.breakdown) for content in contents]
    names = [name for name in times[0] if len(times) == 1 or name == WORK_ON_PROCESSORS]
    return {name: sum(time[name] for time in times) for name in names if all(name in time for time in times)}


def _compared(before: Side, after: Side, n: int, m: int, least: float | None) -> Compared:
    first, second = before.repeats[n], after.repeats[m]
    pairs = pairs_of(_places(first), _places(second), before.lines, after.lines)
    renamed = _renamed(first, pairs, _places(second))
    return Compared(
        n,
        m,
        len(first),
        len(second),
        changes(renamed, second, least),
        counts([r.counts for r in first], [r.counts for r in second]),
        pairs,
        (median(r.program_ns for r in first), median(r.program_ns for r in second)),
        _stacks(before.stacks.get(n), after.stacks.get(m), _places(first), pairs),
        max(before.grain_ms, after.grain_ms),
        _efficiencies(before.efficiencies.get(n, {}), after.efficiencies.get(m, {})),
    )


def _efficiencies(
    before: Mapping[str, float], after: Mapping[str, float]
) -> tuple[tuple[str, float, float], ...]:
    return tuple((name, value, after[name]) for name, value in before.items() if name in after)


def _stacks(
    before: Stacks | None, after: Stacks | None, places: Iterable[Place], pairs: Sequence[Pair]
) -> tuple[Stacks, Stacks] | None:
    """Returns the samples of both sides. Owners and functions of the first side get their partners' names.

    `places`: all constructs of the first side.
    """
    if not before or not after:
        return None
    partners = {pair.before: pair.after for pair in pairs}
    owners = {_owner(place): _owner(partners.get(place)) or f"{_owner(place)}, gone" for place in places}
    functions = {pair.before.function: pair.after.function for pair in pairs if pair.has_moved}
    kept = {pair.before.function for pair in pairs if pair.before.function == pair.after.function}
    named: dict[tuple[str, ...], float] = {}
    for (owner, *calls), ms in before.items():
        now = (call if call in kept else functions.get(call, call) for call in calls)
        stack = (owners.get(owner, owner), *now)
        named[stack] = named.get(stack, 0.0) + ms
    return named, after


def _owner(place: Place | None) -> str:
    return owner_label(place.kind, place.location) if place else ""


def _renamed(
    repeats: Iterable[Repeat[Place]], pairs: Iterable[Pair], after: Iterable[Place]
) -> list[Repeat[Place]]:
    """Returns the runs of the first side, with each construct at the place of its partner.

    A removed construct must not count as another construct that is now at its place.
    """
    name = {pair.before: pair.after for pair in pairs}
    used = set(after)

    def named(place: Place) -> Place:
        return name.get(place) or (replace(place, offset=-1) if place in used else place)

    return [replace(r, parts={named(place): part for place, part in r.parts.items()}) for r in repeats]


def _places(repeats: Iterable[Repeat[Place]]) -> list[Place]:
    return list(dict.fromkeys(place for repeat in repeats for place in repeat.parts))


def minimum_text(change: Change[Place]) -> str:
    return "infinity" if math.isinf(change.minimum) else percent(change.minimum)


_PER_FIGURE: Final = (
    "p: probability that equal sides differ this much (rank test). The p-values of all figures but the "
    "time are adjusted for their number: if nothing changed, 98% of comparisons call none of them different."
)


def _notes(before: Side, after: Side, compared: Sequence[Compared], least: float | None) -> list[str]:
    notes = []
    single = [one for one in compared if min(one.n_before, one.n_after) < 2]
    repeated = [one for one in compared if one not in single]
    if single:
        notes.append(
            "a side has a single run, so no time is tested. Counts are exact. Name directories of runs, or "
            "sweeps with --repeat 5 or more."
        )
    elif any(one.is_undecided for one in compared):
        notes.append("these runs are too few to decide: at least 5 on each side are necessary.")
    else:
        notes.append(_PER_FIGURE)
    if not before.is_sweep and compared[0].threads_before != compared[0].threads_after:
        notes.append(
            "the sides ran on different numbers of threads: `ompass scale` explains why programs do "
            "not scale."
        )
    only = sorted(before.repeats.keys() ^ after.repeats.keys())
    if before.is_sweep and only:
        notes.append(f"numbers of threads on one side only: {', '.join(map(str, only))}.")
    in_series = [one for one in repeated if not one.alternating]
    if in_series:
        reason = ": 2%, or twice the typical distance between two runs of a side" if least is None else ""
        notes.append(
            "the sides did not run alternately, so a machine that became slower looks like a change. "
            f"The least difference that counts is {minimum_text(in_series[0].time)}{reason}. "
            "`ompass check` alternates."
        )
    elif repeated:
        notes.append(
            "the sides ran alternately: the least difference that counts is "
            f"{minimum_text(repeated[0].time)}."
        )
    disturbed = [one for one in (before, after) if one.n_disturbed]
    for side in disturbed:
        notes.append(
            f"other programs used the processors in {plural(side.n_disturbed, 'run')} of {side.name}."
        )
    return notes


WORK_ON_PROCESSORS: Final = "work on processors"
SPAN: Final = "span"
SIMULATED: Final = "simulated time"

_MOST_TRACE_BYTES: Final = 256 << 20
"""Larger traces take too long to read: their span and simulated time are omitted."""


def counts_of(run: Run, breakdown: Breakdown) -> dict[str, int]:
    """Returns the counts of a run, by name."""
    tasks, kernels = construct_totals(run, "task"), construct_totals(run, "kernel")
    return {
        "threads": breakdown.n_threads,
        "tasks": sum(task.n_completed for task in tasks),
        "undeferred tasks": sum(task.n_undeferred for task in tasks),
        "regions": sum(region.n_instances for region in breakdown.regions),
        "loops": sum(loop.n_led for loop in run.loops),
        "iterations": sum(loop.n_taken for loop in run.loops),
        "executions of kernels": sum(kernel.n_completed for kernel in kernels),
    }


def further_times(run: Run, breakdown: Breakdown) -> dict[str, int]:
    """Returns the times of a run that preemption does not change, in ns; empty if none is known."""
    presence = breakdown.presence
    work = presence.work if presence else None
    on_processors = {WORK_ON_PROCESSORS: work.running_ns} if work else {}
    return on_processors | _traced_times(run)


def _traced_times(run: Run) -> dict[str, int]:
    """Returns the span of the regions and the simulated time; empty without a whole trace."""
    if (
        run.mode != "trace"
        or run.trace_end
        or run.trace_begin_ns
        or not run.complete
        or run.log_bytes > _MOST_TRACE_BYTES
    ):
        return {}
    try:
        graph = read_task_graph(run.path, depth=1, on_processors=knows_switches(run))
        return {SPAN: graph.region_span_ns, SIMULATED: simulate(run.path).predictions[0].run.wall_ns}
    except OmpassError:  # a damaged trace, or a trace without tasks: the other figures are enough
        return {}
