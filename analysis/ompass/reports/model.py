# SPDX-License-Identifier: Apache-2.0
"""The one form that every report has, whatever shows it: sections of sentences, findings and tables.

A report is computed once (content.py and report.py of each kind); terminal, page, JSON and CSV only write
down what is here. Owns the kinds of values, and how each is written for people and for programs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from enum import Enum, auto
from operator import attrgetter
from typing import Any, NamedTuple

from ompass.plain_text import visible
from ompass.symbols.names import compact_name
from ompass.symbols.resolver import Location
from ompass.units import count, duration, percent, size

STATES = ("work", "create", "schedule", "sync", "idle")

LONG_NAME = 40  # characters of a function name before template arguments are left out


class Kind(Enum):
    """What a value is; None stands for an unknown one of any kind."""

    TEXT = auto()
    NAME = auto()  # that a program gave
    PLACE = auto()  # a Location
    STATE = auto()  # one of STATES
    COUNT = auto()
    TIME = auto()  # nanoseconds
    BYTES = auto()
    SHARE = auto()  # 0 to 1
    RATIO = auto()  # two decimals
    FACTOR = auto()  # three decimals
    FIGURE = auto()  # in words already
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
    def is_name(self) -> bool:
        """Long text, which may take several lines and never gives way to figures."""
        return self in (Kind.NAME, Kind.PLACE)


_NUMBERS = frozenset({Kind.COUNT, Kind.TIME, Kind.BYTES, Kind.SHARE, Kind.RATIO, Kind.FACTOR, Kind.FIGURE})
_WORDS: Mapping[Kind, Callable[[Any], str]] = {
    Kind.PLACE: lambda place: " ".join(
        filter(None, (place.place, compact_name(place.function, LONG_NAME) if place.function else ""))
    ),
    Kind.COUNT: count,
    Kind.TIME: duration,
    Kind.BYTES: size,
    Kind.SHARE: percent,
    Kind.RATIO: "{:.2f}".format,
    Kind.FACTOR: "{:.3f}".format,
}


class Bar(NamedTuple):
    """A length that is drawn against the largest of its column; `look` names its colour."""

    value: float
    look: str = ""


def words(kind: Kind, value: Any) -> str:
    """Returns a value as people read it, as wide as it looks; bars are drawn instead."""
    if value is None:
        return "-"
    return "" if kind.is_bar else visible(_WORDS.get(kind, str)(value))


@dataclass(frozen=True, slots=True)
class Column:
    """One column: `key` names it in JSON and CSV, `title` for people; an empty one leaves it out there.

    `of` takes the value from a row's object: a function, or a path of attributes (empty: the key).
    A Location and times of states become several fields, which have names of their own.
    """

    key: str
    title: str
    kind: Kind
    of: str | Callable[[Any], Any] = ""
    hint: str = ""  # what it means, where the title does not say it all
    look: str = ""  # the colour of its title
    scaled: bool = False  # of bars of states: as long as the total says

    def value(self, item: Any) -> Any:
        return self.of(item) if callable(self.of) else attrgetter(self.of or self.key)(item)


def data(key: str, of: str | Callable[[Any], Any] = "") -> Column:
    """Returns a column for programs alone."""
    return Column(key, "", Kind.DATA, of)


def fields(names: str) -> tuple[Column, ...]:
    """Columns for programs alone: `name`, the attribute of that name; or `name=path.of.attributes`."""
    return tuple(data(key, of) for key, _, of in (name.partition("=") for name in names.split()))


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of values, one for each column."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Any, ...], ...]
    word: str = "row"  # what a row is
    more: str = "--json"  # where the rows are that are not shown
    most: int = 15  # rows on a terminal
    notes: tuple[str, ...] = ()  # below it

    @classmethod
    def of(cls, title: str, columns: Iterable[Column], items: Iterable[Any], **fields: Any) -> Table:
        """Returns the table with a row for each item."""
        columns = tuple(columns)
        return cls(title, columns, tuple(tuple(c.value(item) for c in columns) for item in items), **fields)


@dataclass(frozen=True, slots=True)
class Advice:
    """Something found: what, where, the numbers that it rests on, and what to do."""

    title: str
    because: str
    cure: str = ""
    place: str = ""
    also: str = ""
    good: bool = False


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a report. `key` is its anchor on the page, and names the figures that belong to it."""

    key: str
    title: str
    parts: tuple[str | Advice | Table, ...]
    drawn: bool = False  # on the page, a figure stands for its tables


@dataclass(frozen=True, slots=True)
class Report:
    """All that a report says."""

    title: str
    facts: tuple[str, ...]  # a line of them below the title
    sections: tuple[Section, ...]
    warning: str = ""
    notes: tuple[str, ...] = ()
    values: Mapping[str, Any] = dataclass_field(
        default_factory=dict
    )  # for programs; tables stand for lists of rows


def sentence(text: str) -> str:
    """Returns the words of a finding as a sentence of their own."""
    return f"{text[:1].upper()}{text[1:]}."


def place_fields(location: Location) -> dict[str, Any]:
    """Where a construct stands, for programs; None for what is not known."""
    return {
        name: getattr(location, name) or None for name in ("file", "line", "function", "module", "offset")
    }


def state_fields(states: Any, prefix: str = "") -> dict[str, Any]:
    """Times of the states (StateTimes, MeanStates), for programs."""
    return {f"{prefix}{state}_ns": getattr(states, f"{state}_ns") for state in STATES}


def plain(value: Any) -> Any:
    """Returns a report, table or any part of one as plain values of JSON."""
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
