# SPDX-License-Identifier: Apache-2.0
"""The common form of all reports: sections of sentences, findings and tables.

Each report is computed once. The terminal, the page, JSON and CSV only write it. Owns the kinds of values,
and their forms for people and for programs.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from enum import Enum, auto
from operator import attrgetter
from typing import Any, Final, NamedTuple

from ompass.model import STATES
from ompass.plain_text import csv_cell, visible
from ompass.symbols.names import compact_name
from ompass.symbols.resolver import Location
from ompass.units import count, duration, durations_alike, percent, ratio, size

LONG_NAME = 40  # longer function names omit template arguments


class Kind(Enum):
    """The kind of a value; None is an unknown value of any kind."""

    TEXT = auto()
    NAME = auto()  # chosen by the program
    PLACE = auto()  # a Location
    STATE = auto()  # one of STATES
    COUNT = auto()
    TIME = auto()  # nanoseconds
    BYTES = auto()
    SHARE = auto()  # 0 to 1
    RATIO = auto()  # a quotient
    FIGURE = auto()  # already in words
    STATES = auto()  # times of all states, drawn as a stacked bar
    BAR = auto()  # a Bar
    DATA = auto()  # only for programs: any plain value

    @property
    def is_number(self) -> bool:
        return self in _NUMBERS

    @property
    def is_bar(self) -> bool:
        return self in (Kind.STATES, Kind.BAR)

    @property
    def is_long(self) -> bool:
        """True for text that may take several lines."""
        return self.is_name or self is Kind.TEXT

    @property
    def is_name(self) -> bool:
        """True for long text whose column is omitted last when space is short."""
        return self in (Kind.NAME, Kind.PLACE)


_NUMBERS = frozenset({Kind.COUNT, Kind.TIME, Kind.BYTES, Kind.SHARE, Kind.RATIO, Kind.FIGURE})
_WORDS: Mapping[Kind, Callable[[Any], str]] = {
    Kind.PLACE: lambda place: " ".join(
        filter(None, (place.place, compact_name(place.function, LONG_NAME) if place.function else ""))
    ),
    Kind.COUNT: count,
    Kind.TIME: duration,
    Kind.BYTES: size,
    Kind.SHARE: percent,
    Kind.RATIO: ratio,
}


class Bar(NamedTuple):
    """A length drawn relative to `whole`, or to the largest bar of its column; `look` names its colour."""

    value: float
    look: str = ""
    whole: float = 0.0  # the length of a full bar; 0: the largest of the column


class Figure(str):
    """A figure in words. Tables sort it by the number `order`."""

    order: float

    def __new__(cls, words: str, order: float) -> Figure:
        figure = super().__new__(cls, words)
        figure.order = order
        return figure


def full_bar(bars: Iterable[Bar]) -> float:
    """Returns the length of a full bar in a column of bars."""
    return max((bar.whole or bar.value for bar in bars), default=0.0)


def words(kind: Kind, value: Any) -> str:
    """Returns a value in its form for people; empty for bars, which are drawn."""
    if value is None:
        return "-"
    return "" if kind.is_bar else visible(_WORDS.get(kind, str)(value))


@dataclass(frozen=True, slots=True)
class Column:
    """A column. `key` is its name in JSON and CSV, `title` its heading for people.

    JSON and CSV omit a column without a key; reports for people omit a column without a title, except bars.

    `of` gets the value from a row's object: a function, or a path of attributes (default: the key). A
    Location and times of states become several fields with fixed names.
    """

    key: str
    title: str
    kind: Kind
    of: str | Callable[[Any], Any] = ""
    hint: str = ""  # explanation of the title
    look: str = ""  # colour of the title
    scaled: bool = False  # True if a bar of states is as long as its total
    kept: bool = False  # True if other columns give way to it when space is short
    parts: bool = False  # True if its times are parts of a sum, so tiny times need no digits

    def value(self, item: Any) -> Any:
        return self.of(item) if callable(self.of) else attrgetter(self.of or self.key)(item)


def column_words(column: Column, values: Sequence[Any]) -> list[str]:
    """Returns the values of a column as text. Times have the same unit if it can show all of them."""
    if column.kind is not Kind.TIME:
        return [words(column.kind, value) for value in values]
    known = [value for value in values if value]
    form = durations_alike(known, parts=column.parts)
    return ["-" if value is None else form(value) for value in values]


def data(key: str, of: str | Callable[[Any], Any] = "") -> Column:
    """Returns a column for programs only."""
    return Column(key, "", Kind.DATA, of)


def fields(names: str) -> tuple[Column, ...]:
    """Returns columns for programs only: `name` is an attribute, `name=path.of.attributes` a path."""
    return tuple(data(key, of) for key, _, of in (name.partition("=") for name in names.split()))


@dataclass(frozen=True, slots=True)
class Table:
    """Rows with a value for each column."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Any, ...], ...]
    word: str = "row"  # noun for a row
    more: str = "--json"  # where to find the omitted rows
    most: int = 15  # rows shown on a terminal
    notes: tuple[str, ...] = ()  # lines below the table

    @classmethod
    def of(cls, title: str, columns: Iterable[Column], items: Iterable[Any], **fields: Any) -> Table:
        """Returns the table with a row for each item."""
        columns = tuple(columns)
        return cls(title, columns, tuple(tuple(c.value(item) for c in columns) for item in items), **fields)


@dataclass(frozen=True, slots=True)
class Advice:
    """A finding: its title, place, reason in numbers, and cure."""

    title: str
    because: str
    cure: str = ""
    place: str = ""
    also: str = ""
    good: bool = False
    gain: str = ""  # the change that cures it, and its predicted gain


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a report. `key` is its anchor on the page, and names its figures."""

    key: str
    title: str
    parts: tuple[str | Advice | Table, ...]
    drawn: bool = False  # True if a figure replaces its tables on the page
    most_lines: int = 0  # of findings on a terminal: later ones are shortened or omitted; 0: no limit
    more: str = ""  # where to find the omitted findings


@dataclass(frozen=True, slots=True)
class Report:
    """The content of a report."""

    title: str
    facts: tuple[str, ...]  # shown in a line below the title
    sections: tuple[Section, ...]
    warning: str = ""
    verdict: str = ""  # one sentence
    commands: tuple[tuple[str, str], ...] = ()  # next commands, each with its purpose
    notes: tuple[str, ...] = ()
    values: Mapping[str, Any] = dataclass_field(default_factory=dict)  # for programs; Table: list of rows


_WORD: Final = re.compile(r"[a-z][a-z'-]*[,:]?(?= |$)")


def sentence(text: str) -> str:
    """Returns the words of a finding as a sentence; empty without words.

    A name at the start, such as a file or a function, keeps its case.
    """
    if not text:
        return ""
    return f"{text[0].upper() if _WORD.match(text) else text[0]}{text[1:]}."


def sentences(texts: Iterable[str]) -> tuple[str, ...]:
    """Returns each text as a sentence, whether or not it ends with a period."""
    return tuple(sentence(text.rstrip(".")) for text in texts)


def place_fields(location: Location) -> dict[str, Any]:
    """Returns the location of a construct, for programs; None for unknown fields."""
    return {
        name: getattr(location, name) or None for name in ("file", "line", "function", "module", "offset")
    }


def state_fields(states: Any, names: Sequence[str] = STATES) -> dict[str, Any]:
    """Returns the times of the states (StateTimes, MeanStates), for programs."""
    return {f"{state}_ns": getattr(states, f"{state}_ns") for state in names}


def plain(value: Any) -> Any:
    """Returns a report, table or any part as plain JSON values."""
    if isinstance(value, Report):
        return plain(value.values)
    if isinstance(value, Table):
        return [_record(value.columns, row) for row in value.rows]
    if isinstance(value, Mapping):
        return {key: plain(part) for key, part in value.items()}
    return [plain(part) for part in value] if isinstance(value, (list, tuple)) else value


def _record(columns: Iterable[Column], row: Iterable[Any]) -> dict[str, Any]:
    record: dict[str, Any] = {}
    for column, value in zip(columns, row, strict=True):
        if not column.key:
            continue
        if column.kind is Kind.PLACE:
            record |= place_fields(value)
        elif column.kind is Kind.STATES:
            record |= state_fields(value)
        else:
            record[column.key] = plain(value)
    return record


def csv_report(reports: Sequence[Report], field: str = "") -> str:
    """Returns CSV: the directory of each report, and the rows of a field (default: one row per report)."""
    rows = []
    for report in reports:
        values = report.values
        records = plain(values[field]) if field else [plain(values)]
        rows += [{"directory": values["directory"], **row} for row in records]
    return csv_rows(rows, ("directory",))


def csv_rows(rows: Sequence[Mapping[str, Any]], first: Iterable[str] = ()) -> str:
    """Returns rows as CSV below a heading: the keys in `first`, then all others. Missing values are empty."""
    flat_rows = [dict(_flat(row)) for row in rows]
    columns = dict.fromkeys(first)
    for row in flat_rows:
        columns.update(dict.fromkeys(row))
    out = io.StringIO()
    writer = csv.DictWriter(out, fieldnames=list(columns), lineterminator="\n")
    writer.writerow({name: csv_cell(name) for name in columns})
    writer.writerows({name: csv_cell(value) for name, value in row.items()} for row in flat_rows)
    return out.getvalue()


def _flat(row: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, Any]]:
    """Yields keys and values; nested objects become columns such as counters.PAPI_L3_TCM."""
    for key, value in row.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        elif not isinstance(value, list):
            yield f"{prefix}{key}", value
