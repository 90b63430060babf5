# SPDX-License-Identifier: Apache-2.0
"""Excerpts of the source around constructs, located by the program's debug information.

As HTML, each line has its cost in the margin: samples, tasks, work, creation, waits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from types import MappingProxyType
from typing import Any, Final

from ompass.model import share
from ompass.page.markup import Markup, element
from ompass.plain_text import visible
from ompass.reports.content import ReportContent
from ompass.samples.metrics import samples_by_line
from ompass.symbols.location import SourceFiles
from ompass.symbols.resolver import Location
from ompass.units import count, percent, plural

_AROUND: Final = 4  # lines before and after
_MOST_BEHIND: Final = 40  # an excerpt extends to the last sampled line within this distance
_MOST_HOT: Final = 24  # hottest lines in the section Source
_LONGEST_LINE: Final = 160


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Lines `first`, `first` + 1, ... of a file; `line` is the number of the construct's line."""

    first: int
    line: int
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LineCost:
    """The cost of a line, as shares of the thread-time, and the number of tasks that it creates."""

    work: float = 0.0  # of its tasks
    create: float = 0.0
    wait: float = 0.0
    n_tasks: int = 0
    wait_kinds: tuple[str, ...] = ()

    @property
    def whole(self) -> float:
        return self.work + self.create + self.wait

    def __add__(self, other: LineCost) -> LineCost:
        return LineCost(
            self.work + other.work,
            self.create + other.create,
            self.wait + other.wait,
            self.n_tasks + other.n_tasks,
            tuple(dict.fromkeys((*self.wait_kinds, *other.wait_kinds))),
        )


_FREE: Final = LineCost()


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A line to show; `part` is its number of samples, relative to the hottest line."""

    number: int
    text: str
    samples: int
    part: float
    cost: LineCost
    is_marked: bool


def numbered_lines(
    excerpt: Excerpt, heat: Mapping[int, int], most: int = 0, costs: Mapping[int, LineCost] | None = None
) -> list[SourceLine]:
    """Returns the lines of an excerpt; `most`: samples on the hottest line (default: of the excerpt)."""
    most = most or max(heat.values(), default=0)
    costs = costs or {}
    return [
        SourceLine(
            line,
            text,
            heat.get(line, 0),
            share(heat.get(line, 0), most),
            costs.get(line, _FREE),
            line == excerpt.line,
        )
        for line, text in enumerate(excerpt.lines, excerpt.first)
    ]


class Sources:
    """The lines of source files. Uses the lines in `kept`, by file and number; reads all other files.

    Files that are missing or too large have no excerpts.
    """

    def __init__(self, kept: Mapping[str, Mapping[int, str]] = MappingProxyType({})) -> None:
        self._kept = kept
        self._files = SourceFiles()

    def around(self, location: Location, last: int = 0) -> Excerpt | None:
        """Returns the lines around a construct, and around `last` if it is given."""
        if not location.file or not location.line:
            return None
        first = max(location.line - _AROUND, 1)
        lines = self._lines(location.file, first, max(last, location.line) + _AROUND)
        return Excerpt(first, location.line, lines) if location.line < first + len(lines) else None

    def lines(self, file: str, first: int, last: int) -> Excerpt | None:
        """Returns the lines `first` to `last` of a file, without a marked line; None if they are unknown."""
        found = self._lines(file, max(first, 1), last)
        return Excerpt(max(first, 1), 0, found) if found else None

    def _lines(self, name: str, first: int, last: int) -> tuple[str, ...]:
        """Returns the lines from `first` to `last`, up to the first line that is unknown or missing."""
        if kept := self._kept.get(name):
            numbers = takewhile(kept.__contains__, range(first, last + 1))
            return tuple(kept[number][:_LONGEST_LINE] for number in numbers)
        return tuple(line[:_LONGEST_LINE] for line in self._files.lines(name)[first - 1 : last])


class Excerpts:
    """The excerpts of one run, with the number of samples on each line."""

    def __init__(self, content: ReportContent) -> None:
        self._content = content
        self._sources = Sources(content.source_lines)
        self.heat = samples_by_line(content.samples.samples) if content.samples else {}

    def around(self, location: Location) -> Excerpt | None:
        """Returns the lines around a location, including sampled lines after it."""
        near = range(location.line, location.line + _MOST_BEHIND)
        hot = [line for line in near if self.heat.get((location.file, line))]
        return self._sources.around(location, max(hot, default=0))

    def heat_of(self, file: str, excerpt: Excerpt) -> dict[int, int]:
        """Returns the samples of an excerpt of `file`, by line."""
        lines = range(excerpt.first, excerpt.first + len(excerpt.lines))
        return {line: n for line in lines if (n := self.heat.get((file, line), 0))}

    def hottest(self) -> Iterator[tuple[str, list[list[SourceLine]]]]:
        """Yields files, hottest first, with the lines around their hottest lines (by samples or time)."""
        costs = self._costs()
        total = sum(self.heat.values())
        hot = {place: share(n, total) for place, n in self.heat.items()}
        weights = {place: max(hot.get(place, 0.0), cost.whole) for place, cost in costs.items()} | {
            place: part for place, part in hot.items() if place not in costs
        }
        chosen = sorted(weights, key=lambda place: (-weights[place], place))[:_MOST_HOT]
        most = max(self.heat.values(), default=0)
        for file in dict.fromkeys(file for file, _ in chosen):
            ranges = []
            for first, last in _joined(sorted(line for each, line in chosen if each == file)):
                if excerpt := self._sources.lines(file, first, last):
                    numbers = range(excerpt.first, excerpt.first + len(excerpt.lines))
                    heat = {line: self.heat.get((file, line), 0) for line in numbers}
                    own = {line: costs[file, line] for line in numbers if (file, line) in costs}
                    ranges.append(numbered_lines(excerpt, heat, most, own))
            if ranges:
                yield visible(file), ranges

    def _costs(self) -> dict[tuple[str, int], LineCost]:
        """Returns the cost of each line with tasks or waits."""
        content = self._content
        whole = content.breakdown.states.total_ns
        found: list[tuple[int, LineCost]] = [
            (
                task.construct,
                LineCost(share(task.work_ns, whole), share(task.create_ns, whole), 0.0, task.n_created),
            )
            for task in content.tasks
        ]
        found += [
            (wait.construct, LineCost(wait=share(wait.wait_ns, whole), wait_kinds=(wait.kind,)))
            for wait in content.waits
        ]
        costs: dict[tuple[str, int], LineCost] = {}
        for construct, cost in found:
            location = content.location(construct)
            if location.file and location.line:
                place = (location.file, location.line)
                costs[place] = costs.get(place, _FREE) + cost
        return costs

    def of(self, construct: int) -> dict[str, Any] | None:
        """Returns the excerpt in the form of page/client/chosen.js; None if there is none."""
        location = self._content.location(construct)
        excerpt = self.around(location)
        if excerpt is None:
            return None
        return {
            "file": visible(location.file),
            "first": excerpt.first,
            "line": excerpt.line,
            "lines": [visible(line) for line in excerpt.lines],
            "heat": self.heat_of(location.file, excerpt),
        }


def _joined(lines: Iterable[int]) -> list[tuple[int, int]]:
    """Returns ranges around lines, with adjacent ranges merged."""
    ranges: list[tuple[int, int]] = []
    for line in lines:
        first, last = max(line - _AROUND, 1), line + _AROUND
        if ranges and first <= ranges[-1][1] + 1:
            ranges[-1] = (ranges[-1][0], last)
        else:
            ranges.append((first, last))
    return ranges


_MARGIN: Final = (
    ("tasks", "tasks created by the line"),
    ("work", "work of these tasks, as a share of the thread-time"),
    ("create", "creation of these tasks, as a share of the thread-time"),
    ("wait", "waits at the line, as a share of the thread-time"),
)


def source_lines(lines: Sequence[SourceLine]) -> Markup:
    """Returns lines with their numbers, bars for their samples, and columns for their costs, if any."""
    with_costs = any(line.cost.whole or line.cost.n_tasks for line in lines)
    rows = [_row(line, with_costs) for line in lines]
    head = [_head()] if with_costs else []
    return element("pre", *head, *rows, class_="source", tabindex="0", aria_label="source lines")


def _head() -> Markup:
    titles = [element("span", name, class_="cost", title=hint) for name, hint in _MARGIN]
    samples = element("span", "samples", class_="samples")
    return element("span", samples, *titles, class_="line head")


def _row(line: SourceLine, with_costs: bool) -> Markup:
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
