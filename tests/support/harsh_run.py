# SPDX-License-Identifier: Apache-2.0
"""Runs programs under conditions that the fixture run_recorded does not offer: limits and closed streams.

The tests decide what to expect from such a run.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

from toolchains import Toolchain

SILENT = {"OMPASS_SUMMARY": "off", "OMP_NUM_THREADS": "2"}


class RunIn(Protocol):
    """The type of the fixture `run_in`; see `run_program`."""

    def __call__(
        self,
        program: Path,
        *arguments: str,
        workspace: Path | None = None,
        tool: Path | None = ...,
        environment: Mapping[str, str] | None = None,
        prepare: Callable[[], None] | None = None,
    ) -> subprocess.CompletedProcess[str]: ...


def run_program(
    workspace: Path,
    program: Path,
    toolchain: Toolchain,
    *arguments: str,
    tool: Path | None,
    environment: Mapping[str, str] | None = None,
    prepare: Callable[[], None] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Runs `program` in `workspace` on two threads, with the tool, or without it if `tool` is None.

    `prepare` runs in the new process just before the program, to set limits or close files.
    """
    settings = dict(SILENT)
    if tool is not None:
        settings["OMP_TOOL_LIBRARIES"] = str(tool)
    settings.update(environment or {})
    return subprocess.run(
        [str(program), *arguments],
        env=toolchain.run_environment(settings),
        cwd=workspace,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        preexec_fn=prepare,
        check=False,
    )


def tool_lines(stderr: str) -> list[str]:
    """Returns the tool's messages."""
    return [line for line in stderr.splitlines() if line.startswith("ompass: ")]
