# SPDX-License-Identifier: Apache-2.0
"""Reuse distances of several runs in one figure: the histogram, and how much lies beyond each window.

Owns the specification (Vega-Lite); drawing is vl-convert's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ompass.metrics.reuse import ReuseHistogram
from ompass.reports.reuse.content import ReuseContent
from ompass.units import size

_ENDS = ("coherence", "cold")
_AXIS_FORMAT = {"format": ".0%"}


def reuse_figure(contents: Sequence[ReuseContent]) -> dict[str, Any]:
    """The Vega-Lite specification."""
    labels = _distinct_labels(contents)
    used = [k for content in contents for k, n in enumerate(content.profile.total.bins) if n]
    bins = range(min(used, default=0), max(used, default=0) + 1)
    order = [*(_bin_name(k) for k in bins), *_ENDS]
    colour = {
        "field": "run",
        "type": "nominal",
        "sort": labels,
        "title": None,
        "legend": {"orient": "top"} if len(contents) > 1 else None,
    }
    histogram = {
        "title": "bytes by reuse distance",
        "width": 26 * len(order),
        "height": 240,
        "data": {"values": _shares(contents, labels, bins)},
        "mark": {"type": "bar"},
        "encoding": {
            "x": {
                "field": "distance",
                "type": "ordinal",
                "sort": order,
                "title": "reuse distance up to",
                "axis": {"labelAngle": -60},
            },
            "xOffset": {"field": "run", "type": "nominal", "sort": labels},
            "y": {
                "field": "share",
                "type": "quantitative",
                "title": "share of accessed bytes",
                "axis": _AXIS_FORMAT,
            },
            "color": colour,
        },
    }
    beyond = {
        "title": "bytes that miss in a cache of this size",
        "width": 360,
        "height": 240,
        "layer": [
            {
                "data": {"values": _beyond(contents, labels, bins)},
                "mark": {"type": "line", "point": True},
                "encoding": {
                    "x": {
                        "field": "window_bytes",
                        "type": "quantitative",
                        "scale": {"type": "log", "base": 2},
                        "title": "window",
                        "axis": {
                            "labelExpr": _size_expression("datum.value"),
                            "labelAngle": -60,
                            "tickCount": 12,
                        },
                    },
                    "y": {
                        "field": "share",
                        "type": "quantitative",
                        "title": "share beyond, coherence and cold",
                        "axis": _AXIS_FORMAT,
                    },
                    "color": colour,
                },
            },
            {
                "data": {"values": _caches(contents)},
                "mark": {"type": "rule", "strokeDash": [4, 3], "color": "#555"},
                "encoding": {"x": {"field": "window_bytes", "type": "quantitative"}},
            },
            {
                "data": {"values": _caches(contents)},
                "mark": {"type": "text", "align": "left", "dx": 3, "baseline": "top", "color": "#555"},
                "encoding": {
                    "x": {"field": "window_bytes", "type": "quantitative"},
                    "y": {"value": 0},
                    "text": {"field": "cache"},
                },
            },
        ],
    }
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "background": "white",
        "hconcat": [histogram, beyond],
        "config": {"view": {"stroke": None}, "font": "DejaVu Sans, sans-serif"},
    }


def svg_reuse(contents: Sequence[ReuseContent]) -> str:
    """The figure as SVG text that needs nothing from elsewhere."""
    import vl_convert  # drawn rarely, and slow to load

    return str(vl_convert.vegalite_to_svg(reuse_figure(contents)))


def _distinct_labels(contents: Sequence[ReuseContent]) -> list[str]:
    labels = [content.label for content in contents]
    return [
        label if labels.count(label) == 1 else f"{label} ({number})" for number, label in enumerate(labels, 1)
    ]


def _bin_name(k: int) -> str:
    return size(2**k).replace(".0 ", " ")


def _shares(contents: Sequence[ReuseContent], labels: list[str], bins: range) -> list[dict[str, Any]]:
    values = []
    for content, label in zip(contents, labels, strict=True):
        total = content.profile.total
        counted = [(_bin_name(k), total.bins[k]) for k in bins]
        counted += [("coherence", total.coherence_bytes), ("cold", total.cold_bytes)]
        values += [
            {"run": label, "distance": name, "share": n_bytes / total.accessed_bytes}
            for name, n_bytes in counted
        ]
    return values


def _beyond(contents: Sequence[ReuseContent], labels: list[str], bins: range) -> list[dict[str, Any]]:
    return [
        {"run": label, "window_bytes": 2**k, "share": _share_beyond(content.profile.total, k)}
        for content, label in zip(contents, labels, strict=True)
        for k in bins
    ]


def _share_beyond(histogram: ReuseHistogram, k: int) -> float:
    return 1 - sum(histogram.bins[: k + 1]) / histogram.accessed_bytes


def _caches(contents: Sequence[ReuseContent]) -> list[dict[str, Any]]:
    sizes = {
        (name, n_bytes)
        for content in contents
        for group in content.profile.groups
        for name, n_bytes in (("L2", group.group.l2_bytes), ("LLC", group.group.llc_bytes))
    }
    return [{"cache": name, "window_bytes": n_bytes} for name, n_bytes in sorted(sizes)]


def _size_expression(value: str) -> str:
    """A Vega expression for bytes in binary units."""
    return (
        f"{value} >= 1073741824 ? {value} / 1073741824 + ' GiB' : "
        f"{value} >= 1048576 ? {value} / 1048576 + ' MiB' : "
        f"{value} >= 1024 ? {value} / 1024 + ' KiB' : {value} + ' B'"
    )
