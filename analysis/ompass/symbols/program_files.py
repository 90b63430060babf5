# SPDX-License-Identifier: Apache-2.0
"""Answers questions about the code of one module from its file on this machine.

Owns the choice of a location from frames: the innermost source line, the innermost function with a name.
`resolver` imports this module, and the readers of ELF and DWARF, only if the names file lacks an answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache, wraps
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

from ompass.elf import NotElfError, imported_symbols
from ompass.model import Module
from ompass.symbols.blocking_calls import BlockingCalls
from ompass.symbols.call_arguments import Bodies, Offloads, critical_name, task_bytes
from ompass.symbols.debug_places import DEBUG_ROOTS
from ompass.symbols.debugfiles import find_debug_file
from ompass.symbols.directives import Directives
from ompass.symbols.instructions import Instructions
from ompass.symbols.location import BlockingCall, Location
from ompass.symbols.lookup import Frame, Lookup, split_dwarf_of
from ompass.symbols.names import readable_name
from ompass.symbols.operands import Operand
from ompass.symbols.unwinder import FrameTable, Rules

_Answer = TypeVar("_Answer")


def _remembered(ask: Callable[[ModuleFile, int], _Answer]) -> Callable[[ModuleFile, int], _Answer]:
    """Caches a method's answers by address, because the ranks of a job sample the same code."""

    @wraps(ask)
    def answer(self: ModuleFile, address: int) -> _Answer:
        key = ask.__name__, address
        if key not in self.answers:
            self.answers[key] = ask(self, address)
        return self.answers[key]  # type: ignore[no-any-return]

    return answer


class ModuleFile:
    """The file with a module's debug information (`found`): the module or a separate debug file.

    Reads symbols and lines when the first question needs them. Not thread-safe.
    """

    def __init__(self, module: Module, recorded_ns: int, debug_roots: Sequence[Path] | None) -> None:
        roots = DEBUG_ROOTS if debug_roots is None else debug_roots
        self.found = find_debug_file(module, recorded_ns, roots)
        self._module = module
        self._directives = Directives(recorded_ns)
        self._instructions: Instructions | None = None
        self.answers: dict[tuple[str, int], Any] = {}  # by question and address

    @cached_property
    def lookup(self) -> Lookup | None:
        return Lookup(self.found.path, self.found.has_lines) if self.found.path else None

    @cached_property
    def _table(self) -> FrameTable:
        """The unwind tables; empty if the file is not the recorded one."""
        return FrameTable.of_file(Path(self._module.path)) if self.found.is_own else FrameTable("")

    @cached_property
    def creates_tasks_by_libgomp(self) -> bool:
        return self.found.is_own and creates_tasks_by_libgomp(self._module.path)

    def rules_at(self, address: int) -> Rules | None:
        """Returns the unwind rules of an instruction; None if they are unknown."""
        return self._table.rules_at(address)

    def behaviour(self, address: int, machine: str) -> str:
        """Returns the behaviour of an instruction, as Instructions.behaviour()."""
        return self._decoded(machine).behaviour(address)

    def update_before(self, address: int, machine: str) -> int:
        """Returns the address of an atomic update, as Instructions.update_before()."""
        return self._decoded(machine).update_before(address)

    def operands(self, address: int, machine: str) -> tuple[Operand, ...]:
        """Returns the memory operands at an instruction, as Instructions.operands()."""
        return self._decoded(machine).operands(address)

    def _decoded(self, machine: str) -> Instructions:
        if self._instructions is None:
            path, functions = Path(self._module.path), self._table.function_at
            self._instructions = Instructions(machine, path, functions)
        return self._instructions

    @_remembered
    def critical_name(self, offset: int) -> str | None:
        """Returns the name of a critical construct; empty if it has none, None if unknown."""
        # Symbols of a replaced file would be wrong; a debug file lacks the code.
        path = Path(self._module.path)
        return critical_name(path, offset) if self.found.path == path else None

    @_remembered
    def task_bytes(self, offset: int) -> int:
        """Returns the size of the data that the creation of a task copies; 0 if unknown."""
        path = Path(self._module.path)  # as in critical_name()
        return task_bytes(path, offset) if self.found.path == path else 0

    @_remembered
    def locations_of_sample(self, address: int) -> tuple[Location, ...]:
        """Returns the locations of a sampled instruction, innermost first; at least one."""
        frames = self.lookup.of_sample(address) if self.lookup else ()
        return tuple(
            Location(
                readable_name(frame.symbol) or self._enclosing_function(address, frame),
                frame.file,
                frame.line,
                (),
                self._module.path,
                address,
            )
            for frame in frames or (Frame("", "", 0),)
        )

    @_remembered
    def blocking_calls(self, offset: int) -> tuple[BlockingCall, ...]:
        """Returns calls in a construct that may put a thread to sleep; their names have no parameters."""
        found = self._blocking.of_construct(offset) if self._blocking else ()
        return tuple(call._replace(name=readable_name(call.name).partition("(")[0]) for call in found)

    @cached_property
    def _blocking(self) -> BlockingCalls | None:
        path = Path(self._module.path)  # as in critical_name()
        return BlockingCalls(path) if self.found.path == path else None

    @cached_property
    def _offloads(self) -> Offloads | None:
        path = Path(self._module.path)  # as in critical_name()
        return Offloads(path) if self.found.path == path else None

    def _location_of_launch(self, offset: int) -> Location | None:
        """Returns the location of a call that launches a kernel; None for other and unknown calls."""
        line, start = self._offloads.line_of_call(offset) if self._offloads and self.lookup else (0, 0)
        frames = self.lookup(start) if line and self.lookup else ()
        if not frames or not frames[-1].file:
            return None
        function = readable_name(frames[-1].symbol) or self._enclosing_function(start, frames[-1])
        return Location(function, frames[-1].file, line, (), self._module.path, offset)

    @cached_property
    def _bodies(self) -> Bodies | None:
        path = Path(self._module.path)  # as in critical_name()
        return Bodies(path) if self.found.path == path else None

    def _frames_of_call(self, offset: int) -> Sequence[Frame]:
        """Returns the frames of the call that returns to `offset`, innermost first; empty if unknown.

        If the call starts a construct (gcc) or a region or task (flang), the first frame belongs to its body.
        """
        if self.lookup is None:
            return ()
        # The recorded address is the call's return address, which may belong to the next statement.
        frames = self.lookup.of_call(offset - 1)
        if not frames or not self._bodies:
            return frames
        called = self._bodies.called(offset)
        body = self._bodies.body_of(offset) or self._bodies.body_of_task(offset)
        found = self.lookup.of_body(body) if body else ()
        if not found or not found[-1].line:
            lined = frames if frames[0].line else self.lookup.of_sample(offset - 1)
            near = self._directives.of_call(lined, called)
            return frames if near is lined else near
        file, line = found[-1].file, found[-1].line
        directive = self._directives.before(file, line, called)
        own = readable_name(found[-1].symbol)
        k = next((k for k, frame in enumerate(frames) if readable_name(frame.symbol) == own), None)
        if k is None:  # gfortran writes no frame of the inlined procedure
            return (replace(found[-1], line=directive), *frames) if directive else frames
        if not directive:  # flang's body may begin with lines of declarations
            behind = (self._directives.before(file, each, called) for each in self.lookup.lines_of_body(body))
            directive = next(filter(None, behind), 0)
        near = (replace(found[-1], line=directive or line), *frames[k + 1 :])
        # gcc's bodies begin after the directive.
        return near if directive or called.startswith("GOMP_") else self._directives.of_call(near, called)

    @_remembered
    def location_of_call(self, offset: int) -> Location:
        """Returns the location of the call that returns to `offset`."""
        if launch := self._location_of_launch(offset):
            return launch
        frames = self._frames_of_call(offset)
        if not frames:
            return Location("", "", 0, (), self._module.path, offset)
        names = [readable_name(frame.symbol) for frame in frames]
        # Compilers give line 0 to code without a particular line; its file is still known.
        filed = next((frame for frame in frames if frame.file), Frame("", "", 0))
        place = next((frame for frame in frames if frame.line), filed)
        function = names[0] or self._enclosing_function(offset - 1, place)
        function = function or next((name for name in names if name), "")
        outer: list[str] = []
        for name in names[1:]:
            if name and name != function and name not in outer:
                outer.append(name)
        return Location(function, place.file, place.line, tuple(outer), self._module.path, offset)

    def _enclosing_function(self, address: int, frame: Frame) -> str:
        if self.found.path is None or not frame.line:
            return ""
        return enclosing_function(self.found.path, address, frame.file, frame.line)


def creates_tasks_by_libgomp(path: str) -> bool:
    """True if the file calls gcc's functions that create tasks."""
    try:
        names = imported_symbols(Path(path), ("GOMP_task",))
        return any(name == "GOMP_task" or name.startswith("GOMP_taskloop") for name, _ in names)
    except NotElfError:
        return False


# Larger debug sections are not decoded: Python takes about a second per 10 MB.
_LARGEST_DEBUG_INFO_BYTES = 32 << 20


def enclosing_function(path: Path, address: int, file: str, line: int) -> str:
    """Returns the function around file:line in the unit that covers `address`; empty if unknown."""
    from elftools.common.exceptions import DWARFError, ELFError  # slow to load, and seldom needed

    if split := split_dwarf_of(path):
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
    from elftools.elf.elffile import ELFFile

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
