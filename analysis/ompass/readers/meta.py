# SPDX-License-Identifier: Apache-2.0
"""meta.json of a run directory: command, host, runtime and environment of the run.

Owns defaults for fields missing after an interrupted start. Measured values never come from this file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ompass.files import read_small_file
from ompass.packed import TRACE


@dataclass(frozen=True, slots=True)
class Meta:
    """The description that the tool writes at the start of a run; missing fields are empty or 0."""

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
    """Core and domain of each CPU; shorter or empty if unknown."""
    environment: Mapping[str, str] = field(default_factory=dict)


def traced_run(directory: Path) -> Path:
    """Returns the directory with the events of a run: its traced run if it has one, else itself."""
    inner = directory / TRACE
    return inner if (inner / "meta.json").exists() else directory


def read_meta(directory: Path) -> Meta:
    """Returns the description of a run; an empty one if the file is missing or broken."""
    try:
        return meta_of_text(read_small_file(directory / "meta.json"))
    except OSError:
        return Meta()


def meta_of_text(text: str) -> Meta:
    """Returns the description in the text of a meta.json; an empty one if it is broken.

    Fields of wrong types are empty.
    """
    try:
        values = _values_in(text)
    except ValueError:
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
    """Returns the problem of meta.json, at most one sentence; a missing file is not a problem."""
    try:
        _values_in(read_small_file(directory / "meta.json"))
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        return [f"{directory / 'meta.json'} cannot be read: {error}."]
    return []


def _values_in(text: str) -> dict[str, Any]:
    """Returns the JSON object in a text. Raises ValueError if it is not a JSON object."""
    try:
        values = json.loads(text)
    except RecursionError:
        raise ValueError("its values are nested too deeply") from None
    if not isinstance(values, dict):
        raise ValueError("it does not contain an object")
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
