# SPDX-License-Identifier: Apache-2.0
"""The names of critical sections, from the locks that compilers create for them.

The runtime reports the place of a critical construct, but not its name. Each name has a variable, such as
`.gomp_critical_user_NAME.var`, whose address the code passes to the runtime. Unnamed ones have a variable
with an empty name (clang, flang) or none (gcc, which then calls GOMP_critical_start).
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from ompass.elf import NotElfError, dynamic_symbols, symbols_like
from ompass.symbols.call_arguments import FIRST, THIRD, passed_address

_MARK: Final = "gomp_critical_user_"
_NAME: Final = re.compile(rf"\.?{_MARK}(.*?)(?:\.AS\d+)?(?:\.var)?")
_OF_UNNAMED: Final = "GOMP_critical_start"


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
            register = THIRD if next(iter(locks.values())).endswith(".var") else FIRST  # clang, gcc
            target = passed_address(path, offset, register)
            locks = {target: locks[target]} if target in locks else {}
    except NotElfError:
        return None
    names = {found[1] for name in locks.values() if (found := _NAME.fullmatch(name))}
    return names.pop() if len(names) == 1 else None
