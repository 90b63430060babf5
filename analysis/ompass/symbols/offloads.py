# SPDX-License-Identifier: Apache-2.0
"""The lines of target constructs with kernels, from the symbols that clang creates for them.

clang gives the call that launches a kernel no line, or the line of a neighbour. The call passes the address
of a symbol, such as `.__omp_offloading_fe00_59c01b_main_l22.region_id`, that contains the line.
"""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import Path
from typing import Final

from ompass.elf import FunctionTable, NotElfError, code_between, read_facts, read_functions, symbols_like

_MARK: Final = "__omp_offloading_"
_LINE: Final = re.compile(rf"\.?{_MARK}.*_l(\d+)(?:_\d+)?\.region_id")
_NEAR: Final = 64  # bytes before a call that contain its arguments
_R8: Final = bytes((0x4C, 0x8D, 0x05))  # lea of an address into the fifth argument, in x86-64 code


class Offloads:
    """The calls of one file that launch kernels."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def line_of_call(self, offset: int) -> tuple[int, int]:
        """Returns the line of the construct whose call returns to `offset`, and the start of its function.

        Zeros: the call launches no kernel, or its line is unknown.
        """
        if not self._lines:
            return 0, 0
        start = self._functions.start_of(offset - 1)
        if not start:
            return 0, 0
        begin = max(start, offset - _NEAR)
        code = code_between(self._path, begin, offset)
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
            symbols = symbols_like(self._path, _MARK)
        except NotElfError:
            return {}
        found = ((address, _LINE.fullmatch(name)) for address, name in symbols.items())
        return {address: int(match[1]) for address, match in found if match}

    @cached_property
    def _functions(self) -> FunctionTable:
        try:
            return read_functions(self._path)
        except NotElfError:
            return FunctionTable((), ())
