# SPDX-License-Identifier: Apache-2.0
"""The location of a construct or instruction in the source, its forms for people, and the source lines."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final, NamedTuple

from ompass.symbols.names import compact_name


@dataclass(frozen=True, slots=True)
class Location:
    """The known location of a construct in the source."""

    function: str  # demangled; empty if unknown
    file: str  # absolute, as compiled; empty if unknown
    line: int  # 0 if unknown
    inlined_into: tuple[str, ...] = ()  # functions into which the code was inlined, innermost first
    module: str = ""  # path of the executable or library; empty if unknown
    offset: int = 0

    @property
    def place(self) -> str:
        """`fib.c:12`; `fib.c+0x1234` without a line; `fib+0x1234` or `fib` without a file; else `?`."""
        if self.line:
            return f"{PurePosixPath(self.file).name}:{self.line}"
        known = self.file or self.module
        address = f"+{self.offset:#x}" if self.offset else ""
        return f"{PurePosixPath(known).name}{address}" if known else "?"

    def label(self) -> str:
        """Returns `fib.c:12 (fib)`, or its known parts."""
        return f"{self.place} ({compact_name(self.function, 60)})" if self.function else self.place

    def is_named(self, text: str) -> bool:
        """True if `text` names this location: file:line with or without directories, or a function."""
        bare = self.function.partition("(")[0].rpartition("::")[2]
        return bool(text) and text in (self.place, f"{self.file}:{self.line}", self.function, bare)


UNKNOWN = Location("", "", 0)


class BlockingCall(NamedTuple):
    """A call that may put a thread to sleep."""

    address: int  # ELF virtual address of the call
    name: str  # of the called function
    kind: str  # SLEEP, WAIT, LOCK, DISK or IO


_LARGEST_BYTES: Final = 8 << 20


class SourceFiles:
    """The lines of source files. Missing files, and files that are too large, have none."""

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
