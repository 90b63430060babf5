# SPDX-License-Identifier: Apache-2.0
"""The tables of the terminal report: regions, task constructs, kernels, granularity."""

from __future__ import annotations

from rich import box
from rich.table import Table
from rich.text import Text

from ompass.metrics import ConstructTotals
from ompass.reports.bars import Canvas, length_bar, state_bar
from ompass.reports.content import ReportContent
from ompass.symbols.names import compact_name
from ompass.symbols.resolver import Location
from ompass.units import duration, percent, plural, size

MAX_ROWS = 15
LONG_NAME = 40  # characters of a function name before template arguments are left out


def plain_table(show_header: bool = True) -> Table:
    return Table(
        box=box.SIMPLE_HEAD if show_header else None,
        show_header=show_header,
        show_edge=False,
        pad_edge=False,
        padding=(0, 1, 0, 0),
        header_style="dim",
    )


def place_text(location: Location) -> Text:
    """file:line and the function, on one line where there is room."""
    text = Text(location.place, style="cyan", overflow="fold")
    if location.function:
        text.append(f" {compact_name(location.function, LONG_NAME)}", style="default")
    return text


def _more(table: Table, n_hidden: int, word: str, hint: str) -> None:
    if n_hidden > 0:
        table.add_row(Text(f"and {plural(n_hidden, word)} more: {hint}", style="dim"))


def regions_table(content: ReportContent, canvas: Canvas) -> Table:
    table = plain_table()
    table.add_column("region", overflow="fold", min_width=16)
    for name in ("runs", "team", "wall", "thread-time", "work", "idle", "max/mean"):
        table.add_column(name, justify="right", no_wrap=True)
    cells = canvas.room(94, 30)
    table.add_column("", no_wrap=True)
    for region in content.regions[:MAX_ROWS]:
        total = region.states.total_ns
        table.add_row(
            place_text(content.location(region.construct)),
            f"{region.n_instances:,}",
            str(region.max_team_size),
            duration(region.wall_ns),
            duration(total),
            percent(region.states.work_ns / total if total else 0.0),
            percent(region.states.idle_ns / total if total else 0.0),
            f"{region.imbalance:.2f}",
            state_bar(region.states, cells, canvas.unicode),
        )
    _more(table, len(content.regions) - MAX_ROWS, "region", "--csv --table regions")
    return table


def tasks_table(content: ReportContent, canvas: Canvas) -> Table:
    """Per construct: how many, what they cost together and each, and where they ran."""
    table = plain_table()
    table.add_column("task", overflow="fold", min_width=16)
    wide = canvas.width >= 90
    names = ("tasks", "work", "create", "mean\nwork", "mean\ncreate", "longest", "moved")
    for name in names if wide else names[:-1]:
        table.add_column(name, justify="right", no_wrap=True)
    for task in content.tasks[:MAX_ROWS]:
        table.add_row(
            place_text(content.location(task.construct)),
            f"{task.n_completed:,}",
            duration(task.work_ns),
            duration(task.create_ns),
            duration(task.mean_work_ns),
            duration(task.mean_create_ns),
            duration(task.max_ns) if task.n_timed else "-",
            *([_moved(task)] if wide else []),
        )
    _more(table, len(content.tasks) - MAX_ROWS, "construct", "--csv")
    return table


def _moved(task: ConstructTotals) -> str:
    """Part of the tasks that ran on another thread than the one that created them."""
    return percent(task.n_other_thread / task.n_completed) if task.n_completed else "-"


def kernels_table(content: ReportContent) -> Table:
    table = plain_table()
    table.add_column("kernel", overflow="fold", min_width=16)
    for name in ("runs", "work", "longest", "read", "written"):
        table.add_column(name, justify="right", no_wrap=True)
    for name in content.run.counters:
        table.add_column(name, justify="right")
    for kernel in content.kernels[:MAX_ROWS]:
        table.add_row(
            content.location(kernel.construct).function or f"kernel {kernel.construct}",
            f"{kernel.n_completed:,}",
            duration(kernel.work_ns),
            duration(kernel.max_ns) if kernel.n_timed else "-",
            size(kernel.read_bytes),
            size(kernel.write_bytes),
            *(f"{value:,}" for value in kernel.counters),
        )
    _more(table, len(content.kernels) - MAX_ROWS, "kernel", "--csv --table kernels")
    return table


def granularity_table(content: ReportContent, canvas: Canvas) -> Table:
    table = plain_table()
    table.add_column("duration", justify="right", no_wrap=True)
    table.add_column("tasks", justify="right", no_wrap=True)
    table.add_column("share", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    n_timed = sum(b.n_tasks for b in content.bins)
    largest = max((b.n_tasks for b in content.bins), default=0)
    for b in content.bins:
        table.add_row(
            f"{duration(b.low_ns)} to {duration(b.high_ns)}",
            f"{b.n_tasks:,}",
            percent(b.n_tasks / n_timed),
            length_bar(b.n_tasks, largest, canvas.room(46, 50), "blue", canvas.unicode),
        )
    if not content.bins:
        table.add_row(Text("no task was timed", style="dim"))
    return table
