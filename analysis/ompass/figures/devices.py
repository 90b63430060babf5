# SPDX-License-Identifier: Apache-2.0
"""The figure of a trace's devices: a row per device, with the intervals in which host threads used it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from ompass.device_numbers import device_name, direction_of
from ompass.errors import NothingToShowError, UsageError
from ompass.figures.style import CONSTRUCT_COLOURS, Spec, axis, figure, tooltip
from ompass.model import Run
from ompass.readers.timeline import Slice, SliceKind, read_timeline
from ompass.reports.content import ReportContent
from ompass.units import duration

_MOST_SLICES: Final = 100_000
_PIXELS: Final = 2_000  # shorter gaps between equal intervals are not drawn
_KINDS: Final = ("to device", "from device", "other data operation", "launch")


def devices(contents: Sequence[ReportContent]) -> Spec | None:
    """Returns the data operations and launches of each device over time; None without such a trace."""
    rows = [row for content in contents if content.targets for row in _rows(content.run, len(contents) > 1)]
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
                "scale": {"domain": list(_KINDS), "range": list(CONSTRUCT_COLOURS[: len(_KINDS)])},
                "legend": {"title": None, "orient": "top", "columns": len(_KINDS)},
            },
            "tooltip": tooltip("device", "kind", "time"),
        },
    )


def _rows(run: Run, several: bool) -> Iterator[Spec]:
    if run.mode != "trace":
        return
    try:
        timeline = read_timeline(run, limit=_MOST_SLICES)
    except (NothingToShowError, UsageError):  # too many slices to draw
        return
    gap_ns = max(timeline.end_ns // _PIXELS, 1)
    for number, slices in timeline.by_device().items():
        name = device_name(number) + (f" of {run.path.name}" if several else "")
        for kind, begin_ns, end_ns in _joined(slices, gap_ns):
            length = duration(end_ns - begin_ns)
            yield {"device": name, "kind": kind, "begin": begin_ns / 1e6, "end": end_ns / 1e6, "time": length}


def _joined(slices: Sequence[Slice], gap_ns: int) -> Iterator[tuple[str, int, int]]:
    """Yields kind, begin and end of the intervals; joins close ones of one kind."""
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
