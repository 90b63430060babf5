# SPDX-License-Identifier: Apache-2.0
"""Reads the functions of one compilation unit of split DWARF (-gsplit-dwarf), from a .dwo or .dwp file.

pyelftools cannot read such units: their strings and addresses are indices into tables of other sections.
Reads only the attributes of functions and inlined calls. Knows versions 4 (GNU) and 5 of DWARF.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

SUBPROGRAM: Final = 0x2E
INLINED: Final = 0x1D
NAME, LINKAGE_NAME, MIPS_LINKAGE_NAME = 0x03, 0x6E, 0x2007
LOW_PC, HIGH_PC, RANGES = 0x11, 0x12, 0x55
ABSTRACT_ORIGIN, SPECIFICATION = 0x31, 0x47
CALL_FILE, CALL_LINE, DECL_FILE, DECL_LINE = 0x58, 0x59, 0x3A, 0x3B
GNU_DWO_ID: Final = 0x2131
_WANTED: Final = frozenset(
    {
        NAME, LINKAGE_NAME, MIPS_LINKAGE_NAME, LOW_PC, HIGH_PC, RANGES, ABSTRACT_ORIGIN, SPECIFICATION,
        CALL_FILE, CALL_LINE, DECL_FILE, DECL_LINE, GNU_DWO_ID,
    }
)  # fmt: skip

_FIXED: Final = {
    0x05: 2, 0x06: 4, 0x07: 8, 0x0B: 1, 0x0C: 1, 0x11: 1, 0x12: 2, 0x13: 4, 0x14: 8, 0x19: 0, 0x1C: 4,
    0x1E: 16, 0x20: 8, 0x24: 8, 0x25: 1, 0x26: 2, 0x27: 3, 0x28: 4, 0x29: 1, 0x2A: 2, 0x2B: 3, 0x2C: 4,
}  # fmt: skip
"""Bytes of a value by its form."""
_OFFSETS: Final = frozenset({0x0E, 0x10, 0x17, 0x1D, 0x1F, 0x1F20, 0x1F21})
_ULEBS: Final = frozenset({0x0F, 0x15, 0x1A, 0x1B, 0x22, 0x23, 0x1F01, 0x1F02})
_BLOCKS: Final = {0x03: 2, 0x04: 4, 0x0A: 1}  # form -> bytes of the length; 0x09 and 0x18 have a ULEB
_ADDRESS, _STRING, _SIGNED, _INDIRECT, _CONSTANT = 0x01, 0x08, 0x0D, 0x16, 0x21
_STRING_INDICES: Final = frozenset({0x1A, 0x25, 0x26, 0x27, 0x28, 0x1F02})
_ADDRESS_INDICES: Final = frozenset({0x1B, 0x29, 0x2A, 0x2B, 0x2C, 0x1F01})
_LIST_INDEX: Final = 0x23


class DamagedUnitError(Exception):
    """The unit is not readable."""


class Bytes:
    """Reads numbers and strings of a section, from a position on."""

    def __init__(self, data: bytes, at: int = 0, little: bool = True) -> None:
        self.data, self.at, self._order = data, at, "little" if little else "big"

    def number(self, size: int) -> int:
        end = self.at + size
        if end > len(self.data):
            raise DamagedUnitError("the section ends early")
        value = int.from_bytes(self.data[self.at : end], self._order)  # type: ignore[arg-type]
        self.at = end
        return value

    def uleb(self) -> int:
        value = shift = 0
        while True:
            if self.at >= len(self.data):
                raise DamagedUnitError("the section ends early")
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def string(self) -> bytes:
        end = self.data.find(b"\0", self.at)
        text = self.data[self.at : end]
        self.at = end + 1
        return text


@dataclass(frozen=True, slots=True)
class Sections:
    """The sections of a unit in a .dwo file, or the unit's parts of a .dwp file's sections."""

    info: bytes
    abbreviations: bytes
    strings: bytes
    string_offsets: bytes
    range_lists: bytes
    little: bool = True


Addresses = Callable[[int], int]
"""Returns an address by its index in the program's .debug_addr."""


@dataclass(slots=True)
class Function:
    """A function, or an inlined copy of one, with the place of the inlined call."""

    offset: int
    is_inlined: bool
    attributes: dict[int, tuple[int, Any]]  # attribute -> form, value
    ranges: tuple[tuple[int, int], ...] = ()
    inner: list[Function] = field(default_factory=list)

    def covers(self, address: int) -> bool:
        return any(low <= address < high for low, high in self.ranges)

    def value(self, attribute: int) -> int:
        return int(self.attributes[attribute][1]) if attribute in self.attributes else 0


class SplitUnit:
    """The functions of one unit."""

    def __init__(
        self,
        sections: Sections,
        addresses: Addresses,
        ranges_at: Callable[[int], tuple[tuple[int, int], ...]],
        base: int,
    ) -> None:
        """Reads the unit. Raises DamagedUnitError.

        `ranges_at` reads the program's .debug_ranges (DWARF 4); `base` is the unit's DW_AT_low_pc.
        """
        self._sections, self._addresses, self._ranges_at, self._base = sections, addresses, ranges_at, base
        self._by_offset: dict[int, Function] = {}
        self.dwo_id = 0
        self.outer: list[Function] = []  # functions that are not inlined into others
        self.every: list[Function] = []
        try:
            self._read()
        except (struct.error, IndexError, KeyError, ValueError) as error:
            raise DamagedUnitError(str(error)) from error

    def chain(self, address: int) -> list[Function]:
        """Returns the functions that cover the address, outermost first."""
        found: list[Function] = []
        level = self.outer
        while inner := next((f for f in level if f.covers(address)), None):
            found.append(inner)
            level = inner.inner
        return found

    def name(self, function: Function) -> str:
        """Returns the symbol of a function, or else its name in the source; empty if it has none."""
        seen: set[int] = set()
        one: Function | None = function
        plain = ""
        while one is not None and one.offset not in seen:
            seen.add(one.offset)
            for attribute in (LINKAGE_NAME, MIPS_LINKAGE_NAME):
                if attribute in one.attributes:
                    return self._string(*one.attributes[attribute])
            if NAME in one.attributes:
                plain = plain or self._string(*one.attributes[NAME])
            one = self._origin(one)
        return plain

    def _origin(self, function: Function) -> Function | None:
        for attribute in (ABSTRACT_ORIGIN, SPECIFICATION):
            if attribute in function.attributes:
                return self._by_offset.get(function.attributes[attribute][1])
        return None

    def _read(self) -> None:
        reader = Bytes(self._sections.info, 0, self._sections.little)
        length = reader.number(4)
        self._offset_size = 4
        if length == 0xFFFFFFFF:
            length, self._offset_size = reader.number(8), 8
        end = reader.at + length
        self._version = reader.number(2)
        if self._version >= 5:
            if reader.number(1) != 5:
                raise DamagedUnitError("not a split compilation unit")
            self._address_size = reader.number(1)
            table = reader.number(self._offset_size)
            self.dwo_id = reader.number(8)
        else:
            table = reader.number(self._offset_size)
            self._address_size = reader.number(1)
        abbreviations = _abbreviations(Bytes(self._sections.abbreviations, table, self._sections.little))
        self._read_tree(reader, end, abbreviations)

    def _read_tree(self, reader: Bytes, end: int, abbreviations: dict[int, _Abbreviation]) -> None:
        around: list[Function | None] = []  # the function around each level of the tree
        first = True
        while reader.at < end:
            offset = reader.at
            code = reader.uleb()
            if code == 0:
                if around:
                    around.pop()
                continue
            abbreviation = abbreviations[code]
            values = {
                attribute: (form, value)
                for attribute, form, value in self._values(reader, abbreviation)
                if attribute in _WANTED
            }
            if first and GNU_DWO_ID in values:
                self.dwo_id = values[GNU_DWO_ID][1]
            first = False
            parent = around[-1] if around else None
            if abbreviation.tag in (SUBPROGRAM, INLINED):
                parent = self._add(Function(offset, abbreviation.tag == INLINED, values), parent)
            if abbreviation.has_children:
                around.append(parent)

    def _add(self, function: Function, parent: Function | None) -> Function:
        function.ranges = tuple(self._ranges_of(function))
        self._by_offset[function.offset] = function
        self.every.append(function)
        (parent.inner if parent is not None and function.is_inlined else self.outer).append(function)
        return function

    def _values(self, reader: Bytes, abbreviation: _Abbreviation) -> Iterator[tuple[int, int, Any]]:
        for attribute, form, constant in abbreviation.attributes:
            while form == _INDIRECT:
                form = reader.uleb()
            yield attribute, form, constant if form == _CONSTANT else self._value(reader, form)

    def _value(self, reader: Bytes, form: int) -> Any:
        if form in _FIXED:
            return reader.number(_FIXED[form])
        if form in _ULEBS:
            return reader.uleb()
        if form in _OFFSETS:
            return reader.number(self._offset_size)
        if form == _ADDRESS:
            return reader.number(self._address_size)
        if form == _STRING:
            return reader.string()
        if form == _SIGNED:
            return reader.uleb()  # none of the wanted attributes is negative
        if form in _BLOCKS or form in (0x09, 0x18):
            size = reader.number(_BLOCKS[form]) if form in _BLOCKS else reader.uleb()
            reader.at += size
            return size
        raise DamagedUnitError(f"unknown form {form:#x}")

    def _string(self, form: int, value: Any) -> str:
        if form == _STRING:
            return str(value.decode(errors="replace"))
        if form in _STRING_INDICES:
            # The table of DWARF 5 has a header: length, version, padding.
            header = (8 if self._offset_size == 4 else 16) if self._version >= 5 else 0
            at = header + value * self._offset_size
            value = Bytes(self._sections.string_offsets, at, self._sections.little).number(self._offset_size)
        return Bytes(self._sections.strings, value).string().decode(errors="replace")

    def _address(self, form: int, value: int) -> int:
        return self._addresses(value) if form in _ADDRESS_INDICES else value

    def _ranges_of(self, function: Function) -> Iterator[tuple[int, int]]:
        attributes = function.attributes
        if LOW_PC in attributes and HIGH_PC in attributes:
            low = self._address(*attributes[LOW_PC])
            form, high = attributes[HIGH_PC]
            is_address = form == _ADDRESS or form in _ADDRESS_INDICES
            yield low, self._address(form, high) if is_address else low + high
        elif RANGES in attributes:
            form, value = attributes[RANGES]
            if self._version < 5:
                yield from self._ranges_at(value)
                return
            reader = Bytes(self._sections.range_lists, value, self._sections.little)
            if form == _LIST_INDEX:
                start = 12 if self._offset_size == 4 else 20  # after the header
                reader.at = start + value * self._offset_size
                reader.at = start + reader.number(self._offset_size)
            yield from range_list(reader, self._address_size, self._addresses, self._base)


@dataclass(frozen=True, slots=True)
class _Abbreviation:
    tag: int
    has_children: bool
    attributes: tuple[tuple[int, int, int], ...]  # attribute, form, constant


def _abbreviations(reader: Bytes) -> dict[int, _Abbreviation]:
    table = {}
    while code := reader.uleb():
        tag, has_children = reader.uleb(), bool(reader.number(1))
        attributes = []
        while True:
            attribute, form = reader.uleb(), reader.uleb()
            constant = reader.uleb() if form == _CONSTANT else 0
            if not attribute and not form:
                break
            attributes.append((attribute, form, constant))
        table[code] = _Abbreviation(tag, has_children, tuple(attributes))
    return table


def units_in(info: bytes, little: bool) -> Iterator[bytes]:
    """Yields the compilation units in .debug_info.dwo. Skips type units."""
    reader = Bytes(info, 0, little)
    while reader.at < len(info):
        start = reader.at
        length = reader.number(4)
        if length == 0xFFFFFFFF:
            length = reader.number(8)
        end = reader.at + length
        version, unit_type = reader.number(2), reader.number(1)
        if version < 5 or unit_type == 5:  # DW_UT_split_compile
            yield info[start:end]
        reader.at = end


def range_list(
    reader: Bytes, address_size: int, addresses: Addresses, base: int
) -> Iterator[tuple[int, int]]:
    """Yields the ranges of a list of DWARF 5 (.debug_rnglists)."""
    while kind := reader.number(1):
        if kind == 1:
            base = addresses(reader.uleb())
        elif kind == 2:
            yield addresses(reader.uleb()), addresses(reader.uleb())
        elif kind == 3:
            low = addresses(reader.uleb())
            yield low, low + reader.uleb()
        elif kind == 4:
            yield base + reader.uleb(), base + reader.uleb()
        elif kind == 5:
            base = reader.number(address_size)
        elif kind == 6:
            yield reader.number(address_size), reader.number(address_size)
        elif kind == 7:
            low = reader.number(address_size)
            yield low, low + reader.uleb()
        else:
            raise DamagedUnitError(f"unknown kind of range {kind}")


def range_list_of_version_4(reader: Bytes, address_size: int, base: int) -> Iterator[tuple[int, int]]:
    """Yields the ranges of a list of DWARF 4 (.debug_ranges)."""
    highest = (1 << 8 * address_size) - 1
    while True:
        low, high = reader.number(address_size), reader.number(address_size)
        if low == highest:
            base = high
        elif low or high:
            yield base + low, base + high
        else:
            return
