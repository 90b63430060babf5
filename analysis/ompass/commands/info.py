# SPDX-License-Identifier: Apache-2.0
"""`ompass info`: shows the contents of a run directory, without any analysis."""

from __future__ import annotations

import datetime
import shlex
from typing import Any

import typer

from ompass.commands.options import JsonOption, JsonOutputOption, RunsArgument, check_json_output
from ompass.commands.streams import console_for, to_json, waiting, write_result
from ompass.metrics.processors import describe_processors, processor_values
from ompass.model import Run
from ompass.packed import shown_path
from ompass.readers.meta import Meta, read_meta
from ompass.readers.run import open_run
from ompass.reports.terminal import print_lines
from ompass.units import count, duration, plural, size

_EPILOG = """
[bold]Examples[/bold]

  ompass info fib-1234.ompass

  ompass info fib-1234.ompass --json
"""


def register(app: typer.Typer) -> None:
    app.command("info", epilog=_EPILOG)(info)


def info(directories: RunsArgument, as_json: JsonOption = False, output: JsonOutputOption = None) -> None:
    """Show the recorded facts: program, machine, mode, threads, logs."""
    check_json_output(as_json, output)
    with waiting(f"reading {plural(len(directories), 'run')}"):
        values = [_values(open_run(path), read_meta(path)) for path in directories]
    if as_json:
        write_result(to_json(values[0] if len(values) == 1 else values), output)
        return
    console = console_for()
    for value in values:
        print_lines(console, _lines(value), 14)
        console.print()


def _values(run: Run, meta: Meta) -> dict[str, Any]:
    kinds: dict[str, int] = {}
    for definition in run.definitions:
        kinds[definition.kind] = kinds.get(definition.kind, 0) + 1
    return {
        "directory": shown_path(run.path),
        "program": meta.program,
        "command": list(meta.command),
        "working_directory": meta.working_directory,
        "host": meta.host,
        "rank": meta.rank,
        "pid": run.pid,
        "parent_pid": meta.parent_pid,
        "runtime": meta.runtime,
        "tool_version": meta.ompass_version,
        "format_version": run.format_version,
        "start_epoch_ns": run.start_epoch_ns,
        "wall_ns": run.wall_ns,
        "processors": processor_values(run),
        "mode": run.mode,
        "complete": run.complete,
        "end_reason": run.end_reason,
        "incomplete_reasons": list(run.incomplete_reasons),
        "clock": {"kind": run.clock_kind, "hz": run.clock_hz},
        "create_estimated": run.create_estimated,
        "counters": list(run.counters),
        "definitions": kinds,
        "modules": [{"path": m.path, "build_id": m.build_id} for m in run.modules],
        "log_bytes": run.log_bytes,
        "trace_begin_ns": run.trace_begin_ns,
        "events": sum(t.n_events for t in run.threads),
        "threads": [
            {
                "thread": t.thread,
                "tid": t.tid,
                "kind": t.kind,
                "first_ns": t.first_ns,
                "last_ns": t.last_ns,
                "events": t.n_events,
                "dropped": t.n_dropped,
                "cpu_changes": t.n_migrations,
            }
            for t in run.threads
        ],
        "environment": dict(meta.environment),
    }


def _lines(value: dict[str, Any]) -> list[tuple[str, str]]:
    start = datetime.datetime.fromtimestamp(value["start_epoch_ns"] / 1e9).astimezone()
    where = value["host"] + (f", rank {value['rank']}" if value["rank"] is not None else "")
    state = "complete" if value["complete"] else "cut short"
    clock = value["clock"]
    lines = [
        ("directory", value["directory"]),
        ("command", shlex.join(value["command"]) or value["program"] or "unknown"),
        ("in", value["working_directory"]),
        ("on", where),
        ("processors", _processors(value["processors"])),
        ("runtime", value["runtime"]),
        ("started", f"{start:%Y-%m-%d %H:%M:%S %z}, process {value['pid']}"),
        ("lasted", f"{duration(value['wall_ns'])}, {state} ({value['end_reason']})"),
        *(("", reason) for reason in value["incomplete_reasons"]),
        ("mode", f"{value['mode']}, creation {'estimated' if value['create_estimated'] else 'measured'}"),
        ("clock", f"{clock['kind']}, {clock['hz'] / 1e6:.1f} MHz"),
        (
            "logs",
            f"{size(value['log_bytes'])}, format {value['format_version']}"
            + (f", {plural(value['events'], 'event')}" if value["events"] else ""),
        ),
        ("trace", _kept(value)),
        ("constructs", ", ".join(f"{n} {kind}" for kind, n in value["definitions"].items()) or "none"),
    ]
    if value["counters"]:
        lines.append(("counters", ", ".join(value["counters"])))
    for module in value["modules"]:
        lines.append(("module", f"{module['path']} {module['build_id'][:16]}"))
    for thread in value["threads"]:
        text = (
            f"{thread['thread']} {thread['kind']}, tid {thread['tid']}, "
            f"{duration(thread['first_ns'])} to {duration(thread['last_ns'])}, "
            f"{plural(thread['cpu_changes'], 'CPU change')}"
        )
        if thread["events"]:
            text += f", {plural(thread['events'], 'event')}"
        if thread["dropped"]:
            text += f", {count(thread['dropped'])} dropped"
        lines.append(("thread", text))
    lines += [("variable", f"{name}={text}") for name, text in sorted(value["environment"].items())]
    return [(name, text) for name, text in lines if text]


def _kept(value: dict[str, Any]) -> str:
    begin_ns = value["trace_begin_ns"]
    if not begin_ns:
        return ""
    length_ns = max(value["wall_ns"] - begin_ns, 0)
    return f"only its last part was kept: {duration(length_ns)}, from {duration(begin_ns)} on"


def _processors(value: dict[str, Any]) -> str:
    text = describe_processors(value["usable"], value["quota_us"], value["quota_period_us"])
    if value["quota_us"]:
        quota_ns, period_ns = value["quota_us"] * 1000, value["quota_period_us"] * 1000
        text += f", by a quota of {duration(quota_ns)} in {duration(period_ns)}"
        if value["throttled_periods"] is not None:
            text += f", reached {plural(value['throttled_periods'], 'time')}"
    return text
