# SPDX-License-Identifier: Apache-2.0
"""Looks addresses up in one file: frames from DWARF, inlined ones first; names from the symbol table.

Owns the choice of backend (split_dwarf for split debug information, else the `symbolic` package, else
llvm-symbolizer or addr2line, else symbols only), and the choice of a line for code without a line.
"""

from __future__ import annotations

import functools
import itertools
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ompass.elf import FunctionTable, NotElfError, known_functions, read_facts, symbols_like
from ompass.system import answer_of

if TYPE_CHECKING:
    from ompass.symbols.split_dwarf import SplitDwarf

_LLVM_VERSIONS = range(30, 13, -1)
_FARTHEST_BYTES = 1024  # search this far back for the line of an instruction without a line
_LONGEST_BODY = 8192  # bytes of a construct's body to search for its first line
_LINES_BEFORE = 2  # code in a construct's body may have lines up to this far before the construct
FLANG_BODY: Final = "..omp_par"
"""Part of the names of the functions that flang makes of constructs."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One level of a (possibly inlined) call chain; `symbol` is as in the file, not demangled."""

    symbol: str
    file: str  # empty when unknown
    line: int  # 0 when unknown


class Lookup:
    """Returns frames of the addresses of one file, innermost first; empty if unknown.

    Addresses are ELF virtual addresses. Not thread-safe.
    """

    def __init__(self, path: Path, has_lines: bool) -> None:
        self._path = path
        self._split = split_dwarf_of(path) if has_lines else None
        self._native = _symbolic_lookup(path)
        if self._split is not None:
            self._native = _split_lookup(self._split, self._native)
        self._external = _external_tool() if has_lines else None
        self._table: FunctionTable | None = None

    def __call__(self, address: int) -> tuple[Frame, ...]:
        frames = self._native(address) if self._native else ()
        if any(frame.file for frame in frames):
            return frames
        if self._external:
            found = _ask_external(self._external, self._path, address)
            if any(frame.line for frame in found):
                return found
        if frames:
            return frames
        if self._table is None:
            self._table = known_functions(self._path)
        name = self._table.at(address)
        return (Frame(name, "", 0),) if name else ()

    @property
    def problem(self) -> str:
        """A sentence about missing split debug information (.dwo); empty if none is missing."""
        return self._split.problem if self._split else ""

    def of_sample(self, address: int) -> tuple[Frame, ...]:
        """Returns frames; code without a line gets the line of the preceding code in its function.

        Compilers give line 0 to instructions that several lines share. A sample usually points to the
        instruction after the slow one, so the preceding line is also the more likely one.
        """
        frames = self(address)
        if not frames or frames[0].line or not frames[0].file or not self._native:
            return frames
        symbols = [frame.symbol for frame in frames]
        for before in range(address - 1, max(address - _FARTHEST_BYTES, 0), -1):
            found = self._native(before)
            if not found or found[-1].symbol != symbols[-1]:
                break
            same = found[-len(frames) :]  # inner frames may differ
            if same[0].line and [frame.symbol for frame in same] == symbols:
                return (same[0], *frames[1:])
        return frames

    def of_call(self, address: int) -> tuple[Frame, ...]:
        """Returns frames; a call without a line in flang's body of a construct gets the construct's line."""
        frames = self(address)
        if not frames or any(frame.line for frame in frames):
            return frames
        return self._in_flang_body(frames, address)

    def of_body(self, address: int) -> tuple[Frame, ...]:
        """Returns the frames of the construct whose body begins at the address."""
        return self._in_flang_body(self(address), address)

    def _in_flang_body(self, frames: tuple[Frame, ...], address: int) -> tuple[Frame, ...]:
        """Returns the frames; if the address is in flang's body of a construct, with the construct's line.

        The construct has the smallest line from the address to the end of the body. The code that loads
        shared variables may have lines just before the construct, but each only once. A loop's line occurs
        again at the end of the loop.
        """
        runs = self._lines_of_body(frames, address)
        if not runs:
            return frames
        least = min(runs)
        line = next((line for line in range(least, least + _LINES_BEFORE + 1) if runs[line] > 1), least)
        return (*frames[:-1], replace(frames[-1], line=line))

    def lines_of_body(self, address: int) -> Sequence[int]:
        """Returns the lines of flang's body of a construct, in ascending order."""
        return sorted(self._lines_of_body(self(address), address))

    def _lines_of_body(self, frames: tuple[Frame, ...], address: int) -> Counter[int]:
        """Returns the number of code pieces with each line, from the address to the end of flang's body."""
        # Without the native lookup, each address would start a program.
        if not frames or FLANG_BODY not in frames[-1].symbol or not self._native:
            return Counter()
        lines = []
        for behind in range(address, address + _LONGEST_BODY):
            found = self._native(behind)
            if found and found[-1].symbol != frames[-1].symbol:
                break
            lines.append(found[-1].line if found else 0)
        runs = Counter(line for line, _ in itertools.groupby(lines) if line)
        # Omits lines up to the first line of the routine. Code for arrays whose bounds are arguments has that
        # line. Some code of inlined routines has no inlined frame; these routines usually come earlier.
        routine = self._first_line_of(frames[-1].symbol.partition(FLANG_BODY)[0])
        return Counter({line: n for line, n in runs.items() if line > routine}) or runs

    def _first_line_of(self, function: str) -> int:
        """Returns the line at which a function begins; 0 if unknown."""
        try:
            starts = symbols_like(self._path, function)
        except NotElfError:
            return 0
        start = next((start for start, name in starts.items() if name == function), 0)
        found = self._native(start) if self._native and start else ()
        return found[-1].line if found else 0


def split_dwarf_of(path: Path) -> SplitDwarf | None:
    """Returns the reader of split debug information; None if it is damaged or not split."""
    try:
        if not read_facts(path).has_address_table:  # every skeleton needs this table
            return None
    except NotElfError:
        return None
    from ompass.symbols.split_dwarf import split_dwarf  # slow to load, and seldom needed

    return split_dwarf(path)


_Look = Callable[[int], tuple[Frame, ...]]


def _split_lookup(split: SplitDwarf, symbols: _Look | None) -> _Look:
    """Returns a function that reads split debug information. `symbols` names the outermost function."""

    def look_up(address: int) -> tuple[Frame, ...]:
        frames = [Frame(*place) for place in split.frames(address)]
        known = symbols(address) if symbols else ()
        if not frames or not known:
            return tuple(frames) or known
        return (*frames[:-1], replace(frames[-1], symbol=known[-1].symbol or frames[-1].symbol))

    return look_up


def _symbolic_lookup(path: Path) -> _Look | None:
    try:
        from symbolic.debuginfo import Archive
    except (ImportError, OSError):
        return None
    try:
        objects = list(Archive.open(str(path)).iter_objects())
        cache = objects[0].make_symcache() if objects else None
    # symbolic raises a family of exceptions without a public common base
    except Exception:
        return None
    if cache is None:
        return None

    def look_up(address: int) -> tuple[Frame, ...]:
        return tuple(
            Frame(entry.symbol or "", entry.full_path or "", int(entry.line or 0))
            for entry in cache.lookup(address)
        )

    return look_up


@functools.cache
def _external_tool() -> tuple[str, ...] | None:
    """Returns the command line of an installed symbolizer that answers in addr2line's form."""
    for name in ("llvm-symbolizer", *(f"llvm-symbolizer-{version}" for version in _LLVM_VERSIONS)):
        if found := shutil.which(name):
            return (found, "--output-style=GNU", "--functions=linkage", "--inlines", "--no-demangle")
    if found := shutil.which("addr2line"):
        return (found, "-f", "-i")
    return None


def _ask_external(tool: Sequence[str], path: Path, address: int) -> tuple[Frame, ...]:
    return parse_addr2line(answer_of([*tool, "-e", str(path), hex(address)]) or "")


def parse_addr2line(answer: str) -> tuple[Frame, ...]:
    """Returns frames from pairs of lines: a function, then file:line, with ?? for unknown parts."""
    lines = [line.strip() for line in answer.splitlines() if line.strip()]
    frames = []
    for function, place in zip(lines[::2], lines[1::2], strict=False):
        file, _, number = place.partition(" (discriminator")[0].rpartition(":")
        known = number.isdigit() and not file.startswith("??")
        frames.append(
            Frame("" if function == "??" else function, file if known else "", int(number) if known else 0)
        )
    return tuple(frame for frame in frames if frame.symbol or frame.line)
