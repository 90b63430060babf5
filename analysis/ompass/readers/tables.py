# SPDX-License-Identifier: Apache-2.0
"""A run as tables with typed columns, for SQL, Parquet and notebooks: what there is, and lazy frames of it.

Owns names, types and meanings of the columns. Rows of a trace come from the core in batches while they are
used, so a frame that is filtered, summed or written to a file takes the same memory for any length of trace.
"""

from __future__ import annotations

import importlib
import queue
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ompass.errors import IncompleteInstallationError, OmpassError, UsageError
from ompass.model import Run
from ompass.readers.core import core_errors, load_core
from ompass.readers.timeline import LOCKS, WAITS, check_has_events

if TYPE_CHECKING:
    import polars

    from ompass.symbols import Location

_BATCH_ROWS: Final = 1 << 18
_TOTALS: Final = (
    "n_created", "n_undeferred", "n_completed", "work_ns", "create_ns", "read_bytes", "write_bytes"
)  # fmt: skip
_STATES: Final = ("work", "create", "schedule", "sync", "idle")


@dataclass(frozen=True, slots=True)
class Column:
    """`type`: Int64, UInt64, Int32, UInt32, Boolean or String of polars; "text" for one of `labels`."""

    name: str
    type: str
    meaning: str
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Table:
    name: str
    meaning: str
    needs_trace: bool
    columns: tuple[Column, ...]

    def column(self, name: str) -> Column:
        return next(column for column in self.columns if column.name == name)


_TASK = Column("task", "UInt64", "the deferred task around; null in implicit tasks and outside of regions")
_CONSTRUCT = Column("construct", "Int32", "number of the construct, as in `constructs`")
_THREAD = Column("thread", "UInt32", "number of the thread, as in `threads`")
_START = Column("start_ns", "Int64", "since the start of the run, as all times")
_END = Column("end_ns", "Int64", "")
_WAIT_KINDS = {**WAITS, **{kind | 128: name for kind, name in LOCKS.items()}}
_WAIT_LABELS = tuple(sorted({*_WAIT_KINDS.values(), "?"}))

TABLES: Final[Mapping[str, Table]] = {
    table.name: table
    for table in (
        Table(
            "tasks", "explicit tasks that completed", True,
            (
                Column("task", "UInt64", "creating thread << 40 | its counter; null when undeferred"),
                Column("parent", "UInt64", "the deferred task that created it; null: an implicit task"),
                _CONSTRUCT,
                Column("deferred", "Boolean", "false: it ran at once, where it was created"),
                Column("creator", "UInt32", "the thread that created it"),
                Column("thread", "UInt32", "the thread that completed it"),
                Column("created_ns", "Int64", "all times and work are null when undeferred and not timed"),
                Column("created_latest_ns", "Int64", "the last possible moment; equal where that is exact"),
                Column("ready_ns", "Int64", "created, or when the last task that it depends on had ended"),
                _START,
                _END,
                Column("work_ns", "Int64", "in its code and that of its undeferred tasks"),
            ),
        ),
        Table(
            "segments", "stretches of one thread in one state", True,
            (
                _THREAD,
                Column("state", "text", "work, create, schedule, sync or idle", _STATES),
                _TASK,
                Column("construct", "Int32", "of the task; of the region in implicit tasks; null outside"),
                _START,
                _END,
            ),
        ),
        Table(
            "waits", "barriers, taskwaits, taskgroups and locks that a thread was in", True,
            (
                _THREAD,
                Column("kind", "text", "barrier, taskwait, critical, ...", _WAIT_LABELS),
                _TASK,
                _START,
                _END,
                Column("idle_ns", "Int64", "part of it in which there was no task to run"),
                Column("schedule_ns", "Int64", "part of it in which a task was ready or being fetched"),
                Column("sync_ns", "Int64", "part of it for another reason; tasks ran in the rest"),
            ),
        ),
        Table(
            "kernels", "executions of kernels that the program marked with ompass.h", True,
            (
                _THREAD, _CONSTRUCT, _TASK, _START, _END,
                Column("read_bytes", "Int64", "declared"),
                Column("write_bytes", "Int64", "declared"),
            ),
        ),
        Table(
            "accesses", "reads and writes that kernels declared", True,
            (
                _THREAD,
                Column("construct", "Int32", "of the kernel"),
                _TASK,
                Column("time_ns", "Int64", "of the kernel's last event before it"),
                Column("address", "UInt64", "of the first byte"),
                Column("bytes", "Int64", ""),
                Column("write", "Boolean", "false: a read"),
            ),
        ),
        Table(
            "constructs", "places in the source: tasks, parallel regions, kernels, phases", False,
            (
                Column("construct", "Int32", "its number"),
                Column("kind", "String", "program, task, parallel, kernel or phase"),
                Column("name", "String", "fib.c:12 (fib), or the name of the kernel or phase"),
                Column("function", "String", ""),
                Column("file", "String", "as compiled; empty when unknown"),
                Column("line", "Int32", "0 when unknown"),
                Column("n_created", "Int64", "this and the following from the profile that the tool kept"),
                Column("n_undeferred", "Int64", ""),
                Column("n_completed", "Int64", ""),
                Column("work_ns", "Int64", "own work of all of them"),
                Column("create_ns", "Int64", "time to create all of them"),
                Column("read_bytes", "Int64", "declared, of kernels"),
                Column("write_bytes", "Int64", ""),
            ),
        ),
        Table(
            "regions", "what each thread did in each parallel construct, from the profile", False,
            (
                Column("construct", "Int32", "of the region; -1: outside of all"),
                _THREAD,
                Column("n_instances", "Int64", "executions that the thread took part in"),
                Column("wall_ns", "Int64", "of those that it led"),
                Column("n_tasks", "Int64", "explicit tasks that it completed there"),
                *(Column(f"{state}_ns", "Int64", f"thread-time in state {state}") for state in _STATES),
            ),
        ),
        Table(
            "threads", "threads of the process that took part", False,
            (
                Column("thread", "UInt32", "its number"),
                Column("tid", "Int64", "its number in the operating system"),
                Column("kind", "String", "initial, worker or other"),
                Column("first_ns", "Int64", "first moment recorded"),
                Column("last_ns", "Int64", ""),
                Column("n_migrations", "Int64", "changes of CPU"),
                Column("n_dropped", "Int64", "records lost"),
            ),
        ),
    )
}  # fmt: skip


def load_polars() -> Any:
    """The library of the frames; large, and so loaded only when one is made. IncompleteInstallationError."""
    try:
        return importlib.import_module("polars")
    except ImportError as error:
        raise IncompleteInstallationError(
            "tables need polars, which cannot be loaded", str(error), "pip install polars"
        ) from error


class Tables:
    """The tables of one run, as lazy frames of polars.

    `locate` tells where a construct stands; it is asked when the table `constructs` is used.
    """

    def __init__(self, run: Run, locate: Callable[[int], Location]) -> None:
        self._run = run
        self._locate = locate
        self._failure: OmpassError | None = None

    def scan(self, name: str) -> polars.LazyFrame:
        """The table `name` of TABLES. UsageError for another name, NothingToShowError without its trace."""
        table = TABLES.get(name)
        if table is None:
            raise UsageError(f"{name}", "there is no such table", f"there are {', '.join(TABLES)}")
        if not table.needs_trace:
            return self._small(table)
        check_has_events(self._run)
        return self._of_trace(table)

    def sql(self, query: str) -> polars.LazyFrame:
        """What the query selects. UsageError with what is wrong with it."""
        pl = load_polars()
        names = [n for n, table in TABLES.items() if self._run.mode == "trace" or not table.needs_trace]
        try:
            found: polars.LazyFrame = pl.SQLContext({name: self.scan(name) for name in names}).execute(query)
            found.collect_schema()
        except pl.exceptions.PolarsError as error:
            missing = [n for n in TABLES if n not in names and f"'{n}'" in str(error)]
            if missing:
                check_has_events(self._run)
            raise UsageError("the query cannot be answered", _first_line(error)) from error
        return found

    def finish(self, action: Callable[[], Any]) -> Any:
        """What `action`, the collection of a frame of these tables, returns; its errors as ours."""
        pl = load_polars()
        try:
            return action()
        except pl.exceptions.PolarsError as error:
            if self._failure is not None:
                raise self._failure from None
            raise UsageError("the query cannot be answered", _first_line(error)) from error

    # ------------------------------------------------------------ from the profile

    def _small(self, table: Table) -> polars.LazyFrame:
        pl = load_polars()
        rows = {"constructs": self._constructs, "regions": self._regions, "threads": self._threads}[
            table.name
        ]()
        return pl.DataFrame(rows, schema=_schema(pl, table), orient="row").lazy()  # type: ignore[no-any-return]

    def _constructs(self) -> list[tuple[Any, ...]]:
        rows = []
        for definition in self._run.definitions:
            place = self._locate(definition.id)
            seen = [row for row in self._run.constructs if row.construct == definition.id]
            totals = [sum(getattr(row, field) for row in seen) for field in _TOTALS]
            name = definition.name or place.label()
            rows.append(
                (definition.id, definition.kind, name, place.function, place.file, place.line, *totals)
            )
        return rows

    def _regions(self) -> list[tuple[Any, ...]]:
        return [
            (r.construct, r.thread, r.n_instances, r.wall_ns, r.n_tasks, r.states.work_ns, r.states.create_ns,
             r.states.schedule_ns, r.states.sync_ns, r.states.idle_ns)
            for r in self._run.regions
        ]  # fmt: skip

    def _threads(self) -> list[tuple[Any, ...]]:
        return [
            (t.thread, t.tid, t.kind, t.first_ns, t.last_ns, t.n_migrations, t.n_dropped)
            for t in self._run.threads
        ]

    # ------------------------------------------------------------ from the events

    def _of_trace(self, table: Table) -> polars.LazyFrame:
        pl = load_polars()
        register = importlib.import_module("polars.io.plugins").register_io_source

        def frames(
            columns: list[str] | None, predicate: Any, n_rows: int | None, _batch_rows: int | None
        ) -> Iterator[Any]:
            names = [column.name for column in table.columns] if columns is None else columns[:]
            names = names or [table.columns[0].name]
            left = n_rows
            for arrays in self._batches(table, names):
                named = zip(names, arrays, strict=True)
                frame = pl.DataFrame({name: _series(pl, table.column(name), array) for name, array in named})
                if left is not None:
                    frame = frame.head(left)
                    left -= frame.height
                yield frame if predicate is None else frame.filter(predicate)
                if left == 0:
                    return

        return register(frames, schema=_schema(pl, table))  # type: ignore[no-any-return]

    def _batches(self, table: Table, names: Sequence[str]) -> Iterator[list[Any]]:
        """Arrays of the columns, one list per batch; the core reads ahead on a thread of its own."""
        core = load_core()
        waits = table.name == "waits"
        asked = [*names, "lock"] if waits and "kind" in names else list(names)
        ready: queue.Queue[list[Any] | BaseException | None] = queue.Queue(maxsize=2)
        enough = threading.Event()

        def hand_over(item: list[Any] | BaseException | None) -> None:
            while not enough.is_set():
                try:
                    return ready.put(item, timeout=0.1)
                except queue.Full:
                    continue
            raise _EnoughError

        def read() -> None:
            try:
                with core_errors(core, self._run.path):
                    core.read_rows(str(self._run.path), table.name, asked, _BATCH_ROWS, hand_over)
                hand_over(None)
            except _EnoughError:
                pass
            except BaseException as error:
                hand_over(error)

        reader = threading.Thread(target=read, name="ompass-rows", daemon=True)
        reader.start()
        try:
            while (item := ready.get()) is not None:
                if isinstance(item, BaseException):
                    self._failure = item if isinstance(item, OmpassError) else None
                    raise item
                if len(asked) > len(names):
                    item[names.index("kind")] += 128 * item.pop()
                yield item
        finally:
            enough.set()
            reader.join()


class _EnoughError(Exception):
    """Nobody wants more rows."""


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0].rstrip(":") if str(error).strip() else type(error).__name__


def _schema(pl: Any, table: Table) -> dict[str, Any]:
    return {
        column.name: pl.Enum(column.labels) if column.labels else getattr(pl, column.type)
        for column in table.columns
    }


def _series(pl: Any, column: Column, values: Any) -> Any:
    """A column of the core, int64 with -1 for what cannot be told, in its own type."""
    import numpy as np

    if column.labels:
        codes = values if column.labels == _STATES else _label_codes(column, values)
        return pl.Series(column.name, list(column.labels), dtype=pl.Enum(column.labels)).gather(codes)
    if column.name == "address":
        return pl.Series(column.name, values.view(np.uint64))
    series = pl.Series(column.name, values)
    missing = values == -1
    if missing.any():
        series = series.set(pl.Series(missing), None)
    return series.cast(getattr(pl, column.type))


def _label_codes(column: Column, values: Any) -> Any:
    import numpy as np

    codes = np.full(256, column.labels.index("?"), np.uint32)
    for number, name in _WAIT_KINDS.items():
        codes[number] = column.labels.index(name)
    return codes[values & 255]
