# SPDX-License-Identifier: Apache-2.0
"""Source lines as HTML, each with its cost in the margin."""

from __future__ import annotations

from collections.abc import Iterable

from ompass.page.excerpts import SourceLine
from ompass.page.markup import Markup, element
from ompass.units import plural


def source_lines(lines: Iterable[SourceLine]) -> Markup:
    """Returns lines with their numbers, bars for their samples, and their remarks."""
    rows = [
        element(
            "span",
            element(
                "span",
                class_="heat",
                style=f"--part:{line.part:.4f}" if line.part else None,
                title=plural(line.samples, "sample") if line.samples else None,
            ),
            element("span", f"{line.number:5d}  ", class_="number"),
            line.text or " ",
            element("span", f"  ← {line.said}", class_="said") if line.said else "",
            class_="line marked" if line.is_marked else "line",
        )
        for line in lines
    ]
    return element("pre", *rows, class_="source", tabindex="0")
