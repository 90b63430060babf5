# SPDX-License-Identifier: Apache-2.0
"""Looks up addresses of programs compiled with -gsplit-dwarf.

Such a program contains a *skeleton* of each compilation unit, with its lines. The unit's functions are in a
.dwo file next to the object file, or in a .dwp file for the whole program. Owns the search for these files.
Without them, lines are known, but inlined functions are not.
"""

from __future__ import annotations

import bisect
import functools
import posixpath
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Final

from elftools.common.exceptions import DWARFError, ELFError
from elftools.elf.elffile import ELFFile

from ompass.symbols.names import readable_name
from ompass.symbols.split_units import (
    CALL_FILE,
    CALL_LINE,
    DECL_FILE,
    DECL_LINE,
    Bytes,
    DamagedUnitError,
    Sections,
    SplitUnit,
    range_list,
    range_list_of_version_4,
    units_in,
)
from ompass.units import plural

Place = tuple[str, str, int]
"""Symbol, file and line of a frame; empty and 0 if unknown."""

_UNREADABLE: Final = (ELFError, DWARFError, DamagedUnitError, OSError, ValueError, KeyError, AttributeError,
                      IndexError, AssertionError)  # fmt: skip
_LARGEST_BYTES: Final = 64 << 20  # of a .dwo file's units: Python reads some MB per second


def split_dwarf(path: Path) -> SplitDwarf | None:
    """Returns the reader of a program or library; None if its debug information is damaged or not split."""
    try:
        found = _opened(path, path.stat().st_mtime_ns)
    except _UNREADABLE:
        return None
    return found if found.skeletons else None


@functools.lru_cache(maxsize=4)
def _opened(path: Path, _changed_ns: int) -> SplitDwarf:
    return SplitDwarf(path)


@dataclass(frozen=True, slots=True)
class Skeleton:
    """One compilation unit in the program itself."""

    unit: Any  # of pyelftools
    version: int
    folder: str  # the working directory of the compiler
    file: str  # the name of its .dwo file
    dwo_id: int
    base: int  # DW_AT_low_pc, to which its ranges are relative
    addresses_at: int  # offset of its part of .debug_addr
    ranges_at: int  # offset of its part of .debug_ranges (DWARF 4)
    ranges: tuple[tuple[int, int], ...]


class SplitDwarf:
    """The split debug information of one file. Not thread-safe; reads units when they are needed.

    `problem` is a sentence on the first needed unit that is missing; empty if there is none.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.problem = ""
        with path.open("rb") as stream:
            elf = ELFFile(stream)
            self.skeletons: tuple[Skeleton, ...] = ()
            if elf.get_section_by_name(".debug_addr") is None:  # every skeleton needs this section
                return
            self._little = elf.little_endian
            self._address_size = elf.elfclass // 8
            self._sections = {
                name: _section(elf, name) for name in (".debug_addr", ".debug_ranges", ".debug_rnglists")
            }
            self._dwarf = elf.get_dwarf_info()
            self.skeletons = tuple(self._skeletons())
        self._covered = sorted(
            ((low, high, s) for s in self.skeletons for low, high in s.ranges), key=lambda part: part[:2]
        )
        self._starts = [low for low, _, _ in self._covered]
        self._units: dict[int, SplitUnit | None] = {}
        self._lines: dict[int, _Lines] = {}

    # ------------------------------------------------------------ answers

    def frames(self, address: int) -> tuple[Place, ...]:
        """Returns the frames of an address, inlined ones first; empty if no skeleton covers it."""
        skeleton = self._covering(address)
        if skeleton is None:
            return ()
        lines = self._lines_of(skeleton)
        own = place = lines.at(address)
        unit = self._unit_of(skeleton)
        frames = []
        try:
            for function in reversed(unit.chain(address) if unit else []):
                assert unit is not None
                frames.append((unit.name(function), *place))
                place = (lines.file(function.value(CALL_FILE)), function.value(CALL_LINE))
        except _UNREADABLE:
            self._without_unit(skeleton)
            frames = []
        return tuple(frames) or (("", *own),)

    def function_around(self, address: int, file: str, line: int) -> str:
        """Returns the last function that is declared in `file` at or before `line`; empty if unknown."""
        skeleton = self._covering(address)
        unit = self._unit_of(skeleton) if skeleton else None
        if skeleton is None or unit is None:
            return ""
        try:
            return _last_declared(unit, self._lines_of(skeleton), PurePosixPath(file).name, line)
        except _UNREADABLE:
            self._without_unit(skeleton)
            return ""

    # ------------------------------------------------------------ skeletons

    def _skeletons(self) -> Iterator[Skeleton]:
        for unit in self._dwarf.iter_CUs():
            attributes = unit.get_top_DIE().attributes
            name = attributes.get("DW_AT_dwo_name") or attributes.get("DW_AT_GNU_dwo_name")
            if name is None:
                continue
            version = unit["version"]
            folder = attributes.get("DW_AT_comp_dir")
            low = attributes.get("DW_AT_low_pc")
            dwo_id = unit["dwo_id"] if version >= 5 else attributes["DW_AT_GNU_dwo_id"].value
            addresses, ranges = (
                attributes[key].value if key in attributes else 0
                for key in (
                    "DW_AT_addr_base" if version >= 5 else "DW_AT_GNU_addr_base",
                    "DW_AT_GNU_ranges_base",
                )
            )
            base = low.value if low else 0
            yield Skeleton(
                unit,
                version,
                folder.value.decode(errors="replace") if folder else "",
                name.value.decode(errors="replace"),
                dwo_id,
                base,
                addresses,
                ranges,
                tuple(self._ranges_of(attributes, version, base, addresses)),
            )

    def _ranges_of(
        self, attributes: Any, version: int, base: int, addresses_at: int
    ) -> Iterator[tuple[int, int]]:
        high, ranges = attributes.get("DW_AT_high_pc"), attributes.get("DW_AT_ranges")
        if high is not None:
            yield base, high.value if high.form == "DW_FORM_addr" else base + high.value
        elif ranges is not None and version >= 5:
            reader = self._reader(".debug_rnglists", ranges.value)
            yield from range_list(
                reader, self._address_size, functools.partial(self._address, addresses_at), base
            )
        elif ranges is not None:
            yield from range_list_of_version_4(
                self._reader(".debug_ranges", ranges.value), self._address_size, base
            )

    def _reader(self, section: str, at: int) -> Bytes:
        return Bytes(self._sections[section], at, self._little)

    def _address(self, addresses_at: int, index: int) -> int:
        at = addresses_at + index * self._address_size
        return self._reader(".debug_addr", at).number(self._address_size)

    def _covering(self, address: int) -> Skeleton | None:
        k = bisect.bisect_right(self._starts, address) - 1
        return self._covered[k][2] if k >= 0 and address < self._covered[k][1] else None

    def _lines_of(self, skeleton: Skeleton) -> _Lines:
        at = skeleton.unit.cu_offset
        if at not in self._lines:
            try:
                self._lines[at] = _Lines(self._dwarf.line_program_for_CU(skeleton.unit), skeleton.folder)
            except _UNREADABLE:
                self._lines[at] = _Lines(None, skeleton.folder)
        return self._lines[at]

    # ------------------------------------------------------------ .dwo and .dwp files

    def _unit_of(self, skeleton: Skeleton) -> SplitUnit | None:
        at = skeleton.unit.cu_offset
        if at not in self._units:
            try:
                package = self._package
                sections = package.sections(skeleton.dwo_id) if package else None
                self._units[at] = self._parsed(sections, skeleton) if sections else self._dwo_of(skeleton)
            except _UNREADABLE:
                self._units[at] = None
            if self._units[at] is None:
                self._without_unit(skeleton)
        return self._units[at]

    def _without_unit(self, skeleton: Skeleton) -> None:
        """Remembers that a unit is missing, or cannot be read completely."""
        self._units[skeleton.unit.cu_offset] = None
        self.problem = self.problem or self._missing(skeleton)

    def _missing(self, skeleton: Skeleton) -> str:
        found = next((path for path in self._places_of(skeleton) if path.is_file()), None)
        n_gone = sum(not any(path.is_file() for path in self._places_of(s)) for s in self.skeletons)
        if found is not None:
            what = f"{found} is of another build or cannot be read"
        else:
            others = f" and {plural(n_gone - 1, 'other .dwo file')}" if n_gone > 1 else ""
            what = f"{Path(skeleton.folder, skeleton.file)}{others} {'are' if others else 'is'} missing"
        return (
            f"{what}, so inlined functions of {self._path.name} are unknown: keep the .dwo files, or pack "
            f"them into {self._path.name}.dwp"
        )

    def _dwo_of(self, skeleton: Skeleton) -> SplitUnit | None:
        """Returns the unit from its .dwo file; None if the file is missing, or of another build."""
        for path in self._places_of(skeleton):
            try:
                with path.open("rb") as stream:
                    elf = ELFFile(stream)
                    parts = {name: _section(elf, f".debug_{name}.dwo") for name in _PARTS}
            except _UNREADABLE:
                continue
            if len(parts["info"]) > _LARGEST_BYTES:
                continue
            for info in units_in(parts["info"], self._little):
                unit = self._parsed(_sections_of({**parts, "info": info}, self._little), skeleton)
                if unit.dwo_id == skeleton.dwo_id:
                    return unit
        return None

    def _places_of(self, skeleton: Skeleton) -> Iterator[Path]:
        """Yields the path where the compiler wrote the .dwo file, then paths in the program's folder."""
        yield Path(skeleton.folder, skeleton.file)
        folder = self._path.resolve().parent
        yield folder / PurePosixPath(skeleton.file).name
        if not PurePosixPath(skeleton.file).is_absolute():
            yield folder / skeleton.file

    def _parsed(self, sections: Sections, skeleton: Skeleton) -> SplitUnit:
        def ranges(at: int) -> tuple[tuple[int, int], ...]:
            reader = self._reader(".debug_ranges", skeleton.ranges_at + at)
            return tuple(range_list_of_version_4(reader, self._address_size, skeleton.base))

        addresses = functools.partial(self._address, skeleton.addresses_at)
        return SplitUnit(sections, addresses, ranges, skeleton.base)

    @functools.cached_property
    def _package(self) -> _Package | None:
        real = self._path.resolve()
        for path in (real.with_name(f"{real.name}.dwp"), real.with_suffix(".dwp")):
            try:
                return _Package(path, self._little)
            except _UNREADABLE:
                continue
        return None


_PARTS: Final = ("info", "abbrev", "str", "str_offsets", "rnglists")


def _sections_of(parts: dict[str, bytes], little: bool) -> Sections:
    info, abbreviations, strings, string_offsets, range_lists = (parts[name] for name in _PARTS)
    return Sections(info, abbreviations, strings, string_offsets, range_lists, little)


def _section(elf: ELFFile, name: str) -> bytes:
    section = elf.get_section_by_name(name)
    return section.data() if section is not None else b""


class _Package:
    """A .dwp file: the .dwo files of a program, with an index of their parts by id."""

    _COLUMNS: Final = {1: "info", 3: "abbrev", 6: "str_offsets"}

    def __init__(self, path: Path, little: bool) -> None:
        with path.open("rb") as stream:
            elf = ELFFile(stream)
            self._data = {name: _section(elf, f".debug_{name}.dwo") for name in _PARTS}
            index = Bytes(_section(elf, ".debug_cu_index"), 0, little)
        self._little = little
        version = index.number(4) & 0xFFFF
        n_columns, n_units, n_slots = (index.number(4) for _ in range(3))
        ids = [index.number(8) for _ in range(n_slots)]
        rows = [index.number(4) for _ in range(n_slots)]
        columns = [index.number(4) for _ in range(n_columns)]
        tables = [[[index.number(4) for _ in columns] for _ in range(n_units)] for _ in ("offset", "size")]
        names = self._COLUMNS | ({8: "rnglists"} if version >= 5 else {})
        self._parts = {
            dwo_id: {
                names[column]: (tables[0][row - 1][k], tables[1][row - 1][k])
                for k, column in enumerate(columns)
                if column in names
            }
            for dwo_id, row in zip(ids, rows, strict=True)
            if row
        }

    def sections(self, dwo_id: int) -> Sections | None:
        """Returns the sections of one unit; None if the file lacks it."""
        if dwo_id not in self._parts:
            return None
        parts = dict(self._data)
        for name, (offset, size) in self._parts[dwo_id].items():
            parts[name] = self._data[name][offset : offset + size]
        parts["info"] = next(units_in(parts["info"], self._little), b"")
        return _sections_of(parts, self._little)


def _last_declared(unit: SplitUnit, lines: _Lines, file: str, line: int) -> str:
    """Returns the last function of a unit that is declared in `file` at or before `line`."""
    best_line, best = 0, ""
    for function in unit.every:
        declared = function.value(DECL_LINE)
        if function.is_inlined or not best_line < declared <= line:
            continue
        found = readable_name(unit.name(function))
        if found and PurePosixPath(lines.file(function.value(DECL_FILE))).name == file:
            best_line, best = declared, found
    return best


class _Lines:
    """The line table of one compilation unit."""

    def __init__(self, program: Any, folder: str) -> None:
        self._program, self._folder = program, folder
        self._first = 0 if program is not None and program["version"] >= 5 else 1
        rows = []
        for entry in program.get_entries() if program is not None else ():
            state = entry.state
            if state is not None:
                rows.append((state.address, not state.end_sequence, state.file, state.line))
        # At one address, the end of a sequence comes before the start of the next one.
        self._rows = sorted(rows, key=lambda row: row[:2])
        self._starts = [row[0] for row in self._rows]

    def at(self, address: int) -> tuple[str, int]:
        """Returns the file and line of an address; empty and 0 if unknown."""
        k = bisect.bisect_right(self._starts, address) - 1
        if k < 0 or not self._rows[k][1]:
            return "", 0
        _, _, file, line = self._rows[k]
        return self.file(file), line

    def file(self, number: int) -> str:
        """Returns the path of a file by its number; empty if it is unknown."""
        entries = self._program["file_entry"] if self._program is not None else []
        if not 0 <= number - self._first < len(entries):
            return ""
        entry = entries[number - self._first]
        folders = self._program["include_directory"]
        # Before DWARF 5, folder 0 is the compiler's working directory, which the list lacks.
        index = entry.dir_index - self._first
        folder = folders[index].decode(errors="replace") if 0 <= index < len(folders) else ""
        return posixpath.normpath(
            PurePosixPath(self._folder, folder, entry.name.decode(errors="replace")).as_posix()
        )
