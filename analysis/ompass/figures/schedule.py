# SPDX-License-Identifier: Apache-2.0
"""The figures of a trace: the schedule of a window, the states over time, and which thread ran whose tasks.

Sources: Olivier et al., Figs. 12 and 18; the matrix is that of Contreras and Martonosi's discussion of steals.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from ompass.figures.style import CATEGORIES, STATE_COLOURS, Spec, figure
from ompass.readers.schedule import Schedule
from ompass.reports.bars import STATES
from ompass.reports.content import ReportContent
from ompass.units import count, duration

_MOST_CONSTRUCTS: Final = len(CATEGORIES) - 1
_OTHERS: Final = "other constructs"
_IMPLICIT: Final = "implicit tasks"
_ROW_PIXELS: Final = 22


def gantt(content: ReportContent, schedule: Schedule) -> Spec | None:
    """A bar per thread over time: work in the colour of its task construct, the other states in theirs."""
    stretches = schedule.stretches
    n = len(stretches)
    if n == 0:
        return None
    labels = _construct_labels(content, schedule)
    rows: list[Spec] = []
    for k in range(n):
        state = STATES[int(stretches.state[k])]
        construct, task = int(stretches.construct[k]), int(stretches.task[k])
        start, end = int(stretches.start_ns[k]), int(stretches.end_ns[k])
        label = labels.get(construct, _OTHERS) if task else _IMPLICIT
        rows.append(
            {
                "thread": int(stretches.thread[k]),
                "start": start / 1e6,
                "end": end / 1e6,
                "kind": label if state == "work" else state,
                "length": duration(end - start),
                "place": content.location(construct).label() if construct >= 0 else "outside of regions",
            }
        )
    shown = [*dict.fromkeys(labels.values()), _OTHERS, _IMPLICIT, *STATES[1:]]
    present = {row["kind"] for row in rows}
    shown = [kind for kind in dict.fromkeys(shown) if kind in present]
    colours = _colours(shown)
    return figure(
        "Schedule: work by task construct, and the other states, of every thread",
        rows,
        mark={"type": "rect", "clip": True},
        height=_ROW_PIXELS * len({row["thread"] for row in rows}) + 10,
        params=[{"name": "window", "select": {"type": "interval", "encodings": ["x"]}, "bind": "scales"}],
        encoding={
            "y": {"field": "thread", "type": "ordinal", "axis": {"title": "thread"}},
            "x": {
                "field": "start",
                "type": "quantitative",
                "scale": {"domain": [schedule.start_ns / 1e6, schedule.end_ns / 1e6], "nice": False},
                "axis": {"title": "time since the start of the run [ms]", "grid": False},
            },
            "x2": {"field": "end"},
            "color": {
                "field": "kind",
                "type": "nominal",
                "scale": {"domain": shown, "range": colours},
                "legend": {"title": None, "orient": "top", "columns": 2, "labelLimit": 300},
            },
            "tooltip": [
                {"field": f, "type": "nominal"} for f in ("kind", "length", "place", "thread")
            ] + [{"field": "start", "type": "quantitative", "format": ".6f", "title": "start [ms]"}],
        },
    )  # fmt: skip


def _construct_labels(content: ReportContent, schedule: Schedule) -> dict[int, str]:
    """The constructs with a colour of their own: those with most time in the window."""
    stretches = schedule.stretches
    time: Counter[int] = Counter()
    for construct, task, start, end in zip(
        stretches.construct.tolist(),
        stretches.task.tolist(),
        stretches.start_ns.tolist(),
        stretches.end_ns.tolist(),
        strict=True,
    ):
        if task:
            time[construct] += end - start
    return {c: content.location(c).label() for c, _ in time.most_common(_MOST_CONSTRUCTS)}


def _colours(kinds: list[str]) -> list[str]:
    fixed = {state: STATE_COLOURS[state] for state in STATES} | {_IMPLICIT: "#bcd8cf", _OTHERS: "#666666"}
    # Not those that states have already.
    free = iter(["#0072b2", "#56b4e9", "#1b9e77", "#b8a500", "#7b5fb0", "#2f4b7c", "#8c564b", "#17807e"])
    return [fixed.get(kind) or next(free, "#666666") for kind in kinds]


def over_time(schedule: Schedule) -> Spec | None:
    """Threads in each state, over the whole window that was asked for."""
    n = len(schedule.bins)
    span_ns = schedule.bins_end_ns - schedule.bins_start_ns
    if n == 0 or span_ns <= 0:
        return None
    width_ns = span_ns / n
    rows: list[Spec] = [
        {
            "time": (schedule.bins_start_ns + (k + 0.5) * width_ns) / 1e6,
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
            "y": {"field": "threads", "type": "quantitative", "axis": {"title": "threads"}},
            "color": {
                "field": "state",
                "type": "nominal",
                "scale": {"domain": list(STATES), "range": [STATE_COLOURS[s] for s in STATES]},
                "legend": {"title": None, "orient": "top"},
            },
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
            "y": {"field": "creator", "type": "ordinal", "axis": {"title": "created by thread"}},
            "x": {"field": "thread", "type": "ordinal", "axis": {"title": "ran on thread", "labelAngle": 0}},
            "color": {
                "field": "tasks",
                "type": "quantitative",
                "scale": {"scheme": "viridis"},
                "legend": {"title": "tasks", "format": "~s"},
            },
            "tooltip": [{"field": f, "type": "nominal"} for f in ("creator", "thread", "number")],
        },
    )
