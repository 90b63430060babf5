# SPDX-License-Identifier: Apache-2.0
"""The common look of figures: colours of states, fonts, sizes; and the type of a figure.

Owns the palette. The colours of OpenMP's states are Okabe and Ito's (https://jfly.uni-koeln.de/color/), with
a lighter grey. People with any kind of colour vision can distinguish all colours here; a test simulates that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from ompass.model import OPENMP_STATES
from ompass.reports.content import ReportContent

Spec: TypeAlias = dict[str, Any]

SCHEMA: Final = "https://vega.github.io/schema/vega-lite/v6.json"
WIDTH: Final = 640
"""Width of a single figure, in pixels; on a page, a figure fills the available width."""

STATE_COLOURS: Final = {
    "work": "#009e73",
    "create": "#e69f00",
    "schedule": "#cc79a7",
    "sync": "#d55e00",
    "idle": "#c4c9ce",
    "mpi": "#78e1ff",
    "offload": "#f0e442",
}
ACCENT: Final = "#0072b2"
CONSTRUCT_COLOURS: Final = (
    "#3824bc", "#24bc8a", "#90a8ea", "#b6af54", "#174f4b", "#8854b6",
    "#9a3f1d", "#6b8c54", "#3f1056", "#90ea90", "#7954de", "#561010",
)  # fmt: skip
"""Colours of constructs, distinct from the colours of all states but work."""
CATEGORIES: Final = CONSTRUCT_COLOURS[:8]

CONFIG: Final[Spec] = {
    "font": "system-ui, 'DejaVu Sans', sans-serif",
    "background": None,
    "view": {"stroke": None},
    "axis": {"gridOpacity": 0.35, "labelFontSize": 11, "titleFontSize": 11, "titleFontWeight": "normal"},
    "legend": {"labelFontSize": 11, "titleFontSize": 11, "titleFontWeight": "normal", "symbolType": "square"},
    "range": {"category": list(CATEGORIES)},
}


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of recorded runs: its name on the command line, its title, and its function.

    `make` returns None if the runs have no data for it.
    """

    name: str
    title: str
    make: Callable[[Sequence[ReportContent]], Spec | None]


def axis(field: str, title: str | None, kind: str = "quantitative", **more: Any) -> Spec:
    """Returns a position channel; `more` has properties of its axis."""
    return {"field": field, "type": kind, "axis": {"title": title, **more}}


def state_colours(states: Sequence[str] = OPENMP_STATES) -> Spec:
    """Returns the channel that gives each state its colour."""
    return {
        "field": "state",
        "type": "nominal",
        "scale": {"domain": list(states), "range": [STATE_COLOURS[state] for state in states]},
        "legend": {"title": None, "orient": "top", "columns": len(states)},
    }


def tooltip(*names: str) -> list[Spec]:
    """Returns the fields shown at the pointer."""
    return [{"field": name, "type": "nominal"} for name in names]


def side_by_side(specs: Iterable[Spec], **more: Any) -> Spec:
    """Returns figures next to each other in one picture, each under its description."""
    dropped = ("$schema", "config", "autosize", "description")
    parts = [{**{k: v for k, v in s.items() if k not in dropped}, "title": s["description"]} for s in specs]
    return {"$schema": SCHEMA, "config": CONFIG, **more, "hconcat": parts}


def figure(title: str, values: Sequence[Spec], **parts: Any) -> Spec:
    """Returns a specification with `values` as its rows. Screen readers read `title`."""
    faceted = "row" in parts.get("encoding", {})  # if so, the width covers only the bars
    size: Spec = {"width": WIDTH} | (
        {} if faceted else {"autosize": {"type": "fit-x", "contains": "padding"}}
    )
    rows: Spec = {"data": {"values": list(values)}}
    return {"$schema": SCHEMA, "description": title, "config": CONFIG} | size | rows | parts
