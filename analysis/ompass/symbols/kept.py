# SPDX-License-Identifier: Apache-2.0
"""The names file of a run: answers about its code addresses, from the program's files, and source lines.

Owns the file's format, which docs/trace-format.md describes. `resolver` uses the answers.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Final, TypeVar

from ompass.model import Module
from ompass.symbols.location import BlockingCall, Location
from ompass.symbols.operands import Operand, operand_text, parse_operand
from ompass.symbols.unwinder import Rules, parse_rules, rules_text

NAMES_FILE: Final = "names.json.gz"
VERSION: Final = 1
_MARK: Final = "ompass names"
_LARGEST_BYTES: Final = 256 << 20  # decompressed

Address = tuple[int, int]
"""Number of the module, ELF virtual address."""
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class ModuleNames:
    """A module for which the recorded file, or its debug file, was found."""

    problem: str  # the reason why its names are incomplete; empty if they are complete
    has_lines: bool
    is_own: bool  # True if the module itself was found, not only its debug file
    creates_tasks_by_libgomp: bool


@dataclass(slots=True)
class Answers:
    """The known answers about the addresses of one run. An address without an entry must be looked up."""

    modules: dict[int, ModuleNames] = field(default_factory=dict)
    calls: dict[Address, Location] = field(default_factory=dict)  # by return address
    code: dict[Address, tuple[Location, ...]] = field(default_factory=dict)  # by sampled address
    criticals: dict[Address, str | None] = field(default_factory=dict)
    task_bytes: dict[Address, int] = field(default_factory=dict)  # by construct
    rules: dict[Address, Rules | None] = field(default_factory=dict)
    behaviours: dict[Address, str] = field(default_factory=dict)
    updates: dict[Address, int] = field(default_factory=dict)  # addresses of atomic updates
    operands: dict[Address, tuple[Operand, ...]] = field(default_factory=dict)  # of sampled instructions
    blocking: dict[Address, tuple[BlockingCall, ...]] = field(default_factory=dict)  # by construct
    lines: dict[str, Mapping[int, str]] = field(default_factory=dict)  # source lines, by file and number

    def forget_places(self, module: int) -> None:
        """Removes all functions and lines of a module."""
        tables: tuple[dict[Address, Any], ...] = (self.calls, self.code)
        for table in tables:
            for key in [key for key in table if key[0] == module]:
                del table[key]


class DamagedNamesError(Exception):
    """The names file cannot be used; the text is the reason."""

    def __init__(self, reason: str, *, is_newer: bool = False) -> None:
        super().__init__(reason)
        self.is_newer = is_newer  # True if a later version of ompass can use the file


def read_names(directory: Path, modules: Iterable[Module]) -> Answers | None:
    """Returns the answers in the names file of a run; None if it has no such file.

    Omits modules that the run lacks or has in another build. Raises DamagedNamesError.
    """
    path = directory / NAMES_FILE
    try:
        text = _unpacked(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, EOFError, zlib.error) as error:
        raise DamagedNamesError(str(error) or "it ends early") from error
    try:
        return _Reader(json.loads(text), tuple(modules)).answers()
    except DamagedNamesError:
        raise
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError) as error:
        raise DamagedNamesError("its content does not have the form of a names file") from error


def write_packed(directory: Path, packed: bytes) -> None:
    """Writes the names file of a run; replaces an earlier one in one step. Raises OSError."""
    attempt = directory / f"{NAMES_FILE}.{os.getpid()}"
    try:
        attempt.write_bytes(packed)
        attempt.replace(directory / NAMES_FILE)
    except BaseException:
        with contextlib.suppress(OSError):
            attempt.unlink()
        raise


def packed_names(modules: Iterable[Module], answers: Answers, version: str) -> bytes:
    """Returns the content of a names file; `version` is the version of this package."""
    content = _Writer(answers).content(tuple(modules)) | {"ompass": version}
    return gzip.compress(json.dumps(content, separators=(",", ":")).encode("ascii"), 9, mtime=0)


def _unpacked(packed: bytes) -> bytes:
    with gzip.GzipFile(fileobj=io.BytesIO(packed)) as stream:
        text = stream.read(_LARGEST_BYTES + 1)
    if len(text) > _LARGEST_BYTES:
        raise DamagedNamesError(f"it is larger than {_LARGEST_BYTES >> 20} MiB")
    return text


class _Table:
    """Distinct values, numbered by their first use."""

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}

    def number(self, value: Any) -> int:
        return self._numbers.setdefault(value, len(self._numbers))

    @property
    def values(self) -> list[Any]:
        return list(self._numbers)


class _Writer:
    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self._texts = _Table()
        self._frames = _Table()
        self._rules = _Table()

    def content(self, modules: tuple[Module, ...]) -> dict[str, Any]:
        found = self._answers
        tables = {
            "calls": self._rows(found.calls, self._call),
            "code": self._rows(found.code, lambda frames: list(map(self._frame, frames))),
            "criticals": self._rows(found.criticals, self._text_or_none),
            "task_bytes": self._rows(found.task_bytes, int),
            "rules": self._rows(found.rules, self._rule),
            "behaviours": self._rows(found.behaviours, self._texts.number),
            "updates": self._rows(found.updates, int),
            "operands": self._rows(found.operands, self._operands),
            "blocking": self._rows(found.blocking, self._blocking),
            "lines": [
                [self._texts.number(file), first, lines]
                for file, of_file in sorted(found.lines.items())
                for first, lines in _runs(of_file)
            ],
        }
        return {
            "format": _MARK,
            "version": VERSION,
            "modules": [
                [k, PurePosixPath(m.path).name, m.build_id, n.problem, n.has_lines, n.is_own,
                 n.creates_tasks_by_libgomp]
                for k, m in enumerate(modules)
                if (n := found.modules.get(k)) is not None
            ],
            "texts": self._texts.values,
            "frames": self._frames.values,
            "unwinding": self._rules.values,
            **tables,
        }  # fmt: skip

    def _rows(self, answers: Mapping[Address, Value], form: Callable[[Value], Any]) -> list[list[Any]]:
        """Returns [module, addresses, answers] by module; each address is the step from the previous one."""
        rows = []
        for module in sorted({module for module, _ in answers} & self._answers.modules.keys()):
            addresses = sorted(address for number, address in answers if number == module)
            steps = [b - a for a, b in zip([0, *addresses], addresses, strict=False)]
            rows.append([module, steps, [form(answers[module, address]) for address in addresses]])
        return rows

    def _operands(self, operands: tuple[Operand, ...]) -> list[int]:
        return [self._texts.number(operand_text(operand)) for operand in operands]

    def _blocking(self, calls: tuple[BlockingCall, ...]) -> list[list[int]]:
        return [[call.address, *map(self._texts.number, (call.name, call.kind))] for call in calls]

    def _frame(self, location: Location) -> int:
        texts = self._texts.number
        return self._frames.number((texts(location.function), texts(location.file), location.line))

    def _call(self, location: Location) -> list[int]:
        return [self._frame(location), *map(self._texts.number, location.inlined_into)]

    def _text_or_none(self, text: str | None) -> int:
        return -1 if text is None else self._texts.number(text)

    def _rule(self, rules: Rules | None) -> int:
        return -1 if rules is None else self._rules.number(rules_text(rules))


def _runs(lines: Mapping[int, str]) -> Iterator[tuple[int, list[str]]]:
    """Yields the first number and the lines of each series without a gap."""
    first, series = 0, list[str]()
    for number in sorted(lines):
        if series and number == first + len(series):
            series.append(lines[number])
            continue
        if series:
            yield first, series
        first, series = number, [lines[number]]
    if series:
        yield first, series


class _Reader:
    """Reads the content of a names file. Its functions raise ValueError and similar errors."""

    def __init__(self, content: dict[str, Any], modules: tuple[Module, ...]) -> None:
        if content["format"] != _MARK or not isinstance(content["version"], int):
            raise ValueError
        if content["version"] > VERSION:
            raise DamagedNamesError(
                f"a newer ompass wrote it, in version {content['version']} of the format; this one reads "
                f"version {VERSION}",
                is_newer=True,
            )
        self._content = {
            "task_bytes": [],
            "updates": [],
            "operands": [],
            "blocking": [],
            **content,
        }  # names files of earlier versions lack these tables
        self._modules = modules
        self._texts = [_checked(text, str) for text in content["texts"]]
        self._known: dict[int, ModuleNames] = {}

    def answers(self) -> Answers:
        for number, name, build_id, problem, *flags in self._content["modules"]:
            has_lines, is_own, creates = (_checked(flag, bool) for flag in flags)
            if not 0 <= _checked(number, int) < len(self._modules):
                continue
            module = self._modules[number]
            if (name, build_id) == (PurePosixPath(module.path).name, module.build_id):
                self._known[number] = ModuleNames(_checked(problem, str), has_lines, is_own, creates)
        rules = [parse_rules(_checked(text, str)) for text in self._content["unwinding"]]
        return Answers(
            modules=self._known,
            calls=dict(self._rows("calls", self._call)),
            code=dict(self._rows("code", self._code)),
            criticals=dict(self._rows("criticals", lambda n, _: None if n == -1 else self._text(n))),
            task_bytes=dict(self._rows("task_bytes", lambda n, _: _place(n))),
            rules=dict(self._rows("rules", lambda n, _: None if n == -1 else rules[_place(n)])),
            behaviours=dict(self._rows("behaviours", lambda n, _: self._text(n))),
            updates=dict(self._rows("updates", lambda n, _: _place(n))),
            operands=dict(
                self._rows("operands", lambda texts, _: tuple(parse_operand(self._text(n)) for n in texts))
            ),
            blocking=dict(self._rows("blocking", lambda calls, _: tuple(map(self._blocking, calls)))),
            lines=self._lines(),
        )

    def _rows(self, name: str, form: Callable[[Any, Address], Value]) -> Iterator[tuple[Address, Value]]:
        for module, steps, values in self._content[name]:
            address = 0
            for step, value in zip(steps, values, strict=True):
                address += _checked(step, int)
                if module in self._known:
                    yield (module, address), form(value, (module, address))

    def _text(self, number: Any) -> str:
        return self._texts[_place(number)]

    def _blocking(self, call: list[Any]) -> BlockingCall:
        address, name, kind = call
        return BlockingCall(_place(address), self._text(name), self._text(kind))

    def _frame(self, number: Any, outer: Iterable[Any], address: Address) -> Location:
        function, file, line = self._content["frames"][_place(number)]
        path = self._modules[address[0]].path
        return Location(
            self._text(function),
            self._text(file),
            _place(line),
            tuple(map(self._text, outer)),
            path,
            address[1],
        )

    def _call(self, value: list[Any], address: Address) -> Location:
        return self._frame(value[0], value[1:], address)

    def _code(self, value: list[Any], address: Address) -> tuple[Location, ...]:
        if not value:
            raise ValueError
        return tuple(self._frame(number, (), address) for number in value)

    def _lines(self) -> dict[str, Mapping[int, str]]:
        found: dict[str, dict[int, str]] = {}
        for file, first, lines in self._content["lines"]:
            of_file = found.setdefault(self._text(file), {})
            of_file.update((_place(first) + k, _checked(line, str)) for k, line in enumerate(lines))
        return {**found}


def _checked(value: Any, kind: type[Value]) -> Value:
    if not isinstance(value, kind):
        raise ValueError
    return value


def _place(value: Any) -> int:
    """Returns the value if it is a number of at least 0; else raises ValueError."""
    if _checked(value, int) < 0:
        raise ValueError
    return int(value)
