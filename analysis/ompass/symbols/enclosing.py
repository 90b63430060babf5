# SPDX-License-Identifier: Apache-2.0
"""Finds the source function around a line, for code whose symbol does not name the function.

clang gives all task bodies the same symbol, `.omp_outlined.`. The source function of a body is the last one
that the same file declares before the line. Reads DWARF with pyelftools.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any

from elftools.common.exceptions import DWARFError, ELFError
from elftools.elf.elffile import ELFFile

from ompass.symbols.names import readable_name
from ompass.symbols.split_dwarf import split_dwarf

# Larger debug sections are not decoded: Python takes about a second per 10 MB.
_LARGEST_DEBUG_INFO_BYTES = 32 << 20


def enclosing_function(path: Path, address: int, file: str, line: int) -> str:
    """Returns the name of the function around file:line in the unit that covers `address`; or empty."""
    if split := split_dwarf(path):
        return split.function_around(address, file, line)
    try:
        dwarf = _debug_info(path, path.stat().st_mtime_ns)
        for unit in dwarf.iter_CUs() if dwarf else ():
            if _covers(unit, address):
                return _last_declared(dwarf, unit, file, line)
    except (ELFError, DWARFError, OSError, ValueError, KeyError, AttributeError, IndexError, AssertionError):
        return ""
    return ""


@lru_cache(maxsize=2)
def _debug_info(path: Path, _changed_ns: int) -> Any:
    """Returns the debug information, cached with its decoded parts; None if it is missing or too large."""
    with path.open("rb") as stream:
        elf = ELFFile(stream)
        section = elf.get_section_by_name(".debug_info")
        if section is None or section.data_size > _LARGEST_DEBUG_INFO_BYTES:
            return None
        return elf.get_dwarf_info()


def _covers(unit: Any, address: int) -> bool:
    top = unit.get_top_DIE()
    low = top.attributes.get("DW_AT_low_pc")
    high = top.attributes.get("DW_AT_high_pc")
    if low is not None and high is not None:
        end = high.value if high.form == "DW_FORM_addr" else low.value + high.value
        if low.value <= address < end:
            return True
    # Units made of several ranges: test their functions instead of decoding the range lists.
    for die in top.iter_children():
        begin, size = die.attributes.get("DW_AT_low_pc"), die.attributes.get("DW_AT_high_pc")
        if die.tag == "DW_TAG_subprogram" and begin is not None and size is not None:
            end = size.value if size.form == "DW_FORM_addr" else begin.value + size.value
            if begin.value <= address < end:
                return True
    return False


def _last_declared(dwarf: Any, unit: Any, file: str, line: int) -> str:
    program = dwarf.line_program_for_CU(unit)
    entries = program["file_entry"] if program else []
    first = 0 if program and program["version"] >= 5 else 1
    basename = PurePosixPath(file).name
    best_line, best_name = 0, ""
    for die in unit.iter_DIEs():
        declared = die.attributes.get("DW_AT_decl_line")
        where = die.attributes.get("DW_AT_decl_file")
        if die.tag != "DW_TAG_subprogram" or declared is None or where is None:
            continue
        index = where.value - first
        if not 0 <= index < len(entries) or PurePosixPath(entries[index].name.decode()).name != basename:
            continue
        if best_line < declared.value <= line:
            name = readable_name(_symbol_of(die))
            if name:
                best_line, best_name = declared.value, name
    return best_name


def _symbol_of(die: Any) -> str:
    for attribute in ("DW_AT_linkage_name", "DW_AT_name"):
        if attribute in die.attributes:
            return str(die.attributes[attribute].value.decode(errors="replace"))
    return ""
