# SPDX-License-Identifier: Apache-2.0
"""The figures of a sweep: the factored speed-up plot (Acar et al., Fig. 2), and the thread-time by number of
threads (Olivier et al., Fig. 2) in multiples of the serial time, so that equal work has bars of equal height.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from ompass.figures.style import Spec, axis, figure, side_by_side, state_colours, tooltip
from ompass.model import shown_states
from ompass.scaling.content import ScalingContent
from ompass.scaling.metrics import CURVES
from ompass.units import duration, percent

_HEIGHT: Final = 300
_CURVES: Final = {  # name on the figure, colour
    "linear": ("linear", "#999999"),
    "elision": ("serial elision", "#cc79a7"),
    "maximal": ("maximal", "#0072b2"),
    "idle": ("idle-time specific", "#e69f00"),
    "inflation": ("inflation specific", "#009e73"),
    "actual": ("actual", "#d55e00"),
}


@dataclass(frozen=True, slots=True)
class SweepFigure:
    """A figure of a sweep: its name on the command line, its title, and its function."""

    name: str
    title: str
    make: Callable[[ScalingContent], Spec]


def factored(content: ScalingContent) -> Spec:
    """Returns the factored speed-up curves over the number of threads; whiskers show the rounds' spread."""
    rows: list[Spec] = [
        {"threads": column.point.threads, "curve": _CURVES[name][0], "speedup": value}
        for column in content.columns
        for name in CURVES
        if (value := column.point.curve(name)) is not None
    ]
    present = {row["curve"] for row in rows}
    shown = [(name, colour) for name, colour in _CURVES.values() if name in present]
    threads = [column.point.threads for column in content.columns]
    x: Spec = {
        "field": "threads",
        "type": "quantitative",
        "axis": {"title": "threads", "values": threads, "format": "d", "grid": False},
        # A single number of threads is a point, not a line along the axis.
        "scale": {"domain": [min(threads) - (len(threads) == 1), max(threads) + (len(threads) == 1)]},
    }
    return figure(
        "Factored speed-up",
        rows,
        height=_HEIGHT,
        layer=[
            {
                "mark": {"type": "line", "point": {"size": 45}, "strokeWidth": 2},
                "encoding": {
                    "x": x,
                    "y": axis("speedup", f"speed-up over the {_serial(content)}"),
                    "color": {
                        "field": "curve",
                        "type": "nominal",
                        "scale": {"domain": [s[0] for s in shown], "range": [s[1] for s in shown]},
                        "legend": {"title": None, "orient": "top", "columns": 3, "symbolType": "stroke"},
                    },
                    "strokeDash": {
                        "condition": {"test": "datum.curve === 'linear'", "value": [4, 3]},
                        "value": [1, 0],
                    },
                    "tooltip": [
                        {"field": "curve", "type": "nominal"},
                        {"field": "threads", "type": "quantitative"},
                        {"field": "speedup", "type": "quantitative", "format": ".3f"},
                    ],
                },
            },
            _whiskers(content, x),
        ],
    )


def _whiskers(content: ScalingContent, x: Spec) -> Spec:
    spreads = {column.point.threads: column.spreads.get("speedup") for column in content.columns}
    rows = [{"threads": n, "low": s[0], "high": s[1]} for n, s in spreads.items() if s is not None]
    return {
        "data": {"values": rows},
        "mark": {"type": "rule", "color": _CURVES["actual"][1], "strokeWidth": 1.5},
        "encoding": {"x": x, "y": {"field": "low", "type": "quantitative"}, "y2": {"field": "high"}},
    }


def thread_time(content: ScalingContent) -> Spec:
    """Returns thread-time by state, a bar per number of threads."""
    rows: list[Spec] = []
    shown = shown_states(*(column.point.states for column in content.columns))
    for column in content.columns:
        point = column.point
        for rank, state in enumerate(shown):
            value = getattr(point.states, f"{state}_ns")
            rows.append(
                {
                    "threads": point.threads,
                    "state": state,
                    "rank": rank,
                    "times": value / point.serial_ns if point.serial_ns else 0.0,
                    "time": duration(value),
                    "share": percent(value / point.thread_time_ns if point.thread_time_ns else 0.0),
                }
            )
    return figure(
        "Thread-time by number of threads",
        rows,
        mark={"type": "bar", "width": {"band": 0.6}},
        height=_HEIGHT,
        encoding={
            "x": axis("threads", "threads", "ordinal", labelAngle=0),
            "y": axis("times", f"thread-time / {_serial(content)}"),
            "order": {"field": "rank", "type": "quantitative"},
            "color": {**state_colours(shown), "legend": {"title": None, "orient": "top", "columns": 3}},
            "tooltip": tooltip("threads", "state", "time", "share"),
        },
    )


def both(content: ScalingContent) -> Spec:
    """Returns both figures in one picture, with the command as its title."""
    widths = (380, max(180, 46 * len(content.columns)))
    command = " ".join(content.spec.command)
    return side_by_side(
        (
            {**part, "width": w}
            for part, w in zip((factored(content), thread_time(content)), widths, strict=True)
        ),
        title={"text": command, "fontSize": 13, "anchor": "start", "limit": 700},
        resolve={"scale": {"color": "independent"}},
    )


def _serial(content: ScalingContent) -> str:
    return "serial program" if content.columns[0].point.has_baseline else "work on one thread"


def _by_name(figures: Sequence[SweepFigure]) -> dict[str, SweepFigure]:
    return {each.name: each for each in figures}


SWEEP_FIGURES: Final = _by_name(
    (
        SweepFigure("speedup", "factored speed-up curves of a sweep", factored),
        SweepFigure("thread-time", "thread-time of a sweep, a bar per number of threads", thread_time),
        SweepFigure("scaling", "both in one picture", both),
    )
)
