# SPDX-License-Identifier: Apache-2.0
"""Finds the addresses in the depend clauses of tasks, and the variables at these addresses."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ompass.elf import NotElfError, object_at, read_facts
from ompass.model import Module
from ompass.readers.run import event_kinds, read_events
from ompass.symbols.names import demangle


@dataclass(frozen=True, slots=True)
class SharedAddress:
    """The address that most tasks of some constructs name in depend clauses."""

    address: int
    n_tasks: int  # tasks that name it
    n_dependent: int  # tasks with depend clauses
    name: str = ""  # the variable at this address; empty: unknown


_FIRST_PRIORITY: Final = 2**26 - 2  # from this value on, the record holds a priority (docs/trace-format.md)


def shared_address(path: Path, constructs: Collection[int]) -> SharedAddress | None:
    """Returns the address that most tasks of these constructs name; None if the trace has no such clauses."""
    import numpy as np

    events = read_events(path)
    kind_of = {name: number for number, (name, _) in enumerate(event_kinds())}
    clauses = np.flatnonzero((events.kind == kind_of["depends_on"]) & (events.value < _FIRST_PRIORITY))
    creations = np.flatnonzero(events.kind == kind_of["create"])
    if not len(clauses) or not len(creations):
        return None
    # A clause belongs to the last creation before it, in the events of its thread.
    creation = creations[np.maximum(np.searchsorted(creations, clauses) - 1, 0)]
    chosen = np.isin(events.construct[creation], list(constructs)) & (creation < clauses)
    chosen &= events.thread[creation] == events.thread[clauses]
    if not chosen.any():
        return None
    # In these events, the column of task ids holds the addresses.
    pairs = np.unique(np.stack([events.task[clauses], creation.astype(np.uint64)])[:, chosen], axis=1)
    addresses, n_tasks = np.unique(pairs[0], return_counts=True)
    most = int(n_tasks.argmax())
    return SharedAddress(int(addresses[most]), int(n_tasks[most]), len(np.unique(pairs[1])))


def variable_name(modules: Sequence[Module], address: int) -> str:
    """Returns the name of the variable that contains an address; empty if unknown (such as heap memory)."""
    below = [module for module in modules if module.base <= address and module.path.startswith("/")]
    for module in sorted(below, key=lambda module: -module.base):
        path = Path(module.path)
        try:
            if module.build_id and read_facts(path).build_id != module.build_id:
                continue  # the file belongs to another build
            if found := object_at(path, address - module.base):
                return demangle(found)
        except (NotElfError, OSError):
            continue
    return ""
