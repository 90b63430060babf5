# SPDX-License-Identifier: Apache-2.0
"""Prints a report on a terminal, or draws it as SVG: its title, its sections, and tables that fit the width.

Omits bars if space is short, then the right-most columns, but never names. All output of
ompass goes through a TerminalConsole, which interprets no text as markup and lets no text control the
terminal. Every state has a colour and a glyph, so bars can also be read without colours.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.segment import Segment
from rich.table import Table as Grid
from rich.terminal_theme import SVG_EXPORT_THEME
from rich.text import Text

from ompass.model import StateTimes
from ompass.plain_text import visible, visible_lines
from ompass.reports.model import STATES, Advice, Column, Kind, Report, Section, Table, sentence, words
from ompass.scaling.metrics import MeanStates
from ompass.units import plural

_INDENT = 2
_NARROWEST_NAME = 20
_BETWEEN = 2  # columns
_LARGEST_BAR = 50
_STYLES = {Kind.NAME: "cyan", Kind.PLACE: "cyan"}


class TerminalConsole(Console):
    """A console for text of any origin."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"highlight": False, "markup": False, "emoji": False, **options})

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Yields the segments of rich, with harmful characters made visible."""
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else visible_lines(text), style, control)


def print_report(console: Console, report: Report) -> None:
    """Prints the whole report."""
    console.print(Rule(Text(report.title, style="bold"), style="cyan"))
    if report.facts:
        console.print(Text("  ".join(report.facts), style="dim"))
    if report.warning:
        console.print(Text(report.warning, style="bold red"))
    for section in report.sections:
        _print_section(console, section)
    for note in report.notes:
        console.print(Padding(Text.assemble(("note: ", "dim"), note), (0, 0, 0, _INDENT), expand=False))
    _print_commands(console, report.commands)
    console.print()


def _print_commands(console: Console, commands: Sequence[tuple[str, str]]) -> None:
    """Prints the next commands, one a line, with their purposes if there is room."""
    if not commands:
        return
    console.print()
    width = max(cell_len(command) for command, _ in commands)
    for k, (command, shows) in enumerate(commands):
        line = Text.assemble(("Next: " if k == 0 else "      ", "bold"), (command, "green"))
        if len("Next: ") + width + _BETWEEN + max(cell_len(shows) for _, shows in commands) <= console.width:
            line.append(f"{' ' * (width - cell_len(command) + _BETWEEN)}{shows}", style="dim")
        console.print(line, soft_wrap=True)


def _print_section(console: Console, section: Section) -> None:
    console.print()
    titles = [part.title for part in section.parts if isinstance(part, Table)]
    console.print(Text(section.title, style="bold"))
    number = 0
    for part in section.parts:
        if isinstance(part, str):
            console.print(Padding(Text(part), (0, 0, 0, _INDENT), expand=False))
        elif isinstance(part, Advice):
            number += 1
            for text, indent in _advice(part, number):
                console.print(Padding(text, (0, 0, 0, indent), expand=False))
        else:
            if len(titles) > 1 and part.title != section.title:
                console.print(Padding(Text(part.title, style="dim"), (0, 0, 0, _INDENT), expand=False))
            print_table(console, part)


def _advice(advice: Advice, number: int) -> Iterable[tuple[Text, int]]:
    title = Text(f"{number}. {advice.title}", style="bold green" if advice.good else "bold yellow")
    if advice.place:
        title.append(f"  {advice.place}", style="cyan")
    yield title, _INDENT
    yield Text(sentence(advice.because)), _INDENT + 3
    if advice.cure:
        yield Text(f"-> {sentence(advice.cure)}", style="green"), _INDENT + 3
    if advice.also:
        yield Text(advice.also), _INDENT + 3


def print_table(console: Console, table: Table) -> None:
    """Prints the part of the table that fits, and names the omitted parts."""
    canvas = Canvas(console.width, console.encoding.lower().startswith("utf"))
    shown, left_out, bar_cells = _fitting(table, canvas)
    grid = plain_grid()
    for k in shown:
        column = table.columns[k]
        title = Text(_title(table, k), style=LOOKS.get(column.look, ""))
        if column.look in STATES:
            title = Text.assemble((f"{glyph(column.look, canvas.unicode)} ", LOOKS[column.look]), title)
        right = column.kind.is_number
        grid.add_column(
            title, justify="right" if right else "left", no_wrap=not column.kind.is_name, overflow="fold"
        )
    longest = {k: _longest(table, k) for k in shown}
    for row in table.rows[: table.most]:
        grid.add_row(*(_cell(table.columns[k], row[k], canvas, bar_cells, longest[k]) for k in shown))
    console.print(Padding(grid, (0, 0, 0, _INDENT), expand=False))
    remarks = list(table.notes)
    hidden = len(table.rows) - table.most
    if hidden > 0:
        remarks.insert(0, f"and {plural(hidden, table.word)} more: {table.more}")
    if left_out:
        remarks.append(f"no room for: {', '.join(left_out)}")
    for remark in remarks:
        console.print(Padding(Text(remark, style="dim"), (0, 0, 0, _INDENT), expand=False))


def plain_grid(show_header: bool = True) -> Grid:
    """Returns an empty rich table in the common style."""
    return Grid(
        box=box.SIMPLE_HEAD if show_header else None,
        show_header=show_header,
        show_edge=False,
        pad_edge=False,
        padding=(0, 1, 0, 0),
        header_style="dim",
    )


def _title(table: Table, k: int) -> str:
    """Returns the title, on two lines if values are narrower than its words."""
    title = table.columns[k].title
    widest = max((cell_len(words(table.columns[k].kind, row[k])) for row in table.rows), default=0)
    return title if len(title) <= widest else "\n".join(title.rsplit(" ", 1))


def _fitting(table: Table, canvas: Canvas) -> tuple[list[int], list[str], int]:
    """Returns the columns to show, the titles of omitted ones, and the length of a bar in cells."""
    shown = [k for k, c in enumerate(table.columns) if c.title or c.kind.is_bar]
    width = {}
    for k in shown:
        cells = [words(table.columns[k].kind, row[k]) for row in table.rows[: table.most]]
        state = 2 if table.columns[k].look in STATES or table.columns[k].kind is Kind.STATE else 0
        lines = [*_title(table, k).split("\n"), *cells]
        width[k] = max(map(cell_len, lines), default=0) + state + _BETWEEN
    room = canvas.width - _INDENT
    bars = [k for k in shown if table.columns[k].kind.is_bar]
    for k in bars:
        shown.remove(k)

    def needed() -> int:
        return sum(
            min(width[k], _NARROWEST_NAME + _BETWEEN) if table.columns[k].kind.is_name else width[k]
            for k in shown
        )

    left_out: list[str] = []
    while needed() - _BETWEEN > room:
        droppable = [k for k in shown[1:] if not table.columns[k].kind.is_name]
        if not droppable:
            break
        shown.remove(droppable[-1])
        left_out.insert(0, table.columns[droppable[-1]].title)
    left = min(room - sum(width[k] for k in shown), _LARGEST_BAR)
    return shown + (bars if left >= 8 else []), left_out, left


def _longest(table: Table, k: int) -> float:
    kind = table.columns[k].kind
    if kind is Kind.BAR:
        return max((row[k].value for row in table.rows), default=0)
    return max((row[k].total_ns for row in table.rows), default=0) if kind is Kind.STATES else 0


def _cell(column: Column, value: Any, canvas: Canvas, cells: int, longest: float) -> Text:
    if value is None or not column.kind.is_bar:
        text = words(column.kind, value)
        if column.kind is Kind.STATE:
            return Text(f"{glyph(value, canvas.unicode)} {text}", style=LOOKS[value])
        if column.kind is Kind.PLACE and value is not None:
            place = visible(value.place)
            return Text.assemble((place, "cyan"), text.removeprefix(place))
        return Text(text, style=_STYLES.get(column.kind, ""))
    if column.kind is Kind.BAR:
        return length_bar(value.value, longest, cells, LOOKS.get(value.look, "blue"), canvas.unicode)
    if column.scaled and longest:
        cells = round(cells * value.total_ns / longest)
    return state_bar(value, cells, canvas.unicode)


def print_lines(console: Console, pairs: Sequence[tuple[str, str]], width: int) -> None:
    """Prints a name and a text per line, without wrapping."""
    for name, text in pairs:
        console.print(Text.assemble((f"{name:<{width}}", "dim"), f" {text}"), soft_wrap=True)


@dataclass(frozen=True, slots=True)
class Canvas:
    """Capabilities of the reader's terminal."""

    width: int  # columns
    unicode: bool  # True if the terminal shows block characters


LOOKS: Final = {
    "work": "green",
    "create": "yellow",
    "schedule": "magenta",
    "sync": "red",
    "idle": "bright_black",
    # classes of reuse distance
    "close": "green",
    "near": "yellow",
    "far": "red",
    "coherence": "magenta",
    "cold": "blue",
}
"""Colours of states and classes, wherever they are named."""
_GLYPHS: Final = {"work": "█", "create": "▓", "schedule": "▒", "sync": "░", "idle": "·"}
_ASCII_GLYPHS: Final = {"work": "#", "create": "+", "schedule": "=", "sync": "~", "idle": "."}
_EIGHTHS: Final = " ▏▎▍▌▋▊▉█"


def glyph(state: str, unicode: bool) -> str:
    return (_GLYPHS if unicode else _ASCII_GLYPHS)[state]


def state_values(states: StateTimes | MeanStates) -> tuple[float, ...]:
    """Returns the five states in the order of STATES."""
    return (states.work_ns, states.create_ns, states.schedule_ns, states.sync_ns, states.idle_ns)


def split_cells(values: Sequence[float], cells: int) -> list[int]:
    """Returns `cells` distributed in proportion to `values`, largest remainder first; the sum is exact."""
    total = sum(values)
    if total <= 0:
        return [0] * len(values)
    exact = [value * cells / total for value in values]
    parts = [int(x) for x in exact]
    order = sorted(range(len(values)), key=lambda k: (parts[k] - exact[k], k))
    for k in order[: cells - sum(parts)]:
        parts[k] += 1
    return parts


def state_bar(states: StateTimes | MeanStates, cells: int, unicode: bool = True) -> Text:
    """Returns a stacked bar of the states, `cells` wide; empty without any time."""
    bar = Text()
    for state, n in zip(STATES, split_cells(state_values(states), cells), strict=True):
        bar.append(glyph(state, unicode) * n, style=LOOKS[state])
    return bar


def length_bar(value: float, largest: float, cells: int, style: str, unicode: bool = True) -> Text:
    """Returns a bar of length value / largest; any value above zero is visible."""
    if value <= 0 or largest <= 0:
        return Text()
    eighths = max(1, round(value / largest * cells * 8))
    if not unicode:
        return Text("#" * max(1, round(eighths / 8)), style=style)
    return Text("█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip(), style=style)


_FONT_FACE = re.compile(r"@font-face\s*\{.*?\}", re.DOTALL)
_COLUMNS = 110


def svg_report(reports: Sequence[Report], columns: int = _COLUMNS) -> str:
    """Returns one or more reports as SVG text, `columns` characters wide."""
    console = TerminalConsole(
        record=True,
        width=columns,
        file=io.StringIO(),
        force_terminal=True,
        color_system="truecolor",
        legacy_windows=False,
    )
    for report in reports:
        print_report(console, report)
    picture = console.export_svg(title="ompass report", theme=SVG_EXPORT_THEME)
    return _FONT_FACE.sub("", picture).replace("Fira Code", "DejaVu Sans Mono")
