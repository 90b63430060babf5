# SPDX-License-Identifier: Apache-2.0
"""The finished measurements of a suite: entries of a journal whose first line is the plan."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ompass.errors import UsageError
from ompass.journal import Journal
from suite.measurement import Run
from suite.plan import Configuration, Plan

FORMAT = "ompass suite journal 1"


class SuiteJournal(Journal):
    """The finished measurements of one plan, by configuration and round."""

    def __init__(self, path: Path, plan: Plan) -> None:
        """Opens the journal at `path`, or begins a new one.

        Raises UsageError if the journal has another plan or is in use, or if the file is not a journal of a
        suite. Raises OutputError if the file cannot be written.
        """
        super().__init__(path, "name another file with --json", {"format": FORMAT, "settings": plan.settings})
        self._finished: dict[tuple[str, int], Run] = {}
        try:
            self._load(plan)
        except BaseException:
            self.close()
            raise

    def __len__(self) -> int:
        return len(self._finished)

    def has(self, configuration: Configuration, round_number: int) -> bool:
        return (configuration.key, round_number) in self._finished

    def note(self, configuration: Configuration, run: Run) -> None:
        """Writes a finished measurement."""
        self.append({"key": configuration.key, "run": run})
        self._finished[configuration.key, run["round"]] = run

    def runs(self) -> list[Run]:
        """Returns all finished measurements, in the order of measurement."""
        return list(self._finished.values())

    def _load(self, plan: Plan) -> None:
        for number, entry in self.entries():
            if number == 1:
                self._check(entry, plan.settings)
                continue
            try:
                self._finished[entry["key"], entry["run"]["round"]] = entry["run"]
            except (KeyError, TypeError) as error:
                raise UsageError(
                    f"{self.path}, line {number}", "is not a measurement", "remove the journal to start again"
                ) from error

    def _check(self, header: Any, settings: Mapping[str, Any]) -> None:
        if not isinstance(header, dict) or header.get("format") != FORMAT:
            raise self.not_ours()
        if header.get("settings") != settings:
            what = ", ".join(_differing(header.get("settings") or {}, settings))
            raise UsageError(
                f"{self.path} belongs to a suite with other settings ({what})",
                "old and new measurements must not be mixed",
                "use the same options to finish it, or remove it to start again",
            )


def _differing(found: Mapping[str, Any], expected: Mapping[str, Any]) -> list[str]:
    """Returns the names of the settings that differ. Lists the parts of the selection one by one."""
    names = []
    for name, value in expected.items():
        if found.get(name) == value:
            continue
        if name == "selection" and isinstance(found.get(name), dict):
            names += [part for part, asked in value.items() if found[name].get(part) != asked]
        else:
            names.append(name if name != "programs" else "build of the programs")
    return names
