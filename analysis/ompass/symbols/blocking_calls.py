# SPDX-License-Identifier: Apache-2.0
"""Finds the calls in a construct's code that may put a thread to sleep.

The kernel takes no samples of sleeping threads, so only the code shows where they can sleep. Follows direct
calls inside of one file; calls through pointers, and from other libraries, stay unknown.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final, NamedTuple

from ompass.elf import (
    FunctionTable,
    NotElfError,
    code_between,
    imported_functions,
    known_functions,
    read_facts,
)
from ompass.sampled import DISK, IO, LOCK, SLEEP, WAIT
from ompass.symbols.location import BlockingCall

_FUNCTIONS: Final = {
    SLEEP: re.compile(
        r"u?sleep|(clock_)?nanosleep|thrd_sleep|_gfortran_u?sleep\w*|_FortranASleep"
    ),
    WAIT: re.compile(
        r"pthread_cond_(timed|clock)?wait|sem_(timed|clock)?wait|pthread_(barrier_wait|join)"
        r"|cnd_(timed)?wait|thrd_join|wait(pid|id)?|_ZNSt18condition_variable\w*4wait\w*|_ZNSt6thread4joinEv"
        r"|_ZNSt3__118condition_variable\w*4wait\w*|_ZNSt3__16thread4joinEv|p?poll|p?select|epoll_p?wait2?"
        r"|accept4?|recv(from|msg)?|msgrcv|mq_(timed)?receive|sigwait(info)?|syscall"
    ),
    LOCK: re.compile(
        r"pthread_(mutex_(timed|clock)?lock|rwlock_(timed|clock)?(rd|wr)lock)|mtx_(timed)?lock|flock|lockf"
        r"|_ZNSt3__1(5mutex|15recursive_mutex)4lockEv"
    ),
    DISK: re.compile(
        r"f(data)?sync|sync(fs)?|msync|_gfortran_st_flush|_gfortran_flush\w*|_FortranAioFlush\w*"
    ),
    IO: re.compile(
        r"p?(read|write)v?(64)?|open(at)?(64)?|f(open|read|write|puts|gets|flush|close|scanf|printf)(64)?"
        r"|v?fprintf|__isoc99_fscanf|__v?fprintf_chk|getline|send(to|msg)?|connect|_ZNSo5flushEv|_ZNSt4endl\w*"
        r"|_ZSt4endl\w*|_ZSt16__ostream_insert\w*|_ZNSt13basic_filebuf\w*|_gfortran_st_(read|write|open)"
        r"|_FortranAioBegin\w*|system|popen"
    ),
}  # fmt: skip
"""Functions that may put a thread to sleep, by kind; the likeliest kind first."""
_KINDS: Final = tuple(_FUNCTIONS)
_MOST_CODE: Final = 1 << 19  # bytes to read for one construct, which take a few seconds
_STARTS: Final = re.compile(
    r"__kmpc_(fork_call\w*|omp_task|omp_task_with_deps|taskloop\w*)|GOMP_(parallel|task)\w*"
)
"""Calls that begin constructs. They may also pass other functions, such as one that copies a task's data."""


class _Mention(NamedTuple):
    address: int
    target: int
    is_call: bool  # False if the instruction takes the address


class BlockingCalls:
    """The blocking calls of one file (x86-64, AArch64; none on other machines). Not thread-safe."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._mentions: dict[int, tuple[_Mention, ...]] = {}

    def of_construct(self, offset: int) -> tuple[BlockingCall, ...]:
        """Returns the blocking calls of the construct whose starting call returns to `offset`.

        All are of one kind, the likeliest reason to sleep, in the order of their addresses.
        """
        start = self._functions.start_of(offset - 1)
        before = [mention for mention in self._of(start) if mention.address < offset]
        if before and before[-1].is_call and before[-1].target in self._sizes:
            # The function called here ends with a jump to the runtime.
            start = before[-1].target
            before = list(self._of(start))
        for body in self._bodies(start, before):
            if found := self._below(body):
                return found
        return ()

    def _bodies(self, start: int, before: Sequence[_Mention]) -> list[int]:
        """Returns the functions whose addresses the last call of `before` may pass, the latest first."""
        found: list[int] = []
        is_earlier = False  # True before the start of an earlier construct, which may use the address
        for mention in reversed(before[:-1]):
            is_earlier |= mention.is_call and bool(_STARTS.fullmatch(self._imported.get(mention.target, "")))
            if is_earlier and found:
                break
            is_function = not mention.is_call and mention.target in self._sizes
            if is_function and mention.target not in (start, *found):
                found.append(mention.target)
        return found

    def _below(self, body: int) -> tuple[BlockingCall, ...]:
        """Returns the calls of the likeliest kind in a function and in the functions that it calls."""
        found: dict[str, set[BlockingCall]] = {}
        ahead, seen, left = deque([body]), {body}, _MOST_CODE
        while ahead and left > 0:
            function = ahead.popleft()
            left -= self._sizes.get(function, 0)
            for mention in self._of(function):
                name = self._imported.get(mention.target, "")
                kind = next((kind for kind, names in _FUNCTIONS.items() if names.fullmatch(name)), "")
                if kind and mention.is_call:
                    found.setdefault(kind, set()).add(BlockingCall(mention.address, name, kind))
                if mention.is_call and mention.target in self._sizes and mention.target not in seen:
                    seen.add(mention.target)
                    ahead.append(mention.target)
        return tuple(sorted(found[min(found, key=_KINDS.index)])) if found else ()

    def _of(self, start: int) -> tuple[_Mention, ...]:
        """Returns the calls and the addresses in a function's code."""
        if start not in self._mentions:
            size = self._sizes.get(start, 0)
            code = code_between(self._path, start, start + size) if 0 < size <= _MOST_CODE else b""
            self._mentions[start] = tuple(_mentions(self._machine, code, start))
        return self._mentions[start]

    @cached_property
    def _machine(self) -> str:
        try:
            return read_facts(self._path).machine
        except NotElfError:
            return ""

    @cached_property
    def _functions(self) -> FunctionTable:
        return known_functions(self._path)

    @cached_property
    def _sizes(self) -> dict[int, int]:
        return {start: size for start, size, _ in self._functions.functions}

    @cached_property
    def _imported(self) -> Mapping[int, str]:
        try:
            return imported_functions(self._path)
        except NotElfError:
            return {}


def _mentions(machine: str, code: bytes, start: int) -> Iterator[_Mention]:
    import capstone  # only programs that sleep need it

    modes = {
        "EM_X86_64": (capstone.CS_ARCH_X86, capstone.CS_MODE_64),
        "EM_AARCH64": (capstone.CS_ARCH_ARM64, capstone.CS_MODE_LITTLE_ENDIAN),
    }
    if machine not in modes:
        return
    decoder = capstone.Cs(*modes[machine])
    decoder.detail = True
    pages: dict[int, int] = {}  # AArch64: the address that each register holds
    for insn in decoder.disasm(code, start):
        immediate = next((o.imm for o in insn.operands if o.type == capstone.CS_OP_IMM), None)
        if capstone.CS_GRP_CALL in insn.groups or capstone.CS_GRP_JUMP in insn.groups:
            if immediate is not None:
                yield _Mention(insn.address, immediate, True)
        elif machine == "EM_X86_64":
            yield from _x86_address(insn, immediate)
        elif insn.mnemonic in ("adrp", "adr") and immediate is not None:
            pages[insn.operands[0].reg] = immediate
            yield _Mention(insn.address, immediate, False)
        elif insn.mnemonic == "add" and immediate is not None and insn.operands[1].reg in pages:
            yield _Mention(insn.address, pages[insn.operands[1].reg] + immediate, False)


def _x86_address(insn: Any, immediate: int | None) -> Iterator[_Mention]:
    """Yields the address that an x86-64 instruction loads: lea, or mov of a constant."""
    import capstone

    if insn.mnemonic == "lea":
        memory = insn.operands[1].mem
        if memory.base == capstone.x86.X86_REG_RIP:
            yield _Mention(insn.address, insn.address + insn.size + memory.disp, False)
    elif insn.mnemonic.startswith("mov") and immediate is not None:
        yield _Mention(insn.address, immediate, False)
