# SPDX-License-Identifier: Apache-2.0
"""A Gantt figure of a timeline: a row per thread, coloured by the construct of the innermost task.

Owns the specification (Vega-Lite); drawing is vl-convert's. Stretches shorter than a column of the picture
are summed there, and the construct with most time shows, so the picture's size is bounded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ompass.readers.timeline import Slice, SliceKind, Timeline, walk

_COLUMNS = 1000
_WAITING = "in a wait"
_REGION = "implicit task"


def gantt_figure(timeline: Timeline, names: Mapping[int, str]) -> dict[str, Any]:
    """The Vega-Lite specification; time in milliseconds since the start of the run."""
    bars = [
        {"thread": thread, "start_ms": begin / 1e6, "end_ms": end / 1e6, "in": label}
        for thread, slices in sorted(timeline.by_thread.items())
        for begin, end, label in _columns(timeline, slices, names)
    ]
    tasks = sorted({str(bar["in"]) for bar in bars} - {_WAITING, _REGION})
    palette = ["#4c78a8", "#f58518", "#54a24b", "#b279a2", "#eeca3b", "#e45756", "#72b7b2", "#9d755d"]
    colours = [palette[k % len(palette)] for k in range(len(tasks))]
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "background": "white",
        "title": {"text": timeline.run.path.name, "anchor": "start"},
        "width": _COLUMNS,
        "height": {"step": 22},
        "data": {"values": bars},
        "mark": {"type": "bar"},
        "encoding": {
            "y": {"field": "thread", "type": "ordinal", "title": "thread"},
            "x": {
                "field": "start_ms",
                "type": "quantitative",
                "title": "time (ms)",
                "scale": {"domain": [timeline.start_ns / 1e6, timeline.end_ns / 1e6]},
            },
            "x2": {"field": "end_ms"},
            "color": {
                "field": "in",
                "type": "nominal",
                "title": None,
                "scale": {
                    "domain": [*tasks, _REGION, _WAITING],
                    "range": [*colours, "#c8c8c8", "#eeeeee"],
                },
                "legend": {"orient": "bottom", "columns": 3, "labelLimit": 400},
            },
        },
        "config": {"view": {"stroke": None}, "font": "DejaVu Sans, sans-serif"},
    }


def svg_gantt(timeline: Timeline, names: Mapping[int, str]) -> str:
    """The figure as SVG text that needs nothing from elsewhere."""
    import vl_convert  # drawn rarely, and slow to load

    return str(vl_convert.vegalite_to_svg(gantt_figure(timeline, names)))


def _innermost(slices: Sequence[Slice], names: Mapping[int, str]) -> Iterator[tuple[int, int, str]]:
    """(begin, end, label) of stretches in one innermost task or wait; nothing outside of regions."""
    labels: list[str] = []
    since = 0
    for now, one, entered in walk(slices):
        if one.kind not in (SliceKind.TASK, SliceKind.WAIT, SliceKind.IMPLICIT):
            continue
        if labels and now > since:
            yield since, now, labels[-1]
        since = now
        if not entered:
            labels.pop()
        elif one.kind is SliceKind.TASK:
            labels.append(names.get(one.construct, "?"))
        else:
            labels.append(_WAITING if one.kind is SliceKind.WAIT else _REGION)


def _columns(
    timeline: Timeline, slices: Sequence[Slice], names: Mapping[int, str]
) -> Iterator[tuple[float, float, str]]:
    """Bars (begin, end, label) at the resolution of the picture."""
    column_ns = max(1.0, (timeline.end_ns - timeline.start_ns) / _COLUMNS)
    spent: dict[int, Counter[str]] = {}
    for begin, end, label in _innermost(slices, names):
        first, last = (int((t - timeline.start_ns) / column_ns) for t in (begin, max(begin, end - 1)))
        for column in range(first, last + 1):
            low = max(begin, timeline.start_ns + column * column_ns)
            high = min(end, timeline.start_ns + (column + 1) * column_ns)
            spent.setdefault(column, Counter())[label] += max(0, round(high - low))
    open_bar: tuple[float, float, str] | None = None
    for column in sorted(spent):
        label = spent[column].most_common(1)[0][0]
        begin_ns = timeline.start_ns + column * column_ns
        if open_bar and open_bar[2] == label and abs(open_bar[1] - begin_ns) < column_ns / 2:
            open_bar = (open_bar[0], begin_ns + column_ns, label)
            continue
        if open_bar:
            yield open_bar
        open_bar = (begin_ns, begin_ns + column_ns, label)
    if open_bar:
        yield open_bar
