# SPDX-License-Identifier: Apache-2.0
"""The figures of a trace: the schedule of a window, states over time, tasks by creating and running thread.

Sources: Olivier et al., Figs. 12 and 18; for the matrix of threads, Contreras and Martonosi.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from ompass.figures.style import (
    CONSTRUCT_COLOURS,
    STATE_COLOURS,
    WIDTH,
    Spec,
    axis,
    figure,
    state_colours,
    tooltip,
)
from ompass.model import OPENMP_STATES, STATES, Run
from ompass.readers.schedule import NO_HOME, OTHERS, Schedule
from ompass.reports.content import ReportContent
from ompass.units import count, duration

_OTHERS: Final = "other tasks"
_IMPLICIT: Final = "implicit tasks"
_OUTSIDE: Final = "outside of regions"
_OFF_CPU: Final = {1: "work, preempted", 2: "work, blocked"}
_FIXED_COLOURS: Final = {
    **STATE_COLOURS,
    _OFF_CPU[1]: "#f4a6b8",
    _OFF_CPU[2]: "#c9b8e8",
    _IMPLICIT: "#bcd8cf",
    _OTHERS: "#666666",
    _OUTSIDE: "#dddddd",
}
_MOST_CONSTRUCTS: Final = 7  # with their own colour
_MOST_CELLS: Final = 64  # rows and columns of a matrix
_CELL_PIXELS: Final = 30
_MATRIX_PIXELS: Final = 480
_BESIDE_MATRIX: Final = 150  # pixels for the names of threads and the legend
_ROW_PIXELS: Final = 22
_ROW_FILLED: Final = 0.85  # share of a row; the rest separates rows


@dataclass(frozen=True, slots=True)
class _Bar:
    """A state interval, or a part of a bin, with its place in words."""

    thread: int
    kind: str  # meaning of its colour
    place: str
    begin_ns: int
    end_ns: int
    before_ns: int
    part_ns: int


def picture_intervals(run: Run) -> int:
    """Returns the limit of state intervals for a picture: four per thread and pixel."""
    return 4 * WIDTH * max(len(run.threads), 1)


def gantt(content: ReportContent, schedule: Schedule, *, by_home: bool = False) -> Spec | None:
    """Returns a Gantt chart: a row per thread over time. The colour of work shows its task construct.

    Where state intervals are too short to be visible, each kind has its share of the height. With `by_home`,
    the colour of work shows the domain where its task was placed, or else the creating thread; the schedule
    must have been read with `by_home`.
    """
    bars = list(_bars(content, schedule, by_home))
    if not bars:
        return None
    colours = _home_colours(bars) if by_home else _construct_colours(bars)
    rows = [_row(bar, bar.kind if bar.kind in colours else _OTHERS, schedule) for bar in bars]
    threads = sorted({bar.thread for bar in bars})
    number = {thread: k for k, thread in enumerate(threads)}
    for row in rows:
        row["top"] += number[row["thread"]]
        row["bottom"] += number[row["thread"]]
    present = {row["kind"] for row in rows}
    shown = {kind: colour for kind, colour in colours.items() if kind in present}
    home = "the domain of its task" if content.locality else "the thread that created its task"
    what = home if by_home else "task construct"
    kind = {
        "field": "kind",
        "type": "nominal",
        "scale": {"domain": list(shown), "range": list(shown.values())},
        "legend": {"title": None, "orient": "top", "columns": 2, "labelLimit": 270},
    }
    return figure(
        f"Schedule: work by {what}, and the other states, of every thread",
        rows,
        mark={"type": "rect", "clip": True, "strokeWidth": 0.25 if schedule.is_binned else 0.4},
        height=_ROW_PIXELS * len(threads) + 10,
        params=[{"name": "window", "select": {"type": "interval", "encodings": ["x"]}, "bind": "scales"}],
        encoding={
            "y": _thread_axis(threads),
            "y2": {"field": "bottom"},
            "x": {
                "field": "start",
                "type": "quantitative",
                "scale": {"domain": [schedule.start_ns / 1e6, schedule.end_ns / 1e6], "nice": False},
                "axis": {"title": "time since the start of the run [ms]", "grid": False},
            },
            "x2": {"field": "end"},
            "color": kind,
            "stroke": kind,  # without it, gaps show between neighbours of one colour
            "tooltip": [
                *tooltip("kind", "length", "place", "thread"),
                {"field": "start", "type": "quantitative", "format": ".6f", "title": "start [ms]"},
            ],
        },
    )


def _thread_axis(threads: Sequence[int]) -> Spec:
    return {
        "field": "top",
        "type": "quantitative",
        "axis": {
            "title": "thread",
            "grid": False,
            "ticks": False,
            "domain": False,
            "values": [k + _ROW_FILLED / 2 for k in range(len(threads))],
            "labelExpr": f"{threads}[floor(datum.value)]",
        },
        "scale": {"domain": [0, len(threads)], "reverse": True, "nice": False},
    }


def _row(bar: _Bar, kind: str, schedule: Schedule) -> Spec:
    """Returns the values of a bar, in a row of height 1."""
    length = bar.end_ns - bar.begin_ns
    top = _ROW_FILLED * bar.before_ns / length
    length_text = duration(bar.part_ns)
    return {
        "thread": bar.thread,
        "start": bar.begin_ns / 1e6,
        "end": bar.end_ns / 1e6,
        "top": top,
        "bottom": top + _ROW_FILLED * bar.part_ns / length,
        "kind": kind,
        "length": f"{length_text} of {duration(length)}" if schedule.is_binned else length_text,
        "place": bar.place,
    }


def _bars(content: ReportContent, schedule: Schedule, by_home: bool) -> Iterator[_Bar]:
    columns = schedule.bars
    for thread, state, off_cpu, key, *times in zip(
        columns.thread.tolist(),
        columns.state.tolist(),
        columns.off_cpu.tolist(),
        columns.key.tolist(),
        columns.begin_ns.tolist(),
        columns.end_ns.tolist(),
        columns.before_ns.tolist(),
        columns.part_ns.tolist(),
        strict=True,
    ):
        kind = STATES[state] if state else _OFF_CPU.get(off_cpu) or _label(content, key, by_home)
        place = kind if by_home or key == OTHERS else content.location(key).label() if key else _OUTSIDE
        yield _Bar(thread, kind, place, *times)


def _label(content: ReportContent, key: int, by_home: bool) -> str:
    """Returns the name of the work with this key."""
    if key == OTHERS:
        return _OTHERS
    if by_home:
        what = "domain" if content.locality else "thread"
        return _IMPLICIT if key == NO_HOME else f"tasks of {what} {key}"
    if key == 0:
        return _OUTSIDE
    is_region = content.run.kind_of(key) == "parallel"
    return _IMPLICIT if is_region else content.location(key).label()


def _home_colours(bars: list[_Bar]) -> dict[str, str]:
    homes = sorted(
        {bar.kind for bar in bars} - set(_FIXED_COLOURS), key=lambda kind: int(kind.rpartition(" ")[2])
    )
    return {kind: f"hsl({360 * k // len(homes)}, 60%, 48%)" for k, kind in enumerate(homes)} | _FIXED_COLOURS


def _construct_colours(bars: list[_Bar]) -> dict[str, str]:
    """Returns colours by label; only the constructs with most time in the window have their own colour."""
    time: Counter[str] = Counter()
    for bar in bars:
        if bar.kind not in _FIXED_COLOURS:
            time[bar.kind] += bar.part_ns
    most = [label for label, _ in time.most_common(_MOST_CONSTRUCTS)]
    return dict(zip(most, CONSTRUCT_COLOURS, strict=False)) | _FIXED_COLOURS


def over_time(schedule: Schedule) -> Spec | None:
    """Returns the number of threads in each state over the window."""
    edges = schedule.edges_ns.tolist()
    total_ns = schedule.bins.sum(axis=0)
    shown = {k: state for k, state in enumerate(STATES) if state in OPENMP_STATES or total_ns[k]}
    rows: list[Spec] = [
        {
            "time": (begin + end) / 2e6,
            "state": state,
            "rank": rank,
            "threads": value / (end - begin),
        }
        for begin, end, states in zip(edges, edges[1:], schedule.bins.tolist(), strict=False)
        for rank, state in shown.items()
        for value in [states[rank]]
    ]
    if not rows:
        return None
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
            "color": state_colours([*shown.values()]),
            "order": {"field": "rank", "type": "quantitative"},
        },
    )


def who_ran_whose(schedule: Schedule) -> Spec | None:
    """Returns a matrix of tasks by creating and executing thread; many threads are folded into groups."""
    n_threads = len(schedule.ran)
    in_group = -(-n_threads // _MOST_CELLS)
    names = [
        _thread_names(first, min(first + in_group, n_threads)) for first in range(0, n_threads, in_group)
    ]
    sums: Counter[tuple[int, int]] = Counter()
    for creator, row in enumerate(schedule.ran):
        for thread, n in enumerate(row):
            if n:
                sums[creator // in_group, thread // in_group] += n
    if not sums:
        return None
    rows: list[Spec] = [
        {"creator": names[creator], "thread": names[thread], "tasks": n, "number": count(n)}
        for (creator, thread), n in sorted(sums.items())
    ]
    side = max(len(names), 2)
    sort = {"scale": {"domain": names}}
    return figure(
        "Deferred tasks by creating and executing thread",
        rows,
        mark={"type": "rect"},
        height=max(min(side * _CELL_PIXELS, _MATRIX_PIXELS), 60),
        encoding={
            "y": axis("creator", "created by thread", "ordinal", labelOverlap=True) | sort,
            "x": axis("thread", "ran on thread", "ordinal", labelAngle=0, labelOverlap=True) | sort,
            "color": {
                "field": "tasks",
                "type": "quantitative",
                "scale": {"scheme": "viridis", "domainMin": 0},
                "legend": {"title": "tasks", "format": "~s"},
            },
            "tooltip": tooltip("creator", "thread", "number"),
        },
        # Square cells of a readable size, also for few threads on a wide page.
        usermeta={"mostWidth": min(side * _CELL_PIXELS, _MATRIX_PIXELS) + _BESIDE_MATRIX},
    )


def _thread_names(first: int, end: int) -> str:
    return f"{first}" if end - first == 1 else f"{first} to {end - 1}"
