# SPDX-License-Identifier: Apache-2.0
"""The report on one run: thread-time, regions, constructs, waits, loops, calls, kernels, findings.

The default report has about 30 lines. It selects from the whole report (`--full`) the worst findings, the
states, the most expensive constructs and the important notes. Owns the order, the wording, and the JSON
fields, which docs/report-schema.md lists.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

from ompass import __version__
from ompass.metrics.breakdown import Breakdown, Scope, program_ns
from ompass.metrics.facts import Finding
from ompass.metrics.locality import Locality
from ompass.metrics.processors import Presence, described, processor_values, waits_outside_regions
from ompass.metrics.thresholds import OFF_PROCESSOR_SHARE, SHOWN_SHARE
from ompass.model import Run, StateTimes, SystemUse, share, shown_states
from ompass.packed import TRACE, shown_path
from ompass.reports.constructs import (
    counters_table,
    cpu_fields,
    granularity_table,
    kernels_table,
    place_columns,
    tasks_table,
)
from ompass.reports.content import ReportContent
from ompass.reports.findings import causes, next_commands, note_parts, problem_parts, shell_word, verdict
from ompass.reports.library_calls import device_fields, mpi_table, offload_words, targets_table
from ompass.reports.model import (
    Bar,
    Column,
    Kind,
    Report,
    Section,
    Table,
    data,
    fields,
    place_fields,
    sentences,
    state_fields,
)
from ompass.reports.waits import costly_waits, loops_table, notable_loops, waits_table
from ompass.samples.report import sample_fields, sample_parts
from ompass.symbols.kept import NAMES_FILE
from ompass.units import duration, percent, plural

SCHEMA_VERSION: Final = 1
CSV_TABLES: Final = {
    "constructs": "constructs",
    "regions": "regions",
    "threads": "thread_breakdown",
    "waits": "waits",
    "loops": "loops",
    "mpi": "mpi",
    "targets": "targets",
    "kernels": "kernels",
    "histogram": "granularity",
    "findings": "findings",
    "summary": "",
}
"""Name of a table for --csv -> JSON field with its rows; empty: the fields of the run itself."""

_MOST_DOMAINS: Final = 8


def _part(state: str) -> Column:
    def value(row: Any) -> float:
        return share(getattr(row.states, f"{state}_ns"), row.states.total_ns)

    return Column("", state, Kind.SHARE, value, "of thread-time")


_WORK_AND_IDLE: Final = (_part("work"), _part("idle"))
THREAD_TIME: Final = (Column("thread_time_ns", "thread-time", Kind.TIME, "states.total_ns"), *_WORK_AND_IDLE)
"""Columns of objects that have times by state."""


def presence_fields(presence: Presence | None) -> dict[str, Any]:
    """Returns thread-time and work on and off processors as JSON fields; unknown values are None."""
    whole, work = (presence.whole, presence.work) if presence else (None, None)
    source = {"source": presence.source} if presence else {}
    return {
        "cpu": cpu_fields(whole) | source if whole else None,
        "work_cpu": cpu_fields(work) if work else None,
    }


def waiting_fields(content: ReportContent) -> dict[str, Any]:
    """Returns the times that waiting threads spun and slept, in regions and outside, as JSON fields."""
    times = {
        "in_regions": content.breakdown.waiting,
        "outside_regions": waits_outside_regions(content.run),
    }
    names = "spun_ns slept_ns preempted_ns waking_ns"
    return {
        where: {column.key: column.value(time) for column in fields(names)} if time else None
        for where, time in times.items()
    }


def system_use_fields(use: SystemUse | None) -> dict[str, int] | None:
    """Returns page faults and system time as JSON fields; None if unknown."""
    if use is None:
        return None
    return {
        "minor_faults": use.n_minor_faults,
        "major_faults": use.n_major_faults,
        "system_ns": use.system_ns,
    }


_PRESENCE: Final = (
    *(
        data(key, partial(lambda name, item: presence_fields(item.presence)[name], key))
        for key in ("cpu", "work_cpu")
    ),
    data("system_use", lambda item: system_use_fields(item.system_use)),
)


def run_report(content: ReportContent) -> Report:
    """Returns the whole report."""
    run, breakdown = content.run, content.breakdown
    tables = {
        "thread_breakdown": _threads((*breakdown.threads, *breakdown.helpers)),
        "regions": _regions(content),
        "constructs": tasks_table(content),
        "waits": waits_table(content, content.waits),
        "loops": loops_table(content, content.loops),
        "mpi": mpi_table(content),
        "targets": targets_table(content),
        "kernels": kernels_table(content),
        "granularity": granularity_table(content),
    }
    found = causes(content)
    return Report(
        title=f"ompass · {run_name(run)}",
        facts=(
            f"{run.mode} mode" + (", recomputed from events" if run.source == "events" else ""),
            f"pid {run.pid}",
            f"{duration(run.wall_ns)} wall time",
            *((described(run),) if run.quota_us else ()),
            plural(content.n_tasks, "task"),
        ),
        warning="" if run.complete else _cut_short(content),
        verdict=verdict(content, found),
        sections=tuple(_sections(content, tables)),
        commands=next_commands(content),
        values=_values(content, tables),
    )


def run_name(run: Run) -> str:
    """Returns the name of a run directory; for a trace inside another run, both names."""
    return f"{run.path.parent.name}/{TRACE}" if run.path.name == TRACE else run.path.name


def _values(content: ReportContent, tables: Mapping[str, Table]) -> dict[str, Any]:
    run, breakdown = content.run, content.breakdown
    return {
        "schema": "ompass-report",
        "schema_version": SCHEMA_VERSION,
        "ompass_version": __version__,
        "directory": shown_path(run.path),
        "pid": run.pid,
        "start": _iso_time(run.start_epoch_ns),
        "mode": run.mode,
        "source": run.source,
        "complete": run.complete,
        "end_reason": run.end_reason,
        "incomplete_reasons": list(run.incomplete_reasons),
        "clock": {"kind": run.clock_kind, "hz": run.clock_hz},
        "processors": processor_values(run),
        "create_estimated": run.create_estimated,
        "create_estimate_ns": run.create_estimate_ns,
        "scope": breakdown.scope.value,
        "scope_fell_back": breakdown.fell_back,
        "threads": breakdown.n_threads,
        "wall_ns": breakdown.wall_ns,
        "program_wall_ns": run.wall_ns,
        "thread_time_ns": breakdown.thread_time_ns,
        **state_fields(breakdown.states),
        **presence_fields(breakdown.presence),
        "system_use": system_use_fields(breakdown.system_use),
        "waiting": waiting_fields(content),
        "implicit_ns": breakdown.implicit_ns,
        "lock_ns": breakdown.lock_ns,
        "tasks": content.n_tasks,
        "tasks_created": sum(t.n_created for t in content.tasks),
        "tasks_cancelled": sum(t.n_cancelled for t in content.tasks),
        "tasks_undeferred": sum(t.n_undeferred for t in content.tasks),
        **tables,
        "devices": device_fields(content),
        "locality": _locality_fields(content.locality) if content.locality else None,
        "samples": sample_fields(content.samples) if content.samples else None,
        "counters": list(run.counters),
        "findings": [_finding_fields(content, finding) for finding in content.findings],
        "problems": list(content.problems),
        "advice": content.advice.values if content.advice else None,
    }


def _cut_short(content: ReportContent) -> str:
    reasons = (
        " ".join(sentences(content.run.incomplete_reasons)) or f"End of the run: {content.run.end_reason}."
    )
    return f"The run was cut short. {reasons}"


def _iso_time(epoch_ns: int) -> str:
    return datetime.datetime.fromtimestamp(epoch_ns // 1_000_000_000, datetime.timezone.utc).isoformat()


def _sections(content: ReportContent, tables: Mapping[str, Table]) -> Iterator[Section]:
    if found := tuple(problem_parts(content)):
        yield Section("findings", "Findings", found)
    yield Section(
        "thread-time",
        "Where the thread-time went",
        (
            f"{scope_words(content.breakdown)}; shares are of this time.",
            states_table(content.breakdown.states),
            *presence_words(content.breakdown.presence),
            *waiting_words(content),
            *filter(None, (offload_words(content),)),
        ),
    )
    for key, table, drawn in (
        ("threads", tables["thread_breakdown"], True),
        ("regions", tables["regions"], False),
        ("tasks", tables["constructs"], False),
        ("waits", waits_table(content, costly_waits(content)), False),
        ("loops", loops_table(content, notable_loops(content)), False),
        ("mpi", tables["mpi"], False),
        ("targets", tables["targets"], False),
        ("granularity", tables["granularity"], True),
        ("kernels", tables["kernels"], False),
        ("counters", counters_table(content), False),
    ):
        if table.rows:
            yield Section(key, table.title, (table,), drawn)
    if content.samples and (parts := tuple(sample_parts(content.samples))):
        yield Section("samples", "Where the processors were", parts)
    if content.locality:
        yield Section("locality", "Locality domains", tuple(_locality(content.locality)))
    if notes := tuple(note_parts(content)):
        yield Section("notes", "Notes", notes)


def scope_words(breakdown: Breakdown) -> str:
    """Returns the scope of the figures, and how the thread-time is computed."""
    scope = {
        Scope.REGIONS: "All parallel regions",
        Scope.REGION: "The chosen parallel region",
        Scope.PROGRAM: "The whole program",
    }[breakdown.scope]
    total, threads = duration(breakdown.thread_time_ns), plural(breakdown.n_threads, "thread")
    if breakdown.n_threads * breakdown.wall_ns == breakdown.thread_time_ns:
        return f"{scope}: {threads} x {duration(breakdown.wall_ns)} = {total}"
    return f"{scope}: {total} of {threads} in {duration(breakdown.wall_ns)}"


def presence_words(presence: Presence | None) -> Iterator[str]:
    """Yields a sentence on the off-CPU time, if it is a noticeable part of the thread-time."""
    if presence is None:
        return
    whole, times = ("the work", presence.work) if presence.work else ("the thread-time", presence.whole)
    if times.off_cpu_ns <= OFF_PROCESSOR_SHARE * presence.whole.total_ns:
        return
    preempted, blocked = (percent(share(ns, times.total_ns)) for ns in (times.preempted_ns, times.blocked_ns))
    yield (
        f"Threads were off-CPU for {percent(share(times.off_cpu_ns, times.total_ns))} of {whole}: "
        f"preempted {preempted}, blocked {blocked}; they ran for {duration(times.running_ns)} of it."
    )


def waiting_words(content: ReportContent) -> Iterator[str]:
    """Yields a sentence on the time that waiting threads spun and slept, if it is noticeable."""
    inside, outside = content.breakdown.waiting, waits_outside_regions(content.run)
    parts = [
        f"{where} they spun for {duration(times.spun_ns)} and slept for {duration(times.slept_ns)}"
        for where, times in (("in regions", inside), ("outside of regions", outside))
        if times and times.spun_ns + times.slept_ns and content.breakdown.share(times.total_ns) >= SHOWN_SHARE
    ]
    if parts:
        yield f"Waiting threads: {'; '.join(parts)}."


def states_table(states: StateTimes, *, only_used: bool = False) -> Table:
    """Returns times by state, with bars from 0 to 100%. If `only_used`, omits states without time."""
    return Table.of(
        "States",
        (
            Column("", "state", Kind.STATE, lambda row: row[0]),
            Column("", "time", Kind.TIME, lambda row: row[1], parts=True),
            Column("", "share", Kind.SHARE, lambda row: share(row[1], states.total_ns)),
            Column("", "", Kind.BAR, lambda row: Bar(row[1], row[0], states.total_ns)),
        ),
        [
            (state, time_ns)
            for state in shown_states(states)
            if (time_ns := getattr(states, f"{state}_ns")) or not only_used
        ],
    )


def _threads(threads: Any) -> Table:
    return Table.of(
        "Threads",
        (
            Column("thread", "thread", Kind.COUNT),
            Column("kind", "kind", Kind.TEXT),
            Column("thread_time_ns", "time", Kind.TIME, "states.total_ns", parts=True),
            *_WORK_AND_IDLE,
            *fields("implicit_ns lock_ns outside_ns"),
            Column("tasks", "tasks", Kind.COUNT, "n_tasks"),
            Column("states", "", Kind.STATES, scaled=True),
            *_PRESENCE,
        ),
        threads,
        word="thread",
        more="--csv --table threads",
        most=16,
    )


def _regions(content: ReportContent) -> Table:
    return Table.of(
        "Parallel regions",
        (
            *place_columns(content, "region"),
            data("level"),
            Column("instances", "runs", Kind.COUNT, "n_instances", "instances of the region"),
            Column("max_team_size", "team", Kind.COUNT, hint="threads of the largest team"),
            Column("wall_ns", "wall", Kind.TIME),
            *THREAD_TIME,
            Column(
                "imbalance",
                "max/mean",
                Kind.RATIO,
                hint="largest work of a thread over the mean: 1 is perfect balance",
            ),
            *fields("capacity_ns nested_ns implicit_ns lock_ns tasks=n_tasks"),
            data("thread_breakdown", lambda region: _threads(region.threads)),
            Column("states", "", Kind.STATES),
            *_PRESENCE,
        ),
        content.regions,
        word="region",
        more="--csv --table regions",
    )


def _locality(locality: Locality) -> Iterator[str | Table]:
    """Yields the extension's activity in words, and the matrix of domains if there are several."""
    local = percent(share(locality.n_local, locality.n_tasks, 1.0))
    rescues = f"; {plural(locality.n_rescued, 'rescue')}" if locality.n_rescued else ""
    yield (
        f"{plural(locality.n_tasks, 'held task')}; {local} were local, that is, ran in their home "
        f"domain{rescues}."
    )
    if locality.n_steals or locality.n_failed_steals:
        mean = duration(locality.steal_ns / locality.n_steals) if locality.n_steals else "-"
        yield (
            f"{plural(locality.n_steals, 'steal')}, {percent(locality.steal_success)} of the attempts, "
            f"{mean} each; {duration(locality.failed_steal_ns)} in failed attempts."
        )
    n_domains = len(locality.matrix)
    if n_domains > 1:
        yield Table.of(
            "Tasks by domain",
            (
                Column("", "placed in", Kind.COUNT, lambda row: row[0], "domain where the task was placed"),
                *(
                    Column("", f"ran in {domain}", Kind.COUNT, partial(_ran_in, domain), "tasks")
                    for domain in range(n_domains)
                ),
            ),
            enumerate(locality.matrix),
            most=_MOST_DOMAINS,
            word="domain",
        )


def _ran_in(domain: int, row: tuple[int, tuple[int, ...]]) -> int:
    return row[1][domain]


def _locality_fields(locality: Locality) -> dict[str, Any]:
    names = (
        "tasks=n_tasks tasks_local=n_local tasks_remote=n_remote tasks_rescued=n_rescued placed_ran=matrix "
    )
    names += "steals=n_steals steals_failed=n_failed_steals steal_ns steal_failed_ns=failed_steal_ns"
    return {column.key: column.value(locality) for column in fields(names)}


def _finding_fields(content: ReportContent, finding: Finding) -> dict[str, Any]:
    names = fields("kind severity title because cure cost_ns construct")
    return {
        **{column.key: column.value(finding) for column in names},
        **place_fields(content.place_of(finding)),
        "numbers": dict(finding.numbers),
    }


_FINDING_LINES: Final = 11
_ROWS: Final = 3
_IMPORTANT: Final = ("unlogged", "dropped", "second_runtime")
"""Notes without which the figures would mislead."""
_CONSTRUCTS: Final = ("tasks", "loops", "regions")
_TITLES: Final = ("task", "tasks", "work", "create", "mean work", "loop", "kind", "runs", "time", "max/mean",
                  "lost", "region", "team", "wall", "idle", "share", "call", "class", "place", "calls",
                  "target", "host time", "transfer", "launch", "wait", "to device",
                  "from device")  # fmt: skip


def brief_report(content: ReportContent) -> Report:
    """Returns the report that fits on one screen."""
    whole = run_report(content)
    facts = (run_name(content.run), duration(program_ns(content.run)), plural(content.n_tasks, "task"))
    return replace(
        whole,
        title=" · ".join(facts),
        facts=(),
        sections=tuple(_brief_sections(content, whole)),
    )


def _brief_sections(content: ReportContent, whole: Report) -> Iterator[Section]:
    sections = {section.key: section for section in whole.sections}
    more = f"ompass report {shell_word(content.run.path)} --full"
    if "findings" in sections:
        yield replace(sections["findings"], most_lines=_FINDING_LINES, more=more)
    states = sections["thread-time"]
    yield replace(states, parts=states.parts[:2])  # the scope of all shares, and the states
    key = next((key for key in _CONSTRUCTS if key in sections), "")
    for each in (key, "mpi", "targets"):
        if each in sections:
            parts = [_brief_table(part, more) for part in sections[each].parts if isinstance(part, Table)]
            yield replace(sections[each], parts=tuple(parts))
    damaged = (
        f"Note: {problem}."
        for problem in content.problems
        if problem.startswith(NAMES_FILE) or ".samples: " in problem
    )
    if notes := (*note_parts(content, _IMPORTANT), *damaged):
        yield Section("notes", "Notes", notes)


def _brief_table(table: Table, more: str) -> Table:
    """Returns a few rows and the most important columns of a table."""
    chosen = [
        k for k, column in enumerate(table.columns) if column.title in _TITLES and not column.kind.is_bar
    ]
    rows = tuple(tuple(row[k] for k in chosen) for row in table.rows)
    return replace(
        table, columns=tuple(table.columns[k] for k in chosen), rows=rows, most=_ROWS, more=more, notes=()
    )
