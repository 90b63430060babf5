# SPDX-License-Identifier: Apache-2.0
"""Builds HTML: escaping, elements, sortable tables.

Owns the markup that page.css and page.js expect.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from ompass.model import shown_states
from ompass.plain_text import visible, visible_lines
from ompass.reports.model import Column, Figure, Kind, Table, full_bar, sentences, words
from ompass.units import percent, plural

MOST_ROWS: Final = 500
"""Most rows of a table in the page; page.js inserts the others on demand."""


class Markup(str):
    """Text that is already HTML; other text is escaped."""

    __slots__ = ()


def escape(value: object) -> Markup:
    return value if isinstance(value, Markup) else Markup(html.escape(visible_lines(str(value))))


_MARKED: Final = re.compile(r"`([^`]+)`|(?<!\S)(\(?)(--[a-z][\w-]*)")


def prose(text: str) -> Markup:
    """Returns a sentence of a report with marked code, and options that do not break across lines."""
    found, end = [], 0
    for match in _MARKED.finditer(text):
        code, bracket, option = match.groups()
        marked = element("code", code) if code else element("span", option, class_="option")
        found += [text[end : match.start()], bracket or "", marked]
        end = match.end()
    return join([*found, text[end:]])


def element(tag: str, *children: object, **attributes: object) -> Markup:
    """Returns `<tag ...>children</tag>`. None/False omits an attribute, True its value; `_` becomes `-`."""
    text = ""
    for name, value in attributes.items():
        if value is None or value is False:
            continue
        name = name.rstrip("_").replace("_", "-")
        text += f" {name}" if value is True else f' {name}="{escape(value)}"'
    return Markup(f"<{tag}{text}>" + "".join(escape(child) for child in children) + f"</{tag}>")


def join(parts: Iterable[object]) -> Markup:
    return Markup("".join(escape(part) for part in parts))


def table(shown: Table, details: Mapping[int, Markup] | None = None) -> Markup:
    """Returns a table with sortable columns. Row n unfolds `details[n]`.

    Screen readers read the title.
    """
    details = details or {}
    columns = [(k, c) for k, c in enumerate(shown.columns) if c.title or c.kind.is_bar]
    head = [element("th", element("span", "details", class_="unseen"))] if details else []
    head += [
        element(
            "th",
            element(
                "button",
                column.title or "states",
                type="button",
                title=column.hint or None,
                data_column=place + bool(details),
            ),
            scope="col",
            aria_sort="none",
            class_="number" if column.kind.is_number else None,
        )
        for place, (_, column) in enumerate(columns)
    ]
    rows: list[Markup] = []
    for number, row in enumerate(shown.rows):
        cells = [_cell(column, row[k], shown, k) for k, column in columns]
        if details:
            cells.insert(0, element("td", _UNFOLD if number in details else ""))
        rows.append(element("tr", *cells, class_="row"))
        if details:
            unfolded = element("td", details.get(number, ""), colspan=len(cells))
            rows.append(element("tr", unfolded, class_="details", hidden=True))
    per_row = 2 if details else 1
    first, rest = rows[: MOST_ROWS * per_row], rows[MOST_ROWS * per_row :]
    body = element(
        "table",
        element("thead", element("tr", *head)),
        element("tbody", *first),
        # Rows that a script inserts on demand.
        element("template", element("table", element("tbody", *rest))) if rest else "",
    )
    hidden = len(shown.rows) - MOST_ROWS
    more = plural(hidden, f"more {shown.word}")
    remarks = [element("span", f"and {more}", class_="more")] if hidden > 0 else []
    return join(
        (
            element("div", body, class_="table", tabindex="0", role="region", aria_label=shown.title),
            *(
                element("p", remark, class_="note")
                for remark in (*remarks, *map(prose, sentences(shown.notes)))
            ),
        )
    )


_UNFOLD = element("button", "▸", type="button", class_="unfold", aria_expanded="false", aria_label="details")


def _cell(column: Column, value: Any, shown: Table, k: int) -> Markup:
    """Returns a table cell: its content, and its key for sorting."""
    text: object = words(column.kind, value)
    key: object = value
    if value is None:
        key = ""
    elif isinstance(value, Figure):
        key = value.order
    elif column.kind is Kind.PLACE:
        place = visible(value.place)
        code = element("code", place, title=value.file or None)
        text, key = join((code, str(text).removeprefix(place))), value.label()
    elif column.kind is Kind.NAME:
        text = element("code", text)
    elif column.kind is Kind.STATE:
        text = join((element("span", class_=f"swatch {value}"), f" {value}"))
    elif column.kind is Kind.STATES:
        text, key = state_bar(value), value.total_ns and value.work_ns / value.total_ns
    elif column.kind is Kind.BAR:
        longest = full_bar(row[k] for row in shown.rows)
        width = 100 * value.value / longest if longest else 0
        text = element("span", class_=f"bar state {value.look}", style=f"width:{width:.2f}%")
        key = value.value
    return element("td", text, data_key=key, class_="number" if column.kind.is_number else None)


def state_bar(states: Any) -> Markup:
    """Returns a stacked bar of the states, in pure HTML, with the shares as a tooltip."""
    total = states.total_ns
    if not total:
        return Markup("")
    values = [(state, getattr(states, f"{state}_ns") / total) for state in shown_states(states)]
    parts = [
        element("span", class_=f"state {state}", style=f"width:{100 * part:.3f}%")
        for state, part in values
        if part
    ]
    shares = ", ".join(f"{state} {percent(part)}" for state, part in values)
    return element("span", *parts, class_="states", title=shares, role="img", aria_label=shares)
