# SPDX-License-Identifier: Apache-2.0
"""Derives all properties of a run from its kind and seed, so failures are repeatable."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import toolchains
from faults.kinds import KINDS, Kind

LOADINGS: Final = ("OMP_TOOL_LIBRARIES", "LD_PRELOAD", "linked")
MODES: Final = ("profile", "trace", "trace", "kept")
PLACES: Final = ("task", "task", "serial", "thread")
TOOLCHAINS: Final = (
    "clang-19",
    "clang-19",
    "clang-14",
    "clang-19-libomp-22",
    "clang-19-libiomp5",
    "gcc-12-libomp-19",
)
# Settings that change the tool's work on each event, or the events.
SETTINGS: Final[tuple[dict[str, str], ...]] = (
    {},
    {},
    {"OMPASS_SAMPLE": "1000"},
    {"OMPASS_WRAPPERS": "off"},
    {"OMPASS_CPU": "off"},
    {"OMPASS_LIMIT_MB": "1"},
    {"KMP_BLOCKTIME": "0"},
)


@dataclass(frozen=True)
class Case:
    """One run."""

    kind: Kind
    seed: int

    @property
    def key(self) -> str:
        return f"{self.kind.name}-{self.seed}"

    @classmethod
    def of_key(cls, key: str) -> Case:
        name, _, seed = key.rpartition("-")
        return cls(KINDS[name], int(seed))

    def random(self, purpose: str) -> random.Random:
        """Returns a random source for one purpose. A new purpose does not change the numbers of others."""
        return random.Random(f"{self.key} {purpose}")

    @cached_property
    def toolchain(self) -> toolchains.Toolchain:
        usable = [name for name in TOOLCHAINS if not toolchains.toolchain_named(name).missing()]
        return toolchains.toolchain_named(self.random("toolchain").choice(usable))

    @property
    def loading(self) -> str:
        return self.random("loading").choice(LOADINGS)

    @property
    def mode(self) -> str:
        return self.random("mode").choice(MODES)

    @property
    def place(self) -> str:
        chosen = self.random("place").choice(PLACES)
        # If another thread calls exit() while tasks run, libomp frees memory that its threads still use. A
        # program with a slow exit handler then crashes, even without the tool.
        return "task" if chosen == "thread" and self.kind.ends == "exit" else chosen

    @property
    def threads(self) -> int:
        return self.random("threads").choice((1, 2, 3, 4))

    @property
    def settings(self) -> dict[str, str]:
        """Returns the variables of the tool and the runtime, except those that load the tool."""
        modes = {
            "profile": {"OMPASS_MODE": "profile"},
            "trace": {"OMPASS_MODE": "trace"},
            "kept": {"OMPASS_KEEP_LAST": self.random("kept").choice(("1M", "20ms"))},
        }
        settings = self.random("settings").choice(SETTINGS)
        if self.mode == "kept":
            settings = {name: value for name, value in settings.items() if name != "OMPASS_LIMIT_MB"}
        return {"OMP_NUM_THREADS": str(self.threads), "OMPASS_SUMMARY": "off"} | modes[self.mode] | settings

    def described(self) -> dict[str, object]:
        return {
            "key": self.key,
            "toolchain": self.toolchain.name,
            "loading": self.loading,
            "place": self.place,
            "settings": self.settings,
        }
