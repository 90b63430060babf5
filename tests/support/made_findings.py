# SPDX-License-Identifier: Apache-2.0
"""Synthetic runs for tests of findings, and their findings."""

from __future__ import annotations

from typing import Any

from made_runs import MS, construct, made_run, region, team, thread
from ompass.metrics.breakdown import time_breakdown
from ompass.metrics.constructs import construct_totals
from ompass.metrics.facts import Facts, Finding
from ompass.metrics.findings import find_findings
from ompass.metrics.waits import loop_totals, wait_totals
from ompass.model import OUTSIDE, ConstructRow, RegionRow, Run
from ompass.sampled import OWN
from ompass.samples.metrics import Line, LocatedSample, Owner


def findings(run: Run, **more: Any) -> list[Finding]:
    return list(
        find_findings(
            Facts(run, time_breakdown(run), construct_totals(run), wait_totals(run), loop_totals(run), **more)
        )
    )


def problems(run: Run) -> list[str]:
    return [f.kind for f in findings(run) if f.severity == "problem"]


def notes(run: Run) -> list[str]:
    return [f.kind for f in findings(run) if f.severity == "note"]


def the(run: Run, kind: str, **more: Any) -> Finding:
    (found,) = [f for f in findings(run, **more) if f.kind == kind]
    return found


def healthy_rows() -> list[RegionRow]:
    busy = {"work_ns": 98 * MS, "create_ns": MS, "sync_ns": MS, "n_tasks": 490}
    return team(0, [busy, busy])


def healthy_tasks() -> list[ConstructRow]:
    return [construct(1, k, [200_000] * 490, create_ns=MS) for k in range(2)]


def serial_run(**fields: Any) -> Run:
    rows = [*healthy_rows(), region(OUTSIDE, 0, work_ns=98 * MS)]
    return made_run(rows, healthy_tasks(), **{"wall_ns": 198 * MS, **fields})


def on_processors(
    rows: list[RegionRow], constructs: list[ConstructRow], n_cpus: int = 8, n_bound: int = 0
) -> Run:
    """Makes a run that records thread switches."""
    threads = [thread(row.thread, cpu_source="switches") for row in rows if row.construct == 0]
    return made_run(rows, constructs, threads=threads, n_usable_cpus=n_cpus, n_bound_cpus=n_bound)


def sampled(behaviour: str = "", library: str = "", n: int = 30, *, of: int = 100) -> list[LocatedSample]:
    """Returns `of` samples of a region's work, `n` of which have this behaviour and library."""
    owner = Owner("implicit", 0)
    line = Line("f", "a.c", 7, "a", "a.c:7", "a.c:7 (f)")
    return [
        LocatedSample(0, owner, (line,), library, n, behaviour),
        LocatedSample(0, owner, (Line("g", "a.c", 9, "a", "a.c:9"),), OWN, of - n, "computation"),
    ]
