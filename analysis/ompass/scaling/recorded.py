# SPDX-License-Identifier: Apache-2.0
"""Runs of one program that were recorded one by one, such as by batch jobs, as a sweep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ompass.errors import UsageError
from ompass.metrics.breakdown import Scope, program_ns
from ompass.model import Run
from ompass.readers.meta import read_meta
from ompass.reports.content import ReportContent
from ompass.scaling.content import SweepRuns
from ompass.scaling.metrics import Samples, measured
from ompass.scaling.plan import SweepSpec


def recorded_sweep(
    contents: Sequence[ReportContent], scope: Scope
) -> tuple[tuple[SweepRuns, ...], SweepSpec]:
    """Returns the runs by number of threads, and their command.

    Raises UsageError without a run on one thread.

    A round has one run on each number of threads, so surplus runs of a number count in no round.
    """
    by_threads: dict[int, list[Run]] = {}
    for content in sorted(contents, key=lambda each: each.run.start_epoch_ns):
        by_threads.setdefault(content.breakdown.n_threads, []).append(content.run)
    ones = by_threads.get(1)
    if not ones:
        there = ", ".join(map(str, sorted(by_threads)))
        raise UsageError(
            "--from", f"none of the runs is on one thread (they are on {there})", "record one with `-t 1`"
        )
    found = tuple(_runs(n, by_threads[n], ones, scope) for n in sorted(by_threads))
    return found, SweepSpec(_command(by_threads), pinned=False)


def _runs(threads: int, recorded: Sequence[Run], ones: Sequence[Run], scope: Scope) -> SweepRuns:
    n_rounds = min(len(recorded), len(ones))
    runs, one = tuple(recorded[:n_rounds]), tuple(ones[:n_rounds])
    samples = Samples(
        threads=threads,
        recorded=[measured(run, threads, scope, program_ns(run)) for run in runs],
        one_thread=[measured(run, 1, scope, program_ns(run)) for run in one],
    )
    mean_ns = sum(program_ns(run) for run in runs) / n_rounds
    return SweepRuns(threads, runs, one, samples, n_left_out=0, others=0.0, program_ns=mean_ns)


def _command(by_threads: Mapping[int, Sequence[Run]]) -> tuple[str, ...]:
    return read_meta(by_threads[1][0].path).command or ("program",)
