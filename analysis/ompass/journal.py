# SPDX-License-Identifier: Apache-2.0
"""The journal of a suite or sweep: the list of finished runs, which survives a kill.

It is a text file with one JSON object per line. Each line is synced to disk before the next measurement
starts. A killed process may leave an incomplete line; the next process repeats the measurement, and removes
the incomplete line before it writes its first entry. Only one process at a time holds a journal.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ompass.errors import OutputError, UsageError


class Journal:
    """A journal that only this process writes. Use it as a context manager, or call `close`."""

    def __init__(self, path: Path, cure: str, header: Mapping[str, Any] | None = None) -> None:
        """Opens the journal at `path`, or begins a new one whose first line is `header`, if given.

        Raises UsageError if another process holds the journal or the file is not a journal, and OutputError
        if the file cannot be written. `cure` names alternatives for the user.
        """
        self.path = path
        self._cure = cure
        self._whole_bytes: int | None = None  # length up to an incomplete last line; None: there is none
        try:
            self.descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise OutputError(f"{path} cannot be written", error.strerror or "", cure) from error
        try:
            self._hold()
            self._lines = self._whole_lines(_line(header) if header else b"")
            if header and not self._lines:
                self.append(header)
                self._lines = [_line(header).decode()]
                self._sync_directory()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def entries(self) -> Iterator[tuple[int, Any]]:
        """Yields (number, object) of each line read on opening; the object is None for invalid JSON."""
        for number, line in enumerate(self._lines, 1):
            try:
                yield number, json.loads(line)
            except (ValueError, RecursionError):
                yield number, None

    def append(self, entry: Mapping[str, Any]) -> None:
        """Writes an entry, which then survives a kill and a power cut. Raises OutputError."""
        data = _line(entry)
        try:
            if self._whole_bytes is not None:
                os.ftruncate(self.descriptor, self._whole_bytes)
                self._whole_bytes = None
            while data:
                data = data[os.write(self.descriptor, data) :]
            os.fsync(self.descriptor)
        except OSError as error:
            raise OutputError(
                f"{self.path} cannot be written", error.strerror or "", "make room and start it again"
            ) from error

    def close(self) -> None:
        os.close(self.descriptor)

    def remove(self) -> None:
        """Deletes the journal, after its entries have been saved elsewhere."""
        self.path.unlink(missing_ok=True)
        self.close()

    def not_ours(self) -> UsageError:
        return UsageError(f"{self.path}", "this is not a journal of ompass", self._cure)

    def _hold(self) -> None:
        try:
            fcntl.flock(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise UsageError(
                f"{self.path} is in use",
                "another ompass is measuring, or a program of a killed ompass still runs",
                f"wait for it, end it, or {self._cure}",
            ) from error

    def _whole_lines(self, header: bytes) -> list[str]:
        content = self.path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        if header and not whole and not header.startswith(content):
            raise self.not_ours()
        if len(whole) != len(content):
            self._whole_bytes = len(whole)
        return whole.decode("utf-8", errors="replace").split("\n")[:-1]

    def _sync_directory(self) -> None:
        directory = os.open(self.path.absolute().parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)


def _line(entry: Mapping[str, Any]) -> bytes:
    return json.dumps(entry, ensure_ascii=False).encode("utf-8") + b"\n"
