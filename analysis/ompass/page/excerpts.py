# SPDX-License-Identifier: Apache-2.0
"""Lines of source around a construct, read where the program's debug information says that they are."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ompass.symbols.resolver import Location

_AROUND: Final = 4  # lines before and after
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

    def around(self, location: Location) -> Excerpt | None:
        if not location.file or not location.line:
            return None
        lines = self._lines(location.file)
        if location.line > len(lines):
            return None
        first = max(location.line - _AROUND, 1)
        shown = lines[first - 1 : location.line + _AROUND]
        return Excerpt(first, location.line, tuple(line[:_LONGEST_LINE] for line in shown))

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
