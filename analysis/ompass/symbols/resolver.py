# SPDX-License-Identifier: Apache-2.0
"""Resolves the code addresses of a run, each once, and collects the problems.

Owns the choice of a location from frames: the innermost source line, the innermost function with a name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from ompass.elf import runtime_kind
from ompass.model import Definition, Module, Run
from ompass.symbols.criticals import critical_name
from ompass.symbols.debugfiles import DEBUG_ROOTS, DebugFile, find_debug_file
from ompass.symbols.enclosing import enclosing_function
from ompass.symbols.lookup import Frame, Lookup
from ompass.symbols.names import compact_name, readable_name


@dataclass(frozen=True, slots=True)
class Location:
    """The known location of a construct in the source."""

    function: str  # demangled; empty when unknown
    file: str  # absolute as compiled; empty when unknown
    line: int  # 0 when unknown
    inlined_into: tuple[str, ...] = ()  # functions into which the code was inlined, innermost first
    module: str = ""  # path of the executable or library; empty when unknown
    offset: int = 0

    @property
    def place(self) -> str:
        """`fib.c:12`; without a line `fib.c+0x1234`, with its address; else `fib+0x1234`, else `?`."""
        if self.line:
            return f"{PurePosixPath(self.file).name}:{self.line}"
        known = self.file or self.module
        return f"{PurePosixPath(known).name}+{self.offset:#x}" if known else "?"

    def label(self) -> str:
        """Returns `fib.c:12 (fib)`, or its known parts."""
        return f"{self.place} ({compact_name(self.function, 60)})" if self.function else self.place

    def is_named(self, text: str) -> bool:
        """True if `text` names this location: file:line with or without directories, or a function."""
        bare = self.function.partition("(")[0].rpartition("::")[2]
        return bool(text) and text in (self.place, f"{self.file}:{self.line}", self.function, bare)


# An OpenMP call at the end of a function may be a jump, which returns into the runtime.
NO_CALLER = (
    "some constructs were called from the OpenMP runtime itself, so their lines are unknown: "
    "compile with -fno-optimize-sibling-calls (for tasks, wrappers are enough: ompass run)"
)
UNKNOWN = Location("", "", 0)


class Resolver:
    """Locations of the definitions of one run.

    Not thread-safe. Opens files lazily; `problems` grows at the first use of each module.
    """

    def __init__(
        self, modules: Sequence[Module], recorded_ns: int = 0, debug_roots: Sequence[Path] = DEBUG_ROOTS
    ) -> None:
        self._modules = modules
        self._recorded_ns = recorded_ns
        self._debug_roots = debug_roots
        self._open: dict[int, tuple[DebugFile, Lookup | None]] = {}
        self._known: dict[tuple[int, int], Location] = {}
        self._code: dict[tuple[int, int], tuple[Location, ...]] = {}
        self._names: dict[tuple[int, int], str | None] = {}
        self.problems: list[str] = []  # sentences, one per module that cannot be read fully

    @classmethod
    def of_run(cls, run: Run) -> Resolver:
        return cls(run.modules, run.start_epoch_ns)

    def locate(self, definition: Definition) -> Location:
        """Returns the location of a construct; a kernel or phase has its given name as function."""
        location = self.locate_address(definition.module, definition.offset)
        if definition.name:
            return Location(
                definition.name, location.file, location.line, (), location.module, location.offset
            )
        return location

    def locate_address(self, module: int, offset: int) -> Location:
        """Returns the location of the call that returns to `offset`, an ELF virtual address in the module."""
        if not 0 <= module < len(self._modules) or offset <= 0:
            return UNKNOWN
        key = (module, offset)
        if key not in self._known:
            self._known[key] = self._look_up(module, offset)
        return self._known[key]

    def critical_name(self, definition: Definition) -> str | None:
        """Returns the name of a critical construct; empty: it has none, None: unknown."""
        key = (definition.module, definition.offset)
        if key not in self._names:
            known = 0 <= definition.module < len(self._modules) and definition.offset > 0
            path = Path(self._modules[definition.module].path) if known else None
            # Symbols of a replaced file would be wrong; a debug file lacks the code.
            is_own = path is not None and self._open_module(definition.module)[0].path == path
            self._names[key] = critical_name(path, definition.offset) if path and is_own else None
        return self._names[key]

    def locate_code(self, module: int, address: int) -> tuple[Location, ...]:
        """Returns the locations of a sampled instruction.

        Inlined code has a location in each function that contains it, innermost first. Never empty.
        """
        key = (module, address)
        if key not in self._code:
            self._code[key] = tuple(self._describe_code(module, address))
        return self._code[key]

    def _describe_code(self, module: int, address: int) -> Iterator[Location]:
        if not 0 <= module < len(self._modules):
            yield UNKNOWN
            return
        path = self._modules[module].path
        found, lookup = self._open_module(module)
        for frame in (lookup.of_sample(address) if lookup else ()) or (Frame("", "", 0),):
            function = readable_name(frame.symbol)
            if not function and found.path is not None and frame.line:
                function = enclosing_function(found.path, address, frame.file, frame.line)
            yield Location(function, frame.file, frame.line, (), path, address)

    def _look_up(self, module: int, offset: int) -> Location:
        path = self._modules[module].path
        if runtime_kind(PurePosixPath(path).name):
            if NO_CALLER not in self.problems:
                self.problems.append(NO_CALLER)
            return Location("", "", 0, (), path, offset)
        found, lookup = self._open_module(module)
        # The recorded address is the call's return address, which may belong to the next statement.
        frames = lookup(offset - 1) if lookup else ()
        if not frames:
            return Location("", "", 0, (), path, offset)
        names = [readable_name(frame.symbol) for frame in frames]
        # Compilers give line 0 to code without a particular line; its file is still known.
        filed = next((frame for frame in frames if frame.file), Frame("", "", 0))
        place = next((frame for frame in frames if frame.line), filed)
        function = names[0]
        if not function and found.path is not None and place.line:
            function = enclosing_function(found.path, offset - 1, place.file, place.line)
        function = function or next((name for name in names if name), "")
        outer: list[str] = []
        for name in names[1:]:
            if name and name != function and name not in outer:
                outer.append(name)
        return Location(function, place.file, place.line, tuple(outer), path, offset)

    def _open_module(self, module: int) -> tuple[DebugFile, Lookup | None]:
        if module not in self._open:
            found = find_debug_file(self._modules[module], self._recorded_ns, self._debug_roots)
            if found.problem:
                self.problems.append(found.problem)
            self._open[module] = (found, Lookup(found.path, found.has_lines) if found.path else None)
        return self._open[module]
