# SPDX-License-Identifier: Apache-2.0
"""Small pieces of HTML: escaping, elements, tables that a reader can sort.

Owns the markup that page.css and page.js rely on; knows nothing of runs.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field


class Markup(str):
    """Text that is HTML already; anything else is escaped."""

    __slots__ = ()


def escape(value: object) -> Markup:
    return value if isinstance(value, Markup) else Markup(html.escape(str(value)))


def element(tag: str, *children: object, **attributes: object) -> Markup:
    """`<tag ...>children</tag>`. None leaves an attribute out, True gives it no value; `_` is `-`."""
    text = ""
    for name, value in attributes.items():
        if value is None or value is False:
            continue
        name = name.rstrip("_").replace("_", "-")
        text += f" {name}" if value is True else f' {name}="{html.escape(str(value))}"'
    return Markup(f"<{tag}{text}>" + "".join(escape(child) for child in children) + f"</{tag}>")


def join(parts: Iterable[object]) -> Markup:
    return Markup("".join(escape(part) for part in parts))


@dataclass(frozen=True, slots=True)
class Cell:
    """What a table shows and what it sorts by."""

    text: object
    key: float | str = ""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: its title, whether it holds numbers, and a word on its meaning."""

    title: str
    number: bool = False
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """Cells, and what unfolds below them, if anything."""

    cells: Sequence[Cell]
    details: Markup | None = None
    attributes: dict[str, str] = field(default_factory=dict)


def table(name: str, columns: Sequence[Column], rows: Sequence[Row]) -> Markup:
    """A table whose columns sort and whose rows unfold. The name is for those who do not see the page."""
    unfolds = any(row.details for row in rows)
    head = [element("th", element("span", "details", class_="unseen"))] if unfolds else []
    head += [
        element(
            "th",
            element(
                "button", column.title, type="button", title=column.hint or None, data_column=k + unfolds
            ),
            scope="col",
            aria_sort="none",
            class_="number" if column.number else None,
        )
        for k, column in enumerate(columns)
    ]
    body = [part for row in rows for part in _row(row, columns, unfolds)]
    return element(
        "div",
        element(
            "table",
            element("thead", element("tr", *head)),
            element("tbody", *body),
        ),
        class_="table",
        tabindex="0",
        role="region",
        aria_label=name,
    )


def _row(row: Row, columns: Sequence[Column], unfolds: bool) -> Iterable[Markup]:
    cells: list[Markup] = []
    if unfolds:
        button = element(
            "button", "▸", type="button", class_="unfold", aria_expanded="false", aria_label="details"
        )
        cells.append(element("td", button if row.details else ""))
    for cell, column in zip(row.cells, columns, strict=True):
        cells.append(element("td", cell.text, data_key=cell.key, class_="number" if column.number else None))
    yield element("tr", *cells, class_="row", **row.attributes)
    if unfolds:
        width = len(columns) + 1
        yield element("tr", element("td", row.details or "", colspan=width), class_="details", hidden=True)
