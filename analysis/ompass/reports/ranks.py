# SPDX-License-Identifier: Apache-2.0
"""The ranks of an MPI job: which reports are of one job, and its part of the page and of the JSON.

Owns wording and order; the figures are metrics'. A rank's own report is that of any run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final

from rich.console import Console
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from ompass.metrics.ranks import Job, Rank, job_of
from ompass.readers.meta import read_meta
from ompass.reports.bars import Canvas, state_bar
from ompass.reports.content import ReportContent
from ompass.reports.tables import plain_table
from ompass.reports.terminal import section
from ompass.units import count, duration, percent, plural

_MOST_RANKS: Final = 32
_REPORTS_SHOWN: Final = 4


def job_of_reports(contents: Sequence[ReportContent]) -> Job | None:
    """The job whose ranks these runs are; None when they are not the ranks of one job."""
    return job_of([_rank(content) for content in contents])


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


def job_sentence(job: Job) -> str:
    """How evenly the work is spread, in words."""
    most = max(job.ranks, key=lambda rank: rank.states.work_ns)
    return (
        f"Rank {most.rank} has most work, {job.imbalance:.2f} times the mean. Were it spread evenly, up to "
        f"{duration(job.lost_ns)} of thread-time ({percent(job.lost_share)}) would not be spent waiting for "
        "the rank that takes longest"
    )


def print_job(console: Console, job: Job) -> None:
    """The overview of all ranks."""
    canvas = Canvas(console.width, console.encoding.lower().startswith("utf"))
    console.print(Rule(Text(f"ompass · job of {plural(len(job.ranks), 'rank')}", style="bold"), style="cyan"))
    section(console, "Ranks", _table(job, canvas))
    console.print()
    console.print(Text(f"  {job_sentence(job)}."))
    console.print()


def shown_reports(job: Job, contents: Sequence[ReportContent]) -> tuple[list[ReportContent], str]:
    """The reports to print below the overview, and a word on those left out: most and least work suffice."""
    if len(contents) <= _REPORTS_SHOWN:
        return list(contents), ""
    order = sorted(job.ranks, key=lambda rank: rank.states.work_ns)
    chosen = {order[-1].directory, order[0].directory}
    return (
        [content for content in contents if str(content.run.path) in chosen],
        "reports are of the ranks with least and most work; name one run directory for that of another",
    )


def _table(job: Job, canvas: Canvas) -> Table:
    table = plain_table()
    for name in ("rank", "threads", "time", "thread-time", "work", "work / mean", "idle", "tasks"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("host", no_wrap=True)
    table.add_column("", no_wrap=True)
    longest = max(rank.states.total_ns for rank in job.ranks)
    room = canvas.room(92, 40)
    hidden = len(job.ranks) - _MOST_RANKS
    ranks = job.ranks
    if hidden > 0:  # those that matter most
        ranks = tuple(sorted(ranks, key=lambda rank: -rank.states.work_ns)[:_MOST_RANKS])
    for rank in ranks:
        total = rank.states.total_ns
        cells = round(room * total / longest) if longest else 0
        table.add_row(
            str(rank.rank),
            str(rank.n_threads),
            duration(rank.wall_ns),
            duration(total),
            percent(rank.states.work_ns / total if total else 0.0),
            f"{job.relative_work(rank):.2f}",
            percent(rank.states.idle_ns / total if total else 0.0),
            count(rank.n_tasks),
            rank.host,
            state_bar(rank.states, cells, canvas.unicode),
        )
    if hidden > 0:
        table.add_row(Text(f"and {hidden} more with less work: --json", style="dim"))
    return table


def json_job(job: Job | None) -> dict[str, Any] | None:
    """The job as plain values; None for none."""
    if job is None:
        return None
    return {
        "ranks": [
            {
                "rank": rank.rank,
                "host": rank.host,
                "directory": rank.directory,
                "threads": rank.n_threads,
                "wall_ns": rank.wall_ns,
                "thread_time_ns": rank.states.total_ns,
                **asdict(rank.states),
                "tasks": rank.n_tasks,
                "relative_work": job.relative_work(rank),
            }
            for rank in job.ranks
        ],
        "wall_ns": job.wall_ns,
        **asdict(job.states),
        "imbalance": job.imbalance,
        "lost_ns": job.lost_ns,
        "lost_share": job.lost_share,
    }
