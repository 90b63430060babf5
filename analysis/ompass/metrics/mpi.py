# SPDX-License-Identifier: Apache-2.0
"""Judges the time of a single rank in MPI; metrics/job_findings.py judges whole jobs."""

from __future__ import annotations

from collections.abc import Iterator

from ompass.metrics import thresholds
from ompass.metrics.calls import mpi_totals
from ompass.metrics.efficiency import EDGES, rank_times
from ompass.metrics.facts import Evidence, Facts, evidence
from ompass.model import Run, share
from ompass.units import duration, percent, plural


def records_mpi(run: Run) -> bool:
    """True if the MPI calls of this run were recorded."""
    return any(row.mpi_ns for row in run.regions) or bool(mpi_totals(run))


def time_in_mpi(facts: Facts) -> Iterator[Evidence]:
    """Yields the time of one rank in MPI. Only the ranks together show for whom it waits."""
    times = rank_times(facts.run)
    part = share(times.mpi_ns, times.wall_ns)
    if part < thresholds.IN_MPI_SHARE:
        return
    calls = [call for call in mpi_totals(facts.run) if call.function not in EDGES]
    most = ""
    if calls:
        call = calls[0]
        in_calls = share(call.time_ns, sum(each.time_ns for each in calls))
        most = (
            f", {percent(in_calls)} of it in {call.function} ({plural(call.n_calls, 'call')}, "
            f"{duration(share(call.time_ns, call.n_calls))} each)"
        )
    yield evidence(
        f"the process was in MPI for {duration(times.mpi_ns)}, {percent(part)} of its time{most}",
        times.n_threads * times.mpi_ns,
        calls[0].construct if calls else None,
        mpi_share=part,
    )
