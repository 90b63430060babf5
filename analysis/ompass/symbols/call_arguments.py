# SPDX-License-Identifier: Apache-2.0
"""The addresses that code passes to the runtime, read from the instructions before a call (x86-64 only)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from ompass.elf import code_between, read_facts, read_functions

FIRST, THIRD = 7, 2  # the registers of arguments: rdi, rdx
_NEAR: Final = 40  # bytes before a call that contain its arguments
_MOST_CODE: Final = 1 << 20  # largest function to search


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
