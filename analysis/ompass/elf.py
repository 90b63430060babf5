# SPDX-License-Identifier: Apache-2.0
"""Reads facts about ELF files: identity, dynamic section, symbols.

`symbols` uses the build id, debug link and symbol table; `launch` uses the libraries and run paths.
"""

from __future__ import annotations

import bisect
import functools
import io
import mmap
import struct
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from elftools.common.exceptions import ELFError
from elftools.elf.dynamic import DynamicSegment
from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection
from elftools.elf.sections import NoteSection, SymbolTableSection
from elftools.elf.segments import InterpSegment, NoteSegment

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
        # Hand-written assembly has size 0 and reaches to the next symbol.
        return name if not size or address < start + size else ""


@contextmanager
def _open(path: Path) -> Iterator[ELFFile]:
    try:
        with path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
            yield ELFFile(content)  # type: ignore[arg-type]  # reads and seeks, as a file does
    # pyelftools raises a few low-level errors on truncated files
    except (ELFError, OSError, ValueError, KeyError, AttributeError, UnicodeDecodeError) as error:
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
    except OSError as error:
        raise NotElfError(f"{path}: {error}") from error
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


@functools.lru_cache(maxsize=256)
def _facts_of_version(path: Path, _: tuple[int, ...]) -> ElfFacts:
    with _open(path) as elf:
        interpreter, build_id = "", ""
        dynamic: DynamicSegment | None = None
        for segment in elf.iter_segments():
            if isinstance(segment, InterpSegment):
                interpreter = segment.get_interp_name()
            elif isinstance(segment, DynamicSegment):
                dynamic = segment
            elif isinstance(segment, NoteSegment):
                build_id = build_id or _build_id(segment)
        tags: dict[str, list[str]] = {}
        flags = 0
        if dynamic is not None:
            for tag in dynamic.iter_tags():
                if tag.entry.d_tag == "DT_FLAGS_1":
                    flags = int(tag.entry.d_val)
                for attribute in ("needed", "rpath", "runpath", "soname"):
                    if hasattr(tag, attribute):
                        tags.setdefault(attribute, []).append(str(getattr(tag, attribute)))
        debug_link = ""
        has_lines = has_names = False
        for section in elf.iter_sections():
            name = section.name
            if name == ".gnu_debuglink":
                debug_link = section.data().split(b"\0", 1)[0].decode(errors="replace")
            # A file whose debug information was split off may keep the section's header (SHT_NOBITS).
            elif name in (".debug_line", ".zdebug_line") and section["sh_type"] != "SHT_NOBITS":
                has_lines = True
            elif name in (".symtab", _HIDDEN_NAMES):
                has_names = True
            elif not build_id and isinstance(section, NoteSection):
                build_id = _build_id(section)
        # DF_1_PIE distinguishes a position independent executable from a library
        executable = elf["e_type"] == "ET_EXEC" or bool(flags & 0x08000000) or bool(interpreter)
        return ElfFacts(
            path=path,
            bits=int(elf.elfclass),
            machine=str(elf["e_machine"]),
            interpreter=interpreter,
            is_dynamic=dynamic is not None and bool(interpreter or not executable),
            soname=(tags.get("soname") or [""])[0],
            needed=tuple(tags.get("needed", ())),
            rpath=_split(tags.get("rpath", [])),
            runpath=_split(tags.get("runpath", [])),
            build_id=build_id,
            debug_link=debug_link,
            has_lines=has_lines,
            has_names=has_names,
            is_executable=executable,
        )


def _split(paths: list[str]) -> tuple[str, ...]:
    return tuple(part for path in paths for part in path.split(":") if part)


def _build_id(notes: Any) -> str:
    for note in notes.iter_notes():
        if note["n_type"] == "NT_GNU_BUILD_ID":
            return str(note["n_desc"])
    return ""


def dynamic_symbols(path: Path, wanted: Collection[str]) -> tuple[frozenset[str], frozenset[str]]:
    """Returns the symbols of `wanted` that the file exports (defined) and imports (undefined)."""
    with _open(path) as elf:
        table = elf.get_section_by_name(".dynsym")
        return _sort_symbols(table, wanted)


def imported_symbols(path: Path, prefixes: tuple[str, ...]) -> frozenset[tuple[str, str]]:
    """Returns (name, version) of the undefined symbols that begin with one of `prefixes`, without weak ones.

    The version is empty where the file requires none.
    """
    with _open(path) as elf:
        table = elf.get_section_by_name(".dynsym")
        if not isinstance(table, SymbolTableSection) or not _mentions(table, prefixes):
            return frozenset()
        versions = _Versions(elf, ".gnu.version_r")
        return frozenset(
            (symbol.name, versions.of(k))
            for k, symbol in enumerate(_symbols(table))
            if symbol.name.startswith(prefixes) and not symbol.is_defined and symbol.bind != _STB_WEAK
        )


def exported_symbols(path: Path, wanted: Collection[str]) -> frozenset[tuple[str, str]]:
    """Returns (name, version) of the symbols of `wanted` that the file defines; an empty version fits all."""
    with _open(path) as elf:
        table = elf.get_section_by_name(".dynsym")
        if not isinstance(table, SymbolTableSection) or not _mentions(table, wanted):
            return frozenset()
        versions = _Versions(elf, ".gnu.version_d")
        return frozenset(
            (symbol.name, versions.of(k))
            for k, symbol in enumerate(_symbols(table))
            if symbol.name in wanted and symbol.is_defined
        )


_STT_OBJECT, _STT_FUNC, _STB_WEAK = 1, 2, 2


class _Symbol(NamedTuple):
    name: str
    start: int
    size: int
    type: int
    bind: int
    is_defined: bool


def _symbols(table: SymbolTableSection) -> Iterator[_Symbol]:
    """Yields the symbols of a table in order. Takes a tenth of the time of pyelftools' own objects."""
    is_wide = table.elffile.elfclass == 64
    layout = ("<" if table.elffile.little_endian else ">") + ("IBBHQQ" if is_wide else "IIIBBH")
    data, names = table.data(), table.stringtable.data()
    complete = len(data) - len(data) % struct.calcsize(layout)
    for entry in struct.iter_unpack(layout, memoryview(data)[:complete]):
        if is_wide:
            place, info, _, section, start, size = entry
        else:
            place, start, size, info, _, section = entry
        name = names[place : names.find(b"\0", place)].decode("utf-8", "replace")
        yield _Symbol(name, start, size, info & 15, info >> 4, section != 0)


class _Versions:
    """The versions of the dynamic symbols that the file defines or needs, by symbol number."""

    _HIDDEN = 0x8000

    def __init__(self, elf: ELFFile, section: str) -> None:
        self._numbers: Any = elf.get_section_by_name(".gnu.version")
        self._names: Any = elf.get_section_by_name(section)

    def of(self, symbol: int) -> str:
        """Returns the version of the symbol; empty if it has none."""
        if self._numbers is None or self._names is None:
            return ""
        number = self._numbers.get_symbol(symbol).entry["ndx"]
        if not isinstance(number, int):  # VER_NDX_LOCAL, VER_NDX_GLOBAL
            return ""
        found = self._names.get_version(number & ~self._HIDDEN)
        if found is None:
            return ""
        _, auxiliaries = found
        entry = auxiliaries if hasattr(auxiliaries, "name") else next(auxiliaries)
        return str(entry.name)


def static_symbols(path: Path, wanted: Collection[str]) -> frozenset[str]:
    """Returns the symbols of `wanted` in the full symbol table; a stripped file has no such table."""
    with _open(path) as elf:
        return _sort_symbols(elf.get_section_by_name(".symtab"), wanted)[0]


def _sort_symbols(table: Any, wanted: Collection[str]) -> tuple[frozenset[str], frozenset[str]]:
    defined: set[str] = set()
    undefined: set[str] = set()
    # Decoding a million symbols takes seconds in Python; most files contain none of the names.
    if isinstance(table, SymbolTableSection) and _mentions(table, wanted):
        for symbol in _symbols(table):
            if symbol.name in wanted:
                (defined if symbol.is_defined else undefined).add(symbol.name)
    return frozenset(defined), frozenset(undefined)


def _mentions(table: SymbolTableSection, wanted: Collection[str]) -> bool:
    strings = table.stringtable.data()
    return any(name.encode() in strings for name in wanted)


def code_between(path: Path, begin: int, end: int) -> bytes:
    """Returns the bytes between two virtual addresses; empty unless one segment contains them all."""
    with _open(path) as elf:
        for segment in elf.iter_segments("PT_LOAD"):
            start, size = segment["p_vaddr"], segment["p_filesz"]
            if start <= begin < end <= start + size:
                elf.stream.seek(segment["p_offset"] + begin - start)
                return bytes(elf.stream.read(end - begin))
    return b""


def symbols_like(path: Path, part: str) -> dict[int, str]:
    """Returns the defined symbols whose names contain `part`, by address; empty for a stripped file."""
    with _open(path) as elf:
        table = elf.get_section_by_name(".symtab")
        if not isinstance(table, SymbolTableSection) or not _mentions(table, (part,)):
            return {}
        return {
            symbol.start: symbol.name
            for symbol in _symbols(table)
            if part in symbol.name and symbol.is_defined
        }


def read_functions(path: Path) -> FunctionTable:
    """Returns the functions in all symbol tables; a stripped file has only the exported ones."""
    return _functions_of_version(path, _version(path))


@functools.lru_cache(maxsize=8)
def _functions_of_version(path: Path, _: tuple[int, ...]) -> FunctionTable:
    functions: dict[int, tuple[int, int, str]] = {}
    with _open(path) as elf:
        tables = [elf.get_section_by_name(name) for name in (".symtab", ".dynsym")]
        if hidden := elf.get_section_by_name(_HIDDEN_NAMES):
            tables.append(_symbol_table_in(hidden.data()))
        for table in tables:
            if not isinstance(table, SymbolTableSection):
                continue
            for symbol in _symbols(table):
                if symbol.type == _STT_FUNC and symbol.is_defined:
                    functions.setdefault(symbol.start, (symbol.start, symbol.size, symbol.name))
    ordered = tuple(functions[start] for start in sorted(functions))
    return FunctionTable(tuple(f[0] for f in ordered), ordered)


def object_at(path: Path, address: int) -> str:
    """Returns the symbol of the variable that contains an ELF virtual address; empty if there is none."""
    with _open(path) as elf:
        for name in (".symtab", ".dynsym"):
            table = elf.get_section_by_name(name)
            for symbol in _symbols(table) if isinstance(table, SymbolTableSection) else ():
                is_variable = symbol.type == _STT_OBJECT and symbol.is_defined
                if is_variable and symbol.start <= address < symbol.start + symbol.size:
                    return symbol.name
    return ""


def _symbol_table_in(compressed: bytes) -> Any:
    """Returns the symbol table of an ELF file compressed by xz; None if it is damaged."""
    try:
        import lzma  # some builds of Python lack it
    except ImportError:
        return None
    try:
        return ELFFile(io.BytesIO(lzma.decompress(compressed))).get_section_by_name(".symtab")
    except (lzma.LZMAError, ELFError, EOFError):
        return None


def imported_functions(path: Path) -> dict[int, str]:
    """Returns the functions of other files that this file calls, by the address of the stub in its .plt.

    Empty on machines other than x86-64 and AArch64.
    """
    stubs: dict[int, str] = {}
    with _open(path) as elf:
        slots: dict[int, str] = {}
        for name in (".rela.plt", ".rela.dyn"):
            table = elf.get_section_by_name(name)
            symbols = elf.get_section(table["sh_link"]) if table else None
            if isinstance(table, RelocationSection) and isinstance(symbols, SymbolTableSection):
                for relocation in table.iter_relocations():
                    if relocation["r_info_sym"]:
                        slots[relocation["r_offset"]] = symbols.get_symbol(relocation["r_info_sym"]).name
        slot_of = {"EM_X86_64": _x86_slot, "EM_AARCH64": _arm_slot}.get(elf["e_machine"])
        for name in (".plt", ".plt.sec", ".plt.got"):
            section = elf.get_section_by_name(name)
            if section is None or slot_of is None:
                continue
            code, size = section.data(), int(section["sh_entsize"]) or 16
            for k in range(0, len(code), size):
                address = int(section["sh_addr"]) + k
                if found := slots.get(slot_of(code[k : k + size], address)):
                    stubs[address] = found
    return stubs


def _x86_slot(stub: bytes, address: int) -> int:
    """Returns the address from which this code loads its target: jmp *distance(%rip)."""
    place = stub.find(b"\xff\x25")
    if place < 0:
        return 0
    return address + place + 6 + int.from_bytes(stub[place + 2 : place + 6], "little", signed=True)


def _arm_slot(stub: bytes, address: int) -> int:
    """Returns the address from which this code loads its target: adrp x16, page; ldr x17, [x16, offset]."""
    words = [int.from_bytes(stub[k : k + 4], "little") for k in range(0, len(stub), 4)]
    for k, word in enumerate(words[:-1]):
        if word & 0x9F00001F == 0x90000010 and words[k + 1] & 0xFFC003FF == 0xF9400211:
            pages = (word >> 5 & 0x7FFFF) << 2 | word >> 29 & 3
            pages -= (pages & 0x100000) << 1
            return (address + 4 * k & ~0xFFF) + (pages << 12) + (words[k + 1] >> 10 & 0xFFF) * 8
    return 0
