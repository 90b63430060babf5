# SPDX-License-Identifier: Apache-2.0
"""The default report on an MPI job: its verdict, the findings of all ranks together, and the ranks.

Owns the merging of the ranks' findings. reports/ranks.py has the figures of the ranks.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from ompass.jobs.content import job_findings, job_of_reports, rank_of
from ompass.metrics.findings import LEADING, OUTSIDE
from ompass.metrics.job_findings import LEADING as LEADING_OF_JOB
from ompass.metrics.job_findings import Found
from ompass.metrics.ranks import Job
from ompass.model import share
from ompass.reports.content import ReportContent
from ompass.reports.efficiency import efficiency_section
from ompass.reports.findings import Cause, causes, verdict_of
from ompass.reports.job_findings import job_advice
from ompass.reports.model import Advice, Report, Section, plain
from ompass.reports.next_commands import shell_word
from ompass.reports.ranks import job_report
from ompass.reports.run import SCHEMA_VERSION, run_report, states_table
from ompass.symbols.resolver import Location
from ompass.units import duration, percent, plural

_UNEVEN: Final = 0.05
"""Least share of a job's thread-time in which ranks wait for the longest one, for a finding."""
_REPLACED: Final = {
    "one_core": ("oversubscribed", "disturbed"),
    "crowded_hosts": ("oversubscribed", "disturbed"),
    "disturbed": ("disturbed",),
    "rank_preempted": ("disturbed",),
}
"""Kinds of findings on single ranks that a finding on the job replaces."""
_FINDING_LINES: Final = 14
_MOST_RANKS: Final = 8


def brief_job_report(job: Job, contents: Sequence[ReportContent]) -> Report:
    """Returns the report on a job that fits on one screen."""
    whole = job_report(job)
    of_job = job_findings(job, contents)
    causes_of_ranks = _causes(contents, without=_replaced(job, [one.finding.kind for one, _ in of_job]))
    found = [*_of_job(job, of_job), *_of_ranks(causes_of_ranks, len(job.ranks))]
    found.sort(key=lambda one: (not one.leads, one.is_outside, -one.share))
    advices = [one.advice for one in found]
    names = _pattern([content.run.path for content in contents])
    more = f"ompass report {shell_word(Path(job.busiest.directory))} --full"
    n_tasks = sum(rank.n_tasks for rank in job.ranks)
    n_threads = sum(rank.n_threads for rank in job.ranks)
    tables = [
        replace(part, most=_MOST_RANKS, more=f"ompass report {names} --full")
        for part in whole.sections[0].parts
        if not isinstance(part, (str, Advice))
    ]
    return replace(
        whole,
        title=" · ".join(
            (f"job of {plural(len(job.ranks), 'rank')}", duration(job.wall_ns), plural(n_tasks, "task"))
        ),
        verdict=_verdict(job, n_threads, found),
        sections=(
            Section(
                "findings",
                "Findings",
                tuple(advices) or ("No problem found.",),
                most_lines=_FINDING_LINES,
                more=more,
            ),
            Section(
                "thread-time",
                f"Where the thread-time of all ranks went{', also outside of regions' if job.whole else ''}",
                (states_table(job.whole or job.states),),
            ),
            efficiency_section(job, brief=True),
            replace(whole.sections[0], title="The ranks", parts=tuple(tables)),
        ),
        commands=(
            (f"ompass view {names}", "in a browser"),
            (more, "the rank with most work"),
            (f"ompass report {names} --each", "every rank"),
        ),
    )


def reports_values(contents: Sequence[ReportContent], sweeps: Sequence[Report] = ()) -> Any:
    """Returns the JSON values of the reports on runs and sweeps, and of the report on the job of the runs."""
    job = job_of_reports(contents)
    values = {
        "schema": "ompass-reports",
        "schema_version": SCHEMA_VERSION,
        "runs": [run_report(content) for content in contents],
        "sweeps": sweeps,
        "job": job and job_report(job, contents),
    }
    return plain(values)


@dataclass(frozen=True, slots=True)
class _Problem:
    """A finding on the job or on some of its ranks; `cause` is None for one on the job."""

    advice: Advice
    share: float  # part of the job's thread-time
    cause: Cause | None = None
    leads: bool = False
    is_outside: bool = False  # True if no change of the program cures it


def _of_job(job: Job, findings: Sequence[tuple[Found, Location]]) -> Iterator[_Problem]:
    whole_ns = sum(rank.n_threads for rank in job.ranks) * job.program_ns
    for number, (one, place) in enumerate(findings):
        kind = one.finding.kind
        yield _Problem(
            job_advice(one, place),
            share(one.finding.cost_ns, whole_ns),
            leads=number == 0 and kind in LEADING_OF_JOB,
            is_outside=kind in OUTSIDE,
        )
    # Without MPI calls, only the ends of the ranks show which rank the others wait for.
    if job.efficiencies is None and job.lost_share >= _UNEVEN:
        yield _Problem(_uneven(job), job.lost_share, leads=True)


def _of_ranks(groups: Sequence[Sequence[tuple[int, Cause]]], n_ranks: int) -> Iterator[_Problem]:
    for group in groups:
        cause = group[0][1]
        part = sum(cause.share for _, cause in group) / n_ranks
        yield _Problem(_advice(group), part, cause, cause.kind in LEADING, cause.kind in OUTSIDE)


def _verdict(job: Job, n_threads: int, found: Sequence[_Problem]) -> str:
    before = [one.advice.title for one in found[:1] if one.cause is None]
    causes_of_ranks = [one.cause for one in found if one.cause is not None]
    return verdict_of(job.whole or job.states, n_threads, causes_of_ranks, before)


def _replaced(job: Job, kinds: Sequence[str]) -> tuple[str, ...]:
    """Returns the kinds of findings on single ranks that the report on the job leaves out."""
    of_job = ("time_in_mpi",) if job.efficiencies else ()
    return (*of_job, *(name for kind in kinds for name in _REPLACED.get(kind, ())))


def _uneven(job: Job) -> Advice:
    most = job.busiest
    return Advice(
        "Ranks have unequal work",
        f"rank {most.rank} has {job.imbalance:.2f} times the mean work; the other ranks end earlier, "
        f"by {duration(job.lost_ns)} of thread-time ({percent(job.lost_share)})",
        "distribute the work over the ranks by its cost",
        f"rank {most.rank}",
    )


def _causes(contents: Sequence[ReportContent], without: Sequence[str]) -> list[list[tuple[int, Cause]]]:
    """Returns the findings by kind and place, each with the ranks that have it, the most costly first."""
    groups: dict[tuple[str, str], list[tuple[int, Cause]]] = {}
    for content in contents:
        for cause in causes(content):
            if cause.kind in without:
                continue
            place = cause.places[0].place if cause.places else ""
            groups.setdefault((cause.kind or cause.title, place), []).append((rank_of(content), cause))
    for group in groups.values():
        group.sort(key=lambda one: -one[1].share)
    return sorted(groups.values(), key=lambda group: -sum(cause.share for _, cause in group))


def _advice(group: Sequence[tuple[int, Cause]]) -> Advice:
    rank, worst = group[0]
    advice = worst.advice()
    ranks = sorted(number for number, _ in group)
    which = f"rank {rank}" if len(ranks) == 1 else f"on {len(ranks)} ranks, most of it on rank {rank}"
    return replace(advice, title=f"{advice.title} ({which})")


def _pattern(paths: Sequence[Path]) -> str:
    """Returns shell words for the run directories: a pattern that matches only these, or their names."""
    names = [shell_word(path) for path in paths]
    pattern = Path(f"{os.path.commonprefix(names)}*.ompass")  # noqa: RUF071 (not a path)
    matching = {path.absolute() for path in pattern.parent.glob(pattern.name)}
    return str(pattern) if matching == {path.absolute() for path in paths} else " ".join(names)
