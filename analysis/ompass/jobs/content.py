# SPDX-License-Identifier: Apache-2.0
"""MPI jobs: the grouping of runs into jobs, the facts on their ranks, and the findings on a job."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ompass.jobs.reader import ideal_time_ns
from ompass.launch.rank_start import LAUNCH
from ompass.metrics.breakdown import Scope, time_breakdown
from ompass.metrics.efficiency import EDGES, IdealNetwork, computation_of, rank_times, whole_states
from ompass.metrics.job_facts import JobFacts, MpiCall, RankFacts
from ompass.metrics.job_findings import Found, find_job_causes
from ompass.metrics.library_findings import records_mpi
from ompass.metrics.ranks import Job, Rank, job_of, preempted_work_ns
from ompass.model import RegionRow, Run
from ompass.readers.meta import read_meta
from ompass.reports.content import ReportContent
from ompass.symbols.resolver import UNKNOWN, Location


def job_of_reports(contents: Sequence[ReportContent]) -> Job | None:
    """Returns the job that these runs form; None if they are not ranks of one job."""
    ranks = [_rank(content) for content in contents]
    if any(rank is None or rank.times is None for rank in ranks) or len(ranks) < 2:
        return job_of(ranks)
    runs = [content.run for content in contents]
    if any(run.mode != "trace" for run in runs):
        return job_of(ranks)
    return job_of(ranks, IdealNetwork(*ideal_time_ns(runs)))


def rank_of(content: ReportContent) -> int:
    """Returns the number of a run's rank; -1 if it has none."""
    return _number(content.run)


def _number(run: Run) -> int:
    rank = read_meta(run.path).rank
    return -1 if rank is None else rank


@dataclass(slots=True)
class _Group:
    """Runs that may be ranks of one job."""

    runs: list[Run]

    @property
    def ranks(self) -> set[int]:
        return set(map(_number, self.runs))

    @property
    def start_ns(self) -> int:
        return min(run.start_epoch_ns for run in self.runs)

    @property
    def end_ns(self) -> int:
        return max(run.start_epoch_ns + run.wall_ns for run in self.runs)

    def fits(self, other: _Group) -> bool:
        """True if the groups share no rank, ran at the same time, and have their runs in one folder."""
        at_once = self.start_ns <= other.end_ns and other.start_ns <= self.end_ns
        places = {run.path.absolute().parent for run in (*self.runs, *other.runs)}
        return at_once and len(places) == 1 and not self.ranks & other.ranks


def jobs_of(contents: Sequence[ReportContent]) -> list[tuple[ReportContent, ...]]:
    """Returns the reports on the ranks of each job, in the order of `jobs_of_runs`."""
    of_run = {content.run.path: content for content in contents}
    return [tuple(of_run[run.path] for run in job) for job in jobs_of_runs([c.run for c in contents])]


def jobs_of_runs(runs: Sequence[Run]) -> list[tuple[Run, ...]]:
    """Returns the jobs in order of their starts, each as its runs in order of their ranks.

    Ranks of one launch are one job. So are ranks with different numbers that ran at the same time, if their
    directories are in one folder. A run without a rank is a separate job.
    """
    groups: dict[tuple[str, str], _Group] = {}
    for run in runs:
        meta = read_meta(run.path)
        launch = meta.environment.get(LAUNCH, "") if meta.rank is not None else ""
        # A repeated rank, or a run without a launch, begins a group.
        key = (launch, "" if launch else str(run.path))
        group = groups.setdefault(key, _Group([]))
        if group.runs and _number(run) in group.ranks:
            group = groups.setdefault((launch, str(run.path)), _Group([]))
        group.runs.append(run)
    jobs: list[_Group] = []
    for group in sorted(groups.values(), key=lambda each: each.start_ns):
        partner = next((job for job in jobs if -1 not in group.ranks | job.ranks and job.fits(group)), None)
        if partner:
            partner.runs += group.runs
        else:
            jobs.append(group)
    return [tuple(sorted(job.runs, key=_number)) for job in jobs]


def _rank(content: ReportContent) -> Rank | None:
    meta = read_meta(content.run.path)
    if meta.rank is None:
        return None
    breakdown = content.breakdown
    times = rank_times(content.run) if records_mpi(content.run) else None
    return Rank(
        rank=meta.rank,
        host=meta.host,
        directory=str(content.run.path),
        n_threads=breakdown.n_threads,
        wall_ns=breakdown.wall_ns,
        states=breakdown.states,
        n_tasks=breakdown.n_tasks,
        preempted_ns=preempted_work_ns(breakdown),
        times=times,
        whole=whole_states(content.run, times) if times else None,
    )


def job_findings(job: Job, contents: Sequence[ReportContent]) -> tuple[tuple[Found, Location], ...]:
    """Returns the findings on a job with their places; none if its MPI calls were not recorded."""
    if job.efficiencies is None:
        return ()
    by_directory = {str(content.run.path): content for content in contents}
    ranks = [
        facts
        for rank in job.ranks
        if rank.directory in by_directory and (facts := _facts(rank, by_directory[rank.directory]))
    ]
    if len(ranks) < len(job.ranks):
        return ()
    of_rank = {rank.rank: by_directory[rank.directory] for rank in job.ranks}
    return tuple(
        (found, of_rank[found.rank].location(found.finding.construct) if found.rank in of_rank else UNKNOWN)
        for found in find_job_causes(JobFacts(job, job.efficiencies, ranks))
    )


def _facts(rank: Rank, content: ReportContent) -> RankFacts | None:
    if rank.times is None:
        return None
    run = content.run
    program = time_breakdown(run, Scope.PROGRAM)
    whole = program.presence.whole if program.presence else None
    work_preempted_ns = preempted_work_ns(program)
    inside = [row for row in run.regions if row.level]
    with_mpi = {row.construct for row in inside if row.mpi_ns}
    return RankFacts(
        rank=rank,
        times=rank.times,
        calls=tuple(_calls(content)),
        n_usable_cpus=run.n_usable_cpus,
        n_host_cpus=len(read_meta(run.path).places),
        knows_waits=whole is not None,
        preempted_ns=sum(map(_preempted_ns, run.regions)) if whole else 0,
        blocked_ns=whole.blocked_ns if whole else 0,
        program_ns=program.thread_time_ns,
        program_wall_ns=program.wall_ns,
        late_ns=max(sum(map(_late_ns, run.regions)), work_preempted_ns),
        work_preempted_ns=work_preempted_ns,
        mpi_preempted_ns=sum(row.mpi_preempted_ns for row in run.regions),
        idle_inside_ns=sum(row.idle_ns for row in inside if row.construct in with_mpi),
        computation=computation_of(run),
    )


def _preempted_ns(row: RegionRow) -> int:
    """Returns the preempted time of a row, except in waits for other threads."""
    return row.preempted_ns - row.idle_preempted_ns - row.sync_preempted_ns


def _late_ns(row: RegionRow) -> int:
    """Returns the part of _preempted_ns outside of MPI calls. This part delays the rank."""
    return _preempted_ns(row) - row.mpi_preempted_ns


def _calls(content: ReportContent) -> list[MpiCall]:
    return [
        MpiCall(
            function=call.function,
            kind=call.kind,
            place=content.location(call.construct).label(),
            construct=call.construct,
            n_calls=call.n_calls,
            time_ns=call.time_ns,
        )
        for call in content.mpi
        if call.function not in EDGES
    ]
