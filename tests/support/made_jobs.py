# SPDX-License-Identifier: Apache-2.0
"""Makes reports of the ranks of MPI jobs for unit tests, and directories with their meta.json."""

from __future__ import annotations

import json
from pathlib import Path

from made_runs import MS, made_run, region, team
from ompass.model import OUTSIDE, RegionRow
from ompass.reports.content import ReportContent, collect

START_NS = 1_700_000_000_000_000_000


def rank_content(
    folder: Path,
    number: int | None,
    *,
    work_ms: int,
    mpi_ms: int = 0,
    idle_ms: int = 0,
    n_threads: int = 2,
    start_ms: int = 0,
    launch: str = "",
    name: str = "",
    **states: int,
) -> ReportContent:
    """Makes the report of a rank whose threads work and idle in a region; then its first thread is in MPI.

    `states`: further fields of the rows of its region.
    """
    path = folder / (name or f"r{number}-{start_ms}.ompass")
    path.mkdir(parents=True)
    environment = {"OMPASS_LAUNCH": launch} if launch else {}
    description = {"rank": number, "host": "node", "environment": environment}
    (path / "meta.json").write_text(json.dumps(description), encoding="utf-8")
    rows: list[RegionRow] = team(
        0, [{"work_ns": work_ms * MS, "idle_ns": idle_ms * MS, **states}] * n_threads
    )
    rows.append(region(OUTSIDE, 0, mpi_ns=mpi_ms * MS))
    run = made_run(
        rows,
        wall_ns=(work_ms + idle_ms + mpi_ms) * MS,
        start_epoch_ns=START_NS + start_ms * MS,
    )
    return collect(run.replace(path=path))
