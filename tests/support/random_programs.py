# SPDX-License-Identifier: Apache-2.0
"""Records random task programs, and compares the readers of a trace. The tests choose the seeds."""

from __future__ import annotations

from pathlib import Path

from ompass import _core
from readers_agree import (
    creations_outside_their_intervals,
    second_reading_differs,
    span_differs,
    task_times_differ,
)
from second_reading import Reading
from toolchains import Recorded, Toolchain, compile_source, run_with_tool

SOURCE = "spans/random_tasks.c"
SIZE = 900  # budget of a program: several hundred tasks
WAYS = {"with-wrappers": True, "without-wrappers": False}


def record(seed: int, toolchain: Toolchain, preload: bool, library: Path, workspace: Path) -> Recorded:
    """Records a trace of the program of this seed, on two to four threads."""
    program = compile_source(SOURCE, toolchain)
    return run_with_tool(
        program, toolchain, str(seed), str(SIZE), library=library, run_dir=workspace / "run.ompass",
        mode="trace", threads=2 + seed % 3, preload=preload,
    )  # fmt: skip


def read_again(run_dir: Path) -> Reading:
    """Returns the second reading of a run that ended normally."""
    return Reading(run_dir, _core.read_profile(str(run_dir)).wall_ns)


def all_disagreements(run_dir: Path) -> list[str]:
    """Returns all disagreements between the readers of one trace."""
    reading = read_again(run_dir)
    return [
        *span_differs(run_dir, reading),
        *second_reading_differs(run_dir, reading),
        *task_times_differ(run_dir),
        *creations_outside_their_intervals(run_dir),
    ]
