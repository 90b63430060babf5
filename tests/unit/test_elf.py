# SPDX-License-Identifier: Apache-2.0
"""The reader of ELF files agrees with pyelftools, and reports damaged files by one exception."""

from __future__ import annotations

import random
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

import ompass._core
from ompass.elf import (
    NotElfError,
    code_between,
    dynamic_symbols,
    exported_symbols,
    imported_functions,
    imported_symbols,
    object_at,
    read_facts,
    read_functions,
    static_symbols,
    symbols_like,
)


def libc() -> Path:
    mapped = (line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines())
    return next(Path(path) for path in mapped if Path(path).name.startswith(("libc.so", "libc-")))


FILES = (Path(sys.executable).resolve(), Path(ompass._core.__file__), libc())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_facts_agree_with_pyelftools(path: Path) -> None:
    facts = read_facts(path)
    with path.open("rb") as stream:
        elf = ELFFile(stream)
        dynamic = cast(DynamicSection, elf.get_section_by_name(".dynamic"))
        tags: list[tuple[str, Any]] = [(tag.entry.d_tag, tag) for tag in dynamic.iter_tags()]
        notes = cast(Any, elf.get_section_by_name(".note.gnu.build-id"))
        assert facts.bits == elf.elfclass and facts.machine == elf["e_machine"]
        assert facts.needed == tuple(tag.needed for kind, tag in tags if kind == "DT_NEEDED")
        assert facts.soname == next((tag.soname for kind, tag in tags if kind == "DT_SONAME"), "")
        assert facts.build_id == (next(iter(notes.iter_notes()))["n_desc"] if notes else "")
        assert facts.has_lines == (elf.get_section_by_name(".debug_line") is not None)
        assert facts.is_dynamic


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_symbols_agree_with_pyelftools(path: Path) -> None:
    functions = read_functions(path)
    with path.open("rb") as stream:
        table = cast(SymbolTableSection, ELFFile(stream).get_section_by_name(".dynsym"))
        symbols = list(table.iter_symbols())
    exported = frozenset(s.name for s in symbols if s["st_shndx"] != "SHN_UNDEF")
    imported = frozenset(s.name for s in symbols if s["st_shndx"] == "SHN_UNDEF")
    names = frozenset(s.name for s in symbols if s.name)
    assert dynamic_symbols(path, names) == (exported & names, imported & names)
    assert {name for name, _ in exported_symbols(path, names)} == exported & names
    starts = {s["st_value"] for s in symbols if s["st_info"]["type"] == "STT_FUNC" and s.name in exported}
    assert starts <= set(functions.starts)


def test_versions_of_symbols_are_read() -> None:
    assert exported_symbols(libc(), ("malloc",)) in ({("malloc", "GLIBC_2.2.5")}, {("malloc", "GLIBC_2.17")})
    imported = imported_symbols(FILES[1], ("memcpy", "malloc", "free"))
    assert imported and all(version.startswith("GLIBC_") for _, version in imported)


def made_elf(order: str, interpreter: bytes = b"/lib/ld.so.1\0") -> bytes:
    """Returns a 32-bit executable for Power with an interpreter, a library and a symbol table."""
    strings = b"\0libm.so.6\0main\0.symtab\0.strtab\0"
    at = 52 + 3 * 32  # after the header and three segments
    interpreter_at, strings_at = at, at + 16
    dynamic_at = strings_at + 48
    symbols_at = dynamic_at + 32
    sections_at = symbols_at + 32
    base = 0x1000
    dynamic = struct.pack(order + "8I", 1, 1, 5, base + strings_at, 10, len(strings), 0, 0)
    symbols = struct.pack(order + "IIIBBH", 0, 0, 0, 0, 0, 0) + struct.pack(
        order + "IIIBBH", 11, 0x2000, 8, 1 << 4 | 2, 0, 1
    )
    sections = (
        (0,) * 10,
        (16, 2, 0, 0, symbols_at, 32, 2, 1, 4, 16),  # .symtab
        (24, 3, 0, 0, strings_at, len(strings), 0, 0, 1, 0),  # .strtab, also for the names of sections
    )
    segments = (
        (1, 0, base, base, sections_at, sections_at, 5, 4096),
        (2, dynamic_at, base + dynamic_at, 0, 32, 32, 6, 4),
        (3, interpreter_at, base + interpreter_at, 0, len(interpreter), len(interpreter), 4, 1),
    )
    head = b"\x7fELF" + bytes([1, 1 if order == "<" else 2, 1]) + bytes(9)
    head += struct.pack(order + "HHIIIIIHHHHHH", 2, 20, 1, base, 52, sections_at, 0, 52, 32, 3, 40, 3, 2)
    content = head + b"".join(struct.pack(order + "8I", *segment) for segment in segments)
    content += interpreter.ljust(16, b"\0") + strings.ljust(48, b"\0") + dynamic + symbols
    return content + b"".join(struct.pack(order + "10I", *section) for section in sections)


@pytest.mark.parametrize("order", ["<", ">"])
def test_files_of_both_byte_orders_with_32_bits_are_read(tmp_path: Path, order: str) -> None:
    path = tmp_path / "program"
    path.write_bytes(made_elf(order))
    facts = read_facts(path)
    assert (facts.bits, facts.machine, facts.interpreter) == (32, "EM_PPC", "/lib/ld.so.1")
    assert facts.needed == ("libm.so.6",) and facts.is_executable and facts.is_dynamic
    assert read_functions(path).functions == ((0x2000, 8, "main"),)
    assert static_symbols(path, ("main",)) == {"main"}
    assert code_between(path, 0x1000, 0x1004) == b"\x7fELF"


def test_a_debug_file_without_the_content_of_its_segments_is_read(tmp_path: Path) -> None:
    # In debug files, such as libc's, other data are at the offset of the interpreter's name.
    path = tmp_path / "libc.debug"
    path.write_bytes(made_elf("<", interpreter=b"\x05\xd5\xff"))
    assert read_facts(path).has_names


READERS: tuple[Callable[[Path], object], ...] = (
    read_facts,
    read_functions,
    imported_functions,
    lambda path: dynamic_symbols(path, ("malloc",)),
    lambda path: imported_symbols(path, ("m",)),
    lambda path: exported_symbols(path, ("PyInit__core",)),
    lambda path: symbols_like(path, "main"),
    lambda path: object_at(path, 0x4000),
    lambda path: code_between(path, 0x1000, 0x1010),
)


def test_damaged_files_are_read_or_refused(tmp_path: Path) -> None:
    source = random.Random(7)
    contents = [made_elf("<"), made_elf(">"), Path("/bin/true").read_bytes()]
    for k in range(300):
        content = bytearray(source.choice(contents))
        for _ in range(source.randrange(1, 8)):
            place = source.randrange(source.choice((64, len(content))))  # at least half of them in the header
            content[place] = source.randrange(256)
        path = tmp_path / str(k)
        path.write_bytes(content[: source.choice((len(content), source.randrange(len(content))))])
        for read in READERS:
            try:
                read(path)
            except NotElfError as error:
                assert str(path) in str(error)
