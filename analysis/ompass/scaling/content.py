# SPDX-License-Identifier: Apache-2.0
"""The content of the reports on a sweep: finished jobs by number of threads, points and verdicts.

Owns the rule by which constructs of different runs match: same kind, function, file and line. Runs of one
program that were recorded one by one, such as by batch jobs, also form a sweep.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Final

from ompass.errors import NothingToShowError, UsageError
from ompass.metrics import thresholds
from ompass.metrics.breakdown import Scope, largest_team, program_ns
from ompass.model import UNSHARED_LOOPS, Run, SystemUse
from ompass.readers.meta import read_meta
from ompass.readers.run import open_run
from ompass.reports.content import ReportContent, collect
from ompass.sampled import OWN
from ompass.samples.metrics import Line, LocatedSample, false_sharing, samples_of_work
from ompass.samples.stacks import Stacks, mean_stacks
from ompass.scaling.causes import Causes, Runs, Spot, WorkParts, divide
from ompass.scaling.directory import Done, SweepDirectory
from ompass.scaling.metrics import (
    Inflation,
    Measured,
    RecordingCost,
    Samples,
    ScalingPoint,
    WorkOf,
    inflation,
    measured,
    recording_cost,
    scaling_point,
    spread,
)
from ompass.scaling.plan import BASELINE, ELISION, RECORDED, UNRECORDED, Job, SweepSpec
from ompass.scaling.verdict import FINE_FINDINGS, Evidence, Gap, Verdict, bends, diagnose, gaps
from ompass.symbols.libraries import group_of
from ompass.symbols.resolver import UNKNOWN, Location

SPREAD_FIGURES = ("time_ns", "speedup", "ovr", "wti")


@dataclass(frozen=True, slots=True)
class Place:
    """A construct, with the same name in every run of a sweep."""

    kind: str  # "task", "kernel", "implicit"
    function: str
    file: str
    line: int
    module: str  # only where the line is unknown
    offset: int

    @property
    def location(self) -> Location:
        return Location(self.function, self.file, self.line, (), self.module, self.offset)

    def label(self) -> str:
        label = self.location.label()
        return label if self.kind == "task" else f"{label}, {self.kind}"


@dataclass(frozen=True, slots=True)
class NumberOfThreads:
    """All figures for one number of threads."""

    point: ScalingPoint
    spreads: dict[str, tuple[float, float]]  # smallest and largest value of the rounds, by figure
    verdict: Verdict | None  # None on one thread
    finding_place: str  # the line that the verdict blames; empty if there is none
    location: Location  # the same line
    inflation: tuple[Inflation[Place], ...]
    causes: Causes | None  # None on one thread
    recording: RecordingCost | None
    n_rounds: int
    n_seen: int  # threads that took part
    n_team: int  # threads of the largest team
    misfit: bool
    n_left_out: int  # rounds in which other programs used the CPUs
    others: float  # largest part of the CPUs' time used by other programs in a counted round
    program_ns: float = 0.0  # mean time of the whole process; 0: unknown
    stacks: tuple[Stacks, Stacks] | None = None  # mean samples of a run, here and on one thread


@dataclass(frozen=True, slots=True)
class ScalingContent:
    """The content of a report on a sweep."""

    spec: SweepSpec
    scope: Scope
    directory: str
    columns: tuple[NumberOfThreads, ...]  # by number of threads
    gaps: tuple[Gap, ...]  # at the judged number of threads
    bends: tuple[str, ...]
    n_cpus: int  # the most CPUs that a recorded run could use; 0: unknown

    @property
    def judged(self) -> NumberOfThreads | None:
        """The figures for the most threads, but at most n_cpus if possible; None for one thread only."""
        many = [c for c in self.columns if c.point.threads > 1]
        fitting = [c for c in many if self.n_cpus == 0 or c.point.threads <= self.n_cpus]
        chosen = fitting or many
        return chosen[-1] if chosen else None


def default_scope(spec: SweepSpec) -> Scope:
    """Returns the scope in which all compared times cover the same part of the program."""
    serial = bool(spec.baseline or spec.elision)
    return Scope.PROGRAM if serial and not spec.seconds else Scope.REGIONS


def read_sweep(path: Path, scope: Scope | None = None) -> ScalingContent:
    """Returns the content of a sweep's finished runs.

    Raises UsageError, DamagedRunError, NothingToShowError.
    """
    with SweepDirectory.open(path, None, None) as sweep:
        chosen = scope or default_scope(sweep.spec)
        return collect_scaling(load_runs(sweep, chosen), sweep.spec, chosen, str(path))


def collect_scaling(
    runs: Sequence[SweepRuns], spec: SweepSpec, scope: Scope, directory: str
) -> ScalingContent:
    """Returns the content of the report on a sweep."""
    # A pinned run may use only as many CPUs as it has threads, unless it has more threads than CPUs.
    n_cpus = max((run.n_usable_cpus for one in runs for run in (*one.recorded, *one.one_thread)), default=0)
    columns = tuple(_column(one, scope, n_cpus) for one in runs)
    content = ScalingContent(spec, scope, directory, columns, (), (), n_cpus)
    judged = content.judged
    return ScalingContent(
        spec,
        scope,
        directory,
        columns,
        gaps(judged.point) if judged else (),
        bends([c.point for c in columns if n_cpus == 0 or c.point.threads <= n_cpus]),
        n_cpus,
    )


def _column(runs: SweepRuns, scope: Scope, n_cpus: int) -> NumberOfThreads:
    samples = runs.samples
    point = scaling_point(samples)
    contents = [collect(run, scope=scope) for run in runs.recorded]
    same = runs.recorded == runs.one_thread
    ones = contents if same else [collect(run, scope=scope) for run in runs.one_thread]
    rows = inflation(runs.threads, [work_of(c) for c in contents], [work_of(c) for c in ones])
    verdict, causes, place, location = None, None, "", UNKNOWN
    if runs.threads > 1:
        counted: dict[Hashable, Runs] = {
            row.key: Runs(row.n_runs, row.one_n_runs, row.work_ns, row.one_work_ns)
            for row in rows
            if row.key.kind != "implicit"
        }
        causes = divide(
            runs.threads,
            [_parts(c, m, scope) for c, m in zip(contents, samples.recorded, strict=True)],
            [_parts(c, m, scope) for c, m in zip(ones, samples.one_thread, strict=True)],
            counted,
        )
        typical = _typical(contents, [m.time_ns for m in samples.recorded])
        fine = {_task_place(typical, f.construct) for f in typical.findings if f.kind in FINE_FINDINGS}
        evidence = Evidence(
            findings=tuple(f for f in typical.findings if f.severity == "problem"),
            fine_inflation_ns=sum(row.excess_ns for row in rows if row.key in fine),
            n_cpus=n_cpus,
            n_tasks=typical.n_tasks,
            others=runs.others,
            causes=causes,
        )
        verdict = diagnose(point, evidence)
        if verdict.line is not None:
            spot = verdict.line.spot
            place, location = spot.label, Location(spot.function, spot.file, spot.line)
        elif verdict.finding is not None and (found_at := typical.place_of(verdict.finding)) != UNKNOWN:
            place, location = found_at.label(), found_at
    return NumberOfThreads(
        point=point,
        spreads={
            name: bounds
            for name in SPREAD_FIGURES
            if (bounds := spread(samples, lambda p, name=name: float(getattr(p, name)))) is not None  # type: ignore[misc]
        },
        verdict=verdict,
        finding_place=place,
        location=location,
        inflation=rows,
        causes=causes,
        recording=recording_cost(samples),
        n_rounds=samples.n_rounds,
        n_seen=max(m.n_seen for m in samples.recorded),
        n_team=max(largest_team(run) for run in runs.recorded),
        misfit=any(m.misfit for m in samples.recorded),
        n_left_out=runs.n_left_out,
        others=runs.others,
        program_ns=runs.program_ns,
        stacks=_stacks(contents, ones) if runs.threads > 1 else None,
    )


def _stacks(contents: Sequence[ReportContent], ones: Sequence[ReportContent]) -> tuple[Stacks, Stacks] | None:
    now, one = (mean_stacks([content.samples for content in each]) for each in (contents, ones))
    return (now, one) if now and one else None


def _typical(contents: Sequence[ReportContent], times_ns: Sequence[int]) -> ReportContent:
    """Returns the run with the median time."""
    order = sorted(range(len(contents)), key=lambda k: times_ns[k])
    return contents[order[(len(order) - 1) // 2]]


def _task_place(content: ReportContent, construct: int | None) -> Place:
    return _place("task", content.location(construct))


def _place(kind: str, location: Location) -> Place:
    if location.line or not location.module:
        return Place(kind, location.function, location.file, location.line, "", 0)
    return Place(kind, location.function, location.file, 0, location.module, location.offset)


def work_of(content: ReportContent) -> dict[Place, WorkOf]:
    """Returns the own work of every task construct, region (implicit tasks) and kernel."""
    work: dict[Place, WorkOf] = {}

    def add(place: Place, work_ns: int, n_runs: int, create_ns: int = 0) -> None:
        before = work.get(place, WorkOf(0, 0))
        work[place] = WorkOf(before.work_ns + work_ns, before.n_runs + n_runs, before.create_ns + create_ns)

    for task in content.tasks:
        add(_task_place(content, task.construct), task.work_ns, task.n_completed, task.create_ns)
    for region in content.regions:
        add(_place("implicit", content.location(region.construct)), region.implicit_ns, region.n_instances)
    for kernel in content.kernels:
        add(_place("kernel", content.location(kernel.construct)), kernel.work_ns, kernel.n_completed)
    return work


_WORKING: Final = frozenset({"task", "kernel", "implicit"})


def _parts(content: ReportContent, whole: Measured, scope: Scope) -> WorkParts:
    """Returns the parts of one run's work, with the samples in it."""
    presence, samples = content.breakdown.presence, content.samples
    work = presence.work if presence else None
    working = _WORKING | {"serial"} if scope is Scope.PROGRAM else _WORKING
    counts: dict[tuple[Spot, str], Counter[int]] = {}
    n_samples = 0
    mine = [s for s in samples.samples if s.owner.kind in working] if samples and not samples.loads else []
    for sample in mine:
        key = _spot(content, sample), sample.behaviour
        counts.setdefault(key, Counter())[sample.thread] += sample.weight
        n_samples += sample.weight
    hz = samples.frequency_hz if samples and n_samples else 0
    complete = samples is not None and not (
        samples.n_lost or samples.n_dropped or samples.unsampled or any(samples.window_ns.values())
    )
    running_ns = work.running_ns if work else content.breakdown.states.work_ns
    # There are no samples of time in the kernel. A few other samples are missing too, so the kernel's own
    # count, which covers all states, limits the estimate.
    kernel_ns = max(running_ns - n_samples * 1e9 / hz, 0.0) if hz and complete and work else 0.0
    use = SystemUse.sum(region.system_use for region in content.regions)
    if use is not None and scope is Scope.REGIONS:
        kernel_ns = min(kernel_ns, use.system_ns)
    return WorkParts(
        work_ns=whole.states.work_ns,
        preempted_ns=work.preempted_ns if work else 0,
        blocked_ns=work.blocked_ns if work else 0,
        counts=counts,
        kernel_ns=kernel_ns,
        n_faults=use.n_minor_faults + use.n_major_faults if use else None,
        frequency_hz=hz,
        undivided_ns=_undivided_ns(content),
        shared_lines=_shared_lines(content),
    )


def _shared_lines(content: ReportContent) -> frozenset[tuple[str, int]]:
    """Returns the files and lines that use falsely shared cache lines."""
    if content.samples is None:
        return frozenset()
    found = false_sharing(content.samples.used_data, samples_of_work(content.samples.samples))
    return frozenset((line.file, line.line) for line in found.lines if line.line) if found else frozenset()


def _undivided_ns(content: ReportContent) -> int:
    """Returns the work in implicit tasks, without the loops and sections that divide work."""
    in_loops_ns = sum(loop.time_ns for loop in content.loops if loop.kind not in UNSHARED_LOOPS)
    return max(sum(region.implicit_ns for region in content.regions) - in_loops_ns, 0)


def _spot(content: ReportContent, sample: LocatedSample) -> Spot:
    """Returns the line of a sample; in a library, the line of the program that calls it."""
    own = sample.calls
    if sample.library != OWN:
        own = tuple(c for c in sample.calls if group_of(c.module, c.function) == OWN)
    line = sample.own_line or next(iter(own or sample.calls), Line("", "", 0, "", ""))
    location = content.location(sample.owner.construct)
    return Spot(
        owner=_place(sample.owner.kind, location) if sample.owner.construct >= 0 else sample.owner.kind,
        is_shared=sample.owner.kind == "implicit",
        function=line.function,
        file=line.file,
        line=line.line,
        label=f"{line.label}, in {sample.library}" if sample.library else line.label,
        library=sample.library,
    )


@dataclass(frozen=True, slots=True)
class SweepRuns:
    """Measurements for one number of threads: one entry per finished round, in every sequence."""

    threads: int
    recorded: tuple[Run, ...]
    one_thread: tuple[Run, ...]
    samples: Samples
    n_left_out: int  # rounds omitted because other programs used the CPUs; quieter rounds remain
    others: float  # largest part of the CPUs' time used by other programs in a counted run
    program_ns: float = 0.0  # mean time of the whole process; 0: unknown


def load_runs(
    directory: SweepDirectory, scope: Scope, threads: tuple[int, ...] = ()
) -> tuple[SweepRuns, ...]:
    """Returns the finished rounds for each number in `threads` (empty: all measured numbers), in order.

    Raises NothingToShowError if no round is finished, and UsageError for a sweep of an MPI job.
    """
    spec, done = directory.spec, directory.done()
    if any(one.ranks for one in done.values()):
        raise UsageError(
            f"{directory.path}",
            "it is a sweep of an MPI job, which has other figures",
            f"see them with `ompass scale -o {directory.path}`",
        )
    there = {job.threads for job in done if job.kind == RECORDED and job.value in (0, job.threads)}
    # Every sweep measures one thread, even if `threads` leaves it out.
    wanted = tuple(sorted(set(threads) & there)) if threads else tuple(sorted(there))
    opened: dict[Job, tuple[Run, Measured]] = {}

    def open_job(job: Job) -> tuple[Run, Measured]:
        if job not in opened:
            run = open_run(directory.run_of(done[job]))
            opened[job] = run, measured(run, job.threads, scope, done[job].wall_ns)
        return opened[job]

    # One disturbed run excludes its round for all numbers of threads, so all have the same serial times.
    loud = {job.repeat for job, one in done.items() if (one.others or 0.0) >= thresholds.DISTURBED_SHARE}
    quiet = {job.repeat for job in done} - loud
    found = []
    for p in wanted:
        rounds = _finished_rounds(spec, done, p)
        if not rounds:
            continue
        n_finished = len(rounds)
        rounds = [jobs for jobs in rounds if jobs[RECORDED].repeat in quiet] or rounds
        pairs = [(open_job(jobs[RECORDED]), open_job(jobs["one"])) for jobs in rounds]
        unrecorded = [jobs for jobs in rounds if UNRECORDED in jobs]
        found.append(
            SweepRuns(
                threads=p,
                recorded=tuple(at_p[0] for at_p, _ in pairs),
                one_thread=tuple(at_one[0] for _, at_one in pairs),
                samples=Samples(
                    threads=p,
                    recorded=[at_p[1] for at_p, _ in pairs],
                    one_thread=[at_one[1] for _, at_one in pairs],
                    baseline_ns=[_time_ns(done[jobs[BASELINE]]) for jobs in rounds if BASELINE in jobs],
                    elision_ns=[_time_ns(done[jobs[ELISION]]) for jobs in rounds if ELISION in jobs],
                    recorded_process_ns=[_time_ns(done[jobs[RECORDED]]) for jobs in unrecorded],
                    unrecorded_ns=[_time_ns(done[jobs[UNRECORDED]]) for jobs in unrecorded],
                    unrecorded_one_ns=[_time_ns(done[jobs["unrecorded one"]]) for jobs in unrecorded],
                ),
                n_left_out=n_finished - len(rounds),
                others=max(_others(done, jobs) for jobs in rounds),
                program_ns=fmean(done[jobs[RECORDED]].wall_ns for jobs in rounds),
            )
        )
    if not found:
        raise NothingToShowError(
            f"{directory.path}", "no round of the sweep is finished", "resume it with the same command"
        )
    return tuple(found)


def _finished_rounds(spec: SweepSpec, done: Mapping[Job, Done], p: int) -> list[dict[str, Job]]:
    """Returns the jobs of every round that is finished for this number of threads."""
    value = p if spec.depends_on_threads(RECORDED) else 0
    rounds = []
    for repeat in sorted({job.repeat for job in done}):
        jobs = {RECORDED: Job(RECORDED, p, value, repeat), "one": Job(RECORDED, 1, value, repeat)}
        for kind in (BASELINE, ELISION):
            if spec.command_of(kind):
                jobs[kind] = Job(kind, 1, p if spec.depends_on_threads(kind) else 0, repeat)
        extra = {
            UNRECORDED: Job(UNRECORDED, p, value, repeat),
            "unrecorded one": Job(UNRECORDED, 1, value, repeat),
        }
        if all(job in done for job in jobs.values()):
            rounds.append(jobs | (extra if all(job in done for job in extra.values()) else {}))
    return rounds


def _others(done: Mapping[Job, Done], jobs: Mapping[str, Job]) -> float:
    return max(done[job].others or 0.0 for job in jobs.values())


def _time_ns(done: Done) -> int:
    """Returns the time that the program printed, if the sweep reads it; else the time of its process."""
    return done.wall_ns if done.printed_ns is None else done.printed_ns


def recorded_sweep(
    contents: Sequence[ReportContent], scope: Scope
) -> tuple[tuple[SweepRuns, ...], SweepSpec]:
    """Returns the runs by number of threads, and their command.

    A round pairs a run with a run on one thread. Ignores runs without a partner.
    Raises UsageError without a run on one thread.
    """
    by_threads: dict[int, list[Run]] = {}
    for content in sorted(contents, key=lambda each: each.run.start_epoch_ns):
        by_threads.setdefault(largest_team(content.run), []).append(content.run)
    ones = by_threads.get(1)
    if not ones:
        there = ", ".join(map(str, sorted(by_threads)))
        raise UsageError(
            "--from", f"none of the runs is on one thread (they are on {there})", "record one with `-t 1`"
        )
    found = tuple(_runs(n, by_threads[n], ones, scope) for n in sorted(by_threads))
    return found, SweepSpec(_command(by_threads), pinned=False)


def _runs(threads: int, recorded: Sequence[Run], ones: Sequence[Run], scope: Scope) -> SweepRuns:
    n_rounds = min(len(recorded), len(ones))
    runs, one = tuple(recorded[:n_rounds]), tuple(ones[:n_rounds])
    samples = Samples(
        threads=threads,
        recorded=[measured(run, threads, scope, program_ns(run)) for run in runs],
        one_thread=[measured(run, 1, scope, program_ns(run)) for run in one],
    )
    mean_ns = sum(program_ns(run) for run in runs) / n_rounds
    return SweepRuns(threads, runs, one, samples, n_left_out=0, others=0.0, program_ns=mean_ns)


def _command(by_threads: Mapping[int, Sequence[Run]]) -> tuple[str, ...]:
    return read_meta(by_threads[1][0].path).command or ("program",)
