# SPDX-License-Identifier: Apache-2.0
"""The journal of a suite or sweep: finished runs, safe from the moment at which they are written.

A text file with a JSON object a line. Each is forced to the disk before the next measurement starts. A line
that a killed process left incomplete is cut off when the journal is opened again: that measurement was never
noted, so it is made again. One process at a time holds a journal.
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
    """Entries in a file that this process alone may write. Use as a context, or `close` it."""

    def __init__(self, path: Path, cure: str, header: Mapping[str, Any] | None = None) -> None:
        """Open or begin the journal at `path`; `header` is to be its first line, if there is one.

        UsageError: another process holds it, or it is not a journal; OutputError: it cannot be written.
        `cure` says what else a user may name.
        """
        self.path = path
        self._cure = cure
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
        """(number, object) of every line when the journal was opened; None for what is not JSON."""
        for number, line in enumerate(self._lines, 1):
            try:
                yield number, json.loads(line)
            except (ValueError, RecursionError):
                yield number, None

    def append(self, entry: Mapping[str, Any]) -> None:
        """Write an entry; when this returns, it survives a kill and a power cut. OutputError."""
        data = _line(entry)
        try:
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
        """Delete the journal, after its entries have been saved elsewhere."""
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
                "another ompass is measuring, or a program that a killed one started still runs",
                f"wait for it, end it, or {self._cure}",
            ) from error

    def _whole_lines(self, header: bytes) -> list[str]:
        content = self.path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        if header and not whole and not header.startswith(content):
            raise self.not_ours()
        if len(whole) != len(content):
            os.ftruncate(self.descriptor, len(whole))
        return whole.decode("utf-8", errors="replace").splitlines()

    def _sync_directory(self) -> None:
        directory = os.open(self.path.absolute().parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)


def _line(entry: Mapping[str, Any]) -> bytes:
    return json.dumps(entry, ensure_ascii=False).encode("utf-8") + b"\n"
