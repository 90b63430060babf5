# SPDX-License-Identifier: Apache-2.0
"""Answers questions about the code addresses of a run, remembers the answers, and collects the problems.

Uses the answers in the run's names file first, then the files of the program (`program_files`).
Also has the notes on constructs whose own lines are unknown, because their calls return into the runtime.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final, TypeVar

from ompass.model import LOOPS, WAIT_KINDS, Definition, Module, Run
from ompass.runtime_names import runtime_kind
from ompass.symbols.debug_places import DEBUG_ROOTS, installed_debug_files
from ompass.symbols.kept import NAMES_FILE, Address, Answers, DamagedNamesError, ModuleNames, read_names
from ompass.symbols.libraries import may_create_tasks
from ompass.symbols.location import UNKNOWN, BlockingCall, Location
from ompass.symbols.operands import Operand
from ompass.symbols.unwinder import Rules
from ompass.units import plural

if TYPE_CHECKING:
    from ompass.symbols.program_files import ModuleFile


__all__ = ["UNKNOWN", "Location", "Resolver"]

Value = TypeVar("Value")


def construct_name(definition: Definition, place: Location) -> str:
    """Returns the name of a construct: its given name, or else its place; for an MPI call, both."""
    if definition.kind == "mpi":
        return f"{definition.name} {place.label()}"
    return definition.name or place.label()


def identity(module: Module) -> tuple[str, str]:
    """Returns a key that all copies of one build share, such as the copies of the vdso in run directories."""
    return PurePosixPath(module.path).name if module.build_id else module.path, module.build_id


@dataclass(slots=True)
class Shared:
    """The opened files of the program, which the resolvers of several runs may share."""

    files: dict[tuple[str, str], ModuleFile] = field(default_factory=dict)  # by identity
    creates_tasks_by_libgomp: dict[str, bool] = field(default_factory=dict)  # by path

    def file_of(self, module: Module, recorded_ns: int, debug_roots: Sequence[Path] | None) -> ModuleFile:
        """Returns the file of a module. Modules with the same identity share it."""
        from ompass.symbols.program_files import ModuleFile  # slow to load, and seldom needed

        key = identity(module)
        file = self.files.get(key)
        if file is None or file.found.path is None:
            file = self.files[key] = ModuleFile(module, recorded_ns, debug_roots)
        return file


class Resolver:
    """Locations, unwind rules and behaviour of the code of one run.

    Not thread-safe. Opens files lazily; `problems` grows at the first use of each module.
    """

    def __init__(
        self,
        modules: Sequence[Module],
        recorded_ns: int = 0,
        debug_roots: Sequence[Path] | None = None,
        kept: Answers | None = None,
    ) -> None:
        self._modules = modules
        self._recorded_ns = recorded_ns
        self._debug_roots = debug_roots
        self.answers = kept or Answers()  # runs with the same modules may share this object
        self.is_kept = kept is not None  # True if the run has a names file that can be used
        self.has_news = False  # True if `answers` has more than the names file
        self.may_keep = True  # False if a later version of ompass wrote the names file
        self._stopgaps: dict[tuple[int, Address], object] = {}  # from missing or changed files; not kept
        self._noted: set[int] = set()
        self._files: dict[int, ModuleFile] = {}
        self.shared = Shared()
        self.problems: list[str] = []  # sentences about missing names and lines

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
            reason = f"cannot be used ({damage})" if damage.is_newer else "is damaged"
            resolver.problems.append(
                f"{NAMES_FILE} {reason}, so names are looked up in the files of the program"
            )
        return resolver

    def locate(self, definition: Definition) -> Location:
        """Returns the location of a construct; a kernel or phase has its given name as function."""
        location = self.locate_address(definition.module, definition.offset)
        if definition.name and definition.kind != "mpi":
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
            return Location("", "", 0, (), path)
        self._look_for_lines(module)
        self._note(module)
        return self._answer(self.answers.calls, (module, offset), self._look_up_call, self._is_found)

    def critical_name(self, definition: Definition) -> str | None:
        """Returns the name of a critical construct; empty if it has none, None if unknown."""
        return self._about(
            definition,
            self.answers.criticals,
            None,
            lambda module, offset: self._file_of(module).critical_name(offset),
        )

    def task_bytes(self, definition: Definition) -> int:
        """Returns the size of the data that the creation of a task copies; 0 if unknown."""
        return self._about(
            definition,
            self.answers.task_bytes,
            0,
            lambda module, offset: self._file_of(module).task_bytes(offset),
        )

    def locate_code(self, module: int, address: int) -> tuple[Location, ...]:
        """Returns the locations of a sampled instruction.

        Inlined code has a location in each function that contains it, innermost first. Never empty.
        """
        if not self._knows(module):
            return (UNKNOWN,)
        self._look_for_lines(module, only_installed=True)
        self._note(module)
        return self._answer(self.answers.code, (module, address), self._look_up_sample, self._is_found)

    def rules_at(self, module: int, address: int) -> Rules | None:
        """Returns the unwind rules of an instruction; None if they are unknown."""
        if not self._knows(module):
            return None
        return self._answer(
            self.answers.rules,
            (module, address),
            lambda module, address: self._file_of(module).rules_at(address),
            self._is_own,
        )

    def behaviour(self, module: int, address: int, machine: str) -> str:
        """Returns the behaviour of an instruction, as Instructions.behaviour(); `machine` as in samples."""
        if not self._knows(module):
            return ""

        return self._answer(
            self.answers.behaviours,
            (module, address),
            lambda module, address: self._file_of(module).behaviour(address, machine),
            self._is_own,
        )

    def update_before(self, module: int, address: int, machine: str) -> int:
        """Returns the address of an atomic update, as Instructions.update_before()."""
        if not self._knows(module):
            return address
        return self._answer(
            self.answers.updates,
            (module, address),
            lambda module, address: self._file_of(module).update_before(address, machine),
            self._is_own,
        )

    def operands(self, module: int, address: int, machine: str) -> tuple[Operand, ...]:
        """Returns the memory operands at an instruction, as Instructions.operands()."""
        if not self._knows(module):
            return ()
        return self._answer(
            self.answers.operands,
            (module, address),
            lambda module, address: self._file_of(module).operands(address, machine),
            self._is_own,
        )

    def blocking_calls(self, definition: Definition) -> tuple[BlockingCall, ...]:
        """Returns the calls of a construct that may put a thread to sleep; only the likeliest kind."""
        return self._about(
            definition,
            self.answers.blocking,
            (),
            lambda module, offset: self._file_of(module).blocking_calls(offset),
        )

    def creates_tasks_by_libgomp(self) -> bool:
        """True if a module of the run calls gcc's functions that create tasks."""
        return any(self._creates_tasks_by_libgomp(number) for number in range(len(self._modules)))

    # ------------------------------------------------------------ answers

    def _about(
        self,
        definition: Definition,
        table: dict[Address, Value],
        unknown: Value,
        ask: Callable[[int, int], Value],
    ) -> Value:
        """Returns the answer about the code of a construct, from the module itself."""
        module, offset = definition.module, definition.offset
        if not self._knows(module) or offset <= 0:
            return unknown
        self._note(module)
        return self._answer(table, (module, offset), ask, self._is_own)

    def _answer(
        self,
        table: dict[Address, Value],
        key: Address,
        ask: Callable[[int, int], Value],
        is_sound: Callable[[int], bool],
    ) -> Value:
        """Returns the known answer, or asks the files. Keeps the answer if `is_sound(module)`."""
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
        file = self._file_of(module)
        return file.found.path is not None and not (file.lookup and file.lookup.problem)

    def _is_own(self, module: int) -> bool:
        return self._file_of(module).found.is_own

    def _knows(self, module: int) -> bool:
        return 0 <= module < len(self._modules)

    def _note(self, module: int) -> None:
        """Adds the problem of a module at its first use."""
        if module not in self._noted:
            self._noted.add(module)
            kept = self.answers.modules.get(module)
            if problem := kept.problem if kept else self._file_of(module).found.problem:
                self.problems.append(problem)

    def _look_for_lines(self, module: int, *, only_installed: bool = False) -> None:
        """Forgets the kept places of a module that had no lines when they were kept, but has lines now.

        `only_installed`: look for installed debug files only. Most libraries never get lines, and reading
        files is slow.
        """
        kept = self.answers.modules.get(module)
        if module in self._noted or kept is None or kept.has_lines:
            return
        roots = DEBUG_ROOTS if self._debug_roots is None else self._debug_roots
        if only_installed and not any(installed_debug_files(self._modules[module].build_id, roots)):
            return
        found = self._file_of(module).found
        if found.has_lines:
            self.answers.forget_places(module)
            self.answers.modules[module] = replace(kept, problem=found.problem, has_lines=True)

    # ------------------------------------------------------------ files

    def _file_of(self, module: int) -> ModuleFile:
        if module not in self._files:
            file = self.shared.file_of(self._modules[module], self._recorded_ns, self._debug_roots)
            self._files[module] = file
            kept, found = self.answers.modules.get(module), file.found
            if found.path is not None and (kept is None or found.is_own > kept.is_own):
                self.answers.modules[module] = ModuleNames(
                    found.problem, found.has_lines, found.is_own, file.creates_tasks_by_libgomp
                )
        return self._files[module]

    def _look_up_call(self, module: int, offset: int) -> Location:
        location = self._file_of(module).location_of_call(offset)
        self._note_lookup(module)
        return location

    def _look_up_sample(self, module: int, address: int) -> tuple[Location, ...]:
        locations = self._file_of(module).locations_of_sample(address)
        self._note_lookup(module)
        return locations

    def _note_lookup(self, module: int) -> None:
        """Adds problems that the names file lacks: a changed program, or missing parts."""
        file, kept = self._file_of(module), self.answers.modules.get(module)
        changed = file.found.problem if kept and file.found.problem != kept.problem else ""
        missing = file.lookup.problem if file.lookup else ""
        self.problems += [each for each in (changed, missing) if each and each not in self.problems]

    def _creates_tasks_by_libgomp(self, module: int) -> bool:
        kept = self.answers.modules.get(module)
        if kept is not None and kept.is_own:
            return kept.creates_tasks_by_libgomp
        if not may_create_tasks(self._modules[module].path):
            return False
        from ompass.symbols.program_files import creates_tasks_by_libgomp  # slow to load

        path, known = self._modules[module].path, self.shared.creates_tasks_by_libgomp
        if path not in known:
            known[path] = creates_tasks_by_libgomp(path)
        return known[path]


class Resolvers:
    """The resolvers of several runs of one program, such as the ranks of a job. They share opened files."""

    def __init__(self) -> None:
        self._shared = Shared()

    def of_run(self, run: Run) -> Resolver:
        resolver = Resolver.of_run(run)
        resolver.shared = self._shared
        return resolver


_MOST_PLACES: Final = 3
_KINDS: Final = {"parallel": "parallel region", "task": "task construct"}
_FIRST_VERSION: Final = 7  # first trace format that records the task or region around a construct
_END: Final = "region barrier"  # shown at the place of its region, so needs no note


def notes_on_places(run: Run, locations: Mapping[int, Location]) -> Iterator[str]:
    """Yields a note on constructs that reports show at the place of the task or region around them."""
    around = [d for d in run.definitions if d.is_place_around and locations[d.id].line and _kind(d) != _END]
    if around:
        places = list(dict.fromkeys(locations[d.id].place for d in around))
        more = f" and {len(places) - _MOST_PLACES} more" if len(places) > _MOST_PLACES else ""
        have, them = ("has", "it") if len(around) == 1 else ("have", "them")
        yield (
            f"{_kinds_of(around)} {have} the line of the task or region around {them} "
            f"({', '.join(places[:_MOST_PLACES])}{more}), because the call returns into the OpenMP runtime: "
            + ("record with `ompass run`, or " if run.create_estimated else "")
            + "compile with -fno-optimize-sibling-calls, for the line of the call"
        )
    unknown = [d for d in run.definitions if _is_in_runtime(run, d) and _kind(d) != _END]
    if unknown and run.format_version < _FIRST_VERSION:
        them, their_places = ("it", "its place") if len(unknown) == 1 else ("them", "their places")
        yield (
            f"an earlier version of Ompass recorded {_kinds_of(unknown)} without the region around {them}: "
            f"record again to see {their_places}"
        )


def _kind(definition: Definition) -> str:
    if definition.kind == "wait":
        return WAIT_KINDS.get(definition.flags, "wait")
    if definition.kind == "loop":
        return LOOPS.get(definition.flags, "loop")
    return _KINDS.get(definition.kind, definition.kind)


def _kinds_of(definitions: list[Definition]) -> str:
    """Returns `2 taskwaits and 1 task construct`."""
    numbers = Counter(map(_kind, definitions))
    parts = [plural(n, kind) for kind, n in numbers.items()]
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def _is_in_runtime(run: Run, definition: Definition) -> bool:
    known = 0 <= definition.module < len(run.modules)
    return known and bool(runtime_kind(PurePosixPath(run.modules[definition.module].path).name))
