# SPDX-License-Identifier: Apache-2.0
"""Lines of source around a construct, read where the program's debug information says that they are.

With the heat of each line: how many samples fell on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ompass.metrics.samples import samples_by_line
from ompass.plain_text import visible
from ompass.reports.content import ReportContent
from ompass.symbols.resolver import Location

_AROUND: Final = 4  # lines before and after
_MOST_BEHIND: Final = 40  # lines behind a construct on which samples fell, and that are shown with it
_LARGEST_BYTES: Final = 8 << 20
_LONGEST_LINE: Final = 160


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Lines `first`, `first` + 1, ... of a file; `line` is the construct's."""

    first: int
    line: int
    lines: tuple[str, ...]


class Sources:
    """Reads each file once. Files that are gone, too large or not text have no excerpts."""

    def __init__(self) -> None:
        self._files: dict[str, tuple[str, ...]] = {}

    def around(self, location: Location, last: int = 0) -> Excerpt | None:
        """The lines around a construct; up to `last` and what is around that, if it is near."""
        if not location.file or not location.line:
            return None
        lines = self._lines(location.file)
        if location.line > len(lines):
            return None
        first = max(location.line - _AROUND, 1)
        last = max(last, location.line) + _AROUND
        return Excerpt(first, location.line, tuple(line[:_LONGEST_LINE] for line in lines[first - 1 : last]))

    def _lines(self, name: str) -> tuple[str, ...]:
        if name not in self._files:
            path = Path(name)
            lines: tuple[str, ...] = ()
            try:
                if path.is_file() and path.stat().st_size <= _LARGEST_BYTES:
                    lines = tuple(
                        path.read_text(encoding="utf-8", errors="replace").expandtabs(4).splitlines()
                    )
            except OSError:
                pass  # unreadable is the same as absent: the place is still named
            self._files[name] = lines
        return self._files[name]


class Excerpts:
    """The excerpts of one run, with the samples on each line."""

    def __init__(self, content: ReportContent, sources: Sources | None = None) -> None:
        self._content = content
        self._sources = sources or Sources()
        self.heat = samples_by_line(content.samples.samples) if content.samples else {}

    def around(self, construct: int) -> Excerpt | None:
        """The lines around a construct, up to the sampled ones behind it."""
        location = self._content.location(construct)
        near = range(location.line, location.line + _MOST_BEHIND)
        hot = [line for line in near if self.heat.get((location.file, line))]
        return self._sources.around(location, max(hot, default=0))

    def heat_of(self, construct: int, excerpt: Excerpt) -> dict[int, int]:
        """Samples by line of the excerpt."""
        file = self._content.location(construct).file
        lines = range(excerpt.first, excerpt.first + len(excerpt.lines))
        return {line: n for line in lines if (n := self.heat.get((file, line), 0))}

    def of(self, construct: int) -> dict[str, Any] | None:
        """The excerpt as page/client/chosen.js takes it; None when there is none."""
        excerpt = self.around(construct)
        if excerpt is None:
            return None
        return {
            "file": visible(self._content.location(construct).file),
            "first": excerpt.first,
            "line": excerpt.line,
            "lines": [visible(line) for line in excerpt.lines],
            "heat": self.heat_of(construct, excerpt),
        }
