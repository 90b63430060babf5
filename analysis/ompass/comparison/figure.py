# SPDX-License-Identifier: Apache-2.0
"""The figures of a comparison: the thread-time of both sides, and the constructs whose time changed most."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ompass.comparison.content import Compared
from ompass.comparison.metrics import Change
from ompass.figures.run import seconds_axis, state_bars, state_rows
from ompass.figures.style import ACCENT, Spec, figure, tooltip
from ompass.model import STATES, StateTimes
from ompass.scaling.content import Place
from ompass.units import duration

_MOST_CONSTRUCTS: Final = 12
_BEFORE_COLOUR: Final = "#999999"
_STEP: Final = 13  # pixels of a bar


def thread_time(one: Compared) -> Spec | None:
    """Returns the thread-time by state, a bar per side."""
    found = {change.figure: change for change in one.changes if change.key is None}
    rows: list[Spec] = []
    for order, (side, value) in enumerate((("before", "before_median"), ("after", "after_median"))):
        states = StateTimes(
            **{f"{name}_ns": round(getattr(found[name], value)) for name in STATES if name in found}
        )
        rows += state_rows(side, side, order, states)
    return state_bars("Thread-time by state, before and after (medians)", rows)


def construct_times(changes: Sequence[Change[Place]]) -> Spec | None:
    """Returns the work and creation of constructs on both sides, the largest change first."""
    rows: list[Spec] = [
        {
            "construct": f"{change.figure}: {change.key.label()}",
            "order": order,
            "side": side,
            "seconds": value / 1e9,
            "time": duration(value),
        }
        for order, change in enumerate(changes[:_MOST_CONSTRUCTS])
        if change.key is not None
        for side, value in (("before", change.before_median), ("after", change.after_median))
    ]
    if not rows:
        return None
    sides = ["before", "after"]
    n_bars = len({row["construct"] for row in rows})
    return figure(
        "Constructs before and after, the largest change first",
        rows,
        mark={"type": "bar"},
        height=n_bars * (2 * _STEP + 8),
        encoding={
            "y": {
                "field": "construct",
                "type": "nominal",
                "sort": {"field": "order"},
                "axis": {"title": None, "labelLimit": 320},
            },
            "yOffset": {"field": "side", "type": "nominal", "sort": sides},
            "x": {"field": "seconds", "type": "quantitative", "axis": seconds_axis("thread-time")},
            "color": {
                "field": "side",
                "type": "nominal",
                "scale": {"domain": sides, "range": [_BEFORE_COLOUR, ACCENT]},
                "legend": {"title": None, "orient": "top"},
            },
            "tooltip": tooltip("construct", "side", "time"),
        },
    )
