# SPDX-License-Identifier: Apache-2.0
"""Runs of a program under conditions that the ordinary fixture does not offer: limits and lost streams.

The tests decide what to expect of such a run.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from toolchains import Toolchain

SILENT = {"OMPASS_SUMMARY": "off", "OMP_NUM_THREADS": "2"}


def run_in(
    workspace: Path,
    program: Path,
    toolchain: Toolchain,
    *arguments: str,
    tool: Path | None,
    environment: Mapping[str, str] | None = None,
    prepare: Callable[[], None] | None = None,
    timeout_s: float = 60.0,
) -> subprocess.CompletedProcess[str]:
    """Run `program` in `workspace` with the tool, or without one when `tool` is None, on two threads.

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
        timeout=timeout_s,
        preexec_fn=prepare,
        check=False,
    )


def tool_lines(stderr: str) -> list[str]:
    """Return what the tool said."""
    return [line for line in stderr.splitlines() if line.startswith("ompass: ")]
