# SPDX-License-Identifier: Apache-2.0
"""Prints a report on a terminal, or draws it as SVG: its title, its sections, and tables that fit the width.

If space is short, omits bars first, then the right-most columns that need not be kept, and names last.
Commands print reports and tables on a TerminalConsole, which interprets no text as markup and lets no text
control the terminal. Every state has a colour and a glyph, so bars can also be read without colours.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.segment import Segment
from rich.table import Table as Grid
from rich.terminal_theme import SVG_EXPORT_THEME
from rich.text import Text

from ompass.model import STATES, StateTimes, state_values
from ompass.plain_text import visible, visible_lines
from ompass.reports.model import (
    Advice,
    Column,
    Kind,
    Report,
    Section,
    Table,
    column_words,
    full_bar,
    sentence,
)
from ompass.units import plural

if TYPE_CHECKING:
    from ompass.scaling.metrics import MeanStates

_INDENT = 2
_NARROWEST_NAME = 20
_BETWEEN = 2  # spaces between columns
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
    if report.verdict:
        console.print(Text(report.verdict, style="bold"))
    for section in report.sections:
        _print_section(console, section)
    for note in report.notes:
        console.print(Padding(Text.assemble(("note: ", "dim"), note), (0, 0, 0, _INDENT), expand=False))
    _print_commands(console, report.commands)
    console.print()


def _print_commands(console: Console, commands: Sequence[tuple[str, str]]) -> None:
    """Prints the next commands, one per line, with their purposes if there is room."""
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
    _print_findings(console, section)
    for part in section.parts:
        if isinstance(part, str):
            console.print(Padding(Text(part), (0, 0, 0, _INDENT), expand=False))
        elif isinstance(part, Table):
            if len(titles) > 1 and part.title != section.title:
                console.print(Padding(Text(part.title, style="dim"), (0, 0, 0, _INDENT), expand=False))
            print_table(console, part)


def _print_findings(console: Console, section: Section) -> None:
    """Prints the findings. If they need too many lines, later ones have a short form or are omitted."""
    advices = [part for part in section.parts if isinstance(part, Advice)]
    used, n_shown = 0, 0
    for number, advice in enumerate(advices, 1):
        lines = list(advice_lines(advice, number))
        if number > 1 and 0 < section.most_lines < used + _height(console, lines):
            lines = list(advice_lines(replace(advice, because="", cure="", also=""), number))
            if section.most_lines < used + _height(console, lines):
                break
        n_shown = number
        used += _height(console, lines)
        for text, indent in lines:
            console.print(Padding(text, (0, 0, 0, indent), expand=False))
    if n_shown < len(advices):
        hidden = plural(len(advices) - n_shown, "more finding")
        remark = Text(f"and {hidden}: {section.more}", style="dim")
        console.print(Padding(remark, (0, 0, 0, _INDENT), expand=False))


def _height(console: Console, lines: Iterable[tuple[Text, int]]) -> int:
    return sum(len(text.wrap(console, console.width - indent)) for text, indent in lines)


def advice_lines(advice: Advice, number: int) -> Iterable[tuple[Text, int]]:
    """Yields the paragraphs of a finding, each with its indent."""
    title = Text(f"{number}. {advice.title}", style="bold green" if advice.good else "bold yellow")
    if advice.place:
        title.append(f"  {advice.place}", style="cyan")
    yield title, _INDENT
    if advice.gain:
        yield Text(f"-> {advice.gain}", style="bold green"), _INDENT + 3
    if advice.because:
        yield Text(sentence(advice.because)), _INDENT + 3
    if advice.cure:
        yield Text(f"-> {sentence(advice.cure)}", style="green"), _INDENT + 3
    if advice.also:
        yield Text(advice.also), _INDENT + 3


def print_table(console: Console, table: Table) -> None:
    """Prints the part of the table that fits, and names the omitted parts."""
    canvas = Canvas(console.width, console.encoding.lower().startswith("utf"))
    texts = [column_words(column, [row[k] for row in table.rows]) for k, column in enumerate(table.columns)]
    shown, left_out, bar_cells = _fitting(table, texts, canvas)
    grid = plain_grid()
    for k in shown:
        column = table.columns[k]
        title = Text(_title(table, k, texts[k]), style=LOOKS.get(column.look, ""))
        if column.look in STATES:
            title = Text.assemble((f"{glyph(column.look, canvas.unicode)} ", LOOKS[column.look]), title)
        if column.kind is Kind.BAR and any(row[k].whole for row in table.rows):
            title = Text("0%" + "100%".rjust(bar_cells - 2), style="dim")
        right = column.kind.is_number
        grid.add_column(
            title, justify="right" if right else "left", no_wrap=not column.kind.is_long, overflow="fold"
        )
    longest = {k: _longest(table, k) for k in shown}
    for number, row in enumerate(table.rows[: table.most]):
        grid.add_row(
            *(_cell(table.columns[k], row[k], texts[k][number], canvas, bar_cells, longest[k]) for k in shown)
        )
    console.print(Padding(grid, (0, 0, 0, _INDENT), expand=False))
    remarks = list(table.notes)
    hidden = len(table.rows) - table.most
    if hidden > 0:
        remarks.insert(0, f"and {plural(hidden, f'more {table.word}')}: {table.more}")
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


def _title(table: Table, k: int, texts: Sequence[str]) -> str:
    """Returns the title; breaks it before its last word if it is wider than the values."""
    title = table.columns[k].title
    widest = max(map(cell_len, texts), default=0)
    return title if len(title) <= widest else "\n".join(title.rsplit(" ", 1))


def _fitting(
    table: Table, texts: Sequence[Sequence[str]], canvas: Canvas
) -> tuple[list[int], list[str], int]:
    """Returns the columns to show, the titles of omitted ones, and the length of a bar in cells."""
    shown = [k for k, c in enumerate(table.columns) if c.title or c.kind.is_bar]
    width, least = {}, {}
    for k in shown:
        column, cells = table.columns[k], texts[k][: table.most]
        state = 2 if column.look in STATES or column.kind is Kind.STATE else 0
        title = _title(table, k, texts[k]).split("\n")
        width[k] = least[k] = max(map(cell_len, [*title, *cells]), default=0) + state + _BETWEEN
        if column.kind.is_name:
            least[k] = min(width[k], _NARROWEST_NAME + _BETWEEN)
        elif column.kind.is_long:
            parts = [part for text in (*title, *cells) for part in text.split()]
            least[k] = max(map(cell_len, parts), default=0) + _BETWEEN
    room = canvas.width - _INDENT
    bars = [k for k in shown if table.columns[k].kind.is_bar]
    for k in bars:
        shown.remove(k)
    left_out: list[int] = []
    while sum(least[k] for k in shown) - _BETWEEN > room:
        others = [k for k in shown[1:] if not table.columns[k].kept]
        droppable = [k for k in others if not table.columns[k].kind.is_name]
        if not droppable and any(table.columns[k].kept for k in shown):
            droppable = others
        if not droppable:
            break
        shown.remove(droppable[-1])
        left_out.append(droppable[-1])
    left = min(room - sum(width[k] for k in shown), _LARGEST_BAR)
    titles = [table.columns[k].title for k in sorted(left_out)]
    return shown + (bars if left >= 8 else []), titles, left


def _longest(table: Table, k: int) -> float:
    kind = table.columns[k].kind
    if kind is Kind.BAR:
        return full_bar(row[k] for row in table.rows)
    return max((row[k].total_ns for row in table.rows), default=0) if kind is Kind.STATES else 0


def _cell(column: Column, value: Any, text: str, canvas: Canvas, cells: int, longest: float) -> Text:
    if value is None or not column.kind.is_bar:
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
    "mpi": "bright_blue",
    "offload": "bright_yellow",
    # classes of reuse distance
    "close": "green",
    "near": "yellow",
    "far": "red",
    "coherence": "magenta",
    "cold": "blue",
}
"""Colours of states and classes, wherever they are named."""
_GLYPHS: Final = dict(zip(STATES, "█▓▒░·▚▄", strict=True))
_ASCII_GLYPHS: Final = dict(zip(STATES, "#+=~.%o", strict=True))
_EIGHTHS: Final = " ▏▎▍▌▋▊▉█"


def glyph(state: str, unicode: bool) -> str:
    return (_GLYPHS if unicode else _ASCII_GLYPHS)[state]


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
    """Returns a stacked bar of the states, `cells` wide; empty if no state has time."""
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
