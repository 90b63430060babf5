# SPDX-License-Identifier: Apache-2.0
"""The default report on an MPI job: its verdict, the findings of all ranks together, and the ranks.

Owns the merging of the ranks' findings. reports/ranks.py has the figures of the ranks.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from ompass.metrics.ranks import Job
from ompass.reports.content import ReportContent
from ompass.reports.findings import Cause, causes, verdict_of
from ompass.reports.model import Advice, Report, Section, plain
from ompass.reports.next_commands import shell_word
from ompass.reports.ranks import job_of_reports, job_report, rank_of
from ompass.reports.run import SCHEMA_VERSION, run_report, states_table
from ompass.units import duration, percent, plural

_UNEVEN: Final = 0.05
"""Least share of a job's thread-time in which ranks wait for the longest one, for a finding."""
_FINDING_LINES: Final = 14
_MOST_RANKS: Final = 8


def brief_job_report(job: Job, contents: Sequence[ReportContent]) -> Report:
    """Returns the report on a job that fits on one screen."""
    whole = job_report(job)
    found = _causes(contents)
    advices = [_advice(parts) for parts in found]
    if job.lost_share >= _UNEVEN:
        advices.insert(0, _uneven(job))
    names = _pattern([content.run.path for content in contents])
    most = max(job.ranks, key=lambda rank: rank.states.work_ns)
    more = f"ompass report {shell_word(Path(most.directory))} --full"
    n_tasks = sum(rank.n_tasks for rank in job.ranks)
    n_threads = sum(rank.n_threads for rank in job.ranks)
    named = [advice.title for advice in advices[:1]] if job.lost_share >= _UNEVEN else []
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
        verdict=verdict_of(job.states, n_threads, [parts[0][1] for parts in found], named),
        sections=(
            Section(
                "findings",
                "Findings",
                tuple(advices) or ("No problem found.",),
                most_lines=_FINDING_LINES,
                more=more,
            ),
            Section("thread-time", "Where the thread-time of all ranks went", (states_table(job.states),)),
            replace(whole.sections[0], title="The ranks", parts=tuple(tables)),
        ),
        commands=(
            (f"ompass view {names}", "in a browser"),
            (more, "the rank with most work"),
            (f"ompass report {names} --each", "every rank"),
        ),
    )


def reports_values(contents: Sequence[ReportContent], sweeps: Sequence[Report] = ()) -> Any:
    """Returns the reports on several runs and sweeps for programs, with the report on the job of the runs."""
    job = job_of_reports(contents)
    values = {
        "schema": "ompass-reports",
        "schema_version": SCHEMA_VERSION,
        "runs": [run_report(content) for content in contents],
        "sweeps": sweeps,
        "job": job and job_report(job),
    }
    return plain(values)


def _uneven(job: Job) -> Advice:
    most = max(job.ranks, key=lambda rank: rank.states.work_ns)
    return Advice(
        "Ranks have unequal work",
        f"rank {most.rank} has {job.imbalance:.2f} times the mean work; the other ranks end earlier, "
        f"by {duration(job.lost_ns)} of thread-time ({percent(job.lost_share)})",
        "distribute the work over the ranks by its cost",
        f"rank {most.rank}",
    )


def _causes(contents: Sequence[ReportContent]) -> list[list[tuple[int, Cause]]]:
    """Returns the findings by kind and place, each with the ranks that have it, the most costly first."""
    groups: dict[tuple[str, str], list[tuple[int, Cause]]] = {}
    for content in contents:
        for cause in causes(content):
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
