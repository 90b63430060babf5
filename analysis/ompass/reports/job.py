# SPDX-License-Identifier: Apache-2.0
"""The reports on an MPI job: its findings and efficiencies, and how evenly ranks share the work.

The default report fits on one screen: its verdict, the findings of all ranks together, and the ranks. Owns
wording, order, and the merging of the ranks' findings; metrics compute the figures. A rank's own report is
the report on its run.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any, Final

from ompass.jobs.content import job_findings, job_of_reports, rank_of
from ompass.metrics.efficiency import LOW, Efficiencies, Factor
from ompass.metrics.findings import NOT_OF_PROGRAM
from ompass.metrics.job_findings import LEADING as LEADING_OF_JOB
from ompass.metrics.job_findings import Found
from ompass.metrics.ranks import Job, Rank
from ompass.metrics.thresholds import PREEMPTED_SHARE
from ompass.model import share
from ompass.reports.content import ReportContent
from ompass.reports.findings import Cause, causes, shell_word, verdict_of
from ompass.reports.model import (
    Advice,
    Column,
    Kind,
    Report,
    Section,
    Table,
    data,
    fields,
    place_fields,
    plain,
    state_fields,
)
from ompass.reports.run import SCHEMA_VERSION, THREAD_TIME, run_report, states_table
from ompass.symbols.resolver import UNKNOWN, Location
from ompass.units import duration, percent, plural, ratio

_UNEVEN: Final = 0.05
"""Unequal work is a finding if waits for the longest rank take at least this share of the thread-time."""
_REPLACED: Final = {
    "one_core": ("oversubscribed", "disturbed"),
    "crowded_hosts": ("oversubscribed", "disturbed"),
    "disturbed": ("disturbed",),
    "rank_preempted": ("disturbed",),
}
"""Kinds of findings on single ranks that a finding on the job replaces."""
_FINDING_LINES: Final = 10
_MOST_RANKS: Final = 4


def printed_job_report(job: Job, contents: Sequence[ReportContent], *, full: bool = False) -> Report:
    """Returns the one-screen report on a job. If `full`, adds all findings and efficiencies."""
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
                most_lines=0 if full else _FINDING_LINES,
                more=more,
            ),
            Section(
                "thread-time",
                f"Where the thread-time of all ranks went{', also outside of regions' if job.whole else ''}",
                (states_table(job.whole or job.states, only_used=not full),),
            ),
            efficiency_section(job, brief=not full),
            whole.sections[0] if full else replace(whole.sections[0], title="The ranks", parts=tuple(tables)),
        ),
        commands=(
            (f"ompass view {names}", "in a browser"),
            (more, "the rank with most work"),
            (f"ompass report {names} --each", "every rank"),
        ),
    )


def reports_values(contents: Sequence[ReportContent], sweeps: Sequence[Report] = ()) -> Any:
    """Returns the JSON values of the reports on runs and sweeps, and on the job that the runs form."""
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
    """A finding on the job or on some of its ranks; `cause` is None for a finding on the job."""

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
            is_outside=kind in NOT_OF_PROGRAM,
        )
    # Without recorded MPI calls, only the ends of the ranks show which rank the others wait for.
    if job.efficiencies is None and job.lost_share >= _UNEVEN:
        yield _Problem(_uneven(job), job.lost_share, leads=True)


def _of_ranks(groups: Sequence[Sequence[tuple[int, Cause]]], n_ranks: int) -> Iterator[_Problem]:
    for group in groups:
        cause = group[0][1]
        part = sum(cause.share for _, cause in group) / n_ranks
        yield _Problem(_advice(group), part, cause, cause.leads, cause.kind in NOT_OF_PROGRAM)


def _verdict(job: Job, n_threads: int, found: Sequence[_Problem]) -> str:
    before = [one.advice.title for one in found[:1] if one.cause is None]
    causes_of_ranks = [one.cause for one in found if one.cause is not None]
    return verdict_of(job.whole or job.states, n_threads, causes_of_ranks, before)


def _replaced(job: Job, kinds: Sequence[str]) -> tuple[str, ...]:
    """Returns the kinds of findings on single ranks that the report on the job omits."""
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


_MOST_RANKS_OF_ALL: Final = 32


def job_report(job: Job, contents: Sequence[ReportContent] = ()) -> Report:
    """Returns the overview of all ranks, with the findings on the job if `contents` has its runs.

    For a large job, a terminal shows only the ranks with most work.
    """
    said = f"Rank {job.busiest.rank} has most work, {job.imbalance:.2f} times the mean."
    if job.lost_ns:
        said += (
            f" An even distribution would save up to {duration(job.lost_ns)} of thread-time "
            f"({percent(job.lost_share)}) spent waiting for the longest rank."
        )
    by_work = sorted(job.ranks, key=lambda rank: -rank.useful_ns)
    shown = _ranks(job, job.ranks if len(job.ranks) <= _MOST_RANKS_OF_ALL else by_work)
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
                "work/mean",
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
        most=_MOST_RANKS_OF_ALL,
    )


def ranks_to_show(job: Job, contents: Sequence[ReportContent]) -> list[ReportContent]:
    """Returns the runs with least and most work, which the page shows in full."""
    order = sorted(job.ranks, key=lambda rank: rank.useful_ns)
    chosen = {order[-1].directory, order[0].directory}
    return [content for content in contents if str(content.run.path) in chosen]


def job_advice(found: Found, place: Location) -> Advice:
    """Returns a finding on a job in words."""
    finding = found.finding
    return Advice(finding.title, finding.because, finding.cure, place.label() if place != UNKNOWN else "")


def finding_values(findings: Sequence[tuple[Found, Location]]) -> list[dict[str, Any]]:
    """Returns the findings on a job as JSON values."""
    names = fields("kind title because cure cost_ns")
    return [
        {column.key: column.value(found.finding) for column in names}
        | {"rank": found.rank if found.rank >= 0 else None}
        | place_fields(place)
        | {"numbers": dict(found.finding.numbers)}
        for found, place in findings
    ]


EFFICIENCIES_UNKNOWN: Final = (
    "Efficiencies are not known, because the MPI calls were not recorded on all ranks. `ompass run` "
    "records them; a tool that OMP_TOOL_LIBRARIES loads does not."
)
_PARTS: Final = {
    "multiplicative": "POP, multiplicative",
    "additive": "POP, additive",
    "talp": "TALP",
}
"""The attributes of Efficiencies, with the titles of their tables."""


def efficiency_section(job: Job, *, brief: bool = False) -> Section:
    """Returns the efficiencies of a job; if `brief`, only the lowest value and the products."""
    found = job.efficiencies
    if found is None:
        return Section("efficiencies", "Efficiencies", (EFFICIENCIES_UNKNOWN,))
    if brief:
        return Section("efficiencies", "Efficiencies", tuple(_brief_efficiencies(job, found)))
    tables = [_table(title, getattr(found, name)) for name, title in _PARTS.items()]
    return Section("efficiencies", "Efficiencies", (*_sentences(job, found), *tables, *_not_known(found)))


_PRODUCT: Final = " parallel efficiency"  # in the names of the products of several efficiencies


def _brief_efficiencies(job: Job, found: Efficiencies) -> Iterator[str]:
    """Yields a sentence on the lowest efficiency that has a reason, and a sentence with the products."""
    explained = _explained(job, found)
    if explained:
        yield min(explained, key=lambda one: one[0])[1]
    products = [f for f in found.multiplicative if f.level == 0 and f.value is not None]
    names = (f"{one.name.removesuffix(_PRODUCT)} {percent(one.value or 0.0)}" for one in products)
    yield f"Parallel efficiency: {', '.join(names)} (--full shows all)."


def efficiency_values(job: Job) -> dict[str, Any] | None:
    """Returns all efficiencies by name, as JSON values; None if they are not known."""
    found = job.efficiencies
    if found is None:
        return None
    return {name: {f.key: f.value for f in getattr(found, name)} for name in _PARTS}


def _table(title: str, factors: Sequence[Factor]) -> Table:
    known = [factor for factor in factors if factor.value is not None]
    return Table.of(
        title,
        (
            Column("", "efficiency", Kind.NAME, lambda factor: "· " * factor.level + factor.name),
            Column("", "value", Kind.SHARE, "value"),
        ),
        known,
        most=len(known),
        word="efficiency",
    )


def _sentences(job: Job, found: Efficiencies) -> Iterator[str]:
    """Yields the reasons for low efficiencies, or that none is low; then a high share of preempted work."""
    if not any(factor.value < LOW for factor in found.multiplicative if factor.value is not None):
        yield f"No efficiency is below {percent(LOW)}."
    yield from (text for _, text in _explained(job, found))
    if job.preempted_share >= PREEMPTED_SHARE:
        yield (
            f"Threads waited for processors in {percent(job.preempted_share)} of the work. The efficiencies "
            "count this time as work; the imbalance does not."
        )


def _explained(job: Job, found: Efficiencies) -> list[tuple[float, str]]:
    """Returns the low efficiencies that have a reason, each with a sentence."""
    reasons = {
        "mpi_load_balance": _balance,
        "mpi_communication": _communication,
        "openmp": _threads,
    }
    return [
        (factor.value, f"{factor.name} {percent(factor.value)}: {reasons[factor.key](job, found)}.")
        for factor in found.multiplicative
        if factor.key in reasons and factor.value is not None and factor.value < LOW
    ]


def _balance(job: Job, _: Efficiencies) -> str:
    times = {rank.rank: rank.times.outside_mpi_ns for rank in job.ranks if rank.times}
    latest = max(times, key=lambda rank: times[rank])
    return (
        f"the ranks wait in MPI for rank {latest}, which is outside of MPI for {duration(times[latest])}, "
        f"{ratio(share(times[latest], fmean(times.values())))} times the mean"
    )


def _communication(job: Job, found: Efficiencies) -> str:
    times = {rank.rank: rank.times.outside_mpi_ns for rank in job.ranks if rank.times}
    least = max(times, key=lambda rank: times[rank])
    serialisation, transfer = found.known("mpi_serialisation"), found.known("mpi_transfer")
    parts = ""
    if serialisation is not None and transfer is not None:
        parts = (
            f". If messages took no time, the job would take {percent(transfer)} of its time (transfer); "
            f"waits for late ranks would remain (serialisation {percent(serialisation)})"
        )
    return (
        f"even rank {least}, which has the least time in MPI, spends "
        f"{percent(1 - found.value('mpi_communication'))} of the time there{parts}"
    )


def _threads(_: Job, found: Efficiencies) -> str:
    losses = {f.key: 1 - f.value for f in found.additive if f.value is not None}
    regions, serial = losses["openmp_regions"], losses["serial_regions"]
    parts = [
        f"{what} {percent(loss)} of the time"
        for what, loss in (
            ("without work in parallel regions", regions),
            ("without work while one thread runs the serial part", serial),
        )
        if loss >= 0.01
    ]
    return f"outside of MPI, threads are {' and '.join(parts)}" if parts else "threads lack work"


def _not_known(found: Efficiencies) -> Iterator[str]:
    """Yields a sentence for each reason why some efficiencies are not known."""
    reasons: dict[str, list[str]] = {}
    for factor in found.multiplicative:
        if factor.value is None:
            reasons.setdefault(factor.why, []).append(factor.name)
    for why, names in reasons.items():
        yield f"Not known: {' and '.join(names)}: {why}."
