# SPDX-License-Identifier: Apache-2.0
"""Reads source files, each once."""

from __future__ import annotations

from pathlib import Path
from typing import Final

_LARGEST_BYTES: Final = 8 << 20


class SourceFiles:
    """The lines of source files. Missing and too large files have none."""

    def __init__(self) -> None:
        self._files: dict[str, tuple[str, ...]] = {}

    def lines(self, name: str, before_ns: int = 0) -> tuple[str, ...]:
        """Returns the lines of a file, with spaces for tabs; empty if it was modified after `before_ns`."""
        if name not in self._files:
            path = Path(name)
            lines: tuple[str, ...] = ()
            try:
                status = path.stat()
                is_late = bool(before_ns) and status.st_mtime_ns > before_ns
                if path.is_file() and status.st_size <= _LARGEST_BYTES and not is_late:
                    lines = tuple(
                        path.read_text(encoding="utf-8", errors="replace").expandtabs(4).splitlines()
                    )
            except (OSError, ValueError):
                pass  # treats an unreadable file as missing: reports still name the place
            self._files[name] = lines
        return self._files[name]
