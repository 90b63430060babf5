# SPDX-License-Identifier: Apache-2.0
"""Latencies of loads: cumulative distributions by construct, and the sources of the data."""

from __future__ import annotations

from typing import Any, Final

from ompass.figures.style import CATEGORIES, Spec, figure, side_by_side, tooltip
from ompass.latency.metrics import SOURCES
from ompass.latency.report import latency_report
from ompass.reports.model import plain
from ompass.samples.content import SampleContent

_MOST_CURVES: Final = len(CATEGORIES)
_HEIGHT: Final = 280
_SHARE_AXIS: Final = {"format": ".0%"}


def latency_figure(content: SampleContent) -> Spec:
    """Returns the latencies of the constructs with the most cycles, and the sources of their data."""
    shown = plain(latency_report(content))["constructs"][:_MOST_CURVES]
    labels = _labels(shown)
    return side_by_side(
        (_distributions(shown, labels), _sources(shown, labels)),
        description="Loads by the cycles until their data arrived, and by source",
        resolve={"scale": {"color": "independent"}},
    )


def _labels(shown: list[dict[str, Any]]) -> list[str]:
    """Returns unique names of the constructs."""
    labels = [of["in"] for of in shown]
    return [
        label if labels.count(label) == 1 else f"{label} ({number})" for number, label in enumerate(labels, 1)
    ]


def _distributions(shown: list[dict[str, Any]], labels: list[str]) -> Spec:
    values = [
        {"in": label, "cycles": max(point["cycles"], 1), "share": point["share"]}
        for of, label in zip(shown, labels, strict=True)
        for point in of["distribution"]
    ]
    return figure(
        "Cumulative share of loads by latency",
        values,
        mark={"type": "line", "interpolate": "step-after"},
        height=_HEIGHT,
        encoding={
            "x": {"field": "cycles", "type": "quantitative", "scale": {"type": "log"}, "title": "cycles"},
            "y": {
                "field": "share",
                "type": "quantitative",
                "scale": {"domain": [0, 1]},
                "title": "share of loads",
                "axis": _SHARE_AXIS,
            },
            "color": {
                "field": "in",
                "type": "nominal",
                "sort": labels,
                "legend": {"title": None, "orient": "top", "columns": 2},
            },
            "tooltip": tooltip("in", "cycles", "share"),
        },
    )


def _sources(shown: list[dict[str, Any]], labels: list[str]) -> Spec:
    values = [
        {"in": label, "source": row["source"], "share": row["share"], "order": SOURCES.index(row["source"])}
        for of, label in zip(shown, labels, strict=True)
        for row in of["sources"]
        if row["loads"]
    ]
    return figure(
        "Where the data came from",
        values,
        mark={"type": "bar"},
        height={"step": 26},
        encoding={
            "y": {"field": "in", "type": "nominal", "sort": labels, "title": None},
            "x": {"field": "share", "type": "quantitative", "title": "share of loads", "axis": _SHARE_AXIS},
            "color": {
                "field": "source",
                "type": "nominal",
                "scale": {"domain": list(SOURCES), "range": list(CATEGORIES[: len(SOURCES)])},
                "legend": {"title": None, "orient": "top", "columns": 4},
            },
            "order": {"field": "order", "type": "quantitative"},
            "tooltip": tooltip("in", "source", "share"),
        },
    ) | {"width": 320}
