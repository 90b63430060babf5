# SPDX-License-Identifier: Apache-2.0
"""What every section of the page is made of: anchor, title, markup, and figures with a place of their own."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from ompass.figures.style import Spec
from ompass.page.markup import Markup, element
from ompass.units import plural

MOST_ROWS: Final = 500
"""Rows of a table on the page; JSON and CSV have all."""

_AROUND_BARS: Final = 64  # pixels of a figure's axis and legend


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the page: anchor, title, markup; figures by the id that the markup gives their place."""

    anchor: str
    title: str
    body: Markup
    figures: dict[str, Spec] = field(default_factory=dict)


def place_figure(anchor: str, spec: Spec | None) -> tuple[Markup, dict[str, Spec]]:
    """Where page.js draws the figure, with its description for those who do not see it."""
    if spec is None:
        return Markup(""), {}
    name = f"figure-{anchor}"
    # Its room is kept, so that nothing jumps when it is drawn.
    height = spec["height"] + _AROUND_BARS if isinstance(spec["height"], int) else 0
    style = f"min-height:{height}px"
    plot = element("div", class_="plot", id=name, role="img", aria_label=spec["description"], style=style)
    return element("figure", plot, element("figcaption", spec["description"])), {name: spec}


def hidden_rows(n_rows: int, word: str) -> Markup:
    """How many rows a table leaves out."""
    left = n_rows - MOST_ROWS
    return (
        element("p", f"and {plural(left, word)} more; --json has all", class_="note")
        if left > 0
        else Markup()
    )
