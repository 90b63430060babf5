# SPDX-License-Identifier: Apache-2.0
"""Makes runs for unit tests: rows as the C++ core returns them, valid by construction.

Owns the defaults; a test states only the values that matter to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ompass import model
from ompass.model import (
    N_HISTOGRAM_BINS,
    CallRow,
    ConstructRow,
    Definition,
    LoopRow,
    RegionRow,
    Run,
    StateTimes,
    TargetRow,
    ThreadRow,
    WaitRow,
)
from ompass.samples.content import SampleContent
from ompass.samples.metrics import Line, LocatedSample, Owner

MS = 1_000_000

STATES = tuple(f"{state}_ns" for state in model.STATES)


def region(construct: int, thread: int, **fields: Any) -> RegionRow:
    """Makes a region row; total_ns is the sum of the states unless given."""
    defaults = {
        "level": 0 if construct < 0 else 1, "n_instances": 1, "n_primary": 1 if thread == 0 else 0,
        "max_team_size": 1, "domain": -1,
    }  # fmt: skip
    row = RegionRow(construct=construct, thread=thread, **{**defaults, **fields})
    return row if "total_ns" in fields else row.replace(total_ns=StateTimes.of(row).total_ns)


def team(construct: int, threads: Sequence[dict[str, Any]], **shared: Any) -> list[RegionRow]:
    """Makes the rows of a region whose threads 0, 1, ... spend these states; all totals must be equal."""
    rows = [
        region(construct, k, max_team_size=len(threads), **{**shared, **t}) for k, t in enumerate(threads)
    ]
    spans = {row.total_ns + row.nested_ns for row in rows}
    assert len(spans) == 1, "threads of one instance spend the same time"
    wall_ns = spans.pop()
    return [rows[0].replace(wall_ns=wall_ns, capacity_ns=wall_ns * len(rows)), *rows[1:]]


def histogram_of(durations_ns: Sequence[int]) -> list[int]:
    bins = [0] * N_HISTOGRAM_BINS
    for duration_ns in durations_ns:
        bins[max(duration_ns.bit_length() - 1, 0)] += 1
    return bins


def construct(number: int, thread: int, durations_ns: Sequence[int] = (), **fields: Any) -> ConstructRow:
    """Makes the row of tasks that ran on this thread for these times; created here unless given."""
    n, total_ns = len(durations_ns), sum(durations_ns)
    ran = {
        "n_created": n, "n_completed": n, "n_timed": n, "n_ready": n, "work_ns": total_ns,
        "inclusive_ns": total_ns, "min_ns": min(durations_ns, default=0),
        "max_ns": max(durations_ns, default=0), "histogram": histogram_of(durations_ns),
    }  # fmt: skip
    return ConstructRow(construct=number, thread=thread, **{**ran, **fields})


def wait(
    number: int, thread: int, waited_for: Mapping[int, tuple[int, int]] | None = None, **fields: Any
) -> WaitRow:
    """Makes a wait row. `waited_for`: number and time of the waits for each construct."""
    who = waited_for or {}
    return WaitRow(
        construct=number,
        thread=thread,
        waited_for=tuple(who),
        waited_for_n=tuple(n for n, _ in who.values()),
        waited_for_ns=tuple(ns for _, ns in who.values()),
        **{"n_waits": 1, **fields},
    )


def loop(number: int, thread: int, **fields: Any) -> LoopRow:
    """Makes the row of one loop instance, led by thread 0 unless given."""
    return LoopRow(
        construct=number, thread=thread, **{"n_entered": 1, "n_led": 1 if thread == 0 else 0, **fields}
    )


def call(number: int, thread: int, **fields: Any) -> CallRow:
    """Makes the row of one MPI call."""
    return CallRow(construct=number, thread=thread, **{"n_calls": 1, **fields})


def target(number: int, thread: int = 0, **fields: Any) -> TargetRow:
    """Makes the row of one run of a target construct; time_ns is the sum of its parts unless given."""
    row = TargetRow(construct=number, thread=thread, **{"n_runs": 1, **fields})
    return row if "time_ns" in fields else row.replace(time_ns=row.transfer_ns + row.launch_ns + row.wait_ns)


def definition(number: int, kind: str = "task", **fields: Any) -> Definition:
    return Definition(id=number, kind=kind, **{"module": -1, **fields})


def thread(number: int, **fields: Any) -> ThreadRow:
    kind = "initial" if number == 0 else "worker"
    return ThreadRow(thread=number, tid=1000 + number, **{"kind": kind, "cpu_source": "switches", **fields})


def made_run(
    regions: Sequence[RegionRow] = (),
    constructs: Sequence[ConstructRow] = (),
    definitions: Sequence[Definition] | None = None,
    **fields: Any,
) -> Run:
    """Makes a run with these rows; threads and definitions follow from the rows unless given."""
    numbers = sorted({row.thread for row in regions} | {row.thread for row in constructs}) or [0]
    if definitions is None:
        kinds = {row.construct: "task" for row in constructs}
        kinds |= {row.construct: "parallel" for row in regions if row.construct >= 0}
        kinds |= {row.construct: "wait" for row in fields.get("waits", ())}
        definitions = [definition(k, kinds.get(k, "phase")) for k in range(max(kinds, default=-1) + 1)]
    defaults = {
        "path": Path("made.ompass"), "format_version": 1, "mode": "profile", "source": "profile",
        "complete": True, "end_reason": "finalized", "pid": 4711, "start_epoch_ns": 1_700_000_000_000_000_000,
        "wall_ns": sum(row.wall_ns for row in regions if row.level == 1), "clock_kind": "tsc",
        "clock_hz": 2.0e9, "threads": [thread(n) for n in numbers], "log_bytes": 4096,
    }  # fmt: skip
    rows = {"definitions": definitions, "regions": regions, "constructs": constructs}
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in {**defaults, **rows, **fields}.items()
    }
    return Run(**values)


def made_samples(run: Run) -> SampleContent:
    """Makes a hundred samples of two threads, in a task and in the serial part of `run`."""
    inner, outer, last = (
        Line(function, "/src/a.c", number, "prog", f"a.c:{number}")
        for function, number in (("inner", 5), ("outer", 9), ("main; x", 20))
    )
    task, serial = Owner("task", 2), Owner("serial", -1)
    samples = (
        LocatedSample(0, task, (inner, outer), "", 30),
        LocatedSample(1, task, (outer,), "", 10),
        LocatedSample(0, serial, (inner, last), "libm", 60),
    )
    return SampleContent(run, samples, {}, 100, ("task clock",), 2, 0, 0, 0, 0)
