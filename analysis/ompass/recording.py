# SPDX-License-Identifier: Apache-2.0
"""A recorded run for notebooks and programs: one call returns a table, metric or figure.

Computes nothing itself: readers read, metrics compute, figures draw. docs/python-api.md shows examples.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ompass.comparison.command import compare_paths
from ompass.errors import NothingToShowError, UsageError
from ompass.figures.render import Shown
from ompass.figures.run import RUN_FIGURES
from ompass.figures.schedule import gantt, over_time, picture_intervals, who_ran_whose
from ompass.figures.style import Spec
from ompass.metrics.breakdown import Scope, time_breakdown
from ompass.model import Run, TaskGraph
from ompass.packed import unpacked
from ompass.readers.run import EventTable, open_run, read_events, read_task_graph
from ompass.readers.schedule import DEFAULT_LIMIT, Schedule, read_schedule
from ompass.readers.tables import Tables
from ompass.reports.content import collect
from ompass.results import (
    Advised,
    Comparison,
    Constructs,
    Findings,
    Reused,
    RunReport,
    Simulated,
    Sweep,
    ThreadTime,
    shown,
)
from ompass.reuse.report import ReuseOptions, collect_reuse
from ompass.scaling.content import read_sweep
from ompass.simulation.advice import advise
from ompass.simulation.machine import find_machine
from ompass.simulation.runs import simulate
from ompass.symbols.resolver import Location

if TYPE_CHECKING:
    import polars


class Recording:
    """One run directory. Keeps `run` and `report`; each call computes other results again.

    `run` has the recorded data as integers: nanoseconds, counts, bytes. `report` has the report's content.
    """

    def __init__(self, path: Path, run: Run) -> None:
        self.path = path
        self.run = run

    def __repr__(self) -> str:
        return f"<Recording {self.path} ({self.run.mode}, {len(self.run.threads)} threads)>"

    def _repr_html_(self) -> str:
        """Returns the report in the form for notebooks."""
        return self.report._repr_html_()

    # ------------------------------------------------------------ tables

    def scan(self, table: str) -> polars.LazyFrame:
        """Returns a table of docs/query.md as a lazy frame: collecting or writing it reads the run.

        Raises UsageError for other names, and NothingToShowError for rows of events without a trace.
        """
        return self._tables.scan(table)

    def table(self, table: str, *columns: str) -> polars.DataFrame:
        """Returns a table, or some of its columns, in memory: 8 bytes or less per row and column."""
        frame = self.scan(table)
        return self._collect(frame.select(columns) if columns else frame)

    def sql(self, query: str) -> polars.DataFrame:
        """Returns the result of a query over all tables, like `ompass query`. Raises UsageError."""
        return self._collect(self._tables.sql(query))

    def events(self, *, thread: int = -1, start_ns: int = 0, end_ns: int = -1, limit: int = -1) -> EventTable:
        """Returns decoded events as numpy columns, for one thread (-1: all) and a window (-1: to the end)."""
        return read_events(self.path, thread=thread, start_ns=start_ns, end_ns=end_ns, limit=limit)

    # ------------------------------------------------------------ metrics

    @cached_property
    def report(self) -> RunReport:
        """Breakdown, constructs, kernels, granularity, findings and source locations."""
        return shown(RunReport, collect(self.run))

    def breakdown(self, scope: Scope = Scope.REGIONS) -> ThreadTime:
        """Returns the thread-time by state, of all parallel regions or the whole program."""
        return ThreadTime.of(time_breakdown(self.run, scope), lambda: self.report)

    @property
    def constructs(self) -> Constructs:
        """Task constructs by cost."""
        return Constructs.of(self.report)

    @property
    def findings(self) -> Findings:
        """Problems of the run, most expensive first, then notes."""
        return Findings.of(self.report)

    def location(self, construct: int) -> Location:
        """Returns the location of a construct in the source."""
        return self.report.location(construct)

    def graph(self, depth: int = 3, max_tasks: int = 10_000) -> TaskGraph:
        """Returns work, span, and the graph folded below `depth`. Raises DamagedRunError without a trace."""
        return read_task_graph(self.path, depth=depth, max_tasks=max_tasks)

    def schedule(
        self, *, start_ns: int = 0, end_ns: int = -1, limit: int = DEFAULT_LIMIT, by_home: bool = False,
        n_bins: int = 200,
    ) -> Schedule:  # fmt: skip
        """Returns a window's bars, states over time, and matrix of tasks by creating and running thread.

        Each state interval has a bar. If there are more than `limit` intervals, the bars show bins instead. A
        `limit` of 0 omits the bars. Raises DamagedRunError without a trace.
        """
        return read_schedule(
            self.path, start_ns=start_ns, end_ns=end_ns, limit=limit, by_home=by_home, n_bins=n_bins
        )

    def reuse(self, options: ReuseOptions | None = None) -> Reused:
        """Returns kernel reuse distances. Raises NothingToShowError without a trace or declared accesses."""
        return shown(Reused, collect_reuse(self.run, options))

    # ------------------------------------------------------------ figures

    def figure(self, name: str) -> Shown:
        """Returns a figure for notebooks: breakdown, threads, regions, constructs or granularity.

        A trace also has schedule, over-time and matrix, and devices if the program used any. Raises
        UsageError for other names, and NothingToShowError if the run has no data for the figure.
        """
        schedules: dict[str, Callable[[], Spec | None]] = {
            "schedule": lambda: gantt(self.report, self.schedule(limit=picture_intervals(self.run))),
            "over-time": lambda: over_time(self.schedule(limit=0)),
            "matrix": lambda: who_ran_whose(self.schedule(limit=0)),
        }
        if name in RUN_FIGURES:
            spec = RUN_FIGURES[name].make([self.report])
        elif name in schedules:
            spec = schedules[name]()
        else:
            known = ", ".join([*RUN_FIGURES, *schedules])
            raise UsageError(f"figure {name!r}", "there is no such figure", f"choose one of {known}")
        if spec is None:
            raise NothingToShowError(f"{self.path} has no {name}", "it was not recorded")
        return Shown(spec)

    # ------------------------------------------------------------ what if

    def simulate(
        self, *, threads: Sequence[int] = (), policies: Sequence[str] = ("libomp",), machine: str = "",
        seed: int = 1, untraced: bool = False, anyway: bool = False, taskgraph: bool = False,
    ) -> Simulated:  # fmt: skip
        """Returns predicted runs. `machine` is a machine file or an hwloc synthetic string.

        An empty `threads` means the recorded number. Runs that the trace cannot predict are in `refusals`;
        `anyway` predicts them, too. Raises UsageError, and NothingToShowError without a trace, parallel
        regions or predictions.
        """
        predicted = simulate(
            self.path,
            machine=find_machine(machine),
            fit=not machine,
            threads=threads,
            policies=policies,
            seed=seed,
            untraced=untraced,
            anyway=anyway,
            taskgraph=taskgraph,
        )
        return shown(Simulated, predicted)

    def advise(self, *, threads: int = 0, machine: str = "") -> Advised:
        """Returns changes by predicted gain, and the gain from faster constructs. Raises like `simulate`."""
        return shown(Advised, advise(self.path, machine=find_machine(machine), threads=threads))

    # ------------------------------------------------------------ inside

    @cached_property
    def _tables(self) -> Tables:
        return Tables(self.run, self.location)

    def _collect(self, frame: polars.LazyFrame) -> polars.DataFrame:
        collected: Any = self._tables.finish(lambda: frame.collect(engine="streaming"))
        return collected  # type: ignore[no-any-return]


def open_recording(path: str | PathLike[str]) -> Recording:
    """Returns the run in a directory written by `ompass run` or the tool, or in a packed run.

    Raises RunNotFoundError, DamagedRunError.
    """
    directory = unpacked(Path(path))
    return Recording(directory, open_run(directory))


def open_sweep(path: str | PathLike[str]) -> Sweep:
    """Returns the sweep in a directory written by `ompass scale`.

    Raises UsageError, DamagedRunError, NothingToShowError.
    """
    return shown(Sweep, read_sweep(Path(path)))


def compare(before: str | PathLike[str], after: str | PathLike[str]) -> Comparison:
    """Returns the changes between two runs, two directories of repeated runs, or two sweeps.

    Runs may be packed. Raises UsageError, RunNotFoundError, DamagedRunError.
    """
    return shown(Comparison, compare_paths(unpacked(Path(before)), unpacked(Path(after)), Scope.REGIONS))
