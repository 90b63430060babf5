# SPDX-License-Identifier: Apache-2.0
"""Source lines as HTML, each with its cost in the margin: samples, tasks, work, creation, waits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ompass.page.excerpts import LineCost, SourceLine
from ompass.page.markup import Markup, element
from ompass.units import count, percent, plural

_MARGIN: Final = (
    ("tasks", "tasks created by the line"),
    ("work", "work of these tasks, as a share of the thread-time"),
    ("create", "creation of these tasks, as a share of the thread-time"),
    ("wait", "waits at the line, as a share of the thread-time"),
)


def source_lines(lines: Sequence[SourceLine]) -> Markup:
    """Returns lines with their numbers, bars for their samples, and columns for costs if any line has
    some."""
    with_costs = any(line.cost.whole or line.cost.n_tasks for line in lines)
    rows = [_line(line, with_costs) for line in lines]
    head = [_head()] if with_costs else []
    return element("pre", *head, *rows, class_="source", tabindex="0", aria_label="source lines")


def _head() -> Markup:
    titles = [element("span", name, class_="cost", title=hint) for name, hint in _MARGIN]
    samples = element("span", "samples", class_="samples")
    return element("span", samples, *titles, class_="line head")


def _line(line: SourceLine, with_costs: bool) -> Markup:
    heat = element(
        "span",
        class_="heat",
        style=f"--part:{line.part:.4f}" if line.part else None,
        title=plural(line.samples, "sample") if line.samples else None,
    )
    margin = _margin(line.cost) if with_costs else []
    number = element("span", f"{line.number:5d}  ", class_="number")
    look = "line marked" if line.is_marked else "line"
    return element("span", heat, *margin, number, line.text or " ", class_=look)


def _margin(cost: LineCost) -> list[Markup]:
    values = (
        ("tasks", count(cost.n_tasks) if cost.n_tasks else "", 0.0),
        ("work", percent(cost.work) if cost.work else "", cost.work),
        ("create", percent(cost.create) if cost.create else "", cost.create),
        ("sync", percent(cost.wait) if cost.wait else "", cost.wait),
    )
    said = ", ".join(cost.wait_kinds) or None
    return [
        element(
            "span",
            text,
            class_=f"cost {look}",
            style=f"--part:{min(part, 1):.4f}" if part else None,
            title=said if look == "sync" else None,
        )
        for look, text, part in values
    ]
