# SPDX-License-Identifier: Apache-2.0
"""Runs a program to record it, and decides whether it may run a second time, to trace it.

Owns the criteria for a program that is safe to repeat, and the limits of time and size. A second run needs
the same input, and must have no effect that users notice.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ompass.launch.child import Ending, run_child
from ompass.launch.plan import Plan
from ompass.launch.program import Program
from ompass.launch.rank_start import LAUNCH
from ompass.model import Run
from ompass.units import duration, size

MOST_NS: Final = 30_000_000_000
"""Longest time of a program that runs a second time without --twice. Users wait at least as long again."""
MOST_BYTES: Final = 64 << 20
"""Largest trace for advice: 4 million tasks (TASK_BYTES), or 2.8 million if every second task waits."""

TASK_BYTES: Final = 16  # in a trace, measured for tasks without dependences
_EVENT_BYTES: Final = 16  # of a wait, a chunk of a loop, or both marks of a kernel
_MOST_FILES: Final = 20_000  # entries of a directory that are compared

_State = Mapping[Path, tuple[int, int, int]]


@dataclass(frozen=True, slots=True)
class Before:
    """State that a program can change: the position of its input, and files that it may write."""

    offset: int  # position of standard input; -1: it is not a file
    files: _State

    @classmethod
    def of(cls, command: Sequence[str]) -> Before:
        """Returns the current state; call this before the program starts."""
        return cls(_input_offset(), _files(command))


@dataclass(frozen=True, slots=True)
class FirstRun:
    """A program that ran, and how it was started."""

    command: Sequence[str]
    program: Program
    plan: Plan
    environment: Mapping[str, str]  # of the program
    before: Before
    ending: Ending
    wall_ns: int

    @classmethod
    def started(
        cls, path: Path, command: Sequence[str], program: Program, plan: Plan, environment: Mapping[str, str]
    ) -> FirstRun:
        """Runs the command to its end. `path` is the file to execute: of `program`, or of its launcher."""
        before = Before.of(command)
        began = time.monotonic_ns()
        ending = run_child(str(path), command, environment)
        return cls(command, program, plan, environment, before, ending, time.monotonic_ns() - began)


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a second run, and the user's choice."""

    twice: bool | None = None  # None: only if the first run was short and is safe to repeat
    most_ns: int = 0
    most_bytes: int = MOST_BYTES


def why_once(
    before: Before, command: Sequence[str], program: Program, plan: Plan, ending: Ending,
    environ: Mapping[str, str],
) -> str:  # fmt: skip
    """Returns the reason why the program should not run again; empty if it is safe.

    Sets standard input, if it is a file, back to `before.offset`.
    """
    if ending.signal or ending.exit_code or ending.interrupt:
        return f"the program {ending.describe()}"
    if environ.get(LAUNCH):
        return "a recorded program started it"
    if program.is_script or plan.runtime is None:
        return "the program is not linked with OpenMP"
    if not _input_can_be_read_again(before.offset):
        return "its standard input cannot be read twice"
    files = _files(command)
    changed = [path for path, state in files.items() if before.files.get(path) != state]
    if changed:
        return f"it wrote {min(changed).name}"
    removed = [path for path in before.files if path not in files and not path.is_file()]
    if removed:
        return f"it removed {min(removed).name}"
    return ""


def why_not_traced(run: Run, wall_ns: int, most_ns: int, most_bytes: int) -> str:
    """Returns the reason why a second, traced run would be too long or too large; empty if there is none."""
    if wall_ns > most_ns:
        return f"the first one took {duration(wall_ns)}, limit {duration(most_ns)}"
    n_bytes = trace_bytes(run)
    if n_bytes > most_bytes:
        return f"its trace would take {size(n_bytes)}, limit {size(most_bytes)}"
    return ""


def trace_bytes(run: Run) -> int:
    """Returns the approximate size of a trace of this run, without the accesses that kernels declare."""
    kernels = {definition.id for definition in run.definitions if definition.kind == "kernel"}
    n_kernels = sum(row.n_completed for row in run.constructs if row.construct in kernels)
    n_tasks = sum(row.n_created for row in run.constructs)
    n_events = sum(row.n_waits for row in run.waits) + sum(row.n_chunks for row in run.loops)
    return TASK_BYTES * n_tasks + _EVENT_BYTES * (n_events + n_kernels)


def _input_offset() -> int:
    try:
        return os.lseek(0, 0, os.SEEK_CUR) if stat.S_ISREG(os.fstat(0).st_mode) else -1
    except OSError:
        return -1


def _input_can_be_read_again(offset: int) -> bool:
    """True if standard input is closed, /dev/null, a terminal or a file. Sets a file back to `offset`."""
    try:
        status = os.fstat(0)
    except OSError:
        return True
    if stat.S_ISREG(status.st_mode):
        os.lseek(0, offset, os.SEEK_SET)
        return True
    return os.isatty(0) or status.st_rdev == Path(os.devnull).stat().st_rdev


def _files(command: Sequence[str]) -> _State:
    """Returns the state of the files in the working directory, and of those that the arguments name.

    Omits the file that receives the output.
    """
    outputs = {os.fstat(stream).st_ino for stream in (1, 2)}
    found: dict[Path, tuple[int, int, int]] = {}
    for path in (each for place in (Path(), *_named(command[1:])) for each in _with_entries(place)):
        try:
            status = path.stat()
        except (OSError, ValueError):  # e.g. an argument that is not a path
            continue
        if stat.S_ISREG(status.st_mode) and status.st_ino not in outputs:
            found[path] = (status.st_ino, status.st_size, status.st_mtime_ns)
    return found


def _named(words: Sequence[str]) -> Iterator[Path]:
    """Yields the paths that arguments may name: `FILE`, `--output=FILE` and `-oFILE`."""
    for word in words:
        value = word.partition("=")[2] or (word[2:] if word.startswith("-") else "")
        yield from map(Path, filter(None, (word, value)))


def _with_entries(path: Path) -> list[Path]:
    """Returns the path and, for a directory, its direct entries."""
    try:
        with os.scandir(path) as entries:
            return [path, *(path / each.name for each, _ in zip(entries, range(_MOST_FILES), strict=False))]
    except (OSError, ValueError):
        return [path]
