# SPDX-License-Identifier: Apache-2.0
"""The report on an MPI job: which runs belong to one job, and how evenly work is distributed over its ranks.

Owns wording and order; metrics compute the figures. A rank's own report is the report on its run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ompass.metrics.ranks import Job, Rank, job_of
from ompass.readers.meta import read_meta
from ompass.reports.content import ReportContent
from ompass.reports.model import Column, Kind, Report, Section, Table, data, state_fields
from ompass.reports.run import THREAD_TIME
from ompass.units import duration, percent, plural

_MOST_RANKS: Final = 32


def job_of_reports(contents: Sequence[ReportContent]) -> Job | None:
    """Returns the job that these runs form; None if they are not ranks of one job."""
    return job_of([_rank(content) for content in contents])


def rank_of(content: ReportContent) -> int:
    """Returns the number of a run's rank; -1 if it has none."""
    rank = read_meta(content.run.path).rank
    return -1 if rank is None else rank


def _rank(content: ReportContent) -> Rank | None:
    meta = read_meta(content.run.path)
    if meta.rank is None:
        return None
    breakdown = content.breakdown
    return Rank(
        rank=meta.rank,
        host=meta.host,
        directory=str(content.run.path),
        n_threads=breakdown.n_threads,
        wall_ns=breakdown.wall_ns,
        states=breakdown.states,
        n_tasks=breakdown.n_tasks,
    )


def job_report(job: Job) -> Report:
    """Returns the overview of all ranks. For a large job, a terminal shows only the ranks with most work."""
    most = max(job.ranks, key=lambda rank: rank.states.work_ns)
    said = (
        f"Rank {most.rank} has most work, {job.imbalance:.2f} times the mean. Even distribution would save "
        f"up to {duration(job.lost_ns)} of thread-time ({percent(job.lost_share)}) spent waiting for "
        "the longest rank."
    )
    by_work = sorted(job.ranks, key=lambda rank: -rank.states.work_ns)
    return Report(
        title=f"ompass · job of {plural(len(job.ranks), 'rank')}",
        facts=(),
        sections=(
            Section(
                "runs",
                f"The job: {plural(len(job.ranks), 'rank')}",
                (said, _ranks(job, job.ranks if len(job.ranks) <= _MOST_RANKS else by_work)),
            ),
        ),
        values={
            "ranks": _ranks(job, job.ranks),
            "wall_ns": job.wall_ns,
            **state_fields(job.states),
            "imbalance": job.imbalance,
            "lost_ns": job.lost_ns,
            "lost_share": job.lost_share,
        },
    )


def _ranks(job: Job, ranks: Sequence[Rank]) -> Table:
    return Table.of(
        "Ranks",
        (
            Column("rank", "rank", Kind.COUNT),
            Column("threads", "threads", Kind.COUNT, "n_threads"),
            Column("wall_ns", "time", Kind.TIME),
            *THREAD_TIME,
            Column(
                "relative_work",
                "work / mean",
                Kind.RATIO,
                job.relative_work,
                "perfect balance is 1 on every rank",
            ),
            Column("tasks", "tasks", Kind.COUNT, "n_tasks"),
            Column("host", "host", Kind.TEXT),
            data("directory"),
            Column("states", "", Kind.STATES, scaled=True),
        ),
        ranks,
        word="rank",
        more="--json (these are the ranks with most work)",
        most=_MOST_RANKS,
    )


def ranks_to_show(job: Job, contents: Sequence[ReportContent]) -> list[ReportContent]:
    """Returns the runs with least and most work, which the page shows in full."""
    order = sorted(job.ranks, key=lambda rank: rank.states.work_ns)
    chosen = {order[-1].directory, order[0].directory}
    return [content for content in contents if str(content.run.path) in chosen]
