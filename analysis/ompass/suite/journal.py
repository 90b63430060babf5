# SPDX-License-Identifier: Apache-2.0
"""The journal of a suite: what was measured so far, safe from the moment at which it is written.

A text file: the first line says what is measured, each further line is one finished measurement, forced to
the disk before the next one starts. A line that a killed process left incomplete is cut off when the journal
is opened again: that measurement was never noted, so it is made again. One process at a time holds a journal.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ompass.errors import OutputError, UsageError
from ompass.suite.measurement import Run
from ompass.suite.plan import Configuration, Plan

FORMAT = "ompass suite journal 1"


class Journal:
    """The finished measurements of one plan, by configuration and round."""

    def __init__(self, path: Path, plan: Plan) -> None:
        """Opens or begins the journal at `path`.

        UsageError: it is about another configuration, or another process holds it. OutputError: it cannot be
        written.
        """
        self.path = path
        self._finished: dict[tuple[str, int], Run] = {}
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise OutputError(
                f"{path} cannot be written", error.strerror or "", "name another file with --json"
            ) from error
        try:
            self._hold()
            self._load(plan)
        except BaseException:
            os.close(self._file)
            raise

    def __len__(self) -> int:
        return len(self._finished)

    def has(self, configuration: Configuration, round_number: int) -> bool:
        return (configuration.key, round_number) in self._finished

    def note(self, configuration: Configuration, run: Run) -> None:
        """Writes a finished measurement; when this returns, it survives a kill and a power cut."""
        self._append({"key": configuration.key, "run": run})
        self._finished[configuration.key, run["round"]] = run

    def runs(self) -> list[Run]:
        """All finished measurements, in the order in which they were made."""
        return list(self._finished.values())

    def close(self) -> None:
        os.close(self._file)

    def remove(self) -> None:
        """Deletes the journal: its measurements are elsewhere now."""
        self.path.unlink(missing_ok=True)
        self.close()

    def _hold(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise UsageError(
                f"{self.path} is in use", "another suite is writing it", "wait for it, or name another file"
            ) from error

    def _load(self, plan: Plan) -> None:
        content = self.path.read_bytes()
        complete = content[: content.rfind(b"\n") + 1]
        lines = complete.decode("utf-8", errors="replace").splitlines()
        header = {"format": FORMAT, "settings": plan.settings}
        if not complete and not _line(header).startswith(content):
            raise self._no_journal()
        if len(complete) != len(content):
            os.ftruncate(self._file, len(complete))
        if not lines:
            self._append(header)
            self._sync_directory()
            return
        self._check_header(lines[0], header)
        for number, line in enumerate(lines[1:], start=2):
            try:
                entry = json.loads(line)
                self._finished[entry["key"], entry["run"]["round"]] = entry["run"]
            except (ValueError, KeyError, TypeError) as error:
                raise UsageError(
                    f"{self.path}, line {number}",
                    "this is no measurement",
                    "remove the journal to start anew",
                ) from error

    def _check_header(self, line: str, expected: Mapping[str, Any]) -> None:
        try:
            found = json.loads(line)
        except ValueError:
            found = None
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            raise self._no_journal()
        if found.get("settings") != expected["settings"]:
            what = ", ".join(_differing(found.get("settings") or {}, expected["settings"]))
            raise UsageError(
                f"{self.path} is of a suite with another {what}",
                "its measurements and new ones do not belong together",
                "ask for the same again to finish it, or remove it to start anew",
            )

    def _no_journal(self) -> UsageError:
        return UsageError(f"{self.path}", "this is no journal of a suite", "name another file with --json")

    def _append(self, entry: Mapping[str, Any]) -> None:
        data = _line(entry)
        try:
            while data:
                data = data[os.write(self._file, data) :]
            os.fsync(self._file)
        except OSError as error:
            raise OutputError(
                f"{self.path} cannot be written", error.strerror or "", "make room and start the suite again"
            ) from error

    def _sync_directory(self) -> None:
        directory = os.open(self.path.absolute().parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)


def _line(entry: Mapping[str, Any]) -> bytes:
    return json.dumps(entry, ensure_ascii=False).encode("utf-8") + b"\n"


def _differing(found: Mapping[str, Any], expected: Mapping[str, Any]) -> list[str]:
    """The names of the settings that differ; of the selection, which part of it."""
    names = []
    for name, value in expected.items():
        if found.get(name) == value:
            continue
        if name == "selection" and isinstance(found.get(name), dict):
            names += [part for part, asked in value.items() if found[name].get(part) != asked]
        else:
            names.append(name if name != "programs" else "build of the programs")
    return names
