# SPDX-License-Identifier: Apache-2.0
"""Opens a run directory as a `Run`.

Owns the translation of the core's dictionaries into the model; the bytes are the core's.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ompass.errors import IncompleteInstallationError
from ompass.model import ConstructCounts, Definition, HeldTasks, Module, RegionTime, Run, StateTimes, Thread
from ompass.readers.core import check_directory, core_errors, load_core

if TYPE_CHECKING:
    from ompass._core import RegionRow, RunProfile


def is_run_directory(path: Path) -> bool:
    """Whether `path` looks like a run directory (no log is opened)."""
    return path.is_dir() and ((path / "meta.json").exists() or (path / "process.log").exists())


def open_run(path: Path, source: str = "profile") -> Run:
    """The recorded run.

    `source` "profile" takes the figures that the tool kept, "events" recomputes them from the trace.
    Raises RunNotFoundError, DamagedRunError (also for source "events" without a trace).
    """
    check_directory(path)
    core = load_core()
    with core_errors(core, path):
        profile = core.replay_trace(str(path)) if source == "events" else core.read_profile(str(path))
    return run_of_profile(path, profile)


def find_problems(path: Path) -> list[str]:
    """Every inconsistency in the run directory, one sentence each; empty when it is sound."""
    check_directory(path)
    core = load_core()
    with core_errors(core, path):
        return list(core.validate(str(path)))


def run_of_profile(path: Path, profile: RunProfile) -> Run:
    """The model of what the core returned."""
    try:
        return Run(
            path=path,
            format_version=profile["format_version"],
            mode=profile["mode"],
            source=profile["source"],
            complete=profile["complete"],
            end_reason=profile["end_reason"],
            incomplete_reasons=tuple(profile["incomplete_reasons"]),
            pid=profile["pid"],
            start_epoch_ns=profile["start_epoch_ns"],
            wall_ns=profile["wall_ns"],
            clock_kind=profile["clock_kind"],
            clock_hz=profile["clock_hz"],
            create_estimated=profile["create_estimated"],
            create_estimate_ns=profile["create_estimate_ns"],
            counters=tuple(profile["counters"]),
            modules=tuple(Module(**row) for row in profile["modules"]),
            definitions=tuple(Definition(**row) for row in profile["definitions"]),
            threads=tuple(Thread(**row) for row in profile["threads"]),
            regions=tuple(region_time(row) for row in profile["regions"]),
            constructs=tuple(ConstructCounts(**row) for row in profile["constructs"]),
            log_bytes=profile["log_bytes"],
        )
    except (KeyError, TypeError) as error:
        raise IncompleteInstallationError(
            "the compiled part of ompass does not fit its Python part",
            str(error),
            "reinstall the package with `pip install --force-reinstall .` in the source directory",
        ) from error


def region_time(row: RegionRow) -> RegionTime:
    return RegionTime(
        construct=row["construct"],
        thread=row["thread"],
        level=row["level"],
        n_instances=row["n_instances"],
        n_primary=row["n_primary"],
        wall_ns=row["wall_ns"],
        capacity_ns=row["capacity_ns"],
        max_team_size=row["max_team_size"],
        total_ns=row["total_ns"],
        nested_ns=row["nested_ns"],
        states=StateTimes(
            row["work_ns"], row["create_ns"], row["schedule_ns"], row["sync_ns"], row["idle_ns"]
        ),
        implicit_ns=row["implicit_ns"],
        lock_ns=row["lock_ns"],
        n_tasks=row["n_tasks"],
        held=HeldTasks(
            domain=row["domain"],
            n_rescued=row["n_rescued"],
            n_steals=row["n_steals"],
            n_failed_steals=row["n_failed_steals"],
            steal_ns=row["steal_ns"],
            failed_steal_ns=row["failed_steal_ns"],
            n_from_domain=row["n_from_domain"],
        ),
    )
