# SPDX-License-Identifier: Apache-2.0
"""The task graph as a page on a terminal: work and span, the critical path, the folded graph as a tree."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from ompass.model_graph import GraphGroup
from ompass.reports.graph.content import GraphContent
from ompass.reports.tables import plain_table
from ompass.reports.terminal import section
from ompass.units import duration, percent, plural

_MAX_ROWS = 12
_TASK_SHIFT = 40


def print_graph(console: Console, content: GraphContent) -> None:
    """Print the whole page for one run."""
    console.print(Rule(Text(f"ompass graph · {content.run.path.name}", style="bold"), style="cyan"))
    section(console, "Work and span", _span_table(content))
    if content.bounds:
        section(console, "Speed-up of the parallel regions that the graph allows", _bounds_table(content))
    section(console, "Critical path by construct", _constructs_table(content))
    section(console, "Longest stretches of the critical path", _steps_table(content))
    console.print()
    console.print(Text("Task graph", style="bold"))
    console.print(Padding(_tree(content), (0, 0, 0, 2)))
    for note in content.notes:
        console.print(Padding(Text(f"note: {note}", style="dim"), (0, 0, 0, 2)))


def print_ranks(console: Console, contents: Sequence[GraphContent]) -> None:
    """Work and span of several runs, such as the ranks of a job, one beside the other.

    Messages between ranks are not recorded, so no critical path leads from one to another.
    """
    console.print(Rule(Text(f"ompass graph · {plural(len(contents), 'run')}", style="bold"), style="cyan"))
    table = plain_table()
    table.add_column("run", overflow="fold")
    for name in ("work", "work / mean", "span", "parallelism", "burdened\nparallelism"):
        table.add_column(name, justify="right", no_wrap=True)
    mean_ns = sum(content.graph.work_ns for content in contents) / len(contents)
    for content in contents:
        graph = content.graph
        table.add_row(
            content.run.path.name,
            duration(graph.work_ns),
            f"{graph.work_ns / mean_ns if mean_ns else 0.0:.2f}",
            duration(graph.region_span_ns),
            f"{graph.parallelism:.2f}",
            f"{graph.burdened_parallelism:.2f}",
        )
    section(console, "Work and span of the parallel regions", table)
    console.print()


def _span_table(content: GraphContent) -> Table:
    graph = content.graph
    table = plain_table()
    for name in ("", "work", "span", "parallelism", "burdened span", "burdened\nparallelism"):
        table.add_column(name, justify="left" if not name else "right", no_wrap=True)
    table.add_row(
        "parallel regions",
        duration(graph.work_ns),
        duration(graph.region_span_ns),
        f"{graph.parallelism:.2f}",
        duration(graph.region_burdened_ns),
        f"{graph.burdened_parallelism:.2f}",
    )
    table.add_row(
        "whole program",
        duration(graph.work_ns + graph.outside_ns),
        duration(graph.span_ns),
        f"{graph.program_parallelism:.2f}",
        duration(graph.burdened_ns),
        f"{(graph.work_ns + graph.outside_ns) / graph.burdened_ns if graph.burdened_ns else 0.0:.2f}",
    )
    return table


def _bounds_table(content: GraphContent) -> Table:
    table = plain_table()
    table.add_column("threads")
    for bound in content.bounds:
        table.add_column(str(bound.threads), justify="right", no_wrap=True)
    table.add_row("at most", *(f"{bound.most:.2f}" for bound in content.bounds))
    table.add_row("greedy, burdened", *(f"{bound.least:.2f}" for bound in content.bounds))
    return table


def _constructs_table(content: GraphContent) -> Table:
    table = plain_table()
    table.add_column("construct", overflow="fold", min_width=16)
    for name in ("on the path", "of it", "stretches", "work", "of all", "tasks"):
        table.add_column(name, justify="right", no_wrap=True)
    span_ns = content.graph.span_ns or 1
    work_ns = content.graph.work_ns + content.graph.outside_ns or 1
    for row in content.constructs[:_MAX_ROWS]:
        table.add_row(
            content.label(row.kind, row.construct),
            duration(row.critical_ns),
            percent(row.critical_ns / span_ns),
            f"{row.n_steps:,}",
            duration(row.work_ns),
            percent(row.work_ns / work_ns),
            f"{row.n_tasks:,}",
        )
    hidden = len(content.constructs) - _MAX_ROWS
    if hidden > 0:
        table.add_row(Text(f"and {plural(hidden, 'construct')} more: --json", style="dim"))
    return table


def _steps_table(content: GraphContent) -> Table:
    table = plain_table()
    for name in ("at", "length", "task", "thread"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("construct", overflow="fold")
    groups = content.graph.groups
    longest = sorted(content.graph.critical, key=lambda step: -step.length_ns)[:_MAX_ROWS]
    for step in sorted(longest, key=lambda step: step.begin_ns):
        name = f"{step.task >> _TASK_SHIFT}.{step.task & ((1 << _TASK_SHIFT) - 1)}" if step.task else "-"
        table.add_row(
            duration(step.begin_ns),
            duration(step.length_ns),
            name,
            str(step.thread),
            content.label_of(groups[step.group]),
        )
    hidden = content.graph.n_steps - len(longest)
    if hidden > 0:
        table.add_row("", "", "", "", Text(f"and {hidden:,} more: --json", style="dim"))
    return table


def _tree(content: GraphContent) -> Tree:
    children: dict[int, list[GraphGroup]] = {}
    for group in content.graph.groups[1:]:
        children.setdefault(group.parent, []).append(group)
    root = Tree(_group_text(content, content.graph.groups[0]))
    pending = [(root, 0)]
    while pending:
        branch, number = pending.pop()
        for group in sorted(children.get(number, []), key=lambda g: -g.work_ns):
            pending.append((branch.add(_group_text(content, group)), group.number))
    return root


def _group_text(content: GraphContent, group: GraphGroup) -> Text:
    text = Text(f"{group.number}  ", style="dim")
    text.append(content.label_of(group), style="bold red" if group.critical_ns else "cyan")
    if group.kind != "program":
        text.append(f"  {plural(group.n_tasks, 'task')}", style="default")
        if group.n_undeferred:
            text.append(f", {group.n_undeferred:,} undeferred", style="default")
        if group.folded:
            text.append(" with those below", style="default")
    text.append(f"  work {duration(group.work_ns)}", style="default")
    if group.critical_ns:
        share = group.critical_ns / (content.graph.span_ns or 1)
        text.append(f"  {percent(share)} of the critical path", style="red")
    return text
