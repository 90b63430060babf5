# SPDX-License-Identifier: Apache-2.0
"""Judges target constructs, and the time of a single rank in MPI; metrics/job_findings.py judges whole jobs.

Shares of target constructs are parts of the run's wall time: the host runs them outside of regions, too.
"""

from __future__ import annotations

from collections.abc import Iterator

from ompass.metrics import thresholds
from ompass.metrics.efficiency import EDGES, rank_times
from ompass.metrics.facts import Evidence, Facts, evidence
from ompass.metrics.library_calls import mpi_totals
from ompass.model import OUTSIDE, Run, device_name, share
from ompass.units import count, duration, percent, plural, size


def _of_run(facts: Facts, host_ns: float) -> float:
    """Returns `host_ns` as a part of the run's wall time; 0 if it is too short to judge.

    The wall time excludes the time that other programs took from the code outside of regions.
    """
    if host_ns < thresholds.DEVICE_MIN_NS:
        return 0.0
    rows = (row for row in facts.run.regions if row.construct == OUTSIDE)
    taken_ns = max((row.work_preempted_ns for row in rows), default=0)
    return share(host_ns, max(facts.run.wall_ns - taken_ns, host_ns))


def repeated_transfers(facts: Facts) -> Iterator[Evidence]:
    """Yields constructs that move the same host memory to a device many times."""
    for target in facts.targets:
        if target.n_repeated < thresholds.REPEATED_MIN:
            continue
        part = share(target.repeated_bytes, target.to_bytes)
        lost_ns = target.to_ns * part
        if part < thresholds.REPEATED_PART or _of_run(facts, lost_ns) < thresholds.REPEATED_SHARE:
            continue
        yield evidence(
            f"{count(target.n_repeated)} of {plural(target.n_to, 'transfer')} moved the same host memory to "
            f"{device_name(target.device)} as an earlier one: {size(target.repeated_bytes)}, "
            f"{percent(part)} of the bytes that the construct moves there, in {duration(lost_ns)}",
            lost_ns,
            target.construct,
            transfers_repeated=target.n_repeated,
            repeated_bytes=target.repeated_bytes,
        )


def costly_transfers(facts: Facts) -> Iterator[Evidence]:
    """Yields constructs whose data operations take most of their time."""
    for target in facts.targets:
        if _of_run(facts, target.transfer_ns) < thresholds.TRANSFER_SHARE:
            continue
        part = share(target.transfer_ns, target.time_ns)
        if part < thresholds.TRANSFER_PART:
            continue
        yield evidence(
            f"{size(target.to_bytes)} to {device_name(target.device)} and {size(target.from_bytes)} back "
            f"took {duration(target.transfer_ns)}, {percent(part)} of the host's time in the construct and "
            f"{percent(_of_run(facts, target.transfer_ns))} of the run",
            target.transfer_ns,
            target.construct,
            transfer_ns=target.transfer_ns,
            to_bytes=target.to_bytes,
            from_bytes=target.from_bytes,
        )


def small_launches(facts: Facts) -> Iterator[Evidence]:
    """Yields constructs that launch many small kernels."""
    for target in facts.targets:
        if target.n_launches < thresholds.LAUNCHES_MIN:
            continue
        mean_ns = target.away_ns / target.n_launches
        if mean_ns >= thresholds.SMALL_LAUNCH_NS:
            continue
        if _of_run(facts, target.away_ns) < thresholds.LAUNCH_SHARE:
            continue
        yield evidence(
            f"{plural(target.n_launches, 'kernel')} took the host {duration(mean_ns)} each, launch included, "
            f"{percent(_of_run(facts, target.away_ns))} of the run in total",
            target.away_ns,
            target.construct,
            launches=target.n_launches,
            mean_launch_ns=mean_ns,
        )


def host_waits(facts: Facts) -> Iterator[Evidence]:
    """Yields constructs in which the host waits for kernels."""
    for target in facts.targets:
        if target.nowait or not target.n_launches:
            continue
        if _of_run(facts, target.away_ns) < thresholds.HOST_WAIT_SHARE:
            continue
        yield evidence(
            f"the host launched {plural(target.n_launches, 'kernel')} on {device_name(target.device)} and "
            f"waited for {duration(target.away_ns)} until they were complete, "
            f"{percent(_of_run(facts, target.away_ns))} of the run",
            target.away_ns,
            target.construct,
            launches=target.n_launches,
            host_wait_ns=target.away_ns,
        )


def records_mpi(run: Run) -> bool:
    """True if the MPI calls of this run were recorded."""
    return any(row.mpi_ns for row in run.regions) or bool(mpi_totals(run))


def time_in_mpi(facts: Facts) -> Iterator[Evidence]:
    """Yields the time of one rank in MPI. Only the runs of all ranks show which rank it waits for."""
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
