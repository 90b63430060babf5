# SPDX-License-Identifier: Apache-2.0
"""The errors that a user can see. Each states the problem, its cause and its cure.

Owns the exception types and their exit codes; `commands` prints the messages.
"""

from __future__ import annotations

from typing import ClassVar


class OmpassError(Exception):
    """Base class of all expected failures: `what` went wrong, `why`, and the `cure`."""

    exit_code: ClassVar[int] = 70

    def __init__(self, what: str, why: str = "", cure: str = "") -> None:
        self.what = what
        self.why = why
        self.cure = cure
        super().__init__(self.one_line())

    def one_line(self) -> str:
        """Returns the message as one line: `what: why; cure`."""
        text = self.what
        if self.why:
            text += f": {self.why}"
        if self.cure:
            text += f"; {self.cure}"
        return " ".join(text.split())


class RunNotFoundError(OmpassError):
    """The given path is not a run directory."""

    exit_code = 3


class DamagedRunError(OmpassError):
    """The directory is a run directory but cannot be read."""

    exit_code = 4


class NothingToShowError(OmpassError):
    """The run is sound but lacks the requested data."""

    exit_code = 5


class CannotRecordError(OmpassError):
    """The program cannot be recorded here."""

    exit_code = 6


class OutputError(OmpassError):
    """A result could not be written."""

    exit_code = 7


class IncompleteInstallationError(OmpassError):
    """A part of the package, or a library that it needs, is missing or has another version."""

    exit_code = 8


class IncompleteRunError(OmpassError):
    """The run is sound but lacks data that the tool could not write."""

    exit_code = 10


class UsageError(OmpassError):
    """The options contradict each other or name something that does not exist."""

    exit_code = 2
