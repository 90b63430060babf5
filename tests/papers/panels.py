# SPDX-License-Identifier: Apache-2.0
"""Figures of several panels with common axes, as papers print them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ompass.figures.style import CONFIG, SCHEMA, Spec

ORANGE, BLUE, GREEN, RED, PURPLE, GREY, BLACK = (
    "#e69f00", "#0072b2", "#009e73", "#d55e00", "#cc79a7", "#8a8f94", "#000000"
)  # fmt: skip
_HEIGHT: Final = 170

Colours = Mapping[str, str]
"""The colour of each series."""


def grid(title: str, panels: Sequence[Spec], columns: int) -> Spec:
    """Returns the panels in rows. Screen readers read `title`."""
    return {
        "$schema": SCHEMA,
        "description": title,
        "config": {
            **CONFIG,
            "title": {"fontSize": 12, "fontWeight": "bold", "anchor": "middle", "frame": "group"},
        },
        "columns": columns,
        "bounds": "flush",
        "spacing": {"row": 70, "column": 70},
        "concat": list(panels),
    }


def lines(
    title: str, rows: Sequence[Spec], x: Spec, y: Spec, colours: Colours, width: int = 190, **more: Any
) -> Spec:
    """Returns a panel of one line per series. Rows have x, y and series; dashed series have no points."""
    dashed = [name for name in colours if name in ("linear",)]
    encoding = {"x": _channel("x", x), "y": _channel("y", y), "color": _colour(colours)}
    is_dashed = f"indexof({dashed}, datum.series) >= 0"
    return {
        "title": title,
        "width": width,
        "height": _HEIGHT,
        "data": {"values": list(rows)},
        "layer": [
            {
                "mark": {"type": "line", "strokeWidth": 2},
                "encoding": {
                    **encoding,
                    "strokeDash": {"condition": {"test": is_dashed, "value": [4, 3]}, "value": [1, 0]},
                },
            },
            {
                "transform": [{"filter": f"!({is_dashed})"}],
                "mark": {"type": "point", "filled": True, "size": 40, "opacity": 1},
                "encoding": {
                    **encoding,
                    "shape": {"field": "series", "type": "nominal", "legend": None},
                },
            },
        ],
        **more,
    }


def linear(threads: Sequence[int]) -> list[Spec]:
    """Returns the rows of a linear speed-up, the series `linear`, for a panel of lines."""
    return [{"x": n, "y": n, "series": "linear"} for n in threads]


def stacks(title: str, rows: Sequence[Spec], x: Spec, y: Spec, colours: Colours, width: int = 190) -> Spec:
    """Returns a panel of stacked bars, a bar per x. Rows have x, y, series and rank."""
    return {
        "title": title,
        "width": width,
        "height": _HEIGHT,
        "data": {"values": list(rows)},
        "mark": {"type": "bar", "width": {"band": 0.75}},
        "encoding": {
            "x": _channel("x", x, "ordinal"),
            "y": _channel("y", y),
            "order": {"field": "rank", "type": "quantitative"},
            "color": _colour(colours),
        },
    }


def groups(title: str, rows: Sequence[Spec], x: Spec, y: Spec, colours: Colours, width: int = 220) -> Spec:
    """Returns a panel of bars side by side. Rows have x, y and series.

    Optional values of a row: `paper`, drawn as a black tick, and `low` and `high`, drawn as a grey line.
    """
    place = {"field": "series", "type": "nominal", "sort": list(colours)}
    encoding = {"x": _channel("x", x, "ordinal"), "xOffset": place}
    return {
        "title": title,
        "width": width,
        "height": _HEIGHT,
        "data": {"values": list(rows)},
        "layer": [
            {"mark": "bar", "encoding": {**encoding, "y": _channel("y", y), "color": _colour(colours)}},
            {
                "transform": [{"filter": "isValid(datum.low)"}],
                "mark": {"type": "rule", "color": GREY, "strokeWidth": 1.5},
                "encoding": {
                    **encoding,
                    "y": {"field": "low", "type": "quantitative"},
                    "y2": {"field": "high"},
                },
            },
            {
                "transform": [{"filter": "isValid(datum.paper)"}],
                "mark": {"type": "tick", "color": BLACK, "thickness": 2.5, "width": 12},
                "encoding": {**encoding, "y": {"field": "paper", "type": "quantitative"}},
            },
        ],
    }


def spans(title: str, rows: Sequence[Spec], x: Spec, y: Spec, colours: Colours, width: int = 700) -> Spec:
    """Returns a panel of bars over time, in one row per y. Rows have x (begin), x2 (end), y and series."""
    return {
        "title": title,
        "width": width,
        "height": 14 * len({row["y"] for row in rows}),
        "data": {"values": list(rows)},
        "mark": {"type": "bar", "height": {"band": 0.85}, "stroke": BLACK, "strokeWidth": 0.3},
        "encoding": {
            "x": _channel("x", x),
            "x2": {"field": "x2"},
            "y": _channel("y", y, "ordinal"),
            "color": _colour(colours),
        },
    }


def axis(title: str | None, **more: Any) -> Spec:
    """Returns a position axis with these properties; `scale` has the properties of its scale."""
    scale = more.pop("scale", None)
    return {"axis": {"title": title, **more}} | ({"scale": scale} if scale else {})


def cores(values: Sequence[int]) -> Spec:
    """Returns the x axis of numbers of cores, in equal steps of powers of two."""
    return axis(
        "cores", values=list(values), grid=False, format="d", labelOverlap=False,
        scale={"type": "log", "base": 2, "nice": False},
    )  # fmt: skip


def _channel(field: str, properties: Spec, kind: str = "quantitative") -> Spec:
    if kind == "ordinal":
        kept = {name: value for name, value in properties["axis"].items() if name in ("title", "grid")}
        return {"field": field, "type": kind, "sort": None, "axis": {**kept, "labelAngle": 0}}
    return {"field": field, "type": kind, **properties}


def _colour(colours: Colours) -> Spec:
    return {
        "field": "series",
        "type": "nominal",
        "scale": {"domain": list(colours), "range": list(colours.values())},
        "legend": {"title": None, "orient": "top", "columns": 5, "labelLimit": 240},
    }
