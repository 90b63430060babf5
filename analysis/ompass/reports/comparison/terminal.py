# SPDX-License-Identifier: Apache-2.0
"""A comparison as a page on a terminal: what became of the time, the states, and the constructs."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from ompass.metrics.comparison import VERDICTS, Change
from ompass.reports.comparison.content import Compared, ComparisonContent, headline
from ompass.reports.scaling.content import Place
from ompass.reports.tables import plain_table
from ompass.reports.terminal import section
from ompass.units import duration, percent, plural

_MOST_ROWS = 12
_STYLES = {"more": "bold yellow", "less": "bold green"}


def print_comparison(console: Console, content: ComparisonContent) -> None:
    """Print the whole comparison."""
    console.print(
        Rule(Text(f"ompass compare · {content.before} to {content.after}", style="bold"), style="cyan")
    )
    for one in content.compared:
        _print_compared(console, one)
    for note in content.notes:
        console.print(Padding(Text(f"note: {note}", style="dim"), (0, 0, 0, 2)))


def _print_compared(console: Console, one: Compared) -> None:
    sentence = headline(one)
    console.print()
    console.print(Text(f"{sentence[:1].upper()}{sentence[1:]}.", style=_STYLES.get(one.time.verdict, "bold")))
    section(console, "Thread-time", _table([c for c in one.changes if c.key is None], "figure"))
    constructs = [change for change in one.changes if change.key is not None]
    if constructs:
        table = _table(constructs[:_MOST_ROWS], "construct")
        hidden = len(constructs) - _MOST_ROWS
        if hidden > 0:
            table.add_row(Text(f"and {plural(hidden, 'figure')} more with less change: --json", style="dim"))
        section(console, "Constructs, the largest change first", table)
    console.print()


def _table(rows: Sequence[Change[Place]], first: str) -> Table:
    table = plain_table()
    table.add_column(first, overflow="fold", min_width=16)
    for name in ("before", "after", "change", "", "p"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for change in rows:
        p = change.p_value
        sign = "+" if change.difference > 0 else "-" if change.difference < 0 else ""
        table.add_row(
            change.figure if change.key is None else f"{change.key.label()}, {change.figure}",
            duration(change.before_mean),
            duration(change.after_mean),
            f"{sign}{duration(abs(change.difference))}",
            _relative(change),
            "-" if p is None else f"{p:.2g}",
            Text(VERDICTS[change.verdict], style=_STYLES.get(change.verdict, "dim")),
        )
    return table


def _relative(change: Change[Place]) -> str:
    if change.ratio is None:
        return "new" if change.after_mean else "-"
    if change.after_mean == 0:
        return "gone"
    return f"{'+' if change.ratio > 1 else '-' if change.ratio < 1 else ''}{percent(abs(change.ratio - 1))}"
