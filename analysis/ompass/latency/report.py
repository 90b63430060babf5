# SPDX-License-Identifier: Apache-2.0
"""The report on sampled loads. docs/latency.md lists the fields of its JSON form."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, Final

from ompass import __version__
from ompass.latency.metrics import SOURCES, OwnerLoads, loads_by_owner
from ompass.model import share
from ompass.packed import shown_path
from ompass.reports.model import Column, Kind, Report, Section, Table, csv_rows, plain
from ompass.samples.content import SampleContent
from ompass.units import plural

SCHEMA_VERSION: Final = 1
CSV_TABLES: Final = ("constructs", "sources", "distribution")

_PARTS: Final = (0.1, 0.5, 0.9, 0.99)  # shown quantiles
_FEW: Final = 200


def latency_report(content: SampleContent) -> Report:
    """Returns the report on a run with sampled loads."""
    found = loads_by_owner(content.loads)
    n_loads = sum(of.n for of in found)
    facts = [plural(n_loads, "sampled load"), plural(content.n_threads, "thread")]
    if n_loads < _FEW:
        facts.append("with so few, shares are rough")
    return Report(
        title=f"ompass latency · {content.run.path.name}",
        facts=tuple(facts),
        sections=(
            Section("latency", "How long loads took", (_latencies(content, found, n_loads),)),
            Section("sources", "Where the data came from", (_sources(content, found),)),
        ),
        values={
            "schema": "ompass-latency",
            "schema_version": SCHEMA_VERSION,
            "ompass_version": __version__,
            "directory": shown_path(content.run.path),
            "loads": n_loads,
            "lost": content.n_lost,
            "dropped": content.n_dropped,
            "constructs": [_fields(content, of, n_loads) for of in found],
        },
    )


def csv_latency(content: SampleContent, table: str) -> str:
    """Returns one of CSV_TABLES: a line per construct, per source of one, or per point of a distribution."""
    values = plain(latency_report(content))
    rows = {"constructs": _construct_rows, "sources": _source_rows, "distribution": _points}[table]
    return csv_rows(
        [{"directory": values["directory"], **row} for of in values["constructs"] for row in rows(of)],
        ("directory",),
    )


def _who(content: SampleContent) -> Column:
    return Column("in", "in", Kind.NAME, lambda of: content.label(of.owner))


def _latencies(content: SampleContent, found: tuple[OwnerLoads, ...], n_loads: int) -> Table:
    def within(of: OwnerLoads, part: float) -> int:
        return of.quantile(part)

    return Table.of(
        "Cycles until the data arrived",
        (
            _who(content),
            Column("loads", "loads", Kind.COUNT, "n"),
            Column("share", "of all", Kind.SHARE, lambda of: share(of.n, n_loads)),
            Column("mean", "mean", Kind.COUNT, lambda of: round(of.mean_cycles)),
            *(
                Column(f"p{part * 100:g}", f"{part:.0%}", Kind.COUNT, partial(within, part=part))
                for part in _PARTS
            ),
        ),
        found,
        word="construct",
        notes=("Column 90%: 90% of the loads took at most this number of cycles.",),
    )


def _sources(content: SampleContent, found: tuple[OwnerLoads, ...]) -> Table:
    def of_source(of: OwnerLoads, source: str) -> float:
        return of.source_share(source)

    shown = [source for source in SOURCES if any(of.by_source[source] for of in found)]
    return Table.of(
        "Loads by source",
        (
            _who(content),
            *(Column(source, source, Kind.SHARE, partial(of_source, source=source)) for source in shown),
            Column("modified", "modified", Kind.SHARE, "modified_share"),
        ),
        found,
        word="construct",
        notes=(
            "Under way: the line was already being fetched. Other node: its memory or its caches. Modified: "
            "another core had written to the line.",
        ),
    )


def _fields(content: SampleContent, of: OwnerLoads, n_loads: int) -> dict[str, Any]:
    return {
        "owner": of.owner.kind,
        "construct": of.owner.construct if of.owner.construct >= 0 else None,
        "in": content.label(of.owner),
        "loads": of.n,
        "share": share(of.n, n_loads),
        "mean_cycles": of.mean_cycles,
        "quantiles": [{"share": part, "cycles": of.quantile(part)} for part in _PARTS],
        "sources": [
            {
                "source": source,
                "loads": of.by_source[source],
                "share": of.source_share(source),
                "mean_cycles": of.cycles_by_source[source] / n if (n := of.by_source[source]) else None,
            }
            for source in SOURCES
        ],
        "modified_share": of.modified_share,
        "distribution": [{"cycles": cycles, "share": part} for cycles, part in of.distribution()],
    }


def _construct_rows(of: dict[str, Any]) -> Iterator[dict[str, Any]]:
    quantiles = {f"p{q['share'] * 100:g}_cycles": q["cycles"] for q in of["quantiles"]}
    yield {key: value for key, value in of.items() if not isinstance(value, list)} | quantiles


def _source_rows(of: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield from ({**_key(of), **row} for row in of["sources"])


def _points(of: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield from ({**_key(of), **point} for point in of["distribution"])


def _key(of: dict[str, Any]) -> dict[str, Any]:
    return {name: of[name] for name in ("owner", "construct", "in")}
