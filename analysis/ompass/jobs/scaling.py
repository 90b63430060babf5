# SPDX-License-Identifier: Apache-2.0
"""The scaling of an MPI job: its time and efficiencies by the number of ranks and of threads per rank.

The problem is assumed to be the same in all jobs (strong scaling). The reference is the job with the fewest
threads in all ranks together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Final

from ompass.errors import NothingToShowError
from ompass.jobs.content import job_findings, job_of_reports
from ompass.metrics.breakdown import Scope, time_breakdown
from ompass.metrics.efficiency import (
    Computation,
    Factor,
    computation_of,
    computational_scaling,
    multiplicative,
    rank_times,
)
from ompass.metrics.job_findings import Found
from ompass.metrics.library_findings import records_mpi
from ompass.metrics.ranks import preempted_work_ns
from ompass.metrics.thresholds import DISEASE_SHARE
from ompass.model import Run, share
from ompass.reports.content import ReportContent
from ompass.symbols.resolver import Location

CAUSES: Final = ("mpi_load_balance", "mpi_communication", "openmp", "processors", "computation")
"""The factors of the global efficiency. The last two are relative to the reference."""
PROCESSORS: Final = "work with a processor"
"""The name of the factor `processors`."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One job."""

    contents: tuple[ReportContent, ...]  # by rank
    time_ns: int  # of its longest rank
    factors: tuple[Factor, ...]  # multiplicative; empty for several ranks without recorded MPI calls
    computation: Computation


@dataclass(frozen=True, slots=True)
class JobPoint:
    """The jobs with one number of ranks and of threads per rank. Figures are means over the jobs."""

    n_ranks: int
    n_threads: int  # of the rank with the most threads
    n_all_threads: int
    jobs: tuple[Measured, ...]
    time_ns: float
    low_ns: int
    high_ns: int
    speedup: float  # time of the reference / own time
    efficiencies: dict[str, float | None]  # by key: all factors, and the global efficiency
    computation: dict[str, float | None]  # computational scaling and its parts

    @property
    def name(self) -> str:
        return f"{self.n_ranks} x {self.n_threads}"


@dataclass(frozen=True, slots=True)
class JobScaling:
    """The content of a report on the scaling of jobs."""

    points: tuple[JobPoint, ...]  # by number of all threads
    names: dict[str, str]  # of the efficiencies, by key
    findings: tuple[tuple[Found, Location], ...]  # on the largest job
    cause: str  # the key of the factor that fell most; empty if the job scales, or nothing is known

    @property
    def reference(self) -> JobPoint:
        return self.points[0]

    @property
    def judged(self) -> JobPoint:
        return self.points[-1]

    @property
    def expected(self) -> float:
        """The speed-up of the judged point if its threads were as efficient as in the reference."""
        return self.judged.n_all_threads / self.reference.n_all_threads


def job_scaling(jobs: Sequence[Sequence[ReportContent]]) -> JobScaling:
    """Returns the scaling of these jobs, each with the reports on its ranks.

    Raises NothingToShowError if there are no jobs.
    """
    groups: dict[tuple[int, int, int], list[Measured]] = {}
    for contents in jobs:
        threads = [rank_times(content.run).n_threads for content in contents]
        key = (sum(threads), len(contents), max(threads))
        groups.setdefault(key, []).append(_measured(tuple(contents)))
    if not groups:
        raise NothingToShowError(
            "no job was found", "no run was named", "name run directories, or their folder"
        )
    first = groups[min(groups)]
    points = tuple(_point(key, groups[key], first) for key in sorted(groups))
    largest = points[-1].jobs[0].contents
    job = job_of_reports(largest)
    names = {factor.key: factor.name for one in points for factor in one.jobs[0].factors}
    names["processors"] = PROCESSORS
    return JobScaling(points, names, job_findings(job, largest) if job else (), _cause(points))


def mean_efficiencies(jobs: Sequence[Sequence[ReportContent]]) -> dict[str, float]:
    """Returns the known efficiencies of repeated jobs by name; empty if a job has a single rank."""
    if any(len(contents) < 2 for contents in jobs):
        return {}
    measured = [_measured(tuple(contents)) for contents in jobs]
    names = {factor.key: factor.name for one in measured for factor in one.factors}
    return {names[key]: value for key, value in _means(measured).items() if value is not None}


def _measured(contents: tuple[ReportContent, ...]) -> Measured:
    times = [rank_times(content.run) for content in contents]
    # A single rank without MPI does not communicate.
    known = len(contents) == 1 or all(records_mpi(content.run) for content in contents)
    parts = [_computation(content.run) for content in contents]
    return Measured(
        contents,
        max(time.wall_ns for time in times),
        multiplicative(times) if known else (),
        Computation(
            sum(part.useful_ns for part in parts),
            sum(part.instructions for part in parts),
            sum(part.cycles for part in parts),
            sum(part.preempted_ns for part in parts),
        ),
    )


def _computation(run: Run) -> Computation:
    """Returns the computation without the time in which threads waited for a processor."""
    found = computation_of(run)
    waited_ns = min(preempted_work_ns(time_breakdown(run, Scope.PROGRAM)), found.useful_ns)
    return replace(found, useful_ns=found.useful_ns - waited_ns, preempted_ns=waited_ns)


def _point(key: tuple[int, int, int], jobs: Sequence[Measured], first: Sequence[Measured]) -> JobPoint:
    n_all, n_ranks, n_threads = key
    time_ns = fmean(job.time_ns for job in jobs)
    scaling = computational_scaling(_mean(jobs), _mean(first))
    efficiencies = _means(jobs)
    parallel, computation = efficiencies.get("parallel"), scaling["computation"]
    waited = share(_mean(jobs).processors, _mean(first).processors)
    efficiencies |= {
        "computation": computation,
        "processors": scaling["processors"],
        "global": parallel * computation * waited if parallel and computation else None,
    }
    return JobPoint(
        n_ranks=n_ranks,
        n_threads=n_threads,
        n_all_threads=n_all,
        jobs=tuple(jobs),
        time_ns=time_ns,
        low_ns=min(job.time_ns for job in jobs),
        high_ns=max(job.time_ns for job in jobs),
        speedup=share(fmean(job.time_ns for job in first), time_ns),
        efficiencies=efficiencies,
        computation=scaling,
    )


def _mean(jobs: Sequence[Measured]) -> Computation:
    parts = [job.computation for job in jobs]
    return Computation(
        round(fmean(part.useful_ns for part in parts)),
        round(fmean(part.instructions for part in parts)),
        round(fmean(part.cycles for part in parts)),
        round(fmean(part.preempted_ns for part in parts)),
    )


def _means(jobs: Sequence[Measured]) -> dict[str, float | None]:
    """Returns the mean of each factor; None if one of the jobs lacks it."""
    keys = dict.fromkeys(factor.key for job in jobs for factor in job.factors)
    found: dict[str, float | None] = {}
    for key in keys:
        values = [factor.value for job in jobs for factor in job.factors if factor.key == key]
        known = [value for value in values if value is not None]
        found[key] = fmean(known) if len(known) == len(jobs) else None
    return found


def _cause(points: Sequence[JobPoint]) -> str:
    """Returns the factor that fell most from the first to the last point; empty if it fell too little."""
    first, last = points[0].efficiencies, points[-1].efficiencies
    falls = {key: share(last.get(key) or 0.0, first.get(key) or 0.0, 1.0) for key in CAUSES if last.get(key)}
    key = min(falls, key=lambda name: falls[name], default="")
    return key if key and falls[key] <= 1 - DISEASE_SHARE else ""
