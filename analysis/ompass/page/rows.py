# SPDX-License-Identifier: Apache-2.0
"""The rows of a timeline: runs, and their threads, in groups if there are many.

Groups threads by domain, then by core, then by number. Groups ranks by host.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from ompass.model import Run
from ompass.plain_text import visible
from ompass.readers.meta import Meta, read_meta

Row = dict[str, Any]
_IN_GROUP: Final = 16
_SINGLE: Final = 64  # above this number, threads of a run, and runs of a page, are grouped


def rows_of(runs: Sequence[tuple[Run, Sequence[int]]]) -> list[Row]:
    """Returns a row for each run with the rows of its threads. `runs`: runs and the CPUs of their threads."""
    metas = [read_meta(run.path) for run, _ in runs]
    rows = [
        _of_run(k, run, cpus, meta, len(runs))
        for k, ((run, cpus), meta) in enumerate(zip(runs, metas, strict=True))
    ]
    if len(rows) <= _SINGLE:
        return rows
    host_of = {row["id"]: visible(meta.host) for row, meta in zip(rows, metas, strict=True)}
    hosts = _parted(rows, lambda row: host_of[row["id"]])
    return [
        {"id": f"runs {name} {part[0]['id']}", "label": f"{name}: {part[0]['label']} …", "rows": part}
        for name, of_host in hosts.items()
        for part in _chunks(of_host)
    ]


def _of_run(number: int, run: Run, cpus: Sequence[int], meta: Meta, n_runs: int) -> Row:
    """Returns a row of all threads, and below it the threads, in groups if there are many."""
    leaves: list[Row] = [
        {"id": f"{number}.{row.thread}", "label": f"thread {row.thread}", "run": number,
         "threads": [row.thread], "rows": []}
        for row in run.threads
    ]  # fmt: skip
    return {
        "id": f"{number}",
        "label": "all threads" if n_runs == 1 else visible(run.path.name.removesuffix(".ompass")),
        "run": number,
        "threads": [row.thread for row in run.threads],
        "rows": _by_place(number, leaves, *_places(run, cpus, meta)),
        "open": n_runs == 1,
    }


def _places(run: Run, cpus: Sequence[int], meta: Meta) -> tuple[Mapping[int, int], Mapping[int, int]]:
    """Returns the known domains and cores by thread."""
    known = {thread: meta.places[cpu] for thread, cpu in enumerate(cpus) if 0 <= cpu < len(meta.places)}
    domains = {thread: domain for thread, (_, domain) in known.items()}
    # The extension's domains take precedence.
    domains |= {row.thread: row.domain for row in run.regions if row.domain >= 0}
    return domains, {thread: core for thread, (core, _) in known.items()}


def _by_place(run: int, leaves: list[Row], domains: Mapping[int, int], cores: Mapping[int, int]) -> list[Row]:
    def named(of: Mapping[int, int], what: str) -> Callable[[Row], str]:
        return lambda row: (
            f"{what} {of[row['threads'][0]]}" if row["threads"][0] in of else f"several {what}s"
        )

    def split(part: list[Row], ways: Sequence[Callable[[Row], str]], above: str) -> list[Row]:
        if not ways:
            few = [part] if len(part) <= _SINGLE else list(_chunks(part))
            names = [f"{each[0]['threads'][0]} to {each[-1]['threads'][0]}" for each in few]
            return part if len(few) == 1 else [
                _group(run, name, above, each) for name, each in zip(names, few, strict=True)
            ]  # fmt: skip
        groups = _parted(part, ways[0])
        if len(groups) == 1 or max(map(len, groups.values())) == 1:
            return split(part, ways[1:], above)
        return [
            _group(run, name, above, split(each, ways[1:], f"{above}{name}, "))
            for name, each in groups.items()
        ]

    many = len(leaves) > _SINGLE
    by_domain = len(set(domains.values())) > 1
    ways = [named(domains, "domain")] * by_domain + [named(cores, "core")] * (many and bool(cores))
    return split(leaves, ways, "")


def _group(run: int, label: str, above: str, rows: list[Row]) -> Row:
    """Returns a group; `above` makes its id unique."""
    threads = [thread for row in rows for thread in row["threads"]]
    return {"id": f"{run}.{above}{label}", "label": label, "run": run, "threads": threads, "rows": rows}


def _parted(rows: Iterable[Row], name: Callable[[Row], str]) -> dict[str, list[Row]]:
    """Returns the rows by name, in the order of the numbers in the names."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(name(row), []).append(row)
    return dict(sorted(groups.items(), key=lambda item: (not item[0][-1:].isdigit(), len(item[0]), item[0])))


def _chunks(rows: list[Row]) -> Iterable[list[Row]]:
    return (rows[first : first + _IN_GROUP] for first in range(0, len(rows), _IN_GROUP))
