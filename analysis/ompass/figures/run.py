# SPDX-License-Identifier: Apache-2.0
"""The figures of recorded runs: thread-time by run, thread and region, task constructs by cost, granularity.

Each figure shows one or more runs next to each other. The figure of devices has a row per device, with the
intervals in which host threads used it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from ompass.errors import NothingToShowError, UsageError
from ompass.figures.style import (
    CONSTRUCT_COLOURS,
    STATE_COLOURS,
    Figure,
    Spec,
    axis,
    figure,
    state_colours,
    tooltip,
)
from ompass.jobs.content import job_of_reports
from ompass.model import STATES, Run, StateTimes, device_name, direction_of, shown_states
from ompass.readers.timeline import Slice, SliceKind, read_timeline
from ompass.reports.content import ReportContent
from ompass.units import duration, percent

_MOST_SLICES: Final = 100_000
_DEVICE_PIXELS: Final = 2_000
"""Assumed width of a run. The figure omits gaps below one pixel between intervals of one kind."""
_DEVICE_KINDS: Final = ("to device", "from device", "other data operation", "launch")


def devices(contents: Sequence[ReportContent]) -> Spec | None:
    """Returns the data operations and launches of each device over time; None if no trace has any."""
    several = len(contents) > 1
    rows = [row for content in contents if content.targets for row in _device_rows(content.run, several)]
    if not rows:
        return None
    return figure(
        "Devices over time: when host threads moved data and launched kernels",
        rows,
        mark={"type": "bar", "height": 14},
        height={"step": 22},
        encoding={
            "x": axis("begin", "time since the start of the run [ms]"),
            "x2": {"field": "end"},
            "y": {"field": "device", "type": "nominal", "axis": {"title": None}},
            "color": {
                "field": "kind",
                "type": "nominal",
                "scale": {
                    "domain": list(_DEVICE_KINDS),
                    "range": list(CONSTRUCT_COLOURS[: len(_DEVICE_KINDS)]),
                },
                "legend": {"title": None, "orient": "top", "columns": len(_DEVICE_KINDS)},
            },
            "tooltip": tooltip("device", "kind", "time"),
        },
    )


def _device_rows(run: Run, several: bool) -> Iterator[Spec]:
    if run.mode != "trace":
        return
    try:
        timeline = read_timeline(run, limit=_MOST_SLICES)
    except (NothingToShowError, UsageError):  # no slices, or too many to draw
        return
    gap_ns = max(timeline.end_ns // _DEVICE_PIXELS, 1)
    for number, slices in timeline.by_device().items():
        name = device_name(number) + (f" of {run.path.name}" if several else "")
        for kind, begin_ns, end_ns in _joined(slices, gap_ns):
            length = duration(end_ns - begin_ns)
            yield {"device": name, "kind": kind, "begin": begin_ns / 1e6, "end": end_ns / 1e6, "time": length}


def _joined(slices: Sequence[Slice], gap_ns: int) -> Iterator[tuple[str, int, int]]:
    """Yields kind, begin and end of the intervals; joins intervals of one kind less than `gap_ns` apart."""
    kind, begin_ns, end_ns = "", 0, 0
    for one in slices:
        following = _kind_of(one)
        if following == kind and one.begin_ns - end_ns < gap_ns:
            end_ns = one.end_ns
            continue
        if kind:
            yield kind, begin_ns, end_ns
        kind, begin_ns, end_ns = following, one.begin_ns, one.end_ns
    if kind:
        yield kind, begin_ns, end_ns


def _kind_of(one: Slice) -> str:
    if one.kind is SliceKind.LAUNCH:
        return "launch"
    return {1: "to device", 2: "from device"}.get(direction_of(one.task), "other data operation")


_MOST_BARS: Final = 16
"""Most constructs or regions in a figure: the most expensive ones. Tables show all."""
_BAR_PIXELS: Final = 24
_LEAST_DOUBLINGS: Final = 8  # least range of the axis of durations, as a power of two
_MOST_PIXELS: Final = 960


def _run_name(content: ReportContent) -> str:
    return content.run.path.name


def state_rows(bar: str, run: str, order: int, states: StateTimes) -> list[Spec]:
    """Returns the rows of one bar of state_bars()."""
    total = states.total_ns
    return [
        {
            "bar": bar,
            "run": run,
            "order": order,
            "state": state,
            "rank": rank,
            "seconds": value / 1e9,
            "time": duration(value),
            "share": percent(value / total) if total else "-",
        }
        for rank, state in enumerate(shown_states(states))
        for value in [getattr(states, f"{state}_ns")]
    ]


def state_bars(title: str, rows: Sequence[Spec]) -> Spec | None:
    """Returns stacked bars of thread-time, grouped by run if there are several."""
    if not rows:
        return None
    several = len({row["run"] for row in rows}) > 1 and any(row["run"] != row["bar"] for row in rows)
    present = {row["state"] for row in rows}
    shown = [state for state in STATES if state in present]
    encoding: Spec = {
        "y": {
            "field": "bar",
            "type": "nominal",
            "sort": {"field": "order"},
            "axis": {"title": None, "labelLimit": 220, "labelOverlap": True},
        },
        "x": {"field": "seconds", "type": "quantitative", "axis": seconds_axis("thread-time")},
        "color": state_colours(shown),
        "order": {"field": "rank", "type": "quantitative"},
        "tooltip": tooltip("bar", "state", "time", "share", *(["run"] if several else [])),
    }
    if several:
        encoding["row"] = {
            "field": "run",
            "type": "nominal",
            "sort": None,
            "header": {"labelAngle": 0, "labelAlign": "left", "labelOrient": "top", "title": None},
        }
    return figure(
        title,
        rows,
        mark={"type": "bar", "height": {"band": 0.8}},
        # Each of several runs has its own number of bars.
        height={"step": _BAR_PIXELS} if several else _height(len({row["bar"] for row in rows})),
        encoding=encoding,
        **({"resolve": {"scale": {"y": "independent"}}} if several else {}),
    )


def seconds_axis(title: str) -> Spec:
    """Returns an axis of seconds, in a readable unit, with as many labels as fit."""
    return {
        "title": title,
        "tickCount": 6,
        "labelExpr": "format(datum.value, '~s') + 's'",
        "labelOverlap": True,
    }


def _height(n_bars: int) -> int:
    """Returns the height in pixels: at least one pixel per bar, even with a thousand ranks."""
    return max(min(_BAR_PIXELS * n_bars, _MOST_PIXELS), n_bars)


def breakdown(contents: Sequence[ReportContent]) -> Spec | None:
    """Returns thread-time by state, a bar per run (Olivier et al., Figs. 2, 4, 10) or rank of an MPI job."""
    rows: list[Spec] = []
    job = job_of_reports(contents)
    if job is not None:
        for rank in job.ranks:
            name = f"rank {rank.rank} ({rank.n_threads})"
            rows += state_rows(name, name, rank.rank, rank.states)
        return state_bars("Thread-time by state, a bar per rank (threads)", rows)
    for order, content in enumerate(contents):
        name = f"{_run_name(content)} ({content.breakdown.n_threads})"
        rows += state_rows(name, name, order, content.breakdown.states)
    return state_bars("Thread-time by state, a bar per run (threads)", rows)


def threads(contents: Sequence[ReportContent]) -> Spec | None:
    """Returns thread-time by state, a bar per thread."""
    rows: list[Spec] = []
    for content in contents:
        for share in content.breakdown.threads:
            rows += state_rows(f"{share.thread} {share.kind}", _run_name(content), share.thread, share.states)
    return state_bars("Thread-time by state, a bar per thread", rows)


def regions(contents: Sequence[ReportContent]) -> Spec | None:
    """Returns thread-time by state, a bar for each of the most expensive parallel regions."""
    rows: list[Spec] = []
    for content in contents:
        for order, share in enumerate(content.regions[:_MOST_BARS]):
            rows += state_rows(
                content.location(share.construct).label(), _run_name(content), order, share.states
            )
    return state_bars("Thread-time by state, a bar per parallel region", rows)


def constructs(contents: Sequence[ReportContent]) -> Spec | None:
    """Returns work and creation of the most expensive task constructs."""
    rows = [
        {
            "bar": content.location(task.construct).label(),
            "run": _run_name(content),
            "order": order,
            "state": state,
            "rank": rank,
            "seconds": value / 1e9,
            "time": duration(value),
            "share": percent(content.breakdown.share(value)),
        }
        for content in contents
        for order, task in enumerate(content.tasks[:_MOST_BARS])
        for rank, (state, value) in enumerate((("work", task.work_ns), ("create", task.create_ns)))
    ]
    return state_bars("Work and creation of task constructs", rows)


def _range_of(rows: Sequence[Spec]) -> list[float]:
    """Returns the range of the axis of durations: all bins, widened if there are few."""
    low, high = min(row["low"] for row in rows), max(row["high"] for row in rows)
    more = 2 ** max((_LEAST_DOUBLINGS - math.log2(high / low)) / 2, 0.0)
    return [max(low / more, 1), high * more]


def granularity(contents: Sequence[ReportContent]) -> Spec | None:
    """Returns the number of tasks by duration, on a logarithmic scale."""
    rows = [
        {
            "run": _run_name(content),
            "low": max(b.low_ns, 1),
            "high": b.high_ns,
            "range": f"{duration(b.low_ns)} to {duration(b.high_ns)}",
            "tasks": b.n_tasks,
        }
        for content in contents
        for b in content.bins
    ]
    if not rows:
        return None
    several = len({row["run"] for row in rows}) > 1
    encoding: Spec = {
        "x": {
            "field": "low",
            "type": "quantitative",
            "scale": {"type": "log", "base": 2, "domain": _range_of(rows), "nice": False},
            "axis": {
                "title": "duration of a task",
                "grid": False,
                "tickCount": 8,
                # 2^k ns, in a readable unit
                "labelExpr": "format(datum.value * 1e-9, '.3~s') + 's'",
            },
        },
        "x2": {"field": "high"},
        "y": axis("tasks", "tasks", format="~s"),
        "tooltip": tooltip("range", "tasks", "run"),
    }
    if several:
        encoding["row"] = {"field": "run", "type": "nominal", "header": {"labelOrient": "top", "title": None}}
    return figure(
        "Tasks by duration",
        rows,
        mark={"type": "rect", "color": STATE_COLOURS["work"], "stroke": "white", "strokeWidth": 0.5},
        height=140 if several else 180,
        encoding=encoding,
    )


def by_name(figures: Iterable[Figure]) -> dict[str, Figure]:
    return {each.name: each for each in figures}


RUN_FIGURES: Final = by_name(
    (
        Figure("breakdown", "thread-time by state, a bar per run or rank", breakdown),
        Figure("threads", "thread-time by state, a bar per thread", threads),
        Figure("regions", "thread-time by state, a bar per parallel region", regions),
        Figure("constructs", "work and creation of the task constructs", constructs),
        Figure("granularity", "tasks by duration", granularity),
        Figure("devices", "a row per device: data operations and launches over time", devices),
    )
)
