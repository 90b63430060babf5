# SPDX-License-Identifier: Apache-2.0
"""The report on an MPI job: its findings and efficiencies, and how evenly work is distributed over its ranks.

Owns wording and order; metrics compute the figures. A rank's own report is the report on its run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ompass.jobs.content import job_findings
from ompass.metrics.ranks import Job, Rank
from ompass.reports.content import ReportContent
from ompass.reports.efficiency import efficiency_section, efficiency_values
from ompass.reports.job_findings import finding_values, job_advice
from ompass.reports.model import Column, Kind, Report, Section, Table, data, fields, state_fields
from ompass.reports.run import THREAD_TIME
from ompass.units import duration, percent, plural

_MOST_RANKS: Final = 32


def job_report(job: Job, contents: Sequence[ReportContent] = ()) -> Report:
    """Returns the overview of all ranks, with the findings on the job if `contents` has its runs.

    For a large job, a terminal shows only the ranks with most work.
    """
    said = f"Rank {job.busiest.rank} has most work, {job.imbalance:.2f} times the mean."
    if job.lost_ns:
        said += (
            f" Even distribution would save up to {duration(job.lost_ns)} of thread-time "
            f"({percent(job.lost_share)}) spent waiting for the longest rank."
        )
    by_work = sorted(job.ranks, key=lambda rank: -rank.useful_ns)
    shown = _ranks(job, job.ranks if len(job.ranks) <= _MOST_RANKS else by_work)
    findings = job_findings(job, contents)
    advices = tuple(job_advice(found, place) for found, place in findings)
    return Report(
        title=f"ompass · job of {plural(len(job.ranks), 'rank')}",
        facts=(),
        sections=(
            Section("runs", f"The job: {plural(len(job.ranks), 'rank')}", (said, *advices, shown)),
            efficiency_section(job),
        ),
        values={
            "ranks": _ranks(job, job.ranks),
            "wall_ns": job.wall_ns,
            **state_fields(job.states),
            "imbalance": job.imbalance,
            "lost_ns": job.lost_ns,
            "lost_share": job.lost_share,
            "preempted_share": job.preempted_share,
            "whole": state_fields(job.whole) if job.whole else None,
            "efficiencies": efficiency_values(job),
            "findings": finding_values(findings),
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
            *fields("useful_ns preempted_ns"),
            Column("states", "", Kind.STATES, scaled=True),
        ),
        ranks,
        word="rank",
        more="--json (these are the ranks with most work)",
        most=_MOST_RANKS,
    )


def ranks_to_show(job: Job, contents: Sequence[ReportContent]) -> list[ReportContent]:
    """Returns the runs with least and most work, which the page shows in full."""
    order = sorted(job.ranks, key=lambda rank: rank.useful_ns)
    chosen = {order[-1].directory, order[0].directory}
    return [content for content in contents if str(content.run.path) in chosen]
