# SPDX-License-Identifier: Apache-2.0
"""Speed-up bounds from work and span: an upper bound for any schedule, a lower bound for greedy schedules."""

from __future__ import annotations

from ompass.figures.style import ACCENT, Spec, figure, tooltip
from ompass.graph.content import GraphContent

_HEIGHT = 240


def bounds_figure(content: GraphContent) -> Spec | None:
    """Returns the band between both bounds over the number of threads; None without bounds."""
    rows: list[Spec] = [
        {"threads": b.threads, "most": b.most, "least": b.least, "range": f"{b.least:.1f} to {b.most:.1f}"}
        for b in content.bounds
    ]
    if not rows:
        return None
    x: Spec = {
        "field": "threads",
        "type": "quantitative",
        "scale": {"type": "log", "base": 2},
        "axis": {"title": "threads", "values": [row["threads"] for row in rows], "grid": False},
    }

    def y(field: str) -> Spec:
        return {"field": field, "type": "quantitative", "axis": {"title": "speed-up"}}

    line = {"mark": {"type": "line", "point": True, "color": ACCENT}}
    return figure(
        "Bounds of the speed-up from work and span: upper bound, and lower bound for a greedy scheduler",
        rows,
        height=_HEIGHT,
        layer=[
            {
                "mark": {"type": "area", "opacity": 0.2, "color": ACCENT},
                "encoding": {
                    "x": x,
                    "y": y("least"),
                    "y2": {"field": "most"},
                    "tooltip": tooltip("threads", "range"),
                },
            },
            {**line, "encoding": {"x": x, "y": y("most")}},
            {**line, "encoding": {"x": x, "y": y("least"), "strokeDash": {"value": [4, 3]}}},
        ],
    )
