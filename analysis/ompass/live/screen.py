# SPDX-License-Identifier: Apache-2.0
"""The screen of `ompass top`: states, threads, constructs and findings of running programs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import ClassVar, Final

from rich.align import AlignMethod
from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.events import Resize
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widgets import Footer

from ompass.errors import OmpassError
from ompass.figures.style import STATE_COLOURS
from ompass.live.watch import Change, Cost, Look, Used, Watch, change, until_next_s, used
from ompass.model import STATES, StateTimes, shown_states, state_values
from ompass.plain_text import visible
from ompass.units import count, duration, percent, plural

Columns = Sequence[tuple[str, AlignMethod]]

_BAR: Final = 40
_MOST_FINDINGS: Final = 5
_POLITE: Final = 10
"""The increase of the view's niceness, so that it yields to the observed program."""
_THREADS: Final[Columns] = (("thread", "left"), ("work", "right"), ("idle", "right"), ("states", "left"))
_CONSTRUCTS: Final[Columns] = (
    *((title, "right") for title in ("tasks", "per second", "work", "mean", "creation")),
    ("construct", "left"),
)
_SORTS: Final[dict[str, Callable[[Cost], int]]] = {
    "cost": lambda cost: cost.work_ns + cost.create_ns,
    "tasks": lambda cost: cost.n_tasks,
    "creation": lambda cost: cost.create_ns,
}


def state_bar(states: StateTimes, width: int = _BAR) -> Text:
    """Returns a bar of the shares of the states, in their colours."""
    text, at = Text(), 0
    done = 0.0
    total = states.total_ns
    if total:
        for state, value in zip(STATES, state_values(states), strict=True):
            done += value
            until = round(width * done / total)
            text.append("█" * (until - at), style=STATE_COLOURS[state])
            at = until
    text.append(" " * (width - at))
    return text


class Lines(ScrollView, can_focus=True):
    """Lines of text; draws only the visible lines.

    Wraps prose at the width; other lines scroll sideways.
    """

    DEFAULT_CSS = "Lines { padding: 0 1; scrollbar-gutter: stable; }"

    def __init__(self) -> None:
        super().__init__()
        self._texts: Sequence[Text] = ()
        self._lines: Sequence[Text] = ()

    def show(self, texts: Iterable[Text]) -> None:
        """Replaces the shown texts."""
        self._texts = tuple(texts)
        self._fold()

    def on_resize(self, _: Resize) -> None:
        self._fold()

    def _fold(self) -> None:
        width = max(self.scrollable_content_region.width, 1)
        self._lines = [
            line
            for text in self._texts
            for line in ([text] if text.no_wrap else text.wrap(self.app.console, width))
        ]
        longest = max((line.cell_len for line in self._lines), default=0)
        self.virtual_size = Size(longest, len(self._lines))
        self.refresh()

    def render_line(self, y: int) -> Strip:
        left, top = self.scroll_offset
        line = self._lines[top + y] if top + y < len(self._lines) else Text()
        strip = Strip(line.render(self.app.console), line.cell_len)
        style = self.rich_style
        return strip.crop_extend(left, left + self.scrollable_content_region.width, style).apply_style(style)


class Top(App[None]):
    """The application. Reads and draws every second, or less often if no processor is idle."""

    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "quit", "quit"),
        Binding("space", "pause", "pause"),
        Binding("l", "last", "last update / since start"),
        Binding("s", "sort", "sort constructs by"),
    ]

    def __init__(self, runs: Watch, period_s: float = 1.0) -> None:
        super().__init__()
        self.runs = runs
        self.period_s = period_s
        self.lines = Lines()
        self.paused = False
        self.of_last = False
        self.sort = "cost"
        self.now: Look | None = None
        self.latest: Change | None = None

    def compose(self) -> ComposeResult:
        yield self.lines
        yield Footer()

    def on_mount(self) -> None:
        self.tick()
        self.call_after_refresh(self._has_begun)

    def _has_begun(self) -> None:
        os.nice(_POLITE)
        self.set_timer(self.period_s, partial(self._tick_again, used()))

    def _tick_again(self, before: Used) -> None:
        self.tick()
        now = used()
        self.set_timer(until_next_s(before, now, self.period_s), partial(self._tick_again, now))

    # ------------------------------------------------------------ keys

    def action_pause(self) -> None:
        self.paused = not self.paused
        self.show()

    def action_last(self) -> None:
        self.of_last = not self.of_last
        self.show()

    def action_sort(self) -> None:
        names = list(_SORTS)
        self.sort = names[(names.index(self.sort) + 1) % len(names)]
        self.show()

    # ------------------------------------------------------------ display

    def tick(self) -> None:
        """Reads the logs and draws, unless the view is paused or all programs have ended."""
        if self.paused or (self.now is not None and self.now.has_ended and self.latest is not None):
            return
        try:
            now = self.runs.look()
        except OmpassError as error:  # for example, a file is incomplete while it is created
            self.lines.show([Text(visible(error.one_line()), style="bold red")])
            return
        self.latest = change(self.now, now) if self.now else None
        self.now = now
        self.show()

    def show(self) -> None:
        """Draws the latest data."""
        if self.now is None:
            return
        parts = (self._head, self._states, self._threads, self._constructs, self._findings)
        self.lines.show(line for part in parts for line in part(self.now))

    def _head(self, now: Look) -> Iterator[Text]:
        names = ", ".join(visible(content.run.path.name) for content in now.contents[:3])
        more = len(now.contents) - 3
        wall_ns = max(content.run.wall_ns for content in now.contents)
        rate = f", {count(round(self.latest.n_tasks / self.latest.seconds))} tasks/s" if self.latest else ""
        state = "ended" if now.has_ended else "paused" if self.paused else "running"
        yield Text(f"ompass top  {names}" + (f" and {more} more" if more > 0 else ""), style="bold")
        yield Text(
            f"{state}  {duration(wall_ns)}  {plural(len(now.threads), 'thread')}  "
            f"{plural(now.n_tasks, 'task')}{rate}"
        )

    def _states(self, now: Look) -> Iterator[Text]:
        shown = [("since start", now.states)]
        if self.latest:
            shown.append((f"last {duration(self.latest.seconds * 1e9)}", self.latest.states))
        for label, states in shown:
            text = Text(f"{label:12}")
            text.append_text(state_bar(states))
            for state in shown_states(states):
                value = getattr(states, f"{state}_ns")
                share = percent(value / states.total_ns) if states.total_ns else "-"
                text.append(f"  {state} ", style=STATE_COLOURS[state])
                text.append(share)
            yield text

    def _threads(self, now: Look) -> Iterator[Text]:
        threads = self.latest.threads if self.of_last and self.latest else now.threads
        several = len(now.contents) > 1
        rows = []
        for (run, thread), states in threads.items():
            total = states.total_ns or 1
            name = f"{visible(now.contents[run].run.path.name)} {thread}" if several else str(thread)
            figures = percent(states.work_ns / total), percent(states.idle_ns / total)
            rows.append([*map(Text, (name, *figures)), state_bar(states)])
        return _table(_THREADS, rows)

    def _constructs(self, now: Look) -> Iterator[Text]:
        latest = self.latest
        costs = latest.constructs if self.of_last and latest else now.constructs
        rows = []
        for label, cost in sorted(costs.items(), key=lambda item: -_SORTS[self.sort](item[1])):
            new = latest.constructs[label].n_tasks / latest.seconds if latest else 0
            mean = duration(cost.work_ns / cost.n_tasks) if cost.n_tasks else "-"
            tasks = count(cost.n_tasks), count(round(new))
            times = duration(cost.work_ns), mean, duration(cost.create_ns)
            rows.append([*map(Text, (*tasks, *times, visible(label)))])
        return _table(_CONSTRUCTS, rows)

    def _findings(self, now: Look) -> Iterator[Text]:
        yield Text()
        for content in now.contents:
            # A running program always has the finding `cut_short`, which is therefore omitted.
            shown = [each for each in content.findings if now.has_ended or each.kind != "cut_short"]
            for finding in shown[:_MOST_FINDINGS]:
                text = Text(f"• {visible(finding.title)}", style="bold")
                yield text.append(f"  {visible(finding.because)}", style="not bold")


def _table(columns: Columns, rows: Iterable[Sequence[Text]]) -> Iterator[Text]:
    """Yields the line of column titles, then a line per row."""
    whole = [[Text(title, style="bold") for title, _ in columns], *rows]
    widths = [max(cell.cell_len for cell in column) for column in zip(*whole, strict=True)]
    yield Text()
    for row in whole:
        line = Text(no_wrap=True)
        for cell, (_, side), width in zip(row, columns, widths, strict=True):
            cell.align(side, width)
            line.append_text(cell).append("  ")
        yield line
