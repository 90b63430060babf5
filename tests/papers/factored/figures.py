# SPDX-License-Identifier: Apache-2.0
"""The factored speed-up plots of Acar et al., Figure 3, from our measurements."""

from __future__ import annotations

from typing import Final

from ompass.figures.style import Spec
from papers import panels
from papers.factored import numbers, plan
from papers.model import Picture, Values

_COLOURS: Final = {
    "linear": "#8a8f94",
    "maximal": panels.BLUE,
    "idle-time specific": panels.ORANGE,
    "inflation specific": panels.GREEN,
    "actual": panels.RED,
}


def _charts(values: Values) -> Spec:
    made = []
    for letter, (size, cutoff) in plan.CHARTS.items():
        rows = [
            {"x": n, "y": curve(values, letter, n), "series": name}
            for n in plan.THREADS
            for name, curve in numbers.CURVES.items()
        ]
        made.append(_chart(f"({letter}) {size:,} elements, cut-off {cutoff:,}", plan.THREADS, rows))
    rows = [
        {"x": n, "y": numbers.shrinking(values, name, n), "series": name}
        for n in plan.SHRINKING_THREADS
        for name in numbers.CURVES
    ]
    made.append(_chart("(f) 10,000,000 elements, cut-off 8000/P", plan.SHRINKING_THREADS, rows))
    return panels.grid("Factored speed-ups of Cilksort", made, 3)


def _chart(title: str, threads: tuple[int, ...], rows: list[Spec]) -> Spec:
    linear = panels.linear(threads)
    x = panels.axis("cores", values=[1, 10, 20, 30, 40], grid=False, format="d")
    y = panels.axis("speed-up", scale={"domain": [0, 44], "nice": False}, values=[0, 10, 20, 30, 40])
    return panels.lines(title, [*linear, *rows], x, y, _COLOURS, 230)


def _cells(values: Values) -> Spec:
    walks = [(cells, plan.GAP) for cells in (plan.CELLS[0], plan.SCALED_CELLS, plan.CELLS[1])]
    walks.append((plan.CELLS[1], 1))
    rows: list[Spec] = [
        {
            "x": f"{cells * 8 / 1e6:.0f} MB",
            "y": numbers.cell_ns(values, cells, gap),
            "series": f"gap of {gap} cell{'s' if gap > 1 else ''}",
        }
        for cells, gap in walks
    ]
    panel = panels.groups(
        "arraywalk on one core",
        rows,
        panels.axis("array"),
        panels.axis("ns per cell"),
        {"gap of 32 cells": panels.BLUE, "gap of 1 cell": panels.ORANGE},
    )
    return panels.grid("Time of a visit to a cell", [panel], 1)


PICTURES: Final = (
    Picture(
        "charts",
        "Fig. 3",
        "factored speed-ups of Cilksort",
        "Simulated",
        "Speed-ups over a quicksort of the whole array. The simulation has no work inflation, so the curve "
        "*inflation specific* lies on *maximal*, and *actual* on *idle-time specific*, except for the "
        "cost of steals. If the parallel program takes less time on one core than the quicksort, its curves "
        "are above the linear one.",
        _charts,
    ),
    Picture(
        "cells",
        "Fig. 5",
        "time of a visit to a cell, by size of the array",
        "Recorded here",
        (
            "A visit reads a cell, adds to it and writes it; a run makes 64 million visits. The gap is the "
            "distance between consecutive visits."
        ),
        _cells,
    ),
)
