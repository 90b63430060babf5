# SPDX-License-Identifier: Apache-2.0
"""Made-up runs for unit tests: dictionaries as the C++ core returns them, valid by construction.

Owns the defaults; a test states only what it is about.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ompass.model import N_HISTOGRAM_BINS, Run
from ompass.readers.rundir import run_of_profile

MS = 1_000_000

STATES = ("work_ns", "create_ns", "schedule_ns", "sync_ns", "idle_ns")


def region(construct: int, thread: int, **fields: Any) -> dict[str, Any]:
    """A RegionRow; total_ns is the sum of the states."""
    row: dict[str, Any] = {
        "construct": construct, "thread": thread, "level": 0 if construct < 0 else 1, "n_instances": 1,
        "n_primary": 1 if thread == 0 else 0, "wall_ns": 0, "capacity_ns": 0, "max_team_size": 1,
        "nested_ns": 0, "work_ns": 0, "create_ns": 0, "schedule_ns": 0, "sync_ns": 0, "idle_ns": 0,
        "implicit_ns": 0, "lock_ns": 0, "n_tasks": 0, "domain": -1, "n_rescued": 0, "n_steals": 0,
        "n_failed_steals": 0, "steal_ns": 0, "failed_steal_ns": 0, "n_from_domain": [],
    }  # fmt: skip
    row.update(fields)
    row["total_ns"] = sum(row[state] for state in STATES)
    return row


def team(construct: int, threads: Sequence[dict[str, Any]], **shared: Any) -> list[dict[str, Any]]:
    """One instance of a region whose threads 0, 1, ... spend the given states; all must be equally long."""
    rows = [
        region(construct, k, max_team_size=len(threads), **{**shared, **t}) for k, t in enumerate(threads)
    ]
    spans = {row["total_ns"] + row["nested_ns"] for row in rows}
    assert len(spans) == 1, "threads of one instance spend the same time"
    rows[0]["wall_ns"] = spans.pop()
    rows[0]["capacity_ns"] = rows[0]["wall_ns"] * len(rows)
    return rows


def histogram_of(durations_ns: Sequence[int]) -> list[int]:
    bins = [0] * N_HISTOGRAM_BINS
    for duration_ns in durations_ns:
        bins[max(duration_ns.bit_length() - 1, 0)] += 1
    return bins


def construct(number: int, thread: int, durations_ns: Sequence[int] = (), **fields: Any) -> dict[str, Any]:
    """A ConstructRow of tasks that ran here for the given times; created here unless said otherwise."""
    row: dict[str, Any] = {
        "construct": number, "thread": thread,
        "n_created": len(durations_ns), "n_completed": len(durations_ns),
        "n_cancelled": 0, "n_undeferred": 0, "work_ns": sum(durations_ns), "create_ns": 0,
        "inclusive_ns": sum(durations_ns), "n_timed": len(durations_ns),
        "min_ns": min(durations_ns, default=0), "max_ns": max(durations_ns, default=0),
        "histogram": histogram_of(durations_ns), "ready_ns": 0, "ready_max_ns": 0,
        "n_ready": len(durations_ns), "n_other_thread": 0, "n_other_core": 0, "n_other_domain": 0,
        "read_bytes": 0, "write_bytes": 0, "counters": [],
    }  # fmt: skip
    row.update(fields)
    return row


def definition(number: int, kind: str = "task", **fields: Any) -> dict[str, Any]:
    return {"id": number, "kind": kind, "flags": 0, "module": -1, "offset": 0, "name": "", **fields}


def thread(number: int, **fields: Any) -> dict[str, Any]:
    return {
        "thread": number, "tid": 1000 + number, "kind": "initial" if number == 0 else "worker", "first_ns": 0,
        "last_ns": 0, "n_events": 0, "n_dropped": 0, "n_migrations": 0, **fields,
    }  # fmt: skip


def profile(
    regions: Sequence[dict[str, Any]] = (),
    constructs: Sequence[dict[str, Any]] = (),
    definitions: Sequence[dict[str, Any]] | None = None,
    **fields: Any,
) -> dict[str, Any]:
    """A RunProfile; threads and definitions follow from the rows unless given."""
    numbers = sorted({row["thread"] for row in (*regions, *constructs)}) or [0]
    if definitions is None:
        kinds = {row["construct"]: "task" for row in constructs}
        kinds |= {row["construct"]: "parallel" for row in regions if row["construct"] >= 0}
        definitions = [definition(k, kinds.get(k, "phase")) for k in range(max(kinds, default=-1) + 1)]
    return {
        "format_version": 1, "mode": "profile", "source": "profile", "complete": True,
        "end_reason": "finalized", "incomplete_reasons": [], "pid": 4711,
        "start_epoch_ns": 1_700_000_000_000_000_000,
        "wall_ns": sum(row["wall_ns"] for row in regions if row["level"] == 1), "clock_kind": "tsc",
        "clock_hz": 2.0e9, "create_estimated": False, "create_estimate_ns": 0.0, "counters": [],
        "modules": [], "definitions": list(definitions),
        "threads": [thread(n) for n in numbers], "regions": list(regions),
        "constructs": list(constructs), "log_bytes": 4096, **fields,
    }  # fmt: skip


def made_run(*args: Any, **fields: Any) -> Run:
    """The model of profile(...)."""
    return run_of_profile(Path("made.ompass"), profile(*args, **fields))  # type: ignore[arg-type]
