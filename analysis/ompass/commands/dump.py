# SPDX-License-Identifier: Apache-2.0
"""`ompass dump`: prints the events of a trace, or a selection of them, one per line."""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from ompass.commands.options import (
    OUTPUT,
    FormerFromOption,
    FormerToOption,
    ThreadOption,
    TraceArgument,
    WindowOption,
    check_threads,
    parse_from_to,
)
from ompass.errors import NothingToShowError, UsageError
from ompass.keeping.names import resolver_for
from ompass.model import Run
from ompass.plain_text import visible
from ompass.readers.run import EventTable, call_step_text, event_kinds, open_run, read_events
from ompass.symbols.resolver import Location, construct_name
from ompass.units import task_name

_EPILOG = """
[bold]Examples[/bold]

  ompass dump t.ompass | less

  ompass dump t.ompass --thread 1 --window 1.5ms:2ms

  ompass dump t.ompass --kind start --kind complete --construct fib.c:12

  ompass dump t.ompass --json --limit 1000          one JSON object per line

  ompass dump t.ompass --kinds                      list the kinds of events
"""

_SLICE_EVENTS = 4_000_000  # events read at once: limits memory to a few hundred MB
_EVENT_BYTES = 8  # assumed mean size of an event, to estimate the number of events from the log size


def register(app: typer.Typer) -> None:
    app.command("dump", epilog=_EPILOG)(dump)


def dump(
    directory: TraceArgument,
    thread: ThreadOption = None,
    window: WindowOption = "",
    kind: Annotated[
        list[str] | None,
        typer.Option("--kind", metavar="KIND", help="Only events of this kind; may be repeated."),
    ] = None,
    construct: Annotated[
        str,
        typer.Option(
            "--construct", metavar="WHICH", help="Only events of this construct: file:line, function or id."
        ),
    ] = "",
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="N", min=0, help="Stop after N events.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="JSON instead, an object per line.", rich_help_panel=OUTPUT)
    ] = False,
    kinds: Annotated[bool, typer.Option("--kinds", help="List the kinds of events and stop.")] = False,
    start: FormerFromOption = "",
    end: FormerToOption = "",
) -> None:
    """Print recorded events in order of time, each with thread, kind, construct, task and value.

    A ~ before a time marks an event without a time stamp; the time is the preceding event's.
    """
    run = open_run(directory)
    meanings = event_kinds()
    if kinds:
        for name, meaning in meanings:
            print(f"{name:<20} {meaning}")
        return
    if run.mode != "trace":
        raise NothingToShowError(
            f"{directory} holds no events", "it was recorded in profile mode", "record it with --mode trace"
        )
    names = [name for name, _ in meanings]
    resolver = resolver_for(run)
    locations = {d.id: resolver.locate(d) for d in run.definitions}
    labels = {number: location.label() for number, location in locations.items()}
    labels |= {d.id: construct_name(d, locations[d.id]) for d in run.definitions if d.kind == "mpi"}
    wanted_kinds = _kind_numbers(names, kind or [])
    wanted_constructs = _constructs(locations, construct) if construct else None
    check_threads(run, thread)
    start_ns, end_ns = parse_from_to(window, start, end)
    printed = 0
    for table in _slices(run, directory, thread or [], start_ns, end_ns):
        chosen = _filtered(table, wanted_kinds, wanted_constructs)
        for row in _rows(chosen):
            if printed == limit:
                return
            sys.stdout.write(_json_line(row, names, locations) if as_json else _text_line(row, names, labels))
            printed += 1


Row = tuple[int, int, int, int, int, int, int, bool]


def _rows(table: EventTable) -> Iterator[Row]:
    columns = (
        table.time_ns, table.latest_ns, table.thread, table.kind, table.construct, table.task, table.value,
        table.exact,
    )  # fmt: skip
    return zip(*(column.tolist() for column in columns), strict=True)


def _slices(
    run: Run, directory: Path, threads: list[int], start_ns: int, end_ns: int
) -> Iterator[EventTable]:
    """Yields events in order of time; reads the window in slices if there are many events."""
    import numpy as np

    n_events = max(sum(t.n_events for t in run.threads), run.log_bytes // _EVENT_BYTES)
    last_ns = end_ns if end_ns >= 0 else max([run.wall_ns, *(t.last_ns for t in run.threads)]) + 1
    n_slices = max(1, -(-n_events // _SLICE_EVENTS))
    edges = [start_ns + (last_ns - start_ns) * k // n_slices for k in range(n_slices)] + [end_ns]
    for low, high in itertools.pairwise(edges):
        only = threads[0] if len(threads) == 1 else -1
        table = read_events(directory, thread=only, start_ns=low, end_ns=high)
        if len(threads) > 1:
            table = table.where(np.isin(table.thread, threads))
        # Stable: events of one thread at the same time keep their order.
        yield table.where(np.argsort(table.time_ns, kind="stable").astype(np.int64))


def _filtered(table: EventTable, kinds: list[int], constructs: list[int] | None) -> EventTable:
    import numpy as np

    mask = np.ones(len(table), dtype=np.bool_)
    if kinds:
        mask &= np.isin(table.kind, kinds)
    if constructs is not None:
        mask &= np.isin(table.construct, constructs)
    return table.where(mask)


def _kind_numbers(names: list[str], wanted: list[str]) -> list[int]:
    for name in wanted:
        if name not in names:
            raise UsageError(
                f"--kind {name}", "there is no such kind of event", f"the kinds are {', '.join(names)}"
            )
    return [names.index(name) for name in wanted]


def _constructs(locations: dict[int, Location], text: str) -> list[int]:
    chosen = [
        number for number, location in locations.items() if text == str(number) or location.is_named(text)
    ]
    if not locations:
        raise NothingToShowError("this run has no constructs", "none was recorded")
    if not chosen:
        there = ", ".join(f"{n}: {location.label()}" for n, location in locations.items())
        raise NothingToShowError(
            f"no construct matches `{text}`", f"the constructs are {there}", "name one of these"
        )
    return chosen


def _text_line(row: Row, names: list[str], labels: dict[int, str]) -> str:
    time_ns, latest_ns, thread, kind, construct, task, value, exact = row
    label = labels.get(construct, "-")
    if names[kind] == "call":
        label = f"{label}: {call_step_text(value)}"
        value = 0
    mark = " " if exact else "~"
    doubt = f"+{latest_ns - time_ns:,}" if latest_ns > time_ns else ""
    when = f"{mark}{time_ns:>15,} ns {doubt:<8} thread {thread:<3}"
    return f"{when} {names[kind]:<18} task {task_name(task):<12} {value:<10} {visible(label)}\n"


def _json_line(row: Row, names: list[str], locations: dict[int, Location]) -> str:
    time_ns, latest_ns, thread, kind, construct, task, value, exact = row
    location = locations.get(construct)
    values = {
        "time_ns": time_ns,
        "latest_ns": latest_ns,
        "thread": thread,
        "kind": names[kind],
        "construct": construct if construct >= 0 else None,
        "file": location.file or None if location else None,
        "line": location.line or None if location else None,
        "function": location.function or None if location else None,
        "task": task_name(task) if task else None,
        "value": value,
        "exact": exact,
    }
    if names[kind] == "call":
        values["step"] = call_step_text(value)
    return json.dumps(values) + "\n"
