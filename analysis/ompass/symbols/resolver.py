# SPDX-License-Identifier: Apache-2.0
"""Answers questions about the code addresses of a run, each once, and collects the problems.

Owns the choice of a location from frames: the innermost source line, the innermost function with a name. Uses
the answers in the run's names file first, then the files of the program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Final, TypeVar

from ompass.elf import NotElfError, imported_symbols, runtime_kind
from ompass.model import Definition, Module, Run
from ompass.symbols.criticals import critical_name
from ompass.symbols.debugfiles import DEBUG_ROOTS, DebugFile, find_debug_file
from ompass.symbols.enclosing import enclosing_function
from ompass.symbols.instructions import Instructions
from ompass.symbols.kept import NAMES_FILE, Address, Answers, DamagedNamesError, ModuleNames, read_names
from ompass.symbols.location import UNKNOWN, Location
from ompass.symbols.lookup import Frame, Lookup
from ompass.symbols.names import readable_name
from ompass.symbols.unwinder import FrameTable, Rules

__all__ = ["NO_CALLER", "UNKNOWN", "Location", "Resolver"]

Value = TypeVar("Value")

# An OpenMP call at the end of a function may be a jump, which returns into the runtime.
NO_CALLER = (
    "some constructs were called from the OpenMP runtime itself, so their lines are unknown: "
    "compile with -fno-optimize-sibling-calls"
)


class Resolver:
    """Locations, unwind rules and behaviour of the code of one run.

    Not thread-safe. Opens files lazily; `problems` grows at the first use of each module.
    """

    def __init__(
        self,
        modules: Sequence[Module],
        recorded_ns: int = 0,
        debug_roots: Sequence[Path] = DEBUG_ROOTS,
        kept: Answers | None = None,
    ) -> None:
        self._modules = modules
        self._recorded_ns = recorded_ns
        self._debug_roots = debug_roots
        self.answers: Final = kept or Answers()
        self.is_kept = kept is not None  # True if the run has a names file that can be used
        self.has_news = False  # True if `answers` has more than the names file
        self.may_keep = True  # False if the file is of a later version
        self._stopgaps: dict[tuple[int, Address], object] = {}  # answers about missing or changed files
        self._noted: set[int] = set()
        self._files: dict[int, DebugFile] = {}
        self._lookups: dict[int, Lookup | None] = {}
        self._tables: dict[int, FrameTable] = {}
        self._instructions: dict[int, Instructions] = {}
        self.problems: list[str] = []  # sentences, one per module that cannot be read fully

    @classmethod
    def of_run(cls, run: Run) -> Resolver:
        """Returns the resolver of a run, with the answers in its names file."""
        kept, damage = None, None
        try:
            kept = read_names(run.path, run.modules)
        except DamagedNamesError as error:
            damage = error
        resolver = cls(run.modules, run.start_epoch_ns, kept=kept)
        if damage is not None:
            resolver.may_keep = not damage.is_newer
            resolver.problems.append(
                f"the names in {run.path / NAMES_FILE} cannot be used ({damage}), so names are looked up in "
                "the files of the program"
            )
        return resolver

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
        if not self._knows(module) or offset <= 0:
            return UNKNOWN
        path = self._modules[module].path
        if runtime_kind(PurePosixPath(path).name):
            if NO_CALLER not in self.problems:
                self.problems.append(NO_CALLER)
            return Location("", "", 0, (), path, offset)
        self._look_for_lines(module)
        self._note(module)
        return self._answer(self.answers.calls, (module, offset), self._look_up, self._is_found)

    def critical_name(self, definition: Definition) -> str | None:
        """Returns the name of a critical construct; empty: it has none, None: unknown."""
        module, offset = definition.module, definition.offset
        if not self._knows(module) or offset <= 0:
            return None
        self._note(module)
        return self._answer(self.answers.criticals, (module, offset), self._look_up_critical, self._is_own)

    def locate_code(self, module: int, address: int) -> tuple[Location, ...]:
        """Returns the locations of a sampled instruction.

        Inlined code has a location in each function that contains it, innermost first. Never empty.
        """
        if not self._knows(module):
            return (UNKNOWN,)
        self._note(module)
        return self._answer(
            self.answers.code,
            (module, address),
            lambda module, address: tuple(self._describe_code(module, address)),
            self._is_found,
        )

    def rules_at(self, module: int, address: int) -> Rules | None:
        """Returns the unwind rules of an instruction; None if they are unknown."""
        if not self._knows(module):
            return None
        return self._answer(
            self.answers.rules,
            (module, address),
            lambda module, address: self._table_of(module).rules_at(address),
            self._is_own,
        )

    def behaviour(self, module: int, address: int, machine: str) -> str:
        """Returns the activity of an instruction, one of `Instructions`; `machine` as in samples."""
        if not self._knows(module):
            return ""

        def classify(module: int, address: int) -> str:
            if module not in self._instructions:
                functions = self._table_of(module).function_at
                path = Path(self._modules[module].path)
                self._instructions[module] = Instructions(machine, path, functions)
            return self._instructions[module].behaviour(address)

        return self._answer(self.answers.behaviours, (module, address), classify, self._is_own)

    def creates_tasks_by_libgomp(self) -> bool:
        """True if a module of the run calls gcc's functions that create tasks."""
        return any(self._creates_tasks_by_libgomp(number) for number in range(len(self._modules)))

    # ------------------------------------------------------------ answers

    def _answer(
        self,
        table: dict[Address, Value],
        key: Address,
        ask: Callable[[int, int], Value],
        is_sound: Callable[[int], bool],
    ) -> Value:
        """Returns a known answer, or asks the files; only sound answers may be kept."""
        if key in table:
            return table[key]
        stopgap = (id(table), key)
        if stopgap in self._stopgaps:
            return self._stopgaps[stopgap]  # type: ignore[return-value]
        value = ask(*key)
        if is_sound(key[0]):
            table[key] = value
            self.has_news = True
        else:
            self._stopgaps[stopgap] = value
        return value

    def _is_found(self, module: int) -> bool:
        lookup = self._lookups.get(module)
        return self._file_of(module).path is not None and not (lookup and lookup.problem)

    def _is_own(self, module: int) -> bool:
        return self._file_of(module).is_own

    def _knows(self, module: int) -> bool:
        return 0 <= module < len(self._modules)

    def _note(self, module: int) -> None:
        """Adds the problem of a module at its first use."""
        if module not in self._noted:
            self._noted.add(module)
            kept = self.answers.modules.get(module)
            if problem := kept.problem if kept else self._file_of(module).problem:
                self.problems.append(problem)

    def _look_for_lines(self, module: int) -> None:
        """Forgets the kept names of a module without lines, if it has lines now."""
        kept = self.answers.modules.get(module)
        if module in self._noted or kept is None or kept.has_lines:
            return
        if self._file_of(module).has_lines:
            self.answers.forget(module)
            del self._files[module]

    # ------------------------------------------------------------ files

    def _file_of(self, module: int) -> DebugFile:
        if module not in self._files:
            found = find_debug_file(self._modules[module], self._recorded_ns, self._debug_roots)
            self._files[module] = found
            kept = self.answers.modules.get(module)
            if found.path is not None and (kept is None or found.is_own > kept.is_own):
                creates = found.is_own and _creates_tasks_by_libgomp(self._modules[module].path)
                self.answers.modules[module] = ModuleNames(
                    found.problem, found.has_lines, found.is_own, creates
                )
        return self._files[module]

    def _lookup_in(self, module: int) -> Lookup | None:
        if module not in self._lookups:
            found = self._file_of(module)
            self._lookups[module] = Lookup(found.path, found.has_lines) if found.path else None
            kept = self.answers.modules.get(module)
            # The names file lacks the address, and the program has changed.
            if kept and found.problem and found.problem != kept.problem:
                self.problems.append(found.problem)
        return self._lookups[module]

    def _note_missing(self, lookup: Lookup | None) -> None:
        if lookup and lookup.problem and lookup.problem not in self.problems:
            self.problems.append(lookup.problem)

    def _table_of(self, module: int) -> FrameTable:
        if module not in self._tables:
            self._tables[module] = FrameTable.of_module(self._modules[module])
        return self._tables[module]

    def _creates_tasks_by_libgomp(self, module: int) -> bool:
        kept = self.answers.modules.get(module)
        if kept is not None and kept.is_own:
            return kept.creates_tasks_by_libgomp
        return _creates_tasks_by_libgomp(self._modules[module].path)

    def _look_up_critical(self, module: int, offset: int) -> str | None:
        # Symbols of a replaced file would be wrong; a debug file lacks the code.
        path = Path(self._modules[module].path)
        return critical_name(path, offset) if self._file_of(module).path == path else None

    def _describe_code(self, module: int, address: int) -> Iterator[Location]:
        path = self._modules[module].path
        found, lookup = self._file_of(module), self._lookup_in(module)
        frames = lookup.of_sample(address) if lookup else ()
        self._note_missing(lookup)
        for frame in frames or (Frame("", "", 0),):
            function = readable_name(frame.symbol)
            if not function and found.path is not None and frame.line:
                function = enclosing_function(found.path, address, frame.file, frame.line)
            yield Location(function, frame.file, frame.line, (), path, address)

    def _look_up(self, module: int, offset: int) -> Location:
        path = self._modules[module].path
        found, lookup = self._file_of(module), self._lookup_in(module)
        # The recorded address is the call's return address, which may belong to the next statement.
        frames = lookup(offset - 1) if lookup else ()
        self._note_missing(lookup)
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


def _creates_tasks_by_libgomp(path: str) -> bool:
    try:
        return bool(imported_symbols(Path(path), ("GOMP_task",)))
    except NotElfError:
        return False
