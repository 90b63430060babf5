# SPDX-License-Identifier: Apache-2.0
"""The report on the scaling of an MPI job: a table by ranks and threads, and the factor that limits it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, Final

from ompass.jobs.scaling import JobPoint, JobScaling
from ompass.reports.findings import shell_word
from ompass.reports.job import finding_values, job_advice
from ompass.reports.model import Column, Kind, Report, Section, Table, data, fields
from ompass.units import percent, plural, ratio

_SHOWN: Final = {
    "global": "global",
    "parallel": "parallel",
    "mpi_load_balance": "MPI balance",
    "mpi_communication": "MPI comm.",
    "openmp": "OpenMP",
    "processors": "processors",
    "computation": "computation",
}
"""The efficiencies in the table, with the titles of their columns."""
_PARTS: Final = ("instructions", "ipc", "frequency")
_CURES: Final = {
    "mpi_load_balance": "distribute the work over the ranks by its cost",
    "mpi_communication": "send fewer messages, or overlap them with computation; fewer ranks with more "
    "threads communicate less",
    "openmp": "look at the findings of one rank: its threads lack work",
    "processors": "start at most as many threads in all ranks together as there are processors, or measure "
    "on quiet hosts: threads waited for a processor",
    "computation": "find out what takes longer in the same work: more instructions (replicated work), or "
    "slower ones (memory, caches); --counters PAPI_TOT_INS,PAPI_TOT_CYC shows which",
}


def job_scaling_report(content: JobScaling, directory: str = "") -> Report:
    """Returns the report; `directory` is the sweep, or empty for runs that were recorded one by one."""
    judged = content.judged
    repeats = sorted({len(point.jobs) for point in content.points})
    rounds = f"{repeats[0]}-{repeats[-1]} rounds" if len(repeats) > 1 else plural(repeats[0], "round")
    advices = tuple(job_advice(found, place) for found, place in content.findings)
    sections = [Section("scaling", "Scaling, by ranks x threads", (_points(content), *_unknown(content)))]
    if advices:
        title = f"Findings on {plural(judged.n_ranks, 'rank')} x {plural(judged.n_threads, 'thread')}"
        sections.insert(0, Section("findings", title, advices))
    return Report(
        title=f"ompass scale · {plural(len(content.points), 'size')} of a job · {rounds} each",
        facts=(),
        verdict=_verdict(content),
        sections=tuple(sections),
        commands=tuple(_commands(content)),
        values={
            "schema": "ompass-job-scale",
            "schema_version": 1,
            "directory": directory or None,
            "points": _points(content),
            "judged": {"ranks": judged.n_ranks, "threads": judged.n_threads},
            "cause": content.cause or None,
            "findings": finding_values(content.findings),
        },
    )


def _verdict(content: JobScaling) -> str:
    first, judged = content.reference, content.judged
    if len(content.points) < 2:
        return f"One size of the job was recorded: {first.name} (ranks x threads)."
    said = (
        f"On {judged.name} (ranks x threads) the job is {ratio(judged.speedup)} times as fast as on "
        f"{first.name} (ideal: {ratio(content.expected)})"
    )
    key = content.cause
    if not key:
        return f"{said}."
    before, after = first.efficiencies.get(key), judged.efficiencies.get(key)
    name = content.names.get(key, key)
    return (
        f"{said}: {name} falls from {percent(before or 0.0)} to {percent(after or 0.0)}. Cure: {_CURES[key]}."
    )


def _points(content: JobScaling) -> Table:
    known = [
        key for key in _SHOWN if any(point.efficiencies.get(key) is not None for point in content.points)
    ]
    counted = [key for key in _PARTS if any(point.computation[key] is not None for point in content.points)]
    return Table.of(
        "Scaling",
        (
            Column("ranks", "ranks", Kind.COUNT, "n_ranks"),
            Column("threads", "threads", Kind.COUNT, "n_threads", "of each rank"),
            Column("time_ns", "time", Kind.TIME, hint="mean of the jobs"),
            Column("speedup", "speed-up", Kind.RATIO, hint="time of the first row over this time"),
            *(Column("", _SHOWN[key], Kind.SHARE, partial(_efficiency, key)) for key in known),
            *(Column("", key, Kind.SHARE, partial(_part, key)) for key in counted),
            *fields("low_ns high_ns all_threads=n_all_threads"),
            data("jobs", lambda point: len(point.jobs)),
            data("efficiencies"),
            data("computation"),
        ),
        content.points,
        most=64,
        word="size",
    )


def _efficiency(key: str, point: JobPoint) -> Any:
    return point.efficiencies.get(key)


def _part(key: str, point: JobPoint) -> Any:
    return point.computation[key]


def _unknown(content: JobScaling) -> Iterator[str]:
    unknown = [point.name for point in content.points if point.efficiencies.get("parallel") is None]
    if unknown:
        yield (
            f"The efficiencies of {', '.join(unknown)} are not known, because MPI calls were not recorded "
            "on all ranks."
        )
    if all(point.computation["instructions"] is None for point in content.points):
        yield (
            "Instructions, instructions per cycle and frequency are not known without the counters "
            "PAPI_TOT_INS and PAPI_TOT_CYC. The computation assumes that all sizes solve the same problem."
        )


def _commands(content: JobScaling) -> Iterator[tuple[str, str]]:
    paths = [shell_word(one.run.path) for one in content.judged.jobs[0].contents]
    shown = " ".join(paths) if len(paths) <= 2 else f"{paths[0]} {paths[1]} …"
    yield f"ompass report {shown}", f"the job on {content.judged.name}"
