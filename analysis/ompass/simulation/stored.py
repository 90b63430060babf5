# SPDX-License-Identifier: Apache-2.0
"""Stores advice in a run directory, for all later reports on the run.

Owns the place of the file, which contains the JSON of `ompass advise`.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ompass.files import read_small_file
from ompass.model import Run
from ompass.symbols.resolver import Location

_FILE: Final = "advice.json"


@dataclass(frozen=True, slots=True)
class StoredChange:
    """A change of the program, with its predicted time. Gains are shares of the time without the change."""

    kind: str
    title: str
    because: str
    cure: str
    place: Location
    wall_ns: int
    gain: float
    at_most: bool
    is_doubtful: bool = False  # True if there is a reason to doubt the gains
    at_least: bool = False  # True if the true gain may be larger
    priority: int = 0  # kind "priority": the highest priority in the program; 0: it has none

    @property
    def before_ns(self) -> int:
        """Predicted time without the change."""
        return round(self.wall_ns / (1 - self.gain)) if self.gain < 1 else 0


@dataclass(frozen=True, slots=True)
class StoredAdvice:
    """The changes with a gain, best first."""

    values: Mapping[str, Any]  # the JSON of `ompass advise`
    changes: tuple[StoredChange, ...]
    doubt: str = ""  # the reason to doubt the gains; empty if there is none


def store_advice(directory: Path, values: Mapping[str, Any]) -> None:
    """Stores advice in a run directory. Does nothing if the directory is not writable."""
    with contextlib.suppress(OSError):
        (directory / _FILE).write_text(json.dumps(values, indent=1) + "\n", encoding="utf-8")


def read_advice(run: Run) -> StoredAdvice | None:
    """Returns the stored advice of a run; None if there is none, or the file is not valid."""
    try:
        values = json.loads(read_small_file(run.path / _FILE))
        doubt = str(values.get("doubt") or "")
        return StoredAdvice(values, tuple(_change(one, bool(doubt)) for one in values["advice"]), doubt)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _change(values: Mapping[str, Any], is_doubtful: bool) -> StoredChange:
    return StoredChange(
        kind=str(values["kind"]),
        title=str(values["change"]),
        because=str(values.get("because") or ""),
        cure=str(values["write"]),
        place=Location(
            str(values.get("function") or ""),
            str(values.get("file") or ""),
            int(values.get("line") or 0),
            (),
            str(values.get("module") or ""),
            int(values.get("offset") or 0),
        ),
        wall_ns=int(values["wall_ns"]),
        gain=float(values["gain"]),
        at_most=bool(values["at_most"]),
        is_doubtful=is_doubtful,
        at_least=bool(values.get("at_least")),
        priority=int(values.get("priority") or 0),
    )
