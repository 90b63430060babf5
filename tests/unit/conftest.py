# SPDX-License-Identifier: Apache-2.0
"""Shared by the unit tests: a stand-in for the C++ core, and directories that look like runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

EVENT_KINDS = [
    ("end", "no record"),
    ("create", "task created"),
    ("start", "task started"),
    ("complete", "task completed"),
]


class FakeCore:
    """The functions of ompass._core over made-up values; directories are recognised by name alone."""

    class LogError(Exception):
        pass

    def __init__(self, profiles: dict[str, dict[str, Any]]) -> None:
        self.profiles = profiles
        self.replayed: dict[str, dict[str, Any]] = {}
        self.events: list[tuple[int, int, int, int, int, int, bool]] = []
        self.problems: list[str] = []

    def read_profile(self, directory: str) -> dict[str, Any]:
        name = Path(directory).name
        if name not in self.profiles:
            raise self.LogError(f"{directory}/process.log: offset 0: not a log of Ompass")
        return self.profiles[name]

    def replay_trace(self, directory: str) -> dict[str, Any]:
        name = Path(directory).name
        if name not in self.replayed:
            raise self.LogError(f"{directory}: the run has no trace")
        return self.replayed[name]

    def event_kinds(self) -> list[tuple[str, str]]:
        return EVENT_KINDS

    def read_events(
        self, directory: str, thread: int = -1, start_ns: int = 0, end_ns: int = -1, limit: int = -1
    ) -> dict[str, Any]:
        del directory
        rows = [
            row
            for row in self.events
            if thread in (-1, row[1]) and row[0] >= start_ns and (end_ns < 0 or row[0] < end_ns)
        ]
        if limit >= 0:
            rows = rows[:limit]
        names = ("time_ns", "thread", "kind", "construct", "task", "value", "exact")
        return {name: np.array([row[k] for row in rows]) for k, name in enumerate(names)}

    def validate(self, directory: str) -> list[str]:
        del directory
        return list(self.problems)


@pytest.fixture
def fake_core(monkeypatch: pytest.MonkeyPatch) -> Callable[..., FakeCore]:
    """fake_core(name=profile, ...) makes the readers see these runs; directories must exist."""

    def install(**profiles: dict[str, Any]) -> FakeCore:
        core = FakeCore({f"{name}.ompass": values for name, values in profiles.items()})
        for module in ("ompass.readers.core", "ompass.readers.rundir", "ompass.readers.events"):
            monkeypatch.setattr(f"{module}.load_core", lambda: core)
        return core

    return install


@pytest.fixture
def run_directory(tmp_path: Path) -> Callable[[str], Path]:
    """run_directory("a") makes an empty directory that looks like a run."""

    def make(name: str) -> Path:
        path = tmp_path / f"{name}.ompass"
        path.mkdir()
        (path / "meta.json").write_text("{}", encoding="utf-8")
        (path / "process.log").touch()
        return path

    return make
