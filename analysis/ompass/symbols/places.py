# SPDX-License-Identifier: Apache-2.0
"""The note on constructs whose own source lines are unknown, because their calls return into the runtime."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Final

from ompass.model import LOOPS, WAIT_KINDS, Definition, Run
from ompass.runtime_names import runtime_kind
from ompass.symbols.location import Location
from ompass.units import plural

_MOST_PLACES: Final = 3
_KINDS: Final = {"parallel": "parallel region", "task": "task construct"}
_FIRST_VERSION: Final = 7  # of the trace format: names the task or region around a construct
_END: Final = "region barrier"  # is at the place of its region, which has the note already


def notes_on_places(run: Run, locations: Mapping[int, Location]) -> Iterator[str]:
    """Yields a note on constructs that reports show at the place of the task or region around them."""
    around = [d for d in run.definitions if d.is_place_around and locations[d.id].line and _kind(d) != _END]
    if around:
        places = list(dict.fromkeys(locations[d.id].place for d in around))
        more = f" and {len(places) - _MOST_PLACES} more" if len(places) > _MOST_PLACES else ""
        have = "has" if len(around) == 1 else "have"
        yield (
            f"{_kinds_of(around)} {have} the line of the task or region around "
            f"({', '.join(places[:_MOST_PLACES])}{more}), because the call returns into the OpenMP runtime: "
            + ("record by `ompass run`, or " if run.create_estimated else "")
            + "compile with -fno-optimize-sibling-calls, for the line of the call"
        )
    unknown = [d for d in run.definitions if _is_in_runtime(run, d) and _kind(d) != _END]
    if unknown and run.format_version < _FIRST_VERSION:
        yield (
            f"an earlier version of Ompass recorded {_kinds_of(unknown)} without the region around: "
            "record again, to see their places"
        )


def _kind(definition: Definition) -> str:
    if definition.kind == "wait":
        return WAIT_KINDS.get(definition.flags, "wait")
    if definition.kind == "loop":
        return LOOPS.get(definition.flags, "loop")
    return _KINDS.get(definition.kind, definition.kind)


def _kinds_of(definitions: list[Definition]) -> str:
    """Returns `2 taskwaits and 1 task construct`."""
    numbers = Counter(map(_kind, definitions))
    parts = [plural(n, kind) for kind, n in numbers.items()]
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def _is_in_runtime(run: Run, definition: Definition) -> bool:
    known = 0 <= definition.module < len(run.modules)
    return known and bool(runtime_kind(PurePosixPath(run.modules[definition.module].path).name))
