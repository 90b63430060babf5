# SPDX-License-Identifier: Apache-2.0
"""Reuse distances of runs: bytes by distance, and the bytes beyond each window."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ompass.figures.style import Spec, figure, side_by_side
from ompass.reuse.metrics import ReuseHistogram
from ompass.reuse.report import ReuseContent
from ompass.units import size

_ENDS: Final = ("coherence", "cold")
_SHARE_AXIS: Final = {"format": ".0%"}
_HEIGHT: Final = 240
_BIN_PIXELS: Final = 26


def reuse_figure(contents: Sequence[ReuseContent]) -> Spec:
    """Returns the histogram and the curve of misses, next to each other."""
    histogram = reuse_histogram(contents)
    histogram["width"] = _BIN_PIXELS * (len(_bins(contents)) + len(_ENDS))
    description = "Bytes by reuse distance, and bytes that miss in a cache of each size"
    return side_by_side((histogram, reuse_beyond(contents)), description=description)


def reuse_histogram(contents: Sequence[ReuseContent]) -> Spec:
    """Returns shares of the accessed bytes by reuse distance, with the runs next to each other."""
    labels, bins = _distinct_labels(contents), _bins(contents)
    return figure(
        "Bytes by reuse distance",
        _shares(contents, labels, bins),
        mark={"type": "bar"},
        height=_HEIGHT,
        encoding={
            "x": {
                "field": "distance",
                "type": "ordinal",
                "sort": [*(_bin_name(k) for k in bins), *_ENDS],
                "title": "reuse distance up to",
                "axis": {"labelAngle": -60},
            },
            "xOffset": {"field": "run", "type": "nominal", "sort": labels},
            "y": {
                "field": "share",
                "type": "quantitative",
                "title": "share of accessed bytes",
                "axis": _SHARE_AXIS,
            },
            "color": _colour(labels),
        },
    )


def reuse_beyond(contents: Sequence[ReuseContent]) -> Spec:
    """Returns the misses in a fully associative LRU cache of each size, with the sizes of the caches."""
    labels = _distinct_labels(contents)
    window = {"field": "window_bytes", "type": "quantitative"}
    curve = {
        "mark": {"type": "line", "point": True},
        "encoding": {
            "x": {
                **window,
                "scale": {"type": "log", "base": 2},
                "title": "window",
                "axis": {"labelExpr": _size_expression("datum.value"), "labelAngle": -60, "tickCount": 12},
            },
            "y": {
                "field": "share",
                "type": "quantitative",
                "title": "share beyond, coherence and cold",
                "axis": _SHARE_AXIS,
            },
            "color": _colour(labels),
        },
    }
    caches = {"data": {"values": _caches(contents)}}
    rule = {
        **caches,
        "mark": {"type": "rule", "strokeDash": [4, 3], "color": "#888"},
        "encoding": {"x": window},
    }
    name = {
        **caches,
        "mark": {"type": "text", "align": "left", "dx": 3, "baseline": "top", "color": "#888"},
        "encoding": {"x": window, "y": {"value": 0}, "text": {"field": "cache"}},
    }
    return figure(
        "Bytes that miss in a cache of each size",
        _beyond(contents, labels, _bins(contents)),
        height=_HEIGHT,
        layer=[curve, rule, name],
    )


def _colour(labels: Sequence[str]) -> Spec:
    return {
        "field": "run",
        "type": "nominal",
        "sort": labels,
        "title": None,
        "legend": {"orient": "top"} if len(labels) > 1 else None,
    }


def _bins(contents: Sequence[ReuseContent]) -> range:
    """Returns the range from the first to the last bin that is not empty in any run."""
    used = [k for content in contents for k, n in enumerate(content.profile.total.bins) if n]
    return range(min(used, default=0), max(used, default=0) + 1)


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
    """Returns a Vega expression for bytes in binary units."""
    return (
        f"{value} >= 1073741824 ? {value} / 1073741824 + ' GiB' : "
        f"{value} >= 1048576 ? {value} / 1048576 + ' MiB' : "
        f"{value} >= 1024 ? {value} / 1024 + ' KiB' : {value} + ' B'"
    )
