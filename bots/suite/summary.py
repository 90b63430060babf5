# SPDX-License-Identifier: Apache-2.0
"""Prints the summary of a suite for people: a line per configuration, and the failures. Measures nothing."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.text import Text

from ompass.reports.model import Column, Kind, Table
from ompass.reports.terminal import print_table
from ompass.units import duration, plural
from suite.measurement import Run

_IDENTITY = ("program", "version", "class", "runtime", "threads", "cutoff", "tied")
_MAX_FAILURES = 20


@dataclass(frozen=True, slots=True)
class Line:
    """Figures over the verified measurements of one configuration; None if there are none."""

    identity: dict[str, Any]
    n_verified: int
    n_failed: int
    median_s: float | None
    least_s: float | None
    speed_up: float | None  # median of the serial version built by the same compiler / this median
    ns_per_unit: float | None  # from the median
    unit: str | None
    n_tasks: int | None  # tasks of the last verified measurement


def summarise(runs: Sequence[Run]) -> list[Line]:
    """Returns a Line per configuration, in order of program, version, runtime and threads."""
    groups: dict[tuple[Any, ...], list[Run]] = defaultdict(list)
    for run in runs:
        groups[tuple(run[name] for name in _IDENTITY)].append(run)
    serial_s = {
        (run_key[0], run_key[2], run_key[3]): median
        for run_key, group in groups.items()
        if run_key[1] == "serial" and (median := _median(group)) is not None
    }
    lines = []
    for key in sorted(groups, key=lambda key: tuple(_sortable(value) for value in key)):
        group = groups[key]
        good = [run for run in group if run["verified"]]
        median = _median(group)
        program, _, input_class, runtime = key[:4]
        compiler = "libgomp" if runtime == "libgomp" else "libomp"
        baseline = serial_s.get((program, input_class, compiler))
        units = good[-1]["units"] if good else None
        lines.append(
            Line(
                identity=dict(zip(_IDENTITY, key, strict=True)),
                n_verified=len(good),
                n_failed=len(group) - len(good),
                median_s=median,
                least_s=min((run["seconds"] for run in good), default=None),
                speed_up=baseline / median if baseline is not None and median else None,
                ns_per_unit=1e9 * median / units if median is not None and units else None,
                unit=good[-1]["unit"] if good else None,
                n_tasks=good[-1]["tasks"] if good else None,
            )
        )
    return lines


def print_summary(console: Console, runs: Sequence[Run]) -> None:
    """Prints the table, then the failures."""
    print_table(console, _table(summarise(runs)))
    failures = [run for run in runs if not run["verified"]]
    for run in failures[:_MAX_FAILURES]:
        console.print(Text(f"failed: {name_of(run)}: {run['error']}", style="red"))
    if len(failures) > _MAX_FAILURES:
        console.print(Text(f"and {plural(len(failures) - _MAX_FAILURES, 'more failure')}", style="red"))


def _table(lines: Sequence[Line]) -> Table:
    return Table.of(
        "Measurements",
        (
            Column("", "program", Kind.NAME, lambda line: line.identity["program"]),
            Column("", "version", Kind.TEXT, lambda line: line.identity["version"]),
            Column("", "runtime", Kind.TEXT, lambda line: line.identity["runtime"]),
            Column("", "threads", Kind.COUNT, lambda line: line.identity["threads"]),
            Column("", "cut-off", Kind.TEXT, _cutoff),
            Column("", "median", Kind.FIGURE, _median_words),
            Column("", "least", Kind.TIME, lambda line: line.least_s and 1e9 * line.least_s),
            Column("", "speed-up", Kind.RATIO, "speed_up"),
            Column("", "tasks", Kind.COUNT, "n_tasks"),
            Column("", "per unit", Kind.FIGURE, _per_unit),
        ),
        lines,
        most=len(lines),
    )


def _cutoff(line: Line) -> str:
    untied = ", untied" if line.identity["tied"] is False else ""
    return f"{line.identity['cutoff'] or '-'}{untied}"


def _median_words(line: Line) -> str | None:
    failed = f"{line.n_failed} failed" if line.n_failed else None
    return failed if line.median_s is None else duration(1e9 * line.median_s)


def _per_unit(line: Line) -> str | None:
    return None if line.ns_per_unit is None else f"{line.ns_per_unit:.3g} ns/{line.unit}"


def name_of(run: Run) -> str:
    """Returns a measurement in a few words."""
    words = [f"{run['program']}-{run['version']}", run["class"], f"on {run['runtime']}"]
    if run["cutoff"] is not None:
        words += [plural(run["threads"], "thread"), f"cut-off {run['cutoff']}"]
    if run["tied"] is False:
        words.append("untied")
    return " ".join([*words, f"round {run['round']}"])


def _median(group: Iterable[Run]) -> float | None:
    seconds = [run["seconds"] for run in group if run["verified"]]
    return statistics.median(seconds) if seconds else None


def _sortable(value: Any) -> tuple[int, Any]:
    return (0, "") if value is None else (1, value)
