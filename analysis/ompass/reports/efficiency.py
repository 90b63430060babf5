# SPDX-License-Identifier: Apache-2.0
"""The efficiencies of an MPI job in words: tables of factors, and a sentence for each low one.

metrics/efficiency.py computes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import Any, Final

from ompass.metrics.efficiency import LOW, Efficiencies, Factor
from ompass.metrics.ranks import Job
from ompass.metrics.thresholds import PREEMPTED_SHARE
from ompass.model import share
from ompass.reports.model import Column, Kind, Section, Table
from ompass.units import duration, percent, ratio

UNKNOWN: Final = (
    "Efficiencies are not known, because the MPI calls were not recorded on all ranks. `ompass run` "
    "records them; a tool that OMP_TOOL_LIBRARIES loads does not."
)
_PARTS: Final = {
    "multiplicative": "POP, multiplicative",
    "additive": "POP, additive",
    "talp": "TALP",
}
"""The attributes of Efficiencies, with the titles of their tables."""


def efficiency_section(job: Job, *, brief: bool = False) -> Section:
    """Returns the efficiencies of a job; the brief form has one table."""
    found = job.efficiencies
    if found is None:
        return Section("efficiencies", "Efficiencies", (UNKNOWN,))
    parts = list(_PARTS)[:1] if brief else list(_PARTS)
    tables = [_table(_PARTS[name], getattr(found, name)) for name in parts]
    said = tuple(_sentences(job, found))
    unknown = () if brief else tuple(_not_known(found))
    return Section("efficiencies", "Efficiencies", (*said, *tables, *unknown))


def efficiency_values(job: Job) -> dict[str, Any] | None:
    """Returns all efficiencies by name, as JSON values; None if they are not known."""
    found = job.efficiencies
    if found is None:
        return None
    return {name: {f.key: f.value for f in getattr(found, name)} for name in _PARTS}


def _table(title: str, factors: Sequence[Factor]) -> Table:
    known = [factor for factor in factors if factor.value is not None]
    return Table.of(
        title,
        (
            Column("", "efficiency", Kind.NAME, lambda factor: "· " * factor.level + factor.name),
            Column("", "value", Kind.SHARE, "value"),
        ),
        known,
        most=len(known),
        word="efficiency",
    )


def _sentences(job: Job, found: Efficiencies) -> Iterator[str]:
    """Yields a sentence for each low efficiency, and for preempted work."""
    low = [factor for factor in found.multiplicative if factor.value is not None and factor.value < LOW]
    if not low:
        yield f"No efficiency is below {percent(LOW)}."
    words = {
        "mpi_load_balance": _balance,
        "mpi_communication": _communication,
        "openmp": _threads,
    }
    for factor in low:
        if factor.key in words and factor.value is not None:
            yield f"{factor.name} {percent(factor.value)}: {words[factor.key](job, found)}."
    if job.preempted_share >= PREEMPTED_SHARE:
        yield (
            f"Threads waited for processors in {percent(job.preempted_share)} of the work. The efficiencies "
            "count this time as work; the imbalance does not."
        )


def _balance(job: Job, _: Efficiencies) -> str:
    times = {rank.rank: rank.times.outside_mpi_ns for rank in job.ranks if rank.times}
    latest = max(times, key=lambda rank: times[rank])
    return (
        f"the ranks wait in MPI for rank {latest}, which is outside of MPI for {duration(times[latest])}, "
        f"{ratio(share(times[latest], fmean(times.values())))} times the mean"
    )


def _communication(job: Job, found: Efficiencies) -> str:
    times = {rank.rank: rank.times.outside_mpi_ns for rank in job.ranks if rank.times}
    least = max(times, key=lambda rank: times[rank])
    return (
        f"even rank {least}, which has the least time in MPI, spends "
        f"{percent(1 - found.value('mpi_communication'))} of the time there"
    )


def _threads(_: Job, found: Efficiencies) -> str:
    losses = {f.key: 1 - f.value for f in found.additive if f.value is not None}
    regions, serial = losses["openmp_regions"], losses["serial_regions"]
    parts = [
        f"{what} {percent(loss)} of the time"
        for what, loss in (
            ("without work in parallel regions", regions),
            ("without work while one thread runs the serial part", serial),
        )
        if loss >= 0.01
    ]
    return f"outside of MPI, threads are {' and '.join(parts)}" if parts else "threads are without work"


def _not_known(found: Efficiencies) -> Iterator[str]:
    """Yields the reason why some efficiencies are not known, once for each reason."""
    reasons: dict[str, list[str]] = {}
    for factor in found.multiplicative:
        if factor.value is None:
            reasons.setdefault(factor.why, []).append(factor.name)
    for why, names in reasons.items():
        yield f"Not known: {' and '.join(names)}: {why}."
