# SPDX-License-Identifier: Apache-2.0
"""Facts about constructs from the addresses that their code passes to the runtime (x86-64 only).

Reads these addresses from the instructions before a call:

- The name of a critical section. The runtime reports the place of a critical construct, but not its name.
  Each name has a variable, such as `.gomp_critical_user_NAME.var`, whose address the code passes. For unnamed
  sections, the name is empty (clang, flang), or there is no variable: gcc then calls GOMP_critical_start.
- The size of a task's own data, which its creation copies: shared variables are passed by their addresses.
- The function into which gcc or flang moved the body of a construct. gcc gives no line to the calls that
  start the parallel regions and tasks of C programs. Such a call inherits the line of the code before it,
  even of an inlined function. The body begins at the line of the construct, or of its first statement. flang
  gives the calls that start regions or create tasks the line of a declaration. The construct has the
  smallest line of the body.
- The line of a target construct with a kernel. clang gives the call that launches a kernel no line, or the
  line of a neighbour. The call passes the address of a symbol, such as
  `.__omp_offloading_fe00_59c01b_main_l22.region_id`, that contains the line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Final, NamedTuple

from ompass.elf import (
    FunctionTable,
    NotElfError,
    code_between,
    dynamic_symbols,
    imported_functions,
    known_functions,
    read_facts,
    read_functions,
    symbols_like,
)
from ompass.symbols.lookup import FLANG_BODY

FIRST, THIRD, FOURTH, SIXTH = 7, 2, 1, 9  # registers of these arguments: rdi, rdx, rcx, r9
_NEAR: Final = 64  # bytes before a call that contain its arguments
_FAR: Final = 256  # the same, if they contain no other call
_MOST_CODE: Final = 1 << 20  # largest function to search
_CALL: Final = 0xE8  # the first of the five bytes of an x86-64 call


def passed_address(path: Path, offset: int, register: int) -> int:
    """Returns the address in a register at the call that returns to `offset`; 0 if unknown.

    Raises NotElfError.
    """
    if read_facts(path).machine != "EM_X86_64":
        return 0
    start = read_functions(path).start_of(offset - 1)
    if not start or offset - start > _MOST_CODE:
        return 0
    return _in_register(code_between(path, start, offset), start, register)


def _in_register(code: bytes, start: int, register: int) -> int:
    """Returns the address that x86-64 code, located at `start`, leaves in the register; 0 if unknown.

    The last instructions load the address, or copy it from another register, which may be loaded anywhere.
    """
    # Other calls overwrite the register. A byte that only looks like a call does no harm.
    begin = max(len(code) - _FAR, min(code.rfind(_CALL, 0, -5) + 1, len(code) - _NEAR), 0)
    taken = list(_addresses(code, start))
    place, target = max(((p, t) for p, r, t in taken if r == register), default=(0, 0))
    for k in range(begin, len(code) - 2):
        prefix, operation, registers = code[k : k + 3]
        if prefix & 0xF8 == 0x48 and operation == 0x89 and registers >= 0xC0:  # mov of 64 bits
            source = registers >> 3 & 7 | (prefix & 4) << 1
            if registers & 7 | (prefix & 1) << 3 == register and k >= place:
                place, target = k, max(((p, t) for p, r, t in taken if r == source), default=(0, 0))[1]
    return target if place >= begin else 0


def _addresses(code: bytes, start: int) -> Iterator[tuple[int, int, int]]:
    """Yields (position, register, address) of instructions that load addresses: lea, or mov of a constant."""
    for k in range(len(code) - 6):
        high = 8 if code[k] in (0x49, 0x4C) else 0
        if code[k] in (0x48, 0x4C) and code[k + 1] == 0x8D and code[k + 2] & 0xC7 == 0x05:
            distance = int.from_bytes(code[k + 3 : k + 7], "little", signed=True)
            yield k, code[k + 2] >> 3 & 7 | high, start + k + 7 + distance
        elif code[k] in (0x48, 0x49) and code[k + 1] == 0xC7 and code[k + 2] & 0xF8 == 0xC0:
            yield k, code[k + 2] & 7 | high, int.from_bytes(code[k + 3 : k + 7], "little")
        elif code[k] & 0xF8 == 0xB8:
            high = 8 if k and code[k - 1] == 0x41 else 0
            yield k, code[k] & 7 | high, int.from_bytes(code[k + 1 : k + 5], "little")


_CRITICAL: Final = "gomp_critical_user_"
_CRITICAL_NAME: Final = re.compile(rf"\.?{_CRITICAL}(.*?)(?:\.AS\d+)?(?:\.var)?")
_OF_UNNAMED: Final = "GOMP_critical_start"


def critical_name(path: Path, offset: int) -> str | None:
    """Returns the name of the critical construct whose call returns to `offset`, an ELF virtual address.

    The name is empty for an unnamed construct, and None if unknown, for instance in a stripped file.
    """
    try:
        locks = symbols_like(path, _CRITICAL)
        _, unnamed = dynamic_symbols(path, (_OF_UNNAMED,))
        if unnamed:  # gcc's unnamed constructs pass no address
            return None if locks else ""
        if len(locks) > 1:
            register = THIRD if next(iter(locks.values())).endswith(".var") else FIRST  # clang, gcc
            target = passed_address(path, offset, register)
            locks = {target: locks[target]} if target in locks else {}
    except NotElfError:
        return None
    names = {found[1] for name in locks.values() if (found := _CRITICAL_NAME.fullmatch(name))}
    return names.pop() if len(names) == 1 else None


def _stub_of(call: bytes, offset: int) -> int:
    """Returns the target of a direct call that returns to `offset`; 0 if these five bytes are not one."""
    is_direct = len(call) == 5 and call[0] == _CALL
    return offset + int.from_bytes(call[1:], "little", signed=True) if is_direct else 0


_TASKS: Final = re.compile(r"__kmpc_omp_task_alloc|GOMP_task|GOMP_taskloop(_ull)?")
_CREATIONS: Final = re.compile(r"__kmpc_omp_task(_alloc|_with_deps|_begin_if0)?")
_TASK_HEADER: Final = 40  # bytes of kmp_task_t in LLVM's kmp.h, part of the size of clang's and flang's tasks


def task_bytes(path: Path, offset: int) -> int:
    """Returns the size of the data that the creation of a task copies; 0 if unknown.

    The data include addresses of shared variables. `offset` is the return address of the call that creates
    the task. The size is unknown if the program computes it.
    """
    name, code, start = _task_call(path, offset)
    header = 0 if name.startswith("GOMP") else _TASK_HEADER
    return max(_in_register(code, start, FOURTH) - header, 0) if name else 0


def _task_call(path: Path, offset: int) -> tuple[str, bytes, int]:
    """Returns the last call up to `offset` that makes a task: its name, its function's code and start.

    The code ends with the call. The name is empty if there is no such call. clang and flang allocate a task,
    copy its data and then create it.
    """
    try:
        start = read_functions(path).start_of(offset - 1) if read_facts(path).machine == "EM_X86_64" else 0
        if not start or offset - start > _MOST_CODE:
            return "", b"", 0
        code, stubs = code_between(path, start, offset), imported_functions(path)
    except NotElfError:
        return "", b"", 0
    k = len(code)
    while (k := code.rfind(_CALL, 0, k)) >= 0:
        end = k + 5
        name = stubs.get(_stub_of(code[k:end], start + end), "")
        if _TASKS.fullmatch(name):
            return name, code[:end], start
    return "", b"", 0


class _Start(NamedTuple):
    """How a compiler's code starts constructs."""

    functions: re.Pattern[str]  # of the runtime
    register: int  # of the argument that is the body
    body: str  # part of the names of bodies


_STARTS: Final = (
    _Start(
        re.compile(r"GOMP_(parallel|task|teams_reg)|GOMP_parallel_(loop|sections)\w*|GOMP_taskloop\w*"),
        FIRST,
        "._omp_fn.",
    ),
    _Start(re.compile(r"__kmpc_fork_call(_if)?"), THIRD, FLANG_BODY),
)


class Bodies:
    """The calls of one file that start constructs of gcc, or regions and tasks of flang."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def called(self, offset: int) -> str:
        """Returns the name of the runtime's function whose call returns to `offset`; empty if unknown."""
        try:
            return self._stubs.get(_stub_of(code_between(self._path, offset - 5, offset), offset), "")
        except NotElfError:
            return ""

    def body_of_task(self, offset: int) -> int:
        """Returns the address of the body of flang's task whose creation returns to `offset`, or 0."""
        _, bodies = self._bodies or ((), ())
        if not bodies or not _CREATIONS.fullmatch(self.called(offset)):
            return 0
        name, code, start = _task_call(self._path, offset)
        body = _in_register(code, start, SIXTH) if name.startswith("__kmpc") else 0
        return body if body in bodies else 0

    def body_of(self, offset: int) -> int:
        """Returns the address of the body that the call returning to `offset` passes; 0 if unknown."""
        if not any(self._bodies):
            return 0
        try:
            name = self.called(offset)
            for start, bodies in zip(_STARTS, self._bodies, strict=True):
                if bodies and start.functions.fullmatch(name):
                    body = passed_address(self._path, offset, start.register)
                    return body if body in bodies else 0
        except NotElfError:
            pass
        return 0

    @cached_property
    def _bodies(self) -> tuple[frozenset[int], ...]:
        """The bodies of each compiler, in the order of _STARTS."""
        try:
            return tuple(frozenset(symbols_like(self._path, start.body)) for start in _STARTS)
        except NotElfError:
            return ()

    @cached_property
    def _stubs(self) -> Mapping[int, str]:
        return imported_functions(self._path)


_OFFLOAD: Final = "__omp_offloading_"
_OFFLOAD_LINE: Final = re.compile(rf"\.?{_OFFLOAD}.*_l(\d+)(?:_\d+)?\.region_id")
_LAUNCH: Final = re.compile(r"__tgt_target_kernel\w*")
_R8: Final = bytes((0x4C, 0x8D, 0x05))  # lea of an address into the fifth argument, in x86-64 code


class Offloads:
    """The calls of one file that launch kernels."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def line_of_call(self, offset: int) -> tuple[int, int]:
        """Returns the line of the construct whose call returns to `offset`, and the start of its function.

        Returns zeros if the call launches no kernel, or if its line is unknown.
        """
        if not self._lines:
            return 0, 0
        start = self._functions.start_of(offset - 1)
        if not start:
            return 0, 0
        begin = max(start, offset - _NEAR)
        code = code_between(self._path, begin, offset)
        name = self._stubs.get(_stub_of(code[-5:], offset), "")
        if name and not _LAUNCH.fullmatch(name):
            return 0, 0  # the code before this call has the arguments of an earlier one
        place = code.rfind(_R8)
        if place < 0 or place + 7 > len(code):
            return 0, 0
        distance = int.from_bytes(code[place + 3 : place + 7], "little", signed=True)
        line = self._lines.get(begin + place + 7 + distance, 0)
        return line, start if line else 0

    @cached_property
    def _lines(self) -> dict[int, int]:
        """The line of each construct, by the address of its symbol."""
        try:
            if read_facts(self._path).machine != "EM_X86_64":
                return {}
            symbols = symbols_like(self._path, _OFFLOAD)
        except NotElfError:
            return {}
        found = ((address, _OFFLOAD_LINE.fullmatch(name)) for address, name in symbols.items())
        return {address: int(match[1]) for address, match in found if match}

    @cached_property
    def _functions(self) -> FunctionTable:
        return known_functions(self._path)

    @cached_property
    def _stubs(self) -> Mapping[int, str]:
        return imported_functions(self._path)
