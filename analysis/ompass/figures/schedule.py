# SPDX-License-Identifier: Apache-2.0
"""The figures of a trace: the schedule of a window, the states over time, and which thread ran whose tasks.

Sources: Olivier et al., Figs. 12 and 18; for the matrix, Contreras and Martonosi on steals.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from ompass.figures.style import STATE_COLOURS, WIDTH, Spec, axis, figure, state_colours, tooltip
from ompass.model import Run
from ompass.readers.schedule import Schedule
from ompass.reports.content import ReportContent
from ompass.reports.model import STATES
from ompass.units import count, duration, plural

_CONSTRUCT_COLOURS: Final = (  # none that a state has already
    "#0072b2", "#56b4e9", "#1b9e77", "#b8a500", "#7b5fb0", "#2f4b7c", "#8c564b"
)  # fmt: skip
_OTHERS: Final = "other constructs"
_IMPLICIT: Final = "implicit tasks"
_OUTSIDE: Final = "outside of regions"
_ABSENCES: Final = {1: "work, preempted", 2: "work, blocked"}
_FIXED_COLOURS: Final = {
    **STATE_COLOURS,
    _ABSENCES[1]: "#f4a6b8",
    _ABSENCES[2]: "#c9b8e8",
    _IMPLICIT: "#bcd8cf",
    _OTHERS: "#666666",
    _OUTSIDE: "#dddddd",
}
_ROW_PIXELS: Final = 22


@dataclass(frozen=True, slots=True)
class _Bar:
    """A stretch with its place in words."""

    thread: int
    kind: str  # what its colour tells
    place: str
    start_ns: int
    end_ns: int
    pooled: int


def picture_stretches(run: Run) -> int:
    """The limit of a schedule that is drawn once: no stretch is shorter than half a pixel."""
    return 4 * WIDTH * max(len(run.threads), 1)


def gantt(
    content: ReportContent, schedule: Schedule, *, by_home: bool = False, threads: Collection[int] = ()
) -> Spec | None:
    """A bar per thread over time: work in the colour of its task construct, the other states in theirs.

    `by_home`: in the colour of the locality domain that the task was placed in, or else of the thread that
    created it; the schedule must have been read so.
    `threads`: only these (none: all).
    """
    colours = _home_colours(schedule) if by_home else _construct_colours(content, schedule)
    bars = [bar for bar in _bars(content, schedule, by_home, colours) if not threads or bar.thread in threads]
    if not bars:
        return None
    present = {bar.kind for bar in bars}
    shown = {kind: colour for kind, colour in (colours | _FIXED_COLOURS).items() if kind in present}
    home = "the domain of its task" if schedule.domains else "the thread that created its task"
    what = home if by_home else "task construct"
    rows: list[Spec] = [
        {
            "thread": bar.thread,
            "start": bar.start_ns / 1e6,
            "end": bar.end_ns / 1e6,
            "kind": bar.kind,
            "length": duration(bar.end_ns - bar.start_ns),
            "place": bar.place
            if bar.pooled == 1
            else f"mostly {bar.place} ({plural(bar.pooled, 'stretch')})",
        }
        for bar in bars
    ]
    kind = {
        "field": "kind",
        "type": "nominal",
        "scale": {"domain": list(shown), "range": list(shown.values())},
        "legend": {"title": None, "orient": "top", "columns": 2, "labelLimit": 270},
    }
    return figure(
        f"Schedule: work by {what}, and the other states, of every thread",
        rows,
        mark={"type": "rect", "clip": True, "strokeWidth": 0.4},
        height=_ROW_PIXELS * len({bar.thread for bar in bars}) + 10,
        params=[{"name": "window", "select": {"type": "interval", "encodings": ["x"]}, "bind": "scales"}],
        encoding={
            "y": {
                "field": "thread",
                "type": "ordinal",
                "axis": {"title": "thread"},
                "scale": {"paddingInner": 0.15},
            },
            "x": {
                "field": "start",
                "type": "quantitative",
                "scale": {"domain": [schedule.start_ns / 1e6, schedule.end_ns / 1e6], "nice": False},
                "axis": {"title": "time since the start of the run [ms]", "grid": False},
            },
            "x2": {"field": "end"},
            "color": kind,
            "stroke": kind,  # without, the paper shines through between neighbours of one colour
            "tooltip": [
                *tooltip("kind", "length", "place", "thread"),
                {"field": "start", "type": "quantitative", "format": ".6f", "title": "start [ms]"},
            ],
        },
    )  # fmt: skip


def _bars(content: ReportContent, schedule: Schedule, by_home: bool, colours: dict[str, str]) -> list[_Bar]:
    columns = schedule.stretches
    bars = []
    for thread, state, absence, construct, home, pooled, start, end in zip(
        columns.thread.tolist(),
        columns.state.tolist(),
        columns.absence.tolist(),
        columns.construct.tolist(),
        columns.home.tolist(),
        columns.pooled.tolist(),
        columns.start_ns.tolist(),
        columns.end_ns.tolist(),
        strict=True,
    ):
        place = content.location(construct).label() if construct >= 0 else _OUTSIDE
        if state > 0:
            kind = STATES[state]
        elif absence:
            kind = _ABSENCES[absence]
        elif home < 0:
            kind = _IMPLICIT if construct >= 0 else _OUTSIDE
        elif by_home:
            kind = _home_label(schedule, home)
        else:
            kind = place if place in colours else _OTHERS
        bars.append(_Bar(thread, kind, place, start, end, pooled))
    return bars


def _home_label(schedule: Schedule, home: int) -> str:
    return f"tasks of {'domain' if schedule.domains else 'thread'} {home}"


def _home_colours(schedule: Schedule) -> dict[str, str]:
    homes = sorted({home for home in schedule.stretches.home.tolist() if home >= 0})
    return {
        _home_label(schedule, home): f"hsl({360 * k // len(homes)}, 60%, 48%)" for k, home in enumerate(homes)
    }


def _construct_colours(content: ReportContent, schedule: Schedule) -> dict[str, str]:
    """The constructs with a colour of their own: those with most time in the window."""
    columns = schedule.stretches
    time: Counter[str] = Counter()
    for construct, home, start, end in zip(
        columns.construct.tolist(),
        columns.home.tolist(),
        columns.start_ns.tolist(),
        columns.end_ns.tolist(),
        strict=True,
    ):
        if home >= 0:
            time[content.location(construct).label()] += end - start
    most = [label for label, _ in time.most_common(len(_CONSTRUCT_COLOURS))]
    return dict(zip(most, _CONSTRUCT_COLOURS, strict=False))


def over_time(schedule: Schedule) -> Spec | None:
    """Threads in each state, over the window."""
    n = len(schedule.bins)
    span_ns = schedule.end_ns - schedule.start_ns
    if n == 0 or span_ns <= 0:
        return None
    width_ns = span_ns / n
    rows: list[Spec] = [
        {
            "time": (schedule.start_ns + (k + 0.5) * width_ns) / 1e6,
            "state": state,
            "rank": rank,
            "threads": value / width_ns,
        }
        for k, states in enumerate(schedule.bins)
        for rank, (state, value) in enumerate(zip(STATES, states, strict=True))
    ]
    return figure(
        "Threads in each state over time",
        rows,
        mark={"type": "area", "interpolate": "step"},
        height=150,
        encoding={
            "x": {
                "field": "time",
                "type": "quantitative",
                "scale": {"nice": False},
                "axis": {"title": "time since the start of the run [ms]", "grid": False},
            },
            "y": axis("threads", "threads"),
            "color": state_colours(),
            "order": {"field": "rank", "type": "quantitative"},
        },
    )


def who_ran_whose(schedule: Schedule) -> Spec | None:
    """A matrix: tasks by the thread that created them and the thread that ran them."""
    rows: list[Spec] = [
        {"creator": creator, "thread": thread, "tasks": n, "number": count(n)}
        for creator, row in enumerate(schedule.ran)
        for thread, n in enumerate(row)
    ]
    if not any(row["tasks"] for row in rows):
        return None
    side = max(len(schedule.ran), 2)
    return figure(
        "Deferred tasks by the thread that created them and the thread that ran them",
        rows,
        mark={"type": "rect"},
        height=min(max(side * 24, 80), 400),
        encoding={
            "y": axis("creator", "created by thread", "ordinal"),
            "x": axis("thread", "ran on thread", "ordinal", labelAngle=0),
            "color": {
                "field": "tasks",
                "type": "quantitative",
                "scale": {"scheme": "viridis"},
                "legend": {"title": "tasks", "format": "~s"},
            },
            "tooltip": tooltip("creator", "thread", "number"),
        },
    )
