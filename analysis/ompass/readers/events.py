# SPDX-License-Identifier: Apache-2.0
"""Decoded events of a trace, as columns.

Owns the typed form of the core's event arrays; what they mean is left to whoever shows them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ompass.readers.core import check_directory, core_errors, load_core

if TYPE_CHECKING:
    # numpy starts threads and takes time to import; only who reads events should pay for that
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class EventTable:
    """Events in time order within each thread; all columns have one length.

    time_ns int64 since the start of the run; latest_ns int64, the last possible moment (== time_ns where exact);
    thread uint32; kind uint8, an index into event_kinds();
    construct int32, -1 when none; task uint64, 0 when none; value uint64; exact bool.
    """

    time_ns: NDArray[np.int64]
    latest_ns: NDArray[np.int64]
    thread: NDArray[np.uint32]
    kind: NDArray[np.uint8]
    construct: NDArray[np.int32]
    task: NDArray[np.uint64]
    value: NDArray[np.uint64]
    exact: NDArray[np.bool_]

    def __len__(self) -> int:
        return int(self.time_ns.shape[0])

    def where(self, chosen: NDArray[np.bool_] | NDArray[np.int64]) -> EventTable:
        """The events that `chosen` selects: a condition for each, or their positions in the wanted order."""
        return EventTable(
            self.time_ns[chosen],
            self.latest_ns[chosen],
            self.thread[chosen],
            self.kind[chosen],
            self.construct[chosen],
            self.task[chosen],
            self.value[chosen],
            self.exact[chosen],
        )


def event_kinds() -> list[tuple[str, str]]:
    """(name, meaning) of every event kind, indexed by its number."""
    return list(load_core().event_kinds())


def read_events(
    path: Path, *, thread: int = -1, start_ns: int = 0, end_ns: int = -1, limit: int = -1
) -> EventTable:
    """Events of one thread (-1: of all) in [start_ns, end_ns) (-1: to the end), at most `limit` (-1: all).

    Raises RunNotFoundError, DamagedRunError (also when the run has no trace).
    """
    import numpy as np

    check_directory(path)
    core = load_core()
    with core_errors(core, path):
        columns = core.read_events(str(path), thread, start_ns, end_ns, limit)
    return EventTable(
        np.asarray(columns["time_ns"], dtype=np.int64),
        np.asarray(columns["latest_ns"], dtype=np.int64),
        np.asarray(columns["thread"], dtype=np.uint32),
        np.asarray(columns["kind"], dtype=np.uint8),
        np.asarray(columns["construct"], dtype=np.int32),
        np.asarray(columns["task"], dtype=np.uint64),
        np.asarray(columns["value"], dtype=np.uint64),
        np.asarray(columns["exact"], dtype=np.bool_),
    )
