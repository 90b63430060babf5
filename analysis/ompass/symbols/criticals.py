# SPDX-License-Identifier: Apache-2.0
"""The names of critical sections, from the locks that compilers create for them.

The runtime reports the place of a critical construct, but not its name. Each name has a variable, such as
`.gomp_critical_user_NAME.var`, whose address the code passes to the runtime. Unnamed ones have a variable
with an empty name (clang, flang) or none (gcc, which then calls GOMP_critical_start).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from ompass.elf import NotElfError, code_between, dynamic_symbols, read_facts, read_functions, symbols_like

_MARK: Final = "gomp_critical_user_"
_NAME: Final = re.compile(rf"\.?{_MARK}(.*?)(?:\.AS\d+)?(?:\.var)?")
_OF_UNNAMED: Final = "GOMP_critical_start"
_NEAR: Final = 40  # bytes before a call that contain its arguments
_RDX, _RDI = 2, 7  # registers in which clang's and gcc's code pass the lock
_MOST_CODE: Final = 1 << 20  # largest function to search


def critical_name(path: Path, offset: int) -> str | None:
    """Returns the name of the critical construct whose call returns to `offset`, an ELF virtual address.

    Empty: it has no name. None: unknown, for instance in a stripped file.
    """
    try:
        locks = symbols_like(path, _MARK)
        _, unnamed = dynamic_symbols(path, (_OF_UNNAMED,))
        if unnamed:  # the file also contains calls without a lock
            return None if locks else ""
        if len(locks) > 1:
            locks = _handed_over(path, offset, locks)
    except NotElfError:
        return None
    names = {found[1] for name in locks.values() if (found := _NAME.fullmatch(name))}
    return names.pop() if len(names) == 1 else None


def _handed_over(path: Path, offset: int, locks: dict[int, str]) -> dict[int, str]:
    """Returns the lock whose address the call passes, with its name; empty if unknown."""
    if read_facts(path).machine != "EM_X86_64":
        return {}
    start = read_functions(path).start_of(offset - 1)
    if not start or offset - start > _MOST_CODE:
        return {}
    code = code_between(path, start, offset)
    target = _in_register(code, start, _RDX if next(iter(locks.values())).endswith(".var") else _RDI)
    return {target: locks[target]} if target in locks else {}


def _in_register(code: bytes, start: int, register: int) -> int:
    """Returns the address that x86-64 code, located at `start`, leaves in the register; 0 if unknown.

    The last instructions load the address, or copy it from another register, which may be loaded anywhere.
    """
    taken = list(_addresses(code, start))
    place, target = max(((p, t) for p, r, t in taken if r == register), default=(0, 0))
    for k in range(max(len(code) - _NEAR, 0), len(code) - 2):
        if code[k] in (0x48, 0x4C) and code[k + 1] == 0x89 and code[k + 2] & 0xC7 == 0xC0 | register:
            source = code[k + 2] >> 3 & 7 | (8 if code[k] == 0x4C else 0)
            if k >= place:
                place, target = k, max(((p, t) for p, r, t in taken if r == source), default=(0, 0))[1]
    return target if place >= len(code) - _NEAR else 0


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
