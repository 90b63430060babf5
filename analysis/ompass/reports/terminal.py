# SPDX-License-Identifier: Apache-2.0
"""The report as a page on a terminal: heading, breakdown, threads, then tables and findings.

Owns order and wording of the page; the tables are in tables, the bars in bars.
"""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from ompass.metrics import Breakdown, Finding, Locality, Scope
from ompass.reports import tables
from ompass.reports.bars import STATES, STYLES, Canvas, glyph, length_bar, state_bar, state_values
from ompass.reports.content import ReportContent
from ompass.units import duration, percent, plural

MAX_THREADS_SHOWN = 16
MAX_DOMAINS_SHOWN = 8


def print_report(console: Console, content: ReportContent) -> None:
    """Print the whole report of one run."""
    canvas = Canvas(console.width, console.encoding.lower().startswith("utf"))
    heading(console, content)
    breakdown_section(console, content.breakdown, canvas)
    if content.regions:
        section(console, "Parallel regions", tables.regions_table(content, canvas))
    if content.tasks:
        section(console, "Task constructs by cost", tables.tasks_table(content, canvas))
        section(console, "Granularity of tasks", tables.granularity_table(content, canvas))
    if content.kernels:
        section(console, "Kernels", tables.kernels_table(content))
    if content.locality:
        locality_section(console, content.locality)
    findings_section(console, content)


def section(console: Console, title: str, body: Table | Text) -> None:
    console.print()
    console.print(Text(title, style="bold"))
    console.print(Padding(body, (0, 0, 0, 2)))


def heading(console: Console, content: ReportContent) -> None:
    run = content.run
    console.print(Rule(Text(f"ompass · {run.path.name}", style="bold"), style="cyan"))
    parts = [
        f"{run.mode} mode" + (", recomputed from events" if run.source == "events" else ""),
        f"pid {run.pid}",
        f"{duration(run.wall_ns)} wall time",
        plural(content.n_tasks, "task"),
    ]
    console.print(Text("  ".join(parts), style="dim"))
    if not run.complete:
        reasons = " ".join(run.incomplete_reasons) or f"It ended as: {run.end_reason}."
        console.print(Text(f"The run was cut short. {reasons}", style="bold red"))


def scope_sentence(breakdown: Breakdown) -> str:
    """What the figures cover and how the thread-time comes about."""
    what = {
        Scope.REGIONS: "all parallel regions",
        Scope.REGION: "the chosen parallel region",
        Scope.PROGRAM: "the whole program",
    }[breakdown.scope]
    total = duration(breakdown.thread_time_ns)
    if breakdown.n_threads * breakdown.wall_ns == breakdown.thread_time_ns:
        return f"{what}: {plural(breakdown.n_threads, 'thread')} x {duration(breakdown.wall_ns)} = {total}"
    return f"{what}: {total} of {plural(breakdown.n_threads, 'thread')} in {duration(breakdown.wall_ns)}"


def breakdown_section(console: Console, breakdown: Breakdown, canvas: Canvas) -> None:
    console.print()
    line = Text("Where the thread-time went", style="bold")
    line.append(f"   {scope_sentence(breakdown)}", style="dim")
    console.print(line)
    table = tables.plain_table(show_header=False)
    table.add_column(min_width=9, no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(no_wrap=True)
    values = state_values(breakdown.states)
    for state, value in zip(STATES, values, strict=True):
        name = Text(f"{glyph(state, canvas.unicode)} {state}", style=STYLES[state])
        bar = length_bar(value, max(values), canvas.room(36, 50), STYLES[state], canvas.unicode)
        table.add_row(name, duration(value), percent(breakdown.share(value)), bar)
    console.print(Padding(table, (0, 0, 0, 2)))
    if breakdown.threads:
        section(console, "Threads", _threads_table(breakdown, canvas))


def _threads_table(breakdown: Breakdown, canvas: Canvas) -> Table:
    table = tables.plain_table()
    table.add_column("thread", justify="right", no_wrap=True)
    table.add_column("kind", no_wrap=True)
    table.add_column("time", justify="right", no_wrap=True)
    table.add_column("work", justify="right", no_wrap=True)
    table.add_column("tasks", justify="right", no_wrap=True)
    table.add_column("")
    room = canvas.room(48, 60)
    longest = max(t.states.total_ns for t in breakdown.threads)
    for thread in breakdown.threads[:MAX_THREADS_SHOWN]:
        total = thread.states.total_ns
        cells = round(room * total / longest) if longest else 0
        table.add_row(
            str(thread.thread),
            thread.kind,
            duration(total),
            percent(thread.states.work_ns / total if total else 0.0),
            f"{thread.n_tasks:,}",
            state_bar(thread.states, cells, canvas.unicode),
        )
    hidden = len(breakdown.threads) - MAX_THREADS_SHOWN
    if hidden > 0:
        table.add_row(
            "", "", "", "", "", Text(f"and {plural(hidden, 'thread')} more: --csv --table threads", "dim")
        )
    return table


def locality_sentences(locality: Locality) -> tuple[str, ...]:
    """What the extension did, in words."""
    tasks = locality.n_tasks
    local = percent(locality.n_local / tasks if tasks else 1.0)
    said = [
        f"{plural(tasks, 'held task')}, {local} of them local: run in the domain where they were placed"
        + (f"; {plural(locality.n_rescued, 'rescue')}" if locality.n_rescued else "")
    ]
    if locality.n_steals or locality.n_failed_steals:
        mean = duration(locality.steal_ns / locality.n_steals) if locality.n_steals else "-"
        said.append(
            f"{plural(locality.n_steals, 'steal')}, {percent(locality.steal_success)} of the attempts, "
            f"{mean} each; {duration(locality.failed_steal_ns)} in attempts that failed"
        )
    return tuple(said)


def locality_section(console: Console, locality: Locality) -> None:
    """The matrix of domains, where there is more than one, and the steals."""
    console.print()
    console.print(Text("Locality domains", style="bold"))
    for sentence in locality_sentences(locality):
        console.print(Padding(sentence, (0, 0, 0, 2)))
    domains = range(min(len(locality.matrix), MAX_DOMAINS_SHOWN))
    if len(domains) < 2:
        return
    table = tables.plain_table()
    table.add_column("placed in", justify="right", no_wrap=True)
    for domain in domains:
        table.add_column(f"ran in {domain}", justify="right", no_wrap=True)
    for domain in domains:
        table.add_row(str(domain), *(f"{locality.matrix[domain][ran]:,}" for ran in domains))
    console.print(Padding(table, (0, 0, 0, 2)))


def findings_section(console: Console, content: ReportContent) -> None:
    problems = [f for f in content.findings if f.severity == "problem"]
    notes = [f for f in content.findings if f.severity == "note" and f.kind != "cut_short"]
    console.print()
    console.print(Text("Findings", style="bold"))
    if not problems:
        share = content.breakdown.share(content.breakdown.states.work_ns)
        console.print(f"  Nothing stands out: {percent(share)} of the thread-time is work.")
    for number, finding in enumerate(problems, 1):
        _print_finding(console, content, number, finding)
    for finding in notes:
        text = f"[dim]note:[/dim] {escape(finding.title)}: {escape(finding.because)}"
        if finding.cure:
            text += f"; {escape(finding.cure)}"
        console.print(Padding(text + ".", (0, 0, 0, 2)))
    for problem in content.problems:
        console.print(Padding(f"[dim]note:[/dim] {escape(problem)}.", (0, 0, 0, 2)))


def _print_finding(console: Console, content: ReportContent, number: int, finding: Finding) -> None:
    title = Text(f"{number}. {finding.title}", style="bold yellow")
    if finding.construct is not None:
        title.append(f"  {content.location(finding.construct).label()}", style="cyan")
    console.print(Padding(title, (0, 0, 0, 2)))
    because = finding.because[:1].upper() + finding.because[1:]
    console.print(Padding(Text(f"{because}."), (0, 0, 0, 5)))
    if finding.cure:
        advice = finding.cure[:1].upper() + finding.cure[1:]
        console.print(Padding(Text(f"-> {advice}.", style="green"), (0, 0, 0, 5)))
