# SPDX-License-Identifier: Apache-2.0
"""Finds the benchmark programs in a build directory by name, and reads their answers to --describe.

Knows how programs answer, but nothing about measurements.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from ompass.errors import IncompleteInstallationError

_DESCRIBE_SECONDS = 60
_FILE_NAME = re.compile(r"[a-z0-9]+-[a-z]+(-marked)?")


@dataclass(frozen=True, slots=True)
class BuiltProgram:
    """One version of one benchmark program, as it was built."""

    path: Path
    program: str
    version: str
    unit: str  # unit of work
    cutoffs: tuple[str, ...]  # empty for serial versions
    has_untied: bool
    digest: str  # SHA-256 of the file, in hexadecimal

    @property
    def is_serial(self) -> bool:
        return not self.cutoffs

    @property
    def is_marked(self) -> bool:
        """True if it was compiled with the marks of ompass.h."""
        return self.version.endswith("-marked")


def find_programs(directory: Path) -> list[BuiltProgram]:
    """Returns every benchmark program in `directory`, ordered by name.

    Raises IncompleteInstallationError if a program does not answer.
    """
    if not directory.is_dir():
        return []
    return [_ask(path) for path in sorted(directory.iterdir()) if _is_version(path)]


def _is_version(path: Path) -> bool:
    return bool(_FILE_NAME.fullmatch(path.name)) and path.is_file() and os.access(path, os.X_OK)


def _ask(path: Path) -> BuiltProgram:
    try:
        answer = subprocess.run(
            [path, "--describe"], capture_output=True, text=True, timeout=_DESCRIBE_SECONDS, check=True
        )
        described = json.loads(answer.stdout)
        return BuiltProgram(
            path=path,
            program=described["program"],
            version=described["version"],
            unit=described["unit"],
            cutoffs=tuple(described["cutoffs"]),
            has_untied=described["untied"],
            digest=hashlib.sha256(path.read_bytes()).hexdigest(),
        )
    except (OSError, subprocess.SubprocessError, ValueError, KeyError) as error:
        raise IncompleteInstallationError(
            f"{path} does not answer --describe", str(error), "build the benchmark programs again"
        ) from error
