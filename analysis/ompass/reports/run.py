# SPDX-License-Identifier: Apache-2.0
"""The report on one run: thread-time, regions, task constructs, waits, loops, kernels, granularity, findings.

Owns its order, its wording, and the fields of its JSON form, which docs/report-schema.md lists.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Final

from ompass import __version__
from ompass.metrics.breakdown import Breakdown, Scope
from ompass.metrics.constructs import ConstructTotals
from ompass.metrics.facts import Finding
from ompass.metrics.locality import Locality
from ompass.metrics.processors import Presence, described, knows_switches, processor_values
from ompass.metrics.thresholds import OFF_PROCESSOR_SHARE, SHOWN_SHARE
from ompass.metrics.waits import LoopTotals, WaitedFor, WaitTotals
from ompass.model import UNSHARED_LOOPS, CpuTimes, share
from ompass.reports.content import ReportContent
from ompass.reports.model import (
    STATES,
    Advice,
    Bar,
    Column,
    Kind,
    Report,
    Section,
    Table,
    data,
    fields,
    place_fields,
    state_fields,
)
from ompass.reports.terminal import state_values
from ompass.samples.report import sample_fields, sample_parts
from ompass.units import duration, percent, plural

SCHEMA_VERSION: Final = 1
CSV_TABLES: Final = {
    "constructs": "constructs",
    "regions": "regions",
    "threads": "thread_breakdown",
    "waits": "waits",
    "loops": "loops",
    "kernels": "kernels",
    "histogram": "granularity",
    "findings": "findings",
    "summary": "",
}
"""Name of a table for --csv -> JSON field with its rows; empty: the whole form."""

_MOST_DOMAINS: Final = 8

WORK_AND_IDLE: Final = (
    Column(
        "", "work", Kind.SHARE, lambda row: share(row.states.work_ns, row.states.total_ns), "of thread-time"
    ),
    Column(
        "", "idle", Kind.SHARE, lambda row: share(row.states.idle_ns, row.states.total_ns), "of thread-time"
    ),
)
"""Columns of objects with times of states."""


def presence_fields(presence: Presence | None) -> dict[str, Any]:
    """Returns thread-time, and work, by what processors did, for programs; None if unknown."""
    whole, work = (presence.whole, presence.work) if presence else (None, None)
    source = {"source": presence.source} if presence else {}
    return {
        "cpu": _cpu_fields(whole) | source if whole else None,
        "work_cpu": _cpu_fields(work) if work else None,
    }


def _cpu_fields(times: CpuTimes) -> dict[str, int]:
    return {column.key: column.value(times) for column in fields("running_ns preempted_ns blocked_ns")}


_PRESENCE: Final = tuple(
    data(key, partial(lambda name, item: presence_fields(item.presence)[name], key))
    for key in ("cpu", "work_cpu")
)


def run_report(content: ReportContent) -> Report:
    """Returns the whole report."""
    run, breakdown = content.run, content.breakdown
    threads = _threads((*breakdown.threads, *breakdown.helpers))
    regions, tasks, kernels = _regions(content), _tasks(content), _kernels(content)
    bins = _granularity(content)
    return Report(
        title=f"ompass · {run.path.name}",
        facts=(
            f"{run.mode} mode" + (", recomputed from events" if run.source == "events" else ""),
            f"pid {run.pid}",
            f"{duration(run.wall_ns)} wall time",
            *((f"{described(run)} processors",) if run.quota_us else ()),
            plural(content.n_tasks, "task"),
        ),
        warning="" if run.complete else _cut_short(content),
        sections=tuple(_sections(content, threads, regions, tasks, kernels, bins)),
        values={
            "schema": "ompass-report",
            "schema_version": SCHEMA_VERSION,
            "ompass_version": __version__,
            "directory": str(run.path),
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
            "implicit_ns": breakdown.implicit_ns,
            "lock_ns": breakdown.lock_ns,
            "tasks": content.n_tasks,
            "tasks_created": sum(t.n_created for t in content.tasks),
            "tasks_cancelled": sum(t.n_cancelled for t in content.tasks),
            "tasks_undeferred": sum(t.n_undeferred for t in content.tasks),
            "thread_breakdown": threads,
            "regions": regions,
            "constructs": tasks,
            "waits": _waits(content, content.waits),
            "loops": _loops(content, content.loops),
            "kernels": kernels,
            "granularity": bins,
            "locality": _locality_fields(content.locality) if content.locality else None,
            "samples": sample_fields(content.samples) if content.samples else None,
            "counters": list(run.counters),
            "findings": [_finding_fields(content, finding) for finding in content.findings],
            "problems": list(content.problems),
        },
    )


def _cut_short(content: ReportContent) -> str:
    reasons = " ".join(content.run.incomplete_reasons) or f"It ended as: {content.run.end_reason}."
    return f"The run was cut short. {reasons}"


def _iso_time(epoch_ns: int) -> str:
    return datetime.datetime.fromtimestamp(epoch_ns // 1_000_000_000, datetime.timezone.utc).isoformat()


def _sections(
    content: ReportContent, threads: Table, regions: Table, tasks: Table, kernels: Table, bins: Table
) -> Iterator[Section]:
    yield Section(
        "thread-time",
        "Where the thread-time went",
        (
            f"{scope_words(content.breakdown)}.",
            _states(content.breakdown),
            *presence_words(content.breakdown.presence),
        ),
    )
    for key, table, drawn in (
        ("threads", threads, True),
        ("regions", regions, False),
        ("tasks", tasks, False),
        ("waits", _waits(content, _costly_waits(content)), False),
        ("loops", _loops(content, _notable_loops(content)), False),
        ("granularity", bins, True),
        ("kernels", kernels, False),
        ("counters", _counters(content), False),
    ):
        if table.rows:
            yield Section(key, table.title, (table,), drawn)
    if content.samples and (parts := tuple(sample_parts(content.samples))):
        yield Section("samples", "Where the processors were", parts)
    if content.locality:
        yield Section("locality", "Locality domains", tuple(_locality(content.locality)))
    yield Section("findings", "Findings", tuple(_findings(content)))


def scope_words(breakdown: Breakdown) -> str:
    """Returns the scope of the figures, and how the thread-time is computed."""
    what = {
        Scope.REGIONS: "All parallel regions",
        Scope.REGION: "The chosen parallel region",
        Scope.PROGRAM: "The whole program",
    }[breakdown.scope]
    total, threads = duration(breakdown.thread_time_ns), plural(breakdown.n_threads, "thread")
    if breakdown.n_threads * breakdown.wall_ns == breakdown.thread_time_ns:
        return f"{what}: {threads} x {duration(breakdown.wall_ns)} = {total}"
    return f"{what}: {total} of {threads} in {duration(breakdown.wall_ns)}"


def presence_words(presence: Presence | None) -> Iterator[str]:
    """Yields how long threads were off-CPU, if that was a noticeable part of the thread-time."""
    if presence is None:
        return
    what, times = ("the work", presence.work) if presence.work else ("the thread-time", presence.whole)
    if times.absent_ns <= OFF_PROCESSOR_SHARE * presence.whole.total_ns:
        return
    preempted, blocked = (percent(share(ns, times.total_ns)) for ns in (times.preempted_ns, times.blocked_ns))
    yield (
        f"Threads were off-CPU for {percent(share(times.absent_ns, times.total_ns))} of {what}: "
        f"preempted {preempted}, blocked {blocked}; they ran for {duration(times.running_ns)} of it."
    )


def _states(breakdown: Breakdown) -> Table:
    return Table.of(
        "States",
        (
            Column("", "state", Kind.STATE, lambda row: row[0]),
            Column("", "time", Kind.TIME, lambda row: row[1]),
            Column("", "share", Kind.SHARE, lambda row: breakdown.share(row[1])),
            Column("", "", Kind.BAR, lambda row: Bar(row[1], row[0])),
        ),
        zip(STATES, state_values(breakdown.states), strict=True),
    )


def _threads(threads: Any) -> Table:
    return Table.of(
        "Threads",
        (
            Column("thread", "thread", Kind.COUNT),
            Column("kind", "kind", Kind.TEXT),
            Column("thread_time_ns", "time", Kind.TIME, "states.total_ns"),
            *WORK_AND_IDLE,
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


def _place(content: ReportContent, title: str) -> tuple[Column, Column]:
    return (
        data("id", "construct"),
        Column("place", title, Kind.PLACE, lambda row: content.location(row.construct)),
    )


def _regions(content: ReportContent) -> Table:
    return Table.of(
        "Parallel regions",
        (
            *_place(content, "region"),
            data("level"),
            Column("instances", "runs", Kind.COUNT, "n_instances", "instances of the region"),
            Column("max_team_size", "team", Kind.COUNT, hint="threads of the largest team"),
            Column("wall_ns", "wall", Kind.TIME),
            Column("thread_time_ns", "thread-time", Kind.TIME, "states.total_ns"),
            *WORK_AND_IDLE,
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


def _tasks(content: ReportContent) -> Table:
    """Returns a table of task constructs: their numbers of tasks, costs, and where the tasks ran."""
    return Table.of(
        "Task constructs by cost",
        (
            *_place(content, "task"),
            data("inlined_into", lambda task: content.location(task.construct).inlined_into),
            Column("tasks", "tasks", Kind.COUNT, "n_completed", "completed"),
            Column("work_ns", "work", Kind.TIME, hint="time of all tasks in user code"),
            Column("create_ns", "create", Kind.TIME, hint="time to create all tasks"),
            Column("mean_work_ns", "mean work", Kind.TIME),
            Column("mean_create_ns", "mean create", Kind.TIME),
            Column("max_ns", "longest", Kind.TIME, _of_timed("max_ns")),
            Column(
                "",
                "moved",
                Kind.SHARE,
                "moved_share",
                "part that did not run on the creating thread",
            ),
            Column("", "mean wait", Kind.TIME, "mean_ready_ns", "from ready to start"),
            Column(
                "",
                "share",
                Kind.SHARE,
                lambda task: content.breakdown.share(task.cost_ns),
                "of all thread-time: work and creation",
            ),
            *fields("tasks_created=n_created tasks_cancelled=n_cancelled tasks_undeferred=n_undeferred"),
            *fields("inclusive_ns tasks_timed=n_timed histogram tasks_ready=n_ready ready_ns ready_max_ns"),
            *fields("tasks_other_thread=n_other_thread tasks_other_core=n_other_core"),
            *fields("tasks_other_domain=n_other_domain"),
            data("min_ns", _of_timed("min_ns")),
            data("counters", lambda task: counters_of(content, task)),
            data("work_cpu", partial(_work_of, content)),
            data("created_by", lambda task: _by_thread(task.created_by)),
            data("completed_by", lambda task: _by_thread(task.completed_by)),
        ),
        content.tasks,
        word="construct",
        more="--csv",
    )


def _work_of(content: ReportContent, totals: ConstructTotals) -> dict[str, int] | None:
    """Returns the work of a construct by what processors did; None unless known of every thread."""
    if not knows_switches(content.run):
        return None
    return _cpu_fields(CpuTimes.of(totals.work_ns, totals.preempted_ns, totals.blocked_ns))


def _of_timed(name: str) -> Any:
    """Returns the figure of timed tasks; None without timed tasks."""
    return lambda totals: getattr(totals, name) if totals.n_timed else None


def _by_thread(counts: tuple[tuple[int, int], ...]) -> list[dict[str, int]]:
    return [{"thread": thread, "tasks": n} for thread, n in counts]


def counters_of(content: ReportContent, totals: ConstructTotals) -> dict[str, int]:
    """Returns the counters of a construct by their names."""
    return dict(zip(content.run.counters, totals.counters, strict=False))


def _costly_waits(content: ReportContent) -> list[WaitTotals]:
    """Returns waits that people should see. The idle time of a dependence also belongs to another wait."""
    return [w for w in content.waits if content.breakdown.share(w.wait_ns) > SHOWN_SHARE]


def _notable_loops(content: ReportContent) -> list[LoopTotals]:
    def costs(loop: LoopTotals) -> int:
        return loop.imbalance_ns if loop.kind in UNSHARED_LOOPS else max(loop.imbalance_ns, loop.time_ns)

    return [o for o in content.loops if content.breakdown.share(costs(o)) > SHOWN_SHARE]


def _waits(content: ReportContent, waits: Sequence[WaitTotals]) -> Table:
    """Returns a table of waits: their costs, tasks run inside, and what threads mostly waited for."""
    return Table.of(
        "Waits by cost",
        (
            *_place(content, "wait"),
            Column("", "kind", Kind.TEXT, partial(_kind_and_name, content)),
            *fields("kind"),
            data("name", lambda w: content.critical_names.get(w.construct)),
            Column("count", "waits", Kind.COUNT, "n_waits"),
            Column(
                "wait_ns", "waited", Kind.TIME, hint="time of all threads without a task, or for the lock"
            ),
            Column(
                "", "share", Kind.SHARE, lambda w: content.breakdown.share(w.wait_ns), "of all thread-time"
            ),
            Column("inside_ns", "tasks inside", Kind.TIME, hint="time of tasks that ran meanwhile"),
            Column("max_ns", "longest", Kind.TIME, hint="from begin to end, with the tasks inside"),
            Column("", "mostly for", Kind.NAME, partial(_waited_most_for, content)),
            *fields("schedule_ns sync_ns idle_ns long_waits=n_long delay_ns"),
            data("waited_for", lambda w: [_waited_for_fields(content, entry) for entry in w.waited_for]),
            data(
                "thread_breakdown",
                lambda w: [
                    {
                        "thread": t.thread,
                        "count": t.n_waits,
                        "wait_ns": t.wait_ns,
                        "schedule_ns": t.schedule_ns,
                        "sync_ns": t.sync_ns,
                        "idle_ns": t.idle_ns,
                        "inside_ns": t.inside_ns,
                    }
                    for t in w.threads
                ],
            ),
        ),
        waits,
        word="wait",
        more="--csv --table waits",
        notes=_of_gcc(content),
    )


def _kind_and_name(content: ReportContent, wait: WaitTotals) -> str:
    name = content.critical_names.get(wait.construct)
    return f"{wait.kind} {name}" if name else wait.kind


_NO_CHUNKS: Final = "the runtime does not report which thread took which chunks"


def _of_gcc(content: ReportContent) -> tuple[str, ...]:
    """Returns a note on barriers in programs of gcc. clang has such barriers for reductions."""
    if all(w.kind != "implementation barrier" for w in content.waits):
        return ()
    return ("implementation barriers come from the compiler; behind gcc's static loops, only they are shown",)


def _waited_most_for(content: ReportContent, wait: WaitTotals) -> str | None:
    """Returns text such as `task fib.c:12`, or None if unknown."""
    if not wait.waited_for:
        return None
    first = wait.waited_for[0]
    kind = {"parallel": "region"}.get(first.kind, first.kind)
    return f"{kind} {content.location(first.construct).place}"


def _waited_for_fields(content: ReportContent, entry: WaitedFor) -> dict[str, Any]:
    return {
        "construct": entry.construct,
        "construct_kind": entry.kind,
        **place_fields(content.location(entry.construct)),
        "count": entry.n_waits,
        "wait_ns": entry.wait_ns,
    }


def _loops(content: ReportContent, loops: Sequence[LoopTotals]) -> Table:
    """Returns a table of loops: executions, times, and the cost of their imbalance."""
    return Table.of(
        "Loops by imbalance",
        (
            *_place(content, "loop"),
            Column("kind", "kind", Kind.TEXT),
            Column("instances", "runs", Kind.COUNT, "n_led", "number of executions"),
            Column("iterations", "iterations", Kind.COUNT, "n_iterations"),
            Column("time_ns", "time", Kind.TIME, hint="of all threads in it"),
            Column(
                "",
                "max/mean",
                Kind.RATIO,
                lambda loop: 1.0 + loop.imbalance,
                "time of the busiest thread over the mean: 1 is perfect balance",
            ),
            Column(
                "imbalance_ns",
                "lost",
                Kind.TIME,
                hint="idle time at the barrier behind it until the last thread arrived",
            ),
            Column(
                "",
                "share",
                Kind.SHARE,
                lambda o: content.breakdown.share(o.imbalance_ns),
                "lost, of all thread-time",
            ),
            Column("chunks", "chunks", Kind.COUNT, lambda o: o.n_chunks if o.tells_chunks else None),
            *fields("max_thread_ns mean_thread_ns imbalance"),
            data("thread_breakdown", _loop_threads),
        ),
        loops,
        word="loop",
        more="--csv --table loops",
        notes=() if any(o.tells_chunks for o in loops) or not loops else (_NO_CHUNKS,),
    )


def _loop_threads(loop: LoopTotals) -> list[dict[str, Any]]:
    return [
        {
            "thread": t.thread,
            "instances": t.n_entered,
            "iterations": t.n_taken if loop.tells_chunks else None,
            "chunks": t.n_chunks if loop.tells_chunks else None,
            "time_ns": t.time_ns,
            "imbalance_ns": t.imbalance_ns,
        }
        for t in loop.threads
    ]


def _kernels(content: ReportContent) -> Table:
    return Table.of(
        "Kernels",
        (
            data("id", "construct"),
            Column("name", "kernel", Kind.NAME, lambda kernel: _name(content, kernel)),
            Column("place", "", Kind.PLACE, lambda kernel: content.location(kernel.construct)),
            Column("executions", "runs", Kind.COUNT, "n_completed", "number of executions"),
            Column("work_ns", "work", Kind.TIME),
            Column("", "mean", Kind.TIME, "mean_work_ns"),
            Column("max_ns", "longest", Kind.TIME, _of_timed("max_ns")),
            Column("read_bytes", "read", Kind.BYTES, hint="declared bytes"),
            Column("write_bytes", "written", Kind.BYTES, hint="declared bytes"),
            data("inclusive_ns"),
            data("min_ns", _of_timed("min_ns")),
            data("counters", lambda kernel: counters_of(content, kernel)),
            data("work_cpu", partial(_work_of, content)),
        ),
        content.kernels,
        word="kernel",
        more="--csv --table kernels",
    )


def _name(content: ReportContent, kernel: ConstructTotals) -> str:
    return content.location(kernel.construct).function or f"kernel {kernel.construct}"


def _counters(content: ReportContent) -> Table:
    """Returns the counters of task constructs and kernels; no rows without counters."""
    counted = [(content.location(task.construct).label(), task) for task in content.tasks]
    counted += [(_name(content, kernel), kernel) for kernel in content.kernels]
    return Table.of(
        "Counters",
        (
            Column("", "task or kernel", Kind.NAME, lambda row: row[0]),
            *(
                Column("", name, Kind.COUNT, partial(_counter, k))
                for k, name in enumerate(content.run.counters)
            ),
        ),
        counted if content.run.counters else (),
    )


def _counter(number: int, row: tuple[str, ConstructTotals]) -> int | None:
    counters = row[1].counters
    return counters[number] if number < len(counters) else None


def _granularity(content: ReportContent) -> Table:
    n_timed = sum(b.n_tasks for b in content.bins)
    return Table.of(
        "Granularity",
        (
            Column("low_ns", "from", Kind.TIME, hint="shortest duration of the bin"),
            Column("high_ns", "to", Kind.TIME, hint="first duration above it"),
            Column("tasks", "tasks", Kind.COUNT, "n_tasks"),
            Column("", "share", Kind.SHARE, lambda b: share(b.n_tasks, n_timed)),
            Column("", "", Kind.BAR, lambda b: Bar(b.n_tasks)),
        ),
        content.bins,
        most=64,
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


def _findings(content: ReportContent) -> Iterator[str | Advice]:
    """Yields problems, then notes. The report's head shows that the run was cut short."""
    problems = [f for f in content.findings if f.severity == "problem"]
    if not problems:
        work = content.breakdown.share(content.breakdown.states.work_ns)
        yield f"No problem found: {percent(work)} of the thread-time is work."
    for finding in problems:
        place = content.location(finding.construct).label() if finding.construct is not None else ""
        yield Advice(finding.title, finding.because, finding.cure, place)
    for finding in content.findings:
        if finding.severity == "note" and finding.kind != "cut_short":
            cure = f"; {finding.cure}" if finding.cure else ""
            yield f"Note: {finding.title}: {finding.because}{cure}."
    yield from (f"Note: {problem}." for problem in content.problems)


def _finding_fields(content: ReportContent, finding: Finding) -> dict[str, Any]:
    names = fields("kind severity title because cure cost_ns construct")
    return {
        **{column.key: column.value(finding) for column in names},
        **place_fields(content.location(finding.construct)),
        "numbers": dict(finding.numbers),
    }
