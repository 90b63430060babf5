# SPDX-License-Identifier: Apache-2.0
"""Reads facts about ELF files: identity, dynamic section, symbols.

`symbols` uses the build id, debug link and symbol table; `launch` uses the libraries and run paths. Decodes
these structures itself, because a launch reads dozens of files, and pyelftools takes milliseconds for each.
"""

from __future__ import annotations

import bisect
import functools
import mmap
import struct
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

_MACHINES: Final = {
    3: "EM_386", 8: "EM_MIPS", 20: "EM_PPC", 21: "EM_PPC64", 22: "EM_S390", 40: "EM_ARM", 62: "EM_X86_64",
    183: "EM_AARCH64", 243: "EM_RISCV", 258: "EM_LOONGARCH",
}  # fmt: skip
_HIDDEN_NAMES = ".gnu_debugdata"
"""A section of stripped files in Fedora: a compressed symbol table of functions that are not exported."""


class NotElfError(Exception):
    """The file is not a readable ELF file."""


@dataclass(frozen=True, slots=True)
class ElfFacts:
    """The facts about a file that the dynamic loader and a debugger need."""

    path: Path
    bits: int
    machine: str  # "EM_X86_64", ...
    interpreter: str  # empty in static executables and in libraries
    is_dynamic: bool
    soname: str
    needed: tuple[str, ...]
    rpath: tuple[str, ...]
    runpath: tuple[str, ...]
    build_id: str
    debug_link: str
    has_lines: bool  # has a DWARF line table
    has_address_table: bool  # has .debug_addr, for DWARF 5 or for units that -gsplit-dwarf split off
    has_names: bool  # has names of functions that it does not export
    is_executable: bool


@dataclass(frozen=True, slots=True)
class FunctionTable:
    """Function symbols sorted by address, for nearest-symbol lookup."""

    starts: tuple[int, ...]
    functions: tuple[tuple[int, int, str], ...]  # (start, size, name)

    def start_of(self, address: int) -> int:
        """Returns the start of the function that covers `address`; 0 when none does."""
        k = bisect.bisect_right(self.starts, address) - 1
        return self.starts[k] if self.at(address) else 0

    def at(self, address: int) -> str:
        """Returns the name of the function that covers `address`; empty when none does."""
        k = bisect.bisect_right(self.starts, address) - 1
        if k < 0:
            return ""
        start, size, name = self.functions[k]
        # A function in hand-written assembly may have size 0; it reaches to the next symbol.
        return name if not size or address < start + size else ""


_ET_EXEC: Final = 2
_PT_LOAD, _PT_DYNAMIC, _PT_INTERP, _PT_NOTE = 1, 2, 3, 4
_SHT_SYMTAB, _SHT_NOTE, _SHT_NOBITS, _SHT_DYNSYM = 2, 7, 8, 11
_DT_NEEDED, _DT_STRTAB, _DT_STRSZ, _DT_SONAME, _DT_RPATH, _DT_RUNPATH = 1, 5, 10, 14, 15, 29
_DT_FLAGS_1: Final = 0x6FFFFFFB
_DF_1_PIE: Final = 0x08000000
_NT_GNU_BUILD_ID: Final = 3
_DAMAGES: Final = (ValueError, IndexError, OverflowError, struct.error)


class _Segment(NamedTuple):
    type: int
    offset: int
    address: int
    size: int  # in the file


class _Section(NamedTuple):
    name: str
    type: int
    address: int
    offset: int
    size: int
    link: int
    entry_size: int


class _Elf:
    """The content of a file, decoded on demand. Raises one of _DAMAGES if it is damaged."""

    def __init__(self, content: bytes | mmap.mmap) -> None:
        if content[:4] != b"\x7fELF" or content[4] not in (1, 2) or content[5] not in (1, 2):
            raise ValueError("not an ELF file")
        self._content = content
        self.is_wide = content[4] == 2
        self._order = "<" if content[5] == 1 else ">"
        (
            self.type, machine, _, _, self._segments_at, self._sections_at, _, _, self._segment_bytes,
            self._n_segments, self._section_bytes, self._n_sections, self._names,
        ) = self.unpack("HHIWWWIHHHHHH", 16)  # fmt: skip
        self.machine = _MACHINES.get(machine, f"EM_{machine}")

    def _layout(self, layout: str) -> str:
        return self._order + layout.replace("W", "Q" if self.is_wide else "I")

    def unpack(self, layout: str, at: int) -> tuple[Any, ...]:
        """Returns the values at an offset of the file; in `layout`, W is an address."""
        return struct.unpack_from(self._layout(layout), self._content, at)

    def rows(self, layout: str, content: bytes) -> Iterator[tuple[Any, ...]]:
        """Yields the values of each complete entry of a table."""
        form = self._layout(layout)
        complete = len(content) - len(content) % struct.calcsize(form)
        return struct.iter_unpack(form, memoryview(content)[:complete])

    @functools.cached_property
    def segments(self) -> tuple[_Segment, ...]:
        found = []
        for k in range(self._n_segments):
            at = self._segments_at + k * self._segment_bytes
            if self.is_wide:
                kind, _, offset, address, _, size = self.unpack("IIWWWW", at)
            else:
                kind, offset, address, _, size = self.unpack("IWWWW", at)
            found.append(_Segment(kind, offset, address, size))
        return tuple(found)

    @functools.cached_property
    def sections(self) -> tuple[_Section, ...]:
        if not self._sections_at:
            return ()
        headers = [self.unpack("IIWWWWIIWW", self._sections_at)]
        # The first header holds the numbers that exceed 16 bits.
        n_sections, names = self._n_sections or headers[0][5], self._names
        for k in range(1, n_sections):
            headers.append(self.unpack("IIWWWWIIWW", self._sections_at + k * self._section_bytes))
        _, _, _, _, offset, size, *_ = headers[headers[0][6] if names == 0xFFFF else names]
        texts = self._content[offset : offset + size]
        return tuple(
            _Section(_text(texts, name), kind, address, offset, size, link, entry_size)
            for name, kind, _, address, offset, size, link, _, _, entry_size in headers
        )

    def section(self, name: str) -> _Section | None:
        return next((section for section in self.sections if section.name == name), None)

    def data(self, part: _Section | _Segment) -> bytes:
        """Returns the content of a section or segment; empty for a section whose content was split off."""
        if isinstance(part, _Section) and part.type == _SHT_NOBITS:
            return b""
        return self._content[part.offset : part.offset + part.size]

    def at(self, begin: int, end: int) -> bytes:
        """Returns the bytes between two virtual addresses; empty unless one segment contains them all."""
        for kind, offset, start, size in self.segments:
            if kind == _PT_LOAD and start <= begin < end <= start + size:
                return self._content[offset + begin - start : offset + end - start]
        return b""

    def symbol_table(self, name: str) -> _SymbolTable | None:
        found = self.section(name)
        return _SymbolTable(self, found) if found and found.type in (_SHT_SYMTAB, _SHT_DYNSYM) else None

    def dynamic(self) -> dict[int, list[int]] | None:
        """Returns the values of the dynamic section by tag; None for a static executable."""
        segment = next((segment for segment in self.segments if segment.type == _PT_DYNAMIC), None)
        if segment is None:
            return None
        tags: dict[int, list[int]] = {}
        for tag, value in self.rows("WW", self.data(segment)):
            if tag == 0:
                break
            tags.setdefault(tag, []).append(value)
        return tags

    def build_id(self) -> str:
        """Returns the build id in hexadecimal digits; empty if the file has none."""
        contents = [self.data(section) for section in self.sections if section.type == _SHT_NOTE]
        contents += [self.data(segment) for segment in self.segments if segment.type == _PT_NOTE]
        for notes in contents:
            at = 0
            while at + 12 <= len(notes):
                n_name, n_bytes, kind = struct.unpack_from(self._order + "III", notes, at)
                name_at = at + 12
                begin = name_at + (n_name + 3 & ~3)
                if kind == _NT_GNU_BUILD_ID and notes[name_at : name_at + n_name] == b"GNU\0":
                    return notes[begin : begin + n_bytes].hex()
                at = begin + (n_bytes + 3 & ~3)
        return ""


def _text(texts: bytes, at: int) -> str:
    """Returns the string at an offset of a string table, whose last string may lack its end."""
    end = texts.find(b"\0", at)
    return texts[at : end if end >= 0 else None].decode("utf-8", "replace")


@contextmanager
def _open(path: Path) -> Iterator[_Elf]:
    try:
        with path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
            yield _Elf(content)
    except (OSError, *_DAMAGES) as error:
        raise NotElfError(f"{path}: {error}") from error


def is_elf(path: Path) -> bool:
    try:
        with path.open("rb") as stream:
            return stream.read(4) == b"\x7fELF"
    except OSError:
        return False


def read_facts(path: Path) -> ElfFacts:
    """Returns the facts about a file. Raises NotElfError if it is not ELF, or truncated."""
    return _facts_of_version(path, _version(path))


def _version(path: Path) -> tuple[int, ...]:
    """Returns a key that changes with the file."""
    try:
        found = path.stat()
    except (OSError, ValueError) as error:  # ValueError: a damaged name, with a zero byte
        raise NotElfError(f"{path}: {error}") from error
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


@functools.lru_cache(maxsize=256)
def _facts_of_version(path: Path, _: tuple[int, ...]) -> ElfFacts:
    with _open(path) as elf:
        interpreter = next((elf.data(each) for each in elf.segments if each.type == _PT_INTERP), b"")
        tags = elf.dynamic()
        values = tags or {}
        strings_at = values.get(_DT_STRTAB, [0])[0]
        strings = elf.at(strings_at, strings_at + values.get(_DT_STRSZ, [0])[0])
        texts = {
            tag: [_text(strings, at) for at in values.get(tag, ())]
            for tag in (_DT_NEEDED, _DT_SONAME, _DT_RPATH, _DT_RUNPATH)
        }
        # A file may keep the header of a section whose content was split off.
        names = {section.name for section in elf.sections if section.type != _SHT_NOBITS}
        link = elf.section(".gnu_debuglink")
        # DF_1_PIE distinguishes a position independent executable from a library
        is_pie = bool(values.get(_DT_FLAGS_1, [0])[0] & _DF_1_PIE)
        executable = elf.type == _ET_EXEC or is_pie or bool(interpreter)
        return ElfFacts(
            path=path,
            bits=64 if elf.is_wide else 32,
            machine=elf.machine,
            interpreter=_text(interpreter, 0),
            is_dynamic=tags is not None and bool(interpreter or not executable),
            soname=(texts[_DT_SONAME] or [""])[0],
            needed=tuple(texts[_DT_NEEDED]),
            rpath=_split(texts[_DT_RPATH]),
            runpath=_split(texts[_DT_RUNPATH]),
            build_id=elf.build_id(),
            debug_link=_text(elf.data(link), 0) if link else "",
            has_lines=not names.isdisjoint((".debug_line", ".zdebug_line")),
            has_address_table=".debug_addr" in names,
            has_names=not names.isdisjoint((".symtab", _HIDDEN_NAMES)),
            is_executable=executable,
        )


def _split(paths: list[str]) -> tuple[str, ...]:
    return tuple(part for path in paths for part in path.split(":") if part)


def dynamic_symbols(path: Path, wanted: Collection[str]) -> tuple[frozenset[str], frozenset[str]]:
    """Returns the symbols of `wanted` that the file exports (defined) and imports (undefined)."""
    with _open(path) as elf:
        return _sort_symbols(elf.symbol_table(".dynsym"), wanted)


def imported_symbols(path: Path, prefixes: tuple[str, ...]) -> frozenset[tuple[str, str]]:
    """Returns (name, version) of the undefined symbols, except weak ones, that begin with one of `prefixes`.

    The version is empty if the file requires none.
    """
    with _open(path) as elf:
        table = elf.symbol_table(".dynsym")
        if table is None or not table.mentions(prefixes):
            return frozenset()
        versions = _Versions(elf, ".gnu.version_r")
        return frozenset(
            (symbol.name, versions.of(k))
            for k, symbol in enumerate(table)
            if symbol.name.startswith(prefixes) and not symbol.is_defined and symbol.bind != _STB_WEAK
        )


def exported_symbols(path: Path, wanted: Collection[str]) -> frozenset[tuple[str, str]]:
    """Returns (name, version) of the symbols of `wanted` that the file defines.

    A symbol with an empty version satisfies any requirement.
    """
    with _open(path) as elf:
        table = elf.symbol_table(".dynsym")
        if table is None or not table.mentions(wanted):
            return frozenset()
        versions = _Versions(elf, ".gnu.version_d")
        return frozenset(
            (symbol.name, versions.of(k))
            for k, symbol in enumerate(table)
            if symbol.name in wanted and symbol.is_defined
        )


_STT_OBJECT, _STT_FUNC, _STB_WEAK, _VER_NDX_GLOBAL = 1, 2, 2, 1


class _Symbol(NamedTuple):
    name: str
    start: int
    size: int
    type: int
    bind: int
    is_defined: bool


class _SymbolTable:
    """The symbols of a table, in order."""

    def __init__(self, elf: _Elf, section: _Section) -> None:
        self._elf, self._section = elf, section
        self._names = elf.data(elf.sections[section.link])

    def mentions(self, wanted: Collection[str]) -> bool:
        """False if no name contains one of `wanted`. Callers then skip the slow decoding of all symbols."""
        return any(name.encode() in self._names for name in wanted)

    def __iter__(self) -> Iterator[_Symbol]:
        names, entries = self._names, self._elf.data(self._section)
        for entry in self._elf.rows("IBBHQQ" if self._elf.is_wide else "IIIBBH", entries):
            if self._elf.is_wide:
                place, info, _, section, start, size = entry
            else:
                place, start, size, info, _, section = entry
            yield _Symbol(_text(names, place), start, size, info & 15, info >> 4, section != 0)


class _Versions:
    """The versions of dynamic symbols, by symbol number.

    `section`: .gnu.version_d for defined symbols, .gnu.version_r for needed symbols.
    """

    _HIDDEN: Final = 0x8000

    def __init__(self, elf: _Elf, section: str) -> None:
        numbers, names = elf.section(".gnu.version"), elf.section(section)
        self._numbers = [number for (number,) in elf.rows("H", elf.data(numbers))] if numbers else []
        self._names: dict[int, str] = {}
        if names is None:
            return
        texts = elf.data(elf.sections[names.link])
        at, step = names.offset, int(names.size > 0)
        while step:
            if section == ".gnu.version_d":
                _, _, number, _, _, first, step = elf.unpack("HHHHIII", at)
                (name,) = elf.unpack("I", at + first)
                self._names[number] = _text(texts, name)
            else:
                _, _, _, first, step = elf.unpack("HHIII", at)
                entry, next_entry = at + first, 1
                while next_entry:
                    _, _, number, name, next_entry = elf.unpack("IHHII", entry)
                    self._names[number] = _text(texts, name)
                    entry += next_entry
            at += step

    def of(self, symbol: int) -> str:
        """Returns the version of the symbol; empty if it has none."""
        number = self._numbers[symbol] & ~self._HIDDEN if symbol < len(self._numbers) else 0
        return self._names.get(number, "") if number > _VER_NDX_GLOBAL else ""


def static_symbols(path: Path, wanted: Collection[str]) -> frozenset[str]:
    """Returns the symbols of `wanted` in the full symbol table; a stripped file has no such table."""
    with _open(path) as elf:
        return _sort_symbols(elf.symbol_table(".symtab"), wanted)[0]


def _sort_symbols(
    table: _SymbolTable | None, wanted: Collection[str]
) -> tuple[frozenset[str], frozenset[str]]:
    defined: set[str] = set()
    undefined: set[str] = set()
    if table is not None and table.mentions(wanted):
        for symbol in table:
            if symbol.name in wanted:
                (defined if symbol.is_defined else undefined).add(symbol.name)
    return frozenset(defined), frozenset(undefined)


def code_between(path: Path, begin: int, end: int) -> bytes:
    """Returns the bytes between two virtual addresses; empty unless one segment contains them all."""
    with _open(path) as elf:
        return elf.at(begin, end)


def symbols_like(path: Path, part: str) -> dict[int, str]:
    """Returns the defined symbols whose names contain `part`, by address; empty for a stripped file."""
    with _open(path) as elf:
        table = elf.symbol_table(".symtab")
        if table is None or not table.mentions((part,)):
            return {}
        return {symbol.start: symbol.name for symbol in table if part in symbol.name and symbol.is_defined}


def read_functions(path: Path) -> FunctionTable:
    """Returns the functions in all symbol tables; most stripped files have only the exported ones."""
    return _functions_of_version(path, _version(path))


def known_functions(path: Path) -> FunctionTable:
    """Returns the functions as read_functions() does; none if `path` is not an ELF file."""
    try:
        return read_functions(path)
    except NotElfError:
        return FunctionTable((), ())


@functools.lru_cache(maxsize=8)
def _functions_of_version(path: Path, _: tuple[int, ...]) -> FunctionTable:
    functions: dict[int, tuple[int, int, str]] = {}
    with _open(path) as elf:
        tables = [elf.symbol_table(name) for name in (".symtab", ".dynsym")]
        if hidden := elf.section(_HIDDEN_NAMES):
            tables.append(_symbol_table_in(elf.data(hidden)))
        for table in filter(None, tables):
            for symbol in table:
                if symbol.type == _STT_FUNC and symbol.is_defined:
                    functions.setdefault(symbol.start, (symbol.start, symbol.size, symbol.name))
    ordered = tuple(functions[start] for start in sorted(functions))
    return FunctionTable(tuple(f[0] for f in ordered), ordered)


def object_at(path: Path, address: int) -> str:
    """Returns the symbol of the variable that contains an ELF virtual address; empty if there is none."""
    with _open(path) as elf:
        for name in (".symtab", ".dynsym"):
            for symbol in elf.symbol_table(name) or ():
                is_variable = symbol.type == _STT_OBJECT and symbol.is_defined
                if is_variable and symbol.start <= address < symbol.start + symbol.size:
                    return symbol.name
    return ""


def _symbol_table_in(compressed: bytes) -> _SymbolTable | None:
    """Returns the symbol table of an ELF file compressed by xz; None if it cannot be decoded."""
    try:
        import lzma  # some builds of Python lack it
    except ImportError:
        return None
    try:
        return _Elf(lzma.decompress(compressed)).symbol_table(".symtab")
    except (lzma.LZMAError, EOFError, *_DAMAGES):
        return None


def imported_functions(path: Path) -> Mapping[int, str]:
    """Returns the functions of other files that this file calls, by the address of the stub in its .plt.

    Empty for machines other than x86-64 and AArch64.
    """
    return _imports_of_version(path, _version(path))


@functools.lru_cache(maxsize=8)
def _imports_of_version(path: Path, _: tuple[int, ...]) -> Mapping[int, str]:
    stubs: dict[int, str] = {}
    with _open(path) as elf:
        slot_of = {"EM_X86_64": _x86_slot, "EM_AARCH64": _arm_slot}.get(elf.machine)
        table = elf.symbol_table(".dynsym")
        if slot_of is None or table is None:
            return {}
        symbols = [symbol.name for symbol in table]
        relocations = [elf.section(name) for name in (".rela.plt", ".rela.dyn")]
        slots = {
            slot: symbols[info >> 32]
            for section in filter(None, relocations)
            for slot, info, _ in elf.rows("QQQ", elf.data(section))
            if 0 < info >> 32 < len(symbols)
        }
        for name in (".plt", ".plt.sec", ".plt.got"):
            section = elf.section(name)
            if section is None:
                continue
            code, size = elf.data(section), section.entry_size or 16
            for k in range(0, len(code), size):
                address = section.address + k
                if found := slots.get(slot_of(code[k : k + size], address)):
                    stubs[address] = found
    return stubs


def _x86_slot(stub: bytes, address: int) -> int:
    """Returns the address from which a stub loads its target: jmp *distance(%rip)."""
    place = stub.find(b"\xff\x25")
    if place < 0:
        return 0
    return address + place + 6 + int.from_bytes(stub[place + 2 : place + 6], "little", signed=True)


def _arm_slot(stub: bytes, address: int) -> int:
    """Returns the address from which a stub loads its target: adrp x16, page; ldr x17, [x16, offset]."""
    words = [int.from_bytes(stub[k : k + 4], "little") for k in range(0, len(stub), 4)]
    for k, word in enumerate(words[:-1]):
        if word & 0x9F00001F == 0x90000010 and words[k + 1] & 0xFFC003FF == 0xF9400211:
            pages = (word >> 5 & 0x7FFFF) << 2 | word >> 29 & 3
            pages -= (pages & 0x100000) << 1
            return (address + 4 * k & ~0xFFF) + (pages << 12) + (words[k + 1] >> 10 & 0xFFF) * 8
    return 0
