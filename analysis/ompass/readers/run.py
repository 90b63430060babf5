# SPDX-License-Identifier: Apache-2.0
"""Opens a run directory: the `Run`, its events, samples and task graph, and their problems.

The core reads the logs; this file turns its errors into typed errors with advice.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from ompass import _core
from ompass._core import (
    STACK_WORD,
    EventTable,
    GroupLimits,
    LogError,
    Sample,
    SampledThread,
    Samples,
)
from ompass.errors import DamagedRunError, NothingToShowError, RunNotFoundError
from ompass.model import Run, TaskGraph
from ompass.packed import CACHES, RUN_FILES, TRACE, is_packed_run, unpacked
from ompass.readers.meta import Meta, meta_problems, read_meta
from ompass.units import plural

__all__ = ["STACK_WORD", "EventTable", "Sample", "SampledThread", "Samples"]

CORE_FILE: Final = str(_core.__file__)
SWEEP_FILE: Final = "sweep.json"
"""The file that marks a directory as a sweep."""
_MAGIC: Final = b"OMPASSPR"  # the first bytes of process.log
_LOOK_S: Final = 0.02


def is_run_directory(path: Path) -> bool:
    """True if `path` looks like a run directory (opens no log)."""
    return path.is_dir() and ((path / "meta.json").exists() or (path / "process.log").exists())


def foreign_content(path: Path) -> str:
    """Returns the reason why a directory must not be removed as a run; empty if it may be removed.

    Raises OSError if the directory cannot be read.
    """
    if path.is_symlink():
        return "it is a symbolic link"
    if not _is_from_ompass(path):
        return "its process.log is not from ompass"
    others = list(_other_files(path))
    return f"it also contains {others[0]}{' and other files' if others[1:] else ''}" if others else ""


def _is_from_ompass(path: Path) -> bool:
    """True if process.log begins with _MAGIC. If the log is missing or empty, meta.json decides."""
    try:
        with (path / "process.log").open("rb") as log:
            begin = log.read(len(_MAGIC))
    except FileNotFoundError:
        begin = b""
    return begin == _MAGIC or (not begin and read_meta(path).ompass_version != "")


def _other_files(path: Path) -> Iterator[str]:
    for entry in sorted(path.iterdir()):
        if entry.name == TRACE and is_run_directory(entry) and not entry.is_symlink():
            yield from (f"{TRACE}/{name}" for name in _other_files(entry))
            continue
        known = RUN_FILES.fullmatch(entry.name) or CACHES.fullmatch(entry.name)
        if not known or entry.is_symlink() or not entry.is_file():
            yield entry.name


def runs_in(folder: Path) -> list[Path]:
    """Returns the runs in a folder, by name; unpacks packed runs. Raises DamagedRunError, OutputError."""
    entries = sorted(folder.iterdir())
    return [unpacked(entry) for entry in entries if is_run_directory(entry) or is_packed_run(entry)]


def is_sweep_directory(path: Path) -> bool:
    """True if `path` contains a sweep (reads nothing)."""
    return (path / SWEEP_FILE).is_file()


def open_run(path: Path, source: str = "profile", window: tuple[int, int] = (0, -1)) -> Run:
    """Returns the recorded run.

    `source` "profile" reads the tool's statistics; "events" recomputes them from the trace, in `window`, in
    nanoseconds since the start (-1: to the end). Times are cut to the window. Tasks, kernels and waits for
    locks count if they end in it, other waits and calls if they begin in it.

    Raises RunNotFoundError (also if nothing was recorded), DamagedRunError (also for source "events" without
    a trace).
    """
    check_directory(path)
    with core_errors(path):
        run = _core.replay_trace(str(path), *window) if source == "events" else _core.read_profile(str(path))
    _check_written(path, run)
    modules = tuple(module.replace(path=_file_of(module.path, path)) for module in run.modules)
    return run if modules == run.modules else run.replace(modules=modules)


def _file_of(module: str, run_dir: Path) -> str:
    """Returns the file of a module; for the kernel's library (vdso), its copy in the run directory."""
    copy = run_dir.absolute() / module
    return str(copy) if "/" not in module and copy.is_file() else module


def has_ended(run: Run) -> bool:
    """True if the run is complete, or its process no longer exists on this machine."""
    return not what_still_runs(run)


def what_still_runs(run: Run) -> str:
    """Returns a clause that names the process of a run that has not ended; empty if it has ended.

    A process of another machine may still run unless the run records its end.
    """
    if run.end_reason != "running-or-killed":
        return ""
    meta = read_meta(Path(run.path))
    if not _is_of_this_machine(meta):
        return f"its process {run.pid} may still run on {meta.host}"
    try:
        os.kill(run.pid, 0)
    except ProcessLookupError:
        return ""
    except PermissionError:
        pass
    return f"its process {run.pid} still runs"


def _is_of_this_machine(meta: Meta) -> bool:
    """True if a run was recorded here, or its machine is unknown."""
    return meta.host in ("", "unknown", os.uname().nodename)


def have_ended(directories: Sequence[Path], limit_s: float) -> bool:
    """Waits until the processes of these runs on this machine end. Returns False after the time limit."""
    pids = {meta.pid for meta in map(read_meta, directories) if _is_of_this_machine(meta)} - {0}
    end_s = time.monotonic() + limit_s
    while pids := {pid for pid in pids if Path(f"/proc/{pid}/exe").exists()}:
        if time.monotonic() > end_s:
            return False
        time.sleep(_LOOK_S)
    return True


def find_problems(path: Path) -> list[str]:
    """Returns every inconsistency in the run directory, one sentence each; empty if it is sound."""
    check_directory(path)
    with core_errors(path):
        return [*_core.validate(str(path)), *_sample_problems(path), *meta_problems(path)]


def find_missing(path: Path) -> list[str]:
    """Returns a sentence for each loss that the tool noticed while recording; a loss is not damage."""
    check_directory(path)
    with core_errors(path):
        n_dropped = _core.read_samples(str(path)).n_dropped
        samples = [f"{path}: {plural(n_dropped, 'sample')} could not be written."] if n_dropped else []
        profile = _core.read_profile(str(path))
    _check_written(path, profile)
    return [*profile.missing, *samples]


def _check_written(path: Path, run: Run) -> None:
    """Raises RunNotFoundError if process.log lacks a header, which all other logs need."""
    if run.format_version == 0:
        raise RunNotFoundError(
            f"{path}",
            "its process.log is empty: the program ended while it made the file, or the file could not grow",
            "record the program again, with room for the run directory (`df`, `ulimit -f`)",
        )


def _sample_problems(path: Path) -> list[str]:
    try:
        _core.read_samples(str(path))
    except _core.LogError as error:
        return [f"{error}."]
    return []


@contextmanager
def core_errors(directory: Path) -> Iterator[None]:
    """Turns LogError and file errors of the core into typed errors that name the directory."""
    try:
        yield
    except LogError as error:
        raise DamagedRunError(
            f"{directory} cannot be read",
            str(error),
            f"`ompass validate {directory}` lists every inconsistency",
        ) from error
    except OSError as error:
        raise RunNotFoundError(f"{directory} cannot be read", str(error)) from error


def check_directory(path: Path) -> None:
    """Raises RunNotFoundError, with the reason, if a path cannot be a run directory. Opens no file."""
    if not path.exists():
        raise RunNotFoundError(
            f"{path}",
            "no such directory",
            "name a directory that `ompass run` or the tool wrote (NAME.ompass)",
        )
    if not path.is_dir():
        raise RunNotFoundError(f"{path}", "not a directory", "name the run directory, not a file in it")
    if (path / "process.log").exists():
        return
    if (path / "meta.json").exists():
        raise RunNotFoundError(
            f"{path}",
            "it has no process.log: the process ended before it recorded anything, or the file is lost",
            "record the program again",
        )
    raise RunNotFoundError(
        f"{path}",
        "it is not a run directory: it contains neither meta.json nor process.log",
        "name a directory that `ompass run` or the tool wrote (NAME.ompass)",
    )


def check_whole_trace(path: Path) -> None:
    """Raises NothingToShowError if the run keeps only the last part of its trace."""
    check_directory(path)
    with core_errors(path):
        begin_ns = _core.read_profile(str(path)).trace_begin_ns
    if begin_ns:
        raise NothingToShowError(
            f"{path} holds only the last part of its trace",
            "this analysis needs the whole trace",
            "record the program with --mode trace, without --keep-last",
        )


def event_kinds() -> list[tuple[str, str]]:
    """Returns (name, meaning) of every event kind, indexed by its number."""
    return _core.event_kinds()


def call_step_text(value: int) -> str:
    """Returns the meaning of the value of a `call` event, such as "sends to rank 1, tag 2"."""
    return _core.call_step_text(value)


def read_events(
    path: Path, *, thread: int = -1, start_ns: int = 0, end_ns: int = -1, limit: int = -1
) -> EventTable:
    """Returns `limit` events at most (-1: all) of one thread (-1: all) in [start_ns, end_ns) (-1: the end).

    Raises RunNotFoundError, DamagedRunError (also if the run has no trace).
    """
    check_directory(path)
    with core_errors(path):
        return _core.read_events(str(path), thread, start_ns, end_ns, limit)


def read_samples(path: Path, deliver: Callable[[SampledThread], None]) -> Samples:
    """Passes all samples to `deliver`, one thread after the other; returns their summary.

    Raises RunNotFoundError, DamagedRunError.
    """
    check_directory(path)
    with core_errors(path):
        return _core.read_samples(str(path), deliver)


def n_sampled(path: Path) -> int:
    """Returns the number of threads with a file of samples."""
    return sum(1 for _ in path.glob("thread-*.samples"))


def read_task_graph(
    path: Path,
    *,
    depth: int,
    expanded: Sequence[int] = (),
    max_tasks: int = 10_000,
    on_processors: bool = False,
) -> TaskGraph:
    """Returns the graph with `depth` separate levels of task nesting, and the tasks of `expanded` groups.

    `on_processors`: work and span exclude the time in which threads were preempted.

    Raises RunNotFoundError, DamagedRunError (also if the run has no trace), and NothingToShowError if only
    the last part of the trace was kept.
    """
    check_whole_trace(path)
    with core_errors(path):
        graph = _core.task_graph(str(path), depth, expanded, max_tasks, on_processors)
    return TaskGraph(**graph.as_dict())


def read_group_limits(root: str = "") -> GroupLimits:
    """Returns the CPU quota of this process's control groups; `root` replaces the file system's root."""
    return _core.read_group_limits(root)
