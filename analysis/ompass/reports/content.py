# SPDX-License-Identifier: Apache-2.0
"""The content of every form of a report: the metrics of one run, with source locations.

Owns the rule by which constructs are merged: same kind (also of wait, loop, target), name, function and line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ompass.errors import DamagedRunError, NothingToShowError, RunNotFoundError
from ompass.keeping.names import keep_names
from ompass.metrics.breakdown import Breakdown, RegionShare, Scope, time_breakdown
from ompass.metrics.constructs import Bin, ConstructTotals, construct_totals, granularity
from ompass.metrics.facts import Facts, Finding, LateTasks
from ompass.metrics.findings import find_findings
from ompass.metrics.library_calls import (
    CallTotals,
    Device,
    TargetTotals,
    devices_of,
    mpi_totals,
    target_totals,
)
from ompass.metrics.locality import Locality, locality
from ompass.metrics.processors import processor_time
from ompass.metrics.thresholds import BLOCKED_SHARE
from ompass.metrics.waits import LoopTotals, WaitTotals, loop_totals, wait_totals
from ompass.model import Run
from ompass.readers.meta import read_meta
from ompass.readers.run import open_run
from ompass.runtime_names import is_python
from ompass.samples.content import SampleContent, blocking_places, collect_samples
from ompass.samples.metrics import BlockingPlace
from ompass.simulation.stored import StoredAdvice, read_advice
from ompass.symbols.resolver import UNKNOWN, Location, Resolver, Resolvers, notes_on_places


@dataclass(frozen=True, slots=True)
class ReportContent:
    """The content of a report on one run."""

    run: Run
    breakdown: Breakdown
    tasks: tuple[ConstructTotals, ...]
    kernels: tuple[ConstructTotals, ...]
    bins: tuple[Bin, ...]
    findings: tuple[Finding, ...]  # found in `facts`
    locations: Mapping[int, Location]  # by construct number
    problems: tuple[str, ...]  # reasons why symbols or samples are missing
    waits: tuple[WaitTotals, ...] = ()
    loops: tuple[LoopTotals, ...] = ()
    mpi: tuple[CallTotals, ...] = ()
    targets: tuple[TargetTotals, ...] = ()
    devices: tuple[Device, ...] = ()
    locality: Locality | None = None  # for tasks that libomp_ext.so held
    samples: SampleContent | None = None
    critical_names: Mapping[int, str] = field(default_factory=dict)  # empty: without a name; missing: unknown
    source_lines: Mapping[str, Mapping[int, str]] = field(default_factory=dict)  # stored in the run
    facts: Facts | None = None  # None: the findings were not computed from facts
    advice: StoredAdvice | None = None
    advice_refusal: str = ""  # why `ompass run` did not trace the program for advice

    def location(self, construct: int | None) -> Location:
        return self.locations.get(construct, UNKNOWN) if construct is not None else UNKNOWN

    def place_of(self, finding: Finding) -> Location:
        """Returns the line that causes a finding; if samples do not show it, the construct's location."""
        if (line := finding.line) is not None:
            return Location(line.function, line.file, line.line, (), line.module)
        return self.location(finding.construct)

    @property
    def n_tasks(self) -> int:
        """Completed explicit tasks in the whole run."""
        return sum(t.n_completed for t in self.tasks)

    @property
    def regions(self) -> tuple[RegionShare, ...]:
        return self.breakdown.regions


def collect(
    run: Run,
    resolver: Resolver | None = None,
    scope: Scope = Scope.REGIONS,
    region: str = "",
    *,
    with_samples: bool = True,
) -> ReportContent:
    """Returns the content of a report on `run`.

    `region` selects parallel constructs for Scope.REGION, as in select_regions. Without samples, the
    report takes much less time, and lacks the findings that need samples.
    """
    resolver = resolver or Resolver.of_run(run)
    locations = {d.id: resolver.locate(d) for d in run.definitions}
    groups = same_place(run, locations)
    chosen = select_regions(run, locations, region) if scope is Scope.REGION else frozenset()
    tasks = construct_totals(run, "task", groups)
    whole = time_breakdown(run, groups=groups)
    shown = whole if scope is Scope.REGIONS else time_breakdown(run, scope, regions=chosen, groups=groups)
    waits, loops = wait_totals(run, groups), loop_totals(run, groups)
    targets, devices = target_totals(run, groups), devices_of(run)
    names = _critical_names(run, waits, resolver)
    problems = tuple(resolver.problems)
    samples, damage = _samples(run, locations, groups, resolver) if with_samples else (None, ())
    creates_by_libgomp = resolver.creates_tasks_by_libgomp()
    sleeping = _blocking_places(run, whole, tasks, resolver) if with_samples else {}
    task_bytes = {task.construct: resolver.task_bytes(run.definitions[task.construct]) for task in tasks}
    if with_samples:
        keep_names(run, resolver)
    facts = Facts(
        run,
        whole,
        tasks,
        waits,
        loops,
        samples.samples if samples and not samples.loads else (),
        samples.loads if samples else (),
        samples.used_data if samples else (),
        names,
        _wanted_threads(run),
        creates_by_libgomp,
        samples.frequency_hz if samples else 0,
        read_meta(run.path).environment,
        _rank_cpus(run),
        targets,
        devices,
        is_python(Path(read_meta(run.path).program).name),
        sleeping,
        task_bytes,
        _directives(run, locations),
    )
    content = ReportContent(
        run=run,
        breakdown=shown,
        tasks=tasks,
        kernels=construct_totals(run, "kernel", groups),
        bins=granularity(tasks),
        findings=find_findings(facts),
        facts=facts,
        locations=locations,
        problems=(*problems, *notes_on_places(run, locations), *damage),
        waits=waits,
        loops=loops,
        mpi=mpi_totals(run, groups),
        targets=targets,
        devices=devices,
        locality=locality(run),
        samples=samples,
        critical_names=names,
        source_lines=resolver.answers.lines,
    )
    return with_stored_advice(content)


def _directives(run: Run, locations: Mapping[int, Location]) -> frozenset[tuple[str, int]]:
    """Returns the files and lines of the directives of parallel regions and loops."""
    places = [locations[d.id] for d in run.definitions if d.kind in ("parallel", "loop")]
    return frozenset((place.file, place.line) for place in places if place.line)


def _blocking_places(
    run: Run, whole: Breakdown, tasks: Sequence[ConstructTotals], resolver: Resolver
) -> dict[int, tuple[BlockingPlace, ...]]:
    """Returns, for each construct in which threads slept for long, the calls that may put them to sleep."""
    blocked_ns = {task.construct: task.blocked_ns for task in tasks}
    blocked_ns |= {region.construct: processor_time(region).work_blocked_ns for region in whole.regions}
    return {
        construct: blocking_places(run.definitions[construct], resolver)
        for construct, ns in blocked_ns.items()
        if construct >= 0 and whole.share(ns) >= BLOCKED_SHARE / 2
    }


def with_stored_advice(content: ReportContent) -> ReportContent:
    """Returns the content with the advice in the run directory, and with the findings that follow from it."""
    advice = read_advice(content.run)
    late = _late_tasks(content, advice)
    if late is None or content.facts is None:
        return replace(content, advice=advice)
    facts = replace(content.facts, late_tasks=late)
    return replace(content, advice=advice, facts=facts, findings=find_findings(facts))


def collect_runs(directories: Sequence[Path]) -> list[ReportContent]:
    """Returns the contents of several runs, such as the ranks of a job. Each name is looked up once."""
    resolvers = Resolvers()
    runs = map(open_run, directories)
    return [collect(run, resolvers.of_run(run)) for run in runs]


def _late_tasks(content: ReportContent, advice: StoredAdvice | None) -> LateTasks | None:
    """Returns the tasks that gain most from other priorities, if the program has priorities."""
    changes = advice.changes if advice else ()
    possible = [one for one in changes if one.kind == "priority" and one.priority and not one.is_doubtful]
    best = max(possible, key=lambda one: one.gain, default=None)
    if best is None:
        return None
    # The advice may come from another run, with other construct numbers.
    place = best.place.module, best.place.offset
    for task in content.tasks:
        location = content.location(task.construct)
        if (location.module, location.offset) == place:
            return LateTasks(task.construct, best.gain, best.before_ns - best.wall_ns)
    return None


def _wanted_threads(run: Run) -> int:
    """Returns the number of threads that OMP_NUM_THREADS requests; 0 if it is not set."""
    first = read_meta(run.path).environment.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    return int(first) if first.isdigit() else 0


def _rank_cpus(run: Run) -> int:
    """Returns the number of processors of the host if this run is a rank with fewer; else 0."""
    meta = read_meta(run.path)
    return len(meta.places) if meta.rank is not None and 0 < run.n_usable_cpus < len(meta.places) else 0


def _critical_names(run: Run, waits: Sequence[WaitTotals], resolver: Resolver) -> dict[int, str]:
    """Returns the known names of critical constructs; empty for a construct without a name."""
    names = {
        wait.construct: resolver.critical_name(run.definitions[wait.construct])
        for wait in waits
        if wait.kind == "critical"
    }
    return {construct: name for construct, name in names.items() if name is not None}


def _samples(
    run: Run, locations: Mapping[int, Location], groups: Mapping[int, int], resolver: Resolver
) -> tuple[SampleContent | None, tuple[str, ...]]:
    """Returns the samples, or the reason why the report has none."""
    try:
        return collect_samples(run, locations, groups, resolver), ()
    except DamagedRunError as error:
        return None, (error.one_line(),)
    except RunNotFoundError:
        return None, ()


def same_place(run: Run, locations: Mapping[int, Location]) -> dict[int, int]:
    """Returns, for each construct, the smallest number of a construct at the same source line.

    Templates, inlining and unrolling create several addresses for one line. People see one construct there.
    """
    first: dict[tuple[str, int, str, str, str, int], int] = {}
    groups: dict[int, int] = {}
    for definition in run.definitions:
        location = locations[definition.id]
        of_kind = definition.flags if definition.kind in ("wait", "loop", "target") else 0
        name = definition.name
        if location.line:
            key = (definition.kind, of_kind, name, location.function, location.file, location.line)
        elif name and definition.offset == 0:
            key = (definition.kind, of_kind, name, "", "", 0)
        else:
            continue
        groups[definition.id] = first.setdefault(key, definition.id)
    return groups


def select_regions(run: Run, locations: Mapping[int, Location], text: str) -> frozenset[int]:
    """Returns the parallel constructs named by `text`: a construct number, `file:line`, or a function.

    If nothing matches, NothingToShowError lists the constructs.
    """
    present = sorted({row.construct for row in run.regions if run.kind_of(row.construct) == "parallel"})
    chosen = frozenset(c for c in present if text == str(c) or locations[c].is_named(text))
    if not present:
        raise NothingToShowError("this run has no parallel region", "none was recorded")
    if not chosen:
        there = ", ".join(f"{c}: {locations[c].label()}" for c in present)
        raise NothingToShowError(
            f"no parallel region is `{text}`", f"the regions of this run are {there}", "name one of these"
        )
    return chosen
