# SPDX-License-Identifier: Apache-2.0
"""The functions into which gcc moved the bodies of constructs, from the calls that start the constructs.

gcc gives no line to the calls that start the parallel regions and tasks of C programs. Such a call inherits
the line of the code before it, even of an inlined function. The body begins at the line of the construct, or
of its first statement.
"""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import Path
from typing import Final

from ompass.elf import NotElfError, code_between, imported_functions, symbols_like
from ompass.symbols.call_arguments import FIRST, passed_address

_MARK: Final = "._omp_fn."
_STARTS: Final = re.compile(
    r"GOMP_(parallel|task|teams_reg)|GOMP_parallel_(loop|sections)\w*|GOMP_taskloop\w*"
)
_CALL: Final = 0xE8  # the first of the five bytes of an x86-64 call


class GccBodies:
    """The calls of one file that start constructs."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def body_of(self, offset: int) -> int:
        """Returns the body's address that a call passes, by the call's return address; 0 if unknown."""
        if not self._bodies:
            return 0
        try:
            call = code_between(self._path, offset - 5, offset)
            if not call or call[0] != _CALL:
                return 0
            stub = offset + int.from_bytes(call[1:], "little", signed=True)
            if not _STARTS.fullmatch(self._stubs.get(stub, "")):
                return 0
            body = passed_address(self._path, offset, FIRST)
        except NotElfError:
            return 0
        return body if body in self._bodies else 0

    @cached_property
    def _bodies(self) -> frozenset[int]:
        try:
            return frozenset(symbols_like(self._path, _MARK))
        except NotElfError:
            return frozenset()

    @cached_property
    def _stubs(self) -> dict[int, str]:
        return imported_functions(self._path)
