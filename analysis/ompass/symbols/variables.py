# SPDX-License-Identifier: Apache-2.0
"""The names of global and static variables at addresses of a recorded process."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ompass.elf import NotElfError, object_at, read_facts
from ompass.model import Module
from ompass.symbols.names import demangle


def variable_name(modules: Sequence[Module], address: int) -> str:
    """Returns the name of the variable that contains an address; empty if unknown, as on the heap."""
    below = [module for module in modules if module.base <= address and module.path.startswith("/")]
    for module in sorted(below, key=lambda module: -module.base):
        path = Path(module.path)
        try:
            if module.build_id and read_facts(path).build_id != module.build_id:
                continue  # the file is of another build
            if found := object_at(path, address - module.base):
                return demangle(found)
        except (NotElfError, OSError):
            continue
    return ""
