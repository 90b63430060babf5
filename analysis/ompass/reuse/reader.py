# SPDX-License-Identifier: Apache-2.0
"""Declared accesses of a run by reuse distance: calls the core, which counts them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from ompass import _core
from ompass.errors import NothingToShowError
from ompass.model import Reuse, Run
from ompass.readers.run import core_errors


def read_reuse(
    run: Run,
    *,
    group_of_thread: Sequence[int],
    group_of_cpu: Sequence[int],
    class_bytes: Sequence[tuple[int, int]],
    rate: float = 1.0,
    coherent: bool = True,
    n_jobs: int = 0,
    progress: Callable[[float], None] | None = None,
) -> Reuse:
    """Returns the core's counts of a trace's accesses, one stream per cache group.

    `group_of_thread`: index of each thread's group; if it is -1 or missing, a thread belongs to the group of
    the CPU that it was recorded on. `class_bytes`: (L2, last level) per group. `n_jobs`: threads, 0 for one
    per CPU of this process. `progress` receives the finished share. Raises NothingToShowError if the run has
    no accesses, and DamagedRunError.
    """
    check_has_accesses(run)
    with core_errors(run.path):
        return _core.reuse_of_run(
            str(run.path),
            group_of_thread,
            group_of_cpu,
            class_bytes,
            rate,
            0,
            coherent,
            n_jobs or len(os.sched_getaffinity(0)),
            progress,
        )


def check_has_accesses(run: Run) -> None:
    """Raises NothingToShowError, with advice, unless a trace has declared accesses."""
    if run.mode != "trace":
        raise NothingToShowError(
            f"{run.path} holds no accesses",
            "it was recorded in profile mode",
            "record it with --mode trace or OMPASS_MODE=trace",
        )
    if not any(row.read_bytes or row.write_bytes for row in run.constructs):
        raise without_accesses(run.path)


def without_accesses(path: Path) -> NothingToShowError:
    """Returns the error for a trace without declared accesses."""
    return NothingToShowError(
        f"{path} holds no accesses",
        "the program declares no accesses",
        "mark its kernels and their data with ompass_kernel_begin, ompass_read, ompass_write (ompass.h)",
    )
