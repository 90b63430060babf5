# SPDX-License-Identifier: Apache-2.0
"""`ompass compare`: compares two runs, two groups of repeated runs, or two sweeps."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ompass.commands.options import (
    FullOption,
    HtmlOption,
    JsonOutputOption,
    MinimumOption,
    ScopeName,
    ScopeOption,
    SourcesOption,
    check_json_output,
    check_sources,
    json_option,
    parse_minimum,
    run_argument,
)
from ompass.commands.streams import console_for, to_json, waiting, write_result
from ompass.comparison.content import ComparisonContent, Ranks, Side, compare_sides, side_of
from ompass.comparison.report import brief_comparison, comparison_report
from ompass.errors import RunNotFoundError, UsageError
from ompass.jobs.content import jobs_of
from ompass.metrics.breakdown import Scope, largest_team
from ompass.packed import shown_path
from ompass.readers.run import is_run_directory, is_sweep_directory, open_run, runs_in
from ompass.reports.content import collect
from ompass.reports.model import plain
from ompass.reports.terminal import print_report
from ompass.scaling.content import load_runs
from ompass.scaling.directory import SweepDirectory

_EPILOG = """
[bold]Examples[/bold]

  ompass compare before.ompass after.ompass

  ompass compare before/ after/             all runs in two directories: repeats, with significance

  ompass compare old.sweep new.sweep        at every number of threads that both have

  ompass compare before/ after/ --json > change.json

  ompass compare before/ after/ --html change.html
"""


def register(app: typer.Typer) -> None:
    app.command("compare", epilog=_EPILOG)(compare)


def compare(
    before: Annotated[Path, run_argument("BEFORE", "A run, a directory of runs, or a sweep.")],
    after: Annotated[Path, run_argument("AFTER", "Another run, directory or sweep.")],
    scope: ScopeOption = ScopeName.REGIONS,
    minimum: MinimumOption = "",
    full: FullOption = False,
    as_json: Annotated[bool, json_option("comparison")] = False,
    output: JsonOutputOption = None,
    html: HtmlOption = None,
    sources: SourcesOption = False,
) -> None:
    """Show what changed from BEFORE to AFTER (time, states, constructs, kernels), and how certain it is."""
    check_json_output(as_json, output)
    check_sources(sources, html)
    chosen = Scope(scope.value)
    least = parse_minimum(minimum)
    with waiting("reading and comparing both sides"):
        content = compare_paths(before, after, chosen, least)
    if html is not None:
        from ompass.page.assemble import html_report  # slow to import

        write_result(html_report((), comparison=content, sources=sources), html)
    if as_json:
        write_result(to_json(plain(comparison_report(content))), output)
    elif html is None:
        print_report(console_for(), comparison_report(content) if full else brief_comparison(content))


def compare_paths(before: Path, after: Path, scope: Scope, least: float | None = None) -> ComparisonContent:
    """Returns the changes between two runs, directories of runs, or sweeps.

    Raises UsageError if they cannot be compared.
    """
    sides = _side(before, scope), _side(after, scope)
    if sides[0].is_sweep != sides[1].is_sweep:
        raise UsageError(
            f"{before} and {after}",
            "one is a sweep, the other is not",
            "compare runs with runs, sweeps with sweeps",
        )
    try:
        return compare_sides(*sides, scope, least)
    except ValueError:
        raise UsageError(
            f"{before} and {after}",
            "they have no number of threads in common",
            "measure both on the same numbers of threads",
        ) from None


def _side(path: Path, scope: Scope) -> Side:
    if is_sweep_directory(path):
        return _side_of_sweep(path, scope)
    if is_run_directory(path) or not path.is_dir():
        directories = [path]
    else:
        directories = runs_in(path)
        if not directories:
            raise RunNotFoundError(
                f"{path}",
                "it is neither a run nor a sweep, and contains no runs",
                "name directories that contain recordings",
            )
    jobs = jobs_of([collect(open_run(directory), scope=scope) for directory in directories])
    threads = {sum(largest_team(content.run) for content in job) for job in jobs}
    if len(threads) > 1:
        raise UsageError(
            f"{path}",
            f"its runs used {', '.join(map(str, sorted(threads)))} threads, so they are not repeats "
            "of one measurement",
            "keep runs on different numbers of threads in different directories, or use ompass scale",
        )
    timed = [(job, max(content.breakdown.wall_ns for content in job)) for job in jobs]
    return side_of(shown_path(path), {threads.pop(): timed}, False)


def _side_of_sweep(path: Path, scope: Scope) -> Side:
    with SweepDirectory.open(path, None, None) as sweep:
        found = load_runs(sweep, scope)
    repeats: dict[int, list[tuple[Ranks, int]]] = {
        runs.threads: [
            ([collect(run, scope=scope)], measured.time_ns)
            for run, measured in zip(runs.recorded, runs.samples.recorded, strict=True)
        ]
        for runs in found
    }
    return side_of(str(path), repeats, True)
