# SPDX-License-Identifier: Apache-2.0
"""meta.json of a run directory: who ran what, where, on which runtime.

Owns defaults for what an interrupted start left out; figures are never taken from here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ompass.readers.files import read_small_file


@dataclass(frozen=True, slots=True)
class Meta:
    """What the tool wrote when the run began; empty and 0 for what is missing."""

    pid: int = 0
    parent_pid: int = 0
    program: str = ""
    command: tuple[str, ...] = ()
    working_directory: str = ""
    host: str = ""
    rank: int | None = None
    runtime: str = ""
    ompass_version: str = ""
    mode: str = ""
    places: tuple[tuple[int, int], ...] = ()
    """Core and domain of each CPU; shorter or empty where they are not known."""
    environment: Mapping[str, str] = field(default_factory=dict)


def read_meta(directory: Path) -> Meta:
    """Returns the meta data of a run; of a missing or broken file, an empty one (the logs stand without it)."""
    try:
        values = _values(directory)
    except (OSError, ValueError):
        return Meta()
    return Meta(
        pid=_integer(values.get("pid")) or 0,
        parent_pid=_integer(values.get("parent_pid")) or 0,
        program=_text(values.get("program")),
        command=tuple(str(word) for word in _list(values.get("command"))),
        working_directory=_text(values.get("working_directory")),
        host=_text(values.get("host")),
        rank=_integer(values.get("rank")),
        runtime=_text(values.get("runtime")),
        ompass_version=_text(values.get("ompass_version")),
        mode=_text(values.get("mode")),
        places=_places(values.get("cpu_core_and_domain")),
        environment={str(k): str(v) for k, v in _mapping(values.get("environment")).items()},
    )


def meta_problems(directory: Path) -> list[str]:
    """What is wrong with meta.json, a sentence at most; that it is missing is no problem."""
    try:
        _values(directory)
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        return [f"{directory / 'meta.json'} cannot be read: {error}."]
    return []


def _values(directory: Path) -> dict[str, Any]:
    """OSError, or ValueError when it holds something else than one object of JSON."""
    try:
        values = json.loads(read_small_file(directory / "meta.json"))
    except RecursionError:
        raise ValueError("its values are nested too deeply") from None
    if not isinstance(values, dict):
        raise ValueError("it does not hold an object")
    return values


def _places(values: Any) -> tuple[tuple[int, int], ...]:
    pairs = [each for each in _list(values) if isinstance(each, list) and len(each) == 2]
    return tuple((_integer(core) or 0, _integer(domain) or 0) for core, domain in pairs)


def _integer(value: Any) -> int | None:
    return value if isinstance(value, int) else None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _mapping(value: Any) -> dict[Any, Any]:
    return value if isinstance(value, dict) else {}
