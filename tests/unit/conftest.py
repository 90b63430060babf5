# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the unit tests: a fake C++ core, and directories that look like runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

from ompass import _core
from ompass._core import EventTable, LogError
from ompass.model import Run

# The profile inherits `deadline=None` from tests/conftest.py; pytest limits the time of the whole test.
settings.register_profile("unit")
settings.load_profile("unit")

EVENT_KINDS = [
    ("end", "no record"),
    ("create", "task created"),
    ("start", "task started"),
    ("complete", "task completed"),
]


class FakeCore:
    """Replaces the functions of ompass._core; the name of a directory selects the made-up values."""

    def __init__(self, profiles: dict[str, Run]) -> None:
        self.profiles = profiles
        self.replayed: dict[str, Run] = {}
        self.events: list[tuple[int, int, int, int, int, int, bool]] = []
        self.problems: list[str] = []

    def read_profile(self, directory: str) -> Run:
        name = Path(directory).name
        if name not in self.profiles:
            raise LogError(f"{directory}/process.log: offset 0: not an Ompass log")
        return self.profiles[name].replace(path=directory)

    def replay_trace(self, directory: str, start_ns: int = 0, end_ns: int = -1) -> Run:
        name = Path(directory).name
        if name not in self.replayed:
            raise LogError(f"{directory}: the run has no trace")
        return self.replayed[name].replace(path=directory)

    def event_kinds(self) -> list[tuple[str, str]]:
        return EVENT_KINDS

    def read_events(
        self, directory: str, thread: int = -1, start_ns: int = 0, end_ns: int = -1, limit: int = -1
    ) -> EventTable:
        del directory
        rows = [
            row
            for row in self.events
            if thread in (-1, row[1]) and row[0] >= start_ns and (end_ns < 0 or row[0] < end_ns)
        ]
        if limit >= 0:
            rows = rows[:limit]
        types = (np.int64, np.uint32, np.uint8, np.int32, np.uint64, np.uint64, np.bool_)
        columns: list[Any] = [np.array([row[k] for row in rows], type_) for k, type_ in enumerate(types)]
        names = ("time_ns", "thread", "kind", "construct", "task", "value", "exact")
        return EventTable(latest_ns=columns[0], **dict(zip(names, columns, strict=True)))

    def validate(self, directory: str) -> list[str]:
        del directory
        return list(self.problems)


@pytest.fixture
def fake_core(monkeypatch: pytest.MonkeyPatch) -> Callable[..., FakeCore]:
    """Returns a function: fake_core(name=profile, ...) makes the readers return these runs by name."""

    def install(**profiles: Run) -> FakeCore:
        core = FakeCore({f"{name}.ompass": values for name, values in profiles.items()})
        for name in ("read_profile", "replay_trace", "event_kinds", "read_events", "validate"):
            monkeypatch.setattr(_core, name, getattr(core, name))
        return core

    return install


@pytest.fixture
def run_directory(tmp_path: Path) -> Callable[[str], Path]:
    """Returns a function: run_directory("a") makes an empty directory that looks like a run."""

    def make(name: str) -> Path:
        path = tmp_path / f"{name}.ompass"
        path.mkdir()
        (path / "meta.json").write_text("{}", encoding="utf-8")
        (path / "process.log").touch()
        return path

    return make
