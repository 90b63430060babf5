# SPDX-License-Identifier: Apache-2.0
"""The screen of `ompass top`: states, threads, constructs and findings of running programs, once a second."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Final

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import DataTable, Footer, Static

from ompass.errors import OmpassError
from ompass.figures.style import STATE_COLOURS
from ompass.live.watch import Change, Cost, Look, Watch, change
from ompass.model import StateTimes
from ompass.plain_text import visible
from ompass.reports.bars import state_values
from ompass.reports.model import STATES
from ompass.units import count, duration, percent, plural

_BAR: Final = 40
_MOST_FINDINGS: Final = 5
_SORTS: Final[dict[str, Callable[[Cost], int]]] = {
    "cost": lambda cost: cost.work_ns + cost.create_ns,
    "tasks": lambda cost: cost.n_tasks,
    "creation": lambda cost: cost.create_ns,
}


def state_bar(states: StateTimes, width: int = _BAR) -> Text:
    """The shares of the states, in their colours."""
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


class Top(App[None]):
    """Looks once a second, and shows what it saw."""

    CSS = """
    #head { height: auto; padding: 0 1; }
    #states { height: auto; padding: 0 1; }
    DataTable { height: auto; max-height: 60%; }
    #findings { height: auto; padding: 1 1 0 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "quit", "quit"),
        Binding("space", "pause", "pause"),
        Binding("l", "last", "last second / since start"),
        Binding("s", "sort", "sort constructs by"),
    ]

    def __init__(self, runs: Watch, period_s: float = 1.0) -> None:
        super().__init__()
        self.runs = runs
        self.period_s = period_s
        self.paused = False
        self.of_last = False
        self.sort = "cost"
        self.now: Look | None = None
        self.latest: Change | None = None

    def compose(self) -> ComposeResult:
        with VerticalScroll():
            yield Static(id="head")
            yield Static(id="states")
            yield DataTable(id="threads", show_cursor=False)
            yield DataTable(id="constructs", show_cursor=False)
            yield Static(id="findings")
        yield Footer()

    def on_mount(self) -> None:
        self.query_one("#threads", DataTable).add_columns("thread", "work", "idle", "states")
        self.query_one("#constructs", DataTable).add_columns(
            "construct", "tasks", "per second", "work", "mean", "creation"
        )
        self.tick()
        self.set_interval(self.period_s, self.tick)

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

    # ------------------------------------------------------------ what is shown

    def tick(self) -> None:
        """Looks again, unless nothing changes any more."""
        if self.paused or (self.now is not None and self.now.has_ended and self.latest is not None):
            return
        try:
            now = self.runs.look()
        except OmpassError as error:  # a file that is just being made
            self.query_one("#head", Static).update(Text(visible(error.one_line()), style="bold red"))
            return
        self.latest = change(self.now, now) if self.now else None
        self.now = now
        self.show()

    def show(self) -> None:
        """Draws the last look."""
        if self.now is None:
            return
        self._show_head(self.now)
        self._show_states(self.now)
        self._show_threads(self.now)
        self._show_constructs(self.now)
        self._show_findings(self.now)

    def _show_head(self, now: Look) -> None:
        names = ", ".join(visible(content.run.path.name) for content in now.contents[:3])
        more = len(now.contents) - 3
        wall_ns = max(content.run.wall_ns for content in now.contents)
        rate = f", {count(round(self.latest.n_tasks / self.latest.seconds))} tasks/s" if self.latest else ""
        state = "ended" if now.has_ended else "paused" if self.paused else "running"
        text = Text(f"ompass top  {names}" + (f" and {more} more" if more > 0 else ""), style="bold")
        text.append(
            f"\n{state}  {duration(wall_ns)}  {plural(len(now.threads), 'thread')}  "
            f"{plural(now.n_tasks, 'task')}{rate}",
            style="not bold",
        )
        self.query_one("#head", Static).update(text)

    def _show_states(self, now: Look) -> None:
        text = Text()
        shown = [("since start", now.states)]
        if self.latest:
            shown.append(("last second", self.latest.states))
        for label, states in shown:
            text.append(f"{label:12}")
            text.append_text(state_bar(states))
            for state, value in zip(STATES, state_values(states), strict=True):
                share = percent(value / states.total_ns) if states.total_ns else "-"
                text.append(f"  {state} ", style=STATE_COLOURS[state])
                text.append(share)
            text.append("\n")
        self.query_one("#states", Static).update(text)

    def _show_threads(self, now: Look) -> None:
        table = self.query_one("#threads", DataTable)
        table.clear()
        threads = self.latest.threads if self.of_last and self.latest else now.threads
        several = len(now.contents) > 1
        for (run, thread), states in threads.items():
            total = states.total_ns or 1
            name = f"{visible(now.contents[run].run.path.name)} {thread}" if several else str(thread)
            work, idle = percent(states.work_ns / total), percent(states.idle_ns / total)
            table.add_row(name, work, idle, state_bar(states))

    def _show_constructs(self, now: Look) -> None:
        table = self.query_one("#constructs", DataTable)
        table.clear()
        latest = self.latest
        costs = latest.constructs if self.of_last and latest else now.constructs
        for label, cost in sorted(costs.items(), key=lambda item: -_SORTS[self.sort](item[1])):
            new = latest.constructs[label].n_tasks / latest.seconds if latest else 0
            mean = duration(cost.work_ns / cost.n_tasks) if cost.n_tasks else "-"
            table.add_row(
                Text(visible(label)),
                count(cost.n_tasks),
                count(round(new)),
                duration(cost.work_ns),
                mean,
                duration(cost.create_ns),
            )

    def _show_findings(self, now: Look) -> None:
        text = Text()
        for content in now.contents:
            # That its figures end here is what a view of a running program is for.
            told = [each for each in content.findings if now.has_ended or each.kind != "cut_short"]
            for finding in told[:_MOST_FINDINGS]:
                text.append(f"• {visible(finding.title)}", style="bold")
                text.append(f"  {visible(finding.because)}\n")
        self.query_one("#findings", Static).update(text)
