# SPDX-License-Identifier: Apache-2.0
"""The factored speed-up plot and the breakdown per number of threads: a Vega-Lite specification, and SVG.

Owns the specification; drawing is vl-convert's. Colours are those of the terminal report, as hexadecimal.
"""

from __future__ import annotations

from typing import Any, Final

from ompass.metrics import CURVES
from ompass.reports.bars import STATES
from ompass.reports.scaling.content import ScalingContent

_CURVE_NAMES: Final = {
    "linear": "linear",
    "elision": "serial elision",
    "maximal": "maximal",
    "idle": "idle-time specific",
    "inflation": "inflation specific",
    "actual": "actual",
}
_CURVE_COLOURS: Final = ("#9a9a9a", "#b07aa1", "#4e79a7", "#f28e2b", "#59a14f", "#e15759")
_STATE_COLOURS: Final = {
    "work": "#59a14f",
    "create": "#edc948",
    "schedule": "#b07aa1",
    "sync": "#e15759",
    "idle": "#bab0ac",
}


def scaling_figure(content: ScalingContent) -> dict[str, Any]:
    """A Vega-Lite 5 specification with its data in it: curves left, thread-time right."""
    threads = [column.point.threads for column in content.columns]
    curves = [
        {"threads": column.point.threads, "curve": _CURVE_NAMES[name], "speedup": value}
        for column in content.columns
        for name in CURVES
        if (value := column.point.curve(name)) is not None
    ]
    whiskers = [
        {"threads": column.point.threads, "low": low, "high": high}
        for column in content.columns
        if "speedup" in column.spreads
        for low, high in [column.spreads["speedup"]]
    ]
    shares = [
        {
            "threads": column.point.threads,
            "state": state,
            "order": k,
            # in times of the serial program: equal work gives bars of equal height
            "time": getattr(column.point.states, f"{state}_ns") / column.point.serial_ns
            if column.point.serial_ns
            else 0.0,
        }
        for column in content.columns
        for k, state in enumerate(STATES)
    ]
    shown = [name for name in _CURVE_NAMES.values() if any(c["curve"] == name for c in curves)]
    colours = [c for c, name in zip(_CURVE_COLOURS, _CURVE_NAMES.values(), strict=True) if name in shown]
    axis = {"title": "threads", "values": threads, "format": "d", "grid": False}
    serial = "serial program" if content.columns[0].point.has_baseline else "work on one thread"
    lines = {
        "title": "Factored speed-up",
        "width": 340,
        "height": 300,
        "layer": [
            {
                "data": {"values": curves},
                "mark": {"type": "line", "point": {"size": 45}, "strokeWidth": 2},
                "encoding": {
                    "x": {"field": "threads", "type": "quantitative", "axis": axis},
                    "y": {"field": "speedup", "type": "quantitative", "title": f"speed-up over the {serial}"},
                    "color": {
                        "field": "curve",
                        "type": "nominal",
                        "title": None,
                        "scale": {"domain": shown, "range": colours},
                        "sort": shown,
                    },
                    "strokeDash": {
                        "condition": {"test": "datum.curve === 'linear'", "value": [4, 3]},
                        "value": [1, 0],
                    },
                },
            },
            {
                "data": {"values": whiskers},
                "mark": {"type": "rule", "color": _CURVE_COLOURS[-1], "strokeWidth": 1.5},
                "encoding": {
                    "x": {"field": "threads", "type": "quantitative"},
                    "y": {"field": "low", "type": "quantitative"},
                    "y2": {"field": "high"},
                },
            },
        ],
    }
    bars = {
        "title": "Thread-time",
        "width": max(160, 46 * len(threads)),
        "height": 300,
        "data": {"values": shares},
        "mark": {"type": "bar"},
        "encoding": {
            "x": {"field": "threads", "type": "ordinal", "title": "threads", "axis": {"labelAngle": 0}},
            "y": {"field": "time", "type": "quantitative", "title": f"thread-time / {serial}"},
            "order": {"field": "order", "type": "quantitative"},
            "color": {
                "field": "state",
                "type": "nominal",
                "title": None,
                "scale": {"domain": list(STATES), "range": [_STATE_COLOURS[s] for s in STATES]},
                "sort": list(STATES),
            },
        },
    }
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "background": "white",
        "title": {"text": " ".join(content.spec.command), "fontSize": 13, "anchor": "start", "limit": 700},
        "hconcat": [lines, bars],
        "resolve": {"scale": {"color": "independent"}},
        "config": {"view": {"stroke": None}, "font": "DejaVu Sans, sans-serif"},
    }


def svg_scaling(content: ScalingContent) -> str:
    """The figure as SVG text that needs nothing from elsewhere."""
    import vl_convert  # drawn rarely, and slow to load

    return str(vl_convert.vegalite_to_svg(scaling_figure(content)))
