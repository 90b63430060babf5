# SPDX-License-Identifier: Apache-2.0
"""The report on samples, and its part in the report on a run. Owns its JSON fields."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any, Final

from ompass import __version__
from ompass.metrics.thresholds import BY_CLOCK_NAMED
from ompass.model import share
from ompass.packed import shown_path
from ompass.reports.findings import shell_word
from ompass.reports.model import LONG_NAME, Column, Kind, Report, Section, Table, data
from ompass.samples.content import SampleContent, unsampled_share
from ompass.samples.metrics import (
    Hot,
    Owner,
    hot_calls,
    hot_functions,
    hot_libraries,
    hot_lines,
    owners_by_samples,
    shown_lines,
    with_merged_states,
)
from ompass.symbols.names import compact_name
from ompass.units import percent, plural

SCHEMA_VERSION: Final = 1

_LEAST_SHARE: Final = 0.005  # share of all samples; lines below it are not shown
_FEW: Final = 200
_AT_WORK: Final = ("task", "kernel", "implicit", "serial")


def samples_report(content: SampleContent) -> Report:
    """Returns the whole report on samples."""
    parts = tuple(sample_parts(content, whole=True))
    values = sample_fields(content) or {}
    return Report(
        title=f"ompass samples · {content.run.path.name}",
        facts=(plural(content.n_samples, "sample"),),
        sections=(Section("samples", "Where the processors were", parts),),
        values={
            "schema": "ompass-samples",
            "schema_version": SCHEMA_VERSION,
            "ompass_version": __version__,
            "directory": shown_path(content.run.path),
            **values,
        },
    )


def sample_parts(content: SampleContent, whole: bool = False) -> Iterator[str | Table]:
    """Yields sentences and tables; nothing for a run without requested samples. `whole` adds functions.

    Tables show each state without work once; sample_fields() splits it by the thread's task construct.
    """
    yield from filter(None, (content.refusal(), content.loads_refusal()))
    if not content.samples:
        yield from _unsampled(content)
        return
    yield _sentence(content)
    yield from _unsampled(content)
    if content.n_lost:
        yield (
            f"{plural(content.n_lost, 'sample')} did not fit in the kernel's ring, mostly in long "
            "intervals without OpenMP events."
        )
    if content.n_dropped:
        yield f"{plural(content.n_dropped, 'sample')} could not be written; `ompass info` shows why."
    content = replace(content, samples=with_merged_states(content.samples))
    tables = [
        _lines(content, more="--json" if whole else f"ompass samples {shell_word(content.run.path)}"),
        _libraries(content),
    ]
    if whole:
        # Without lines, the first table has the functions.
        has_lines = any(call.line for sample in content.samples for call in sample.calls[:1])
        functions = [_functions(content, "Functions", hot_functions(content.samples))] if has_lines else []
        tables[1:1] = [
            *functions,
            _functions(content, "Functions with their callees", hot_calls(content.samples)),
        ]
        tables.insert(0, _owners(content))
    yield from (table for table in tables if table.rows)


def sample_fields(content: SampleContent) -> dict[str, Any] | None:
    """Returns the JSON form; None for a run without requested samples."""
    if not content.frequency_hz:
        return None
    samples = content.samples
    return {
        "event": ", ".join(content.events) or None,
        "frequency_hz": content.frequency_hz,
        "samples": content.n_samples,
        "lost": content.n_lost,
        "dropped": content.n_dropped,
        "threads": content.n_threads,
        "threads_refused": content.n_refused,
        "refusal": content.refusal() or None,
        "unsampled": [
            {"thread": t.thread, "unsampled_ns": t.by_clock_ns, "share": unsampled_share([t], [t])}
            for t in content.unsampled
        ],
        "loads_refusal": content.loads_refusal() or None,
        "owners": _owners(content),
        "lines": _lines(content, least=0.0, for_people=False),
        "functions": _functions(content, "", hot_functions(samples), 0.0),
        "calls": _functions(content, "", hot_calls(samples), 0.0),
        "libraries": _libraries(content, every=True),
    }


def _unsampled(content: SampleContent) -> Iterator[str]:
    """Yields a sentence on the time without samples, if it is noticeable."""
    threads = content.unsampled
    part = unsampled_share(threads, content.run.threads)
    if part < BY_CLOCK_NAMED:
        return
    most = threads[0]
    yield (
        f"{percent(part)} of the time of all threads has no samples: "
        f"{plural(len(threads), 'thread')} switched so often that only clocks were read, "
        f"thread {most.thread} for {percent(unsampled_share([most], [most]))} of its time. "
        "Shares exclude this time."
    )


def _sentence(content: SampleContent) -> str:
    if content.loads:
        few = "; with so few, shares are rough" if content.n_samples < _FEW else ""
        return (
            f"{plural(content.n_samples, 'sample')} of the loads of {plural(content.n_threads, 'thread')}, "
            f"taken in user code{few}: shares are of loads, not of time (`ompass latency` has their cycles)."
        )
    by = {"task clock": "of processor time", "cycles": "by processor cycles"}
    of = " and ".join(by.get(event, f"by {event}") for event in content.events)
    few = "; with so few, shares are rough" if content.n_samples < _FEW else ""
    return (
        f"{plural(content.n_samples, 'sample')} of {plural(content.n_threads, 'thread')}, "
        f"{content.frequency_hz} per second {of}, taken in user code{few}."
    )


def _who(content: SampleContent) -> tuple[Column, ...]:
    return (
        data("owner", "owner.kind"),
        data("construct", lambda hot: hot.owner.construct if hot.owner.construct >= 0 else None),
        Column("in", "in", Kind.NAME, lambda hot: content.label(hot.owner)),
    )


_COUNTS: Final = (
    Column("share", "share", Kind.SHARE, hint="of the samples in that construct or state"),
    Column("share_of_all", "of all", Kind.SHARE, hint="of all samples"),
    Column("samples", "samples", Kind.COUNT, "n"),
    data("error"),
)


def _owners(content: SampleContent) -> Table:
    found = owners_by_samples(content.samples)
    return Table.of(
        "Constructs and states",
        (
            data("owner", lambda row: row[0].kind),
            data("construct", lambda row: row[0].construct if row[0].construct >= 0 else None),
            Column("in", "in", Kind.NAME, lambda row: content.label(row[0])),
            Column("share_of_all", "of all", Kind.SHARE, lambda row: share(row[1], content.n_samples)),
            Column("samples", "samples", Kind.COUNT, lambda row: row[1]),
        ),
        found,
        word="construct",
    )


def _lines(
    content: SampleContent, least: float = _LEAST_SHARE, more: str = "--json", *, for_people: bool = True
) -> Table:
    """Returns the hot lines; functions where lines are unknown, and modules where names are unknown.

    For people, samples in a library belong to the line that calls it.
    """
    found = shown_lines(content.samples) if for_people else hot_lines(content.samples)
    has_lines = any(hot.what.line for hot in found)
    return Table.of(
        "Hot lines" if has_lines else "Hot functions",
        (
            Column("", "line" if has_lines else "of", Kind.NAME, lambda hot: hot.what.place),
            Column("", "function", Kind.NAME, lambda hot: _name(hot.what.function, hot.what.module)),
            *_who(content),
            *_COUNTS,
            data("file", lambda hot: hot.what.file or None),
            data("line", lambda hot: hot.what.line or None),
            data("function", lambda hot: hot.what.function or None),
            data("module", lambda hot: hot.what.module or None),
        ),
        _shown(found, least),
        word="line" if has_lines else "function",
        more=more,
        most=12,
    )


def _functions(
    content: SampleContent,
    title: str,
    found: tuple[Hot[tuple[str, str]], ...],
    least: float = _LEAST_SHARE,
) -> Table:
    return Table.of(
        title,
        (
            Column("", "function", Kind.NAME, lambda hot: _name(*hot.what)),
            data("function", lambda hot: hot.what[0]),
            Column("", "of", Kind.NAME, lambda hot: PurePosixPath(hot.what[1]).name),
            *_who(content),
            *_COUNTS,
            data("module", lambda hot: hot.what[1] or None),
        ),
        _shown(found, least),
        word="function",
        more="--json",
    )


def _libraries(content: SampleContent, every: bool = False) -> Table:
    """Returns the called libraries. Unless `every`, omits own code, states without work and small shares."""
    found = hot_libraries(content.samples)
    return Table.of(
        "Called libraries",
        (
            Column("library", "called", Kind.NAME, lambda hot: hot.what or "own code"),
            *_who(content),
            *_COUNTS,
        ),
        found if every else [hot for hot in _shown(found, _LEAST_SHARE) if hot.what and _works(hot.owner)],
        word="library",
        more="--json",
    )


def _works(owner: Owner) -> bool:
    return owner.kind in _AT_WORK


def _shown(found: tuple[Any, ...], least: float) -> list[Any]:
    return [hot for hot in found if hot.share_of_all >= least]


def _name(function: str, module: str) -> str:
    """Returns the name of a function, or `(no name)`; reports list such code by its module."""
    unnamed = not function or function == PurePosixPath(module).name
    return "(no name)" if unnamed else compact_name(function, LONG_NAME)
