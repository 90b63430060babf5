# SPDX-License-Identifier: Apache-2.0
"""The report on a sweep as a page on a terminal: verdict, scaling, breakdown, curves, gaps, inflation.

Owns order and wording of the page; figures are metrics', tables are drawn like those of the report on a run.
"""

from __future__ import annotations

from rich.console import Console
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from ompass.metrics import CURVES, Scope, thresholds
from ompass.reports.bars import STATES, STYLES, Canvas, glyph, split_cells
from ompass.reports.scaling.content import Column, ScalingContent
from ompass.reports.tables import plain_table
from ompass.reports.terminal import section
from ompass.units import duration, percent, plural

_MAX_CONSTRUCTS = 10


def print_scaling(console: Console, content: ScalingContent) -> None:
    """Print the whole report on a sweep."""
    canvas = Canvas(console.width, console.encoding.lower().startswith("utf"))
    console.print(Rule(Text(f"ompass scale · {' '.join(content.spec.command)}", style="bold"), style="cyan"))
    rounds = max(column.n_rounds for column in content.columns)
    what = "all parallel regions" if content.scope is Scope.REGIONS else "the whole program"
    console.print(Text(f"{plural(rounds, 'round')}  {what}  {content.directory}", style="dim"))
    _verdict_section(console, content)
    section(console, "Scaling", _scaling_table(content))
    section(console, "Where the thread-time went", _breakdown_table(content, canvas))
    section(console, "Factored speed-up", _curves_table(content))
    _gaps_section(console, content)
    judged = content.judged
    if judged is not None:
        title = f"Work on {judged.point.threads} threads against one, by construct"
        section(console, title, _inflation_table(judged))
    for note in notes_on_scaling(content):
        console.print(Padding(Text(f"note: {note}", style="dim"), (0, 0, 0, 2)))


def _verdict_section(console: Console, content: ScalingContent) -> None:
    judged = content.judged
    if judged is None or judged.verdict is None:
        return
    verdict = judged.verdict
    console.print()
    style = "bold green" if verdict.kind == "scales" else "bold yellow"
    title = Text(f"Verdict on {judged.point.threads} threads: {verdict.title}", style=style)
    if judged.finding_place:
        title.append(f"  {judged.finding_place}", style="cyan")
    console.print(title)
    console.print(Padding(Text(f"{verdict.because[:1].upper()}{verdict.because[1:]}."), (0, 0, 0, 2)))
    if verdict.cure:
        cure = f"{verdict.cure[:1].upper()}{verdict.cure[1:]}"
        console.print(Padding(Text(f"-> {cure}.", style="green"), (0, 0, 0, 2)))
    if verdict.also:
        console.print(Padding(Text(f"Besides: {'; '.join(verdict.also).lower()}."), (0, 0, 0, 2)))


def _scaling_table(content: ScalingContent) -> Table:
    table = plain_table()
    for name in ("threads", "time", "from", "to", "speed-up", "from", "to", "efficiency", "OVR", "WTI"):
        table.add_column(name, justify="right", no_wrap=True)
    recorded = any(column.recording for column in content.columns)
    if recorded:
        table.add_column("speed-up\nunrecorded", justify="right")
        table.add_column("cost of\nrecording", justify="right")
    for column in content.columns:
        point = column.point
        low_ns, high_ns = column.spreads["time_ns"]
        low, high = column.spreads["speedup"]
        cells = [
            str(point.threads),
            duration(point.time_ns),
            duration(low_ns),
            duration(high_ns),
            f"{point.speedup:.2f}",
            f"{low:.2f}",
            f"{high:.2f}",
            percent(point.efficiency),
            f"{point.ovr:.3f}",
            f"{point.wti:.3f}",
        ]
        if recorded:
            cost = column.recording
            cells += [f"{cost.unrecorded_speedup:.2f}", f"{cost.factor:.3f}"] if cost else ["-", "-"]
        table.add_row(*cells)
    return table


def _breakdown_table(content: ScalingContent, canvas: Canvas) -> Table:
    table = plain_table()
    table.add_column("threads", justify="right", no_wrap=True)
    table.add_column("thread-time", justify="right", no_wrap=True)
    for state in STATES:
        table.add_column(
            Text(f"{glyph(state, canvas.unicode)} {state}", style=STYLES[state]),
            justify="right",
            no_wrap=True,
        )
    table.add_column("", no_wrap=True)
    longest = max(column.point.thread_time_ns for column in content.columns)
    room = canvas.room(84, 40)
    for column in content.columns:
        point = column.point
        values = [getattr(point.states, f"{state}_ns") for state in STATES]
        bar = Text()
        cells = round(room * point.thread_time_ns / longest) if longest else 0
        for state, n in zip(STATES, split_cells([round(v) for v in values], cells), strict=True):
            bar.append(glyph(state, canvas.unicode) * n, style=STYLES[state])
        table.add_row(
            str(point.threads),
            duration(point.thread_time_ns),
            *(percent(v / point.thread_time_ns if point.thread_time_ns else 0.0) for v in values),
            bar,
        )
    return table


def _curves_table(content: ScalingContent) -> Table:
    table = plain_table()
    table.add_column("threads", justify="right", no_wrap=True)
    shown = [n for n in CURVES if any(c.point.curve(n) is not None for c in content.columns)]
    for name in shown:
        table.add_column(name, justify="right", no_wrap=True)
    for name in ("T_s", "T_1", "T_P", "I_P", "F_P"):
        table.add_column(name, justify="right", no_wrap=True)
    for column in content.columns:
        point = column.point
        table.add_row(
            str(point.threads),
            *(f"{point.curve(name):.2f}" for name in shown),
            duration(point.serial_ns),
            duration(point.one_time_ns),
            duration(point.time_ns),
            duration(point.states.idle_ns),
            duration(point.inflation_ns),
        )
    return table


def _gaps_section(console: Console, content: ScalingContent) -> None:
    judged = content.judged
    if judged is None:
        return
    console.print()
    console.print(Text(f"  The gaps on {judged.point.threads} threads", style="bold"))
    for gap in content.gaps:
        meaning = f"{gap.meaning[:1].upper()}{gap.meaning[1:]}"
        text = f"{gap.name}  {gap.upper} to {gap.lower}: {gap.size:.2f}. {meaning}."
        console.print(Padding(Text(text), (0, 0, 0, 4)))
    for sentence in content.bends:
        console.print(Padding(Text(sentence), (0, 0, 0, 4)))


def _inflation_table(column: Column) -> Table:
    table = plain_table()
    table.add_column("construct", overflow="fold", min_width=16)
    for name in ("on one", f"on {column.point.threads}", "factor", "from", "to", "excess", "of all"):
        table.add_column(name, justify="right", no_wrap=True)
    total = column.point.work_inflation_ns
    for row in column.inflation[:_MAX_CONSTRUCTS]:
        part = row.key.kind == "kernel"  # inside the tasks, so no part of the sum
        table.add_row(
            row.key.label() + ("" if row.same_work else " *"),
            duration(row.one_work_ns),
            duration(row.work_ns),
            f"{row.factor:.3f}" if row.one_work_ns else "-",
            f"{row.low:.3f}",
            f"{row.high:.3f}",
            duration(row.excess_ns),
            percent(row.excess_ns / total) if total > 0 and not part else "-",
        )
    hidden = len(column.inflation) - _MAX_CONSTRUCTS
    if hidden > 0:
        table.add_row(Text(f"and {plural(hidden, 'construct')} more: --csv --table constructs", style="dim"))
    if any(not row.same_work for row in column.inflation[:_MAX_CONSTRUCTS]):
        table.add_row(
            Text("* ran a different number of times: the factor compares unequal work", style="dim")
        )
    return table


def notes_on_scaling(content: ScalingContent) -> list[str]:
    """What a reader must know of how the figures came about, in sentences."""
    notes = []
    point = content.columns[0].point
    if not point.has_baseline:
        notes.append(
            "no serial program was given (--baseline): its own work on one thread stands for T_s, so the "
            "maximal curve shows only what the runtime costs on one thread."
        )
    notes.append(
        "T_1 leaves the cost of queues out: one thread of libomp runs a task at once instead of queueing it."
    )
    if content.spec.depends_on_threads("recorded"):
        notes.append("the command depends on {threads}: T_1 was measured for each number of threads.")
    costs = [c.recording.factor for c in content.columns if c.recording]
    if costs and max(costs) >= thresholds.RECORDING_COST:
        notes.append(
            f"recording made the program up to {max(costs):.2f} times slower: read speed-ups in the column "
            "`unrecorded`, and the rest as that of the recorded program."
        )
    elif not costs:
        notes.append("times are those of recorded runs; --unrecorded measures what recording costs.")
    for column in content.columns:
        if column.misfit or column.n_seen > column.point.threads:
            notes.append(
                f"{column.n_seen} threads took part where {column.point.threads} were asked for: "
                "the program sets its own number (num_threads, omp_set_num_threads); give it {threads}."
            )
            break
    left_out = max(column.n_left_out for column in content.columns)
    if left_out:
        notes.append(
            f"{plural(left_out, 'round')} left out, in which other programs used the CPUs for more than "
            f"{percent(thresholds.DISTURBED_SHARE)} of the time."
        )
    others = max(column.others for column in content.columns)
    if others >= thresholds.DISTURBED_SHARE:
        notes.append(
            f"other programs used up to {percent(others)} of the CPUs' time in every round: measure on a "
            "quiet machine."
        )
    crowded = [c.point.threads for c in content.columns if 0 < content.n_cpus < c.point.threads]
    if crowded:
        notes.append(f"{crowded[0]} threads and more share {content.n_cpus} CPUs; nothing was pinned there.")
    return notes
