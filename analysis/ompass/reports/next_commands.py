# SPDX-License-Identifier: Apache-2.0
"""The commands to call after a report on a run, with the names of that run."""

from __future__ import annotations

import contextlib
import re
import shlex
from pathlib import Path

from ompass.model import Run
from ompass.packed import shown_path
from ompass.readers.meta import read_meta, traced_run
from ompass.reports.content import ReportContent


def shell_word(path: Path) -> str:
    """Returns the path of a run as a shell word, relative if it is below the working directory."""
    path = Path(shown_path(path))
    with contextlib.suppress(ValueError, OSError):
        path = path.absolute().relative_to(Path.cwd())
    return shlex.quote(str(path))


def next_commands(content: ReportContent) -> tuple[tuple[str, str], ...]:
    """Returns the commands, each with its purpose."""
    run = content.run
    name = shell_word(run.path)
    meta = read_meta(run.path)
    command = shlex.join(meta.command)
    found = []
    if content.advice_refusal and command:
        found.append((f"ompass run --twice -- {command}", "the gain of changes"))
    if run.mode == "trace" or traced_run(run.path) != run.path:
        found.append((f"ompass view {name}", "timeline in a browser"))
    if meta.rank is not None and (ranks := re.sub(rf"-r{meta.rank}\b.*(?=\.)", "-r*", name)) != name:
        found.append((f"ompass report {ranks}", "all ranks of the job"))
    elif command:
        found.append((f"ompass scale -t {_threads(run)} -- {command}", "speed-up and its limits"))
    found.append((f"ompass report {name} --full", "all tables and notes"))
    return tuple(found)


def _threads(run: Run) -> str:
    """Returns powers of two up to the number of usable processors, or of recorded threads."""
    most = max(run.n_usable_cpus, len(run.threads), 2)
    powers = [1 << k for k in range(most.bit_length()) if 1 << k < most]
    return ",".join(map(str, [*powers, most]))
