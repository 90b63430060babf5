# SPDX-License-Identifier: Apache-2.0
"""A run as tables with typed columns, for SQL, Parquet and notebooks: descriptions, and lazy frames.

The core describes the columns. It delivers the rows of a trace in batches, so filters, sums and files need
the same memory for traces of any length.
"""

from __future__ import annotations

import importlib
import queue
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ompass import _core
from ompass.errors import IncompleteInstallationError, OmpassError, UsageError
from ompass.model import (
    STATES,
    WAIT_KINDS,
    CallRow,
    ConstructRow,
    LoopRow,
    RegionRow,
    Run,
    TargetRow,
    ThreadRow,
    WaitRow,
    device_of,
    kind_name,
)
from ompass.readers.run import core_errors
from ompass.readers.timeline import check_has_events

if TYPE_CHECKING:
    import polars

    from ompass.symbols.resolver import Location

_BATCH_ROWS: Final = 1 << 18
_LABELS: Final = {"State": STATES, "Wait": tuple(sorted({*WAIT_KINDS.values(), "?"}))}


@dataclass(frozen=True, slots=True)
class Column:
    """`type`: Int64, UInt64, Int32, UInt32, Boolean or String of polars; State or Wait for names."""

    name: str
    type: str
    meaning: str

    @property
    def labels(self) -> tuple[str, ...]:
        """The names in a column of names; empty for other columns."""
        return _LABELS.get(self.type, ())


@dataclass(frozen=True, slots=True)
class Table:
    name: str
    meaning: str
    needs_trace: bool
    columns: tuple[Column, ...]

    def column(self, name: str) -> Column:
        return next(column for column in self.columns if column.name == name)


def _figures(
    row: type[CallRow | ConstructRow | LoopRow | RegionRow | TargetRow | ThreadRow | WaitRow],
    but: Sequence[str] = (),
) -> tuple[Column, ...]:
    """Returns the columns of a profile's rows: the core's fields with a single value."""
    return tuple(Column(*field) for field in row.describe() if field[1] and field[0] not in but)


_PLACE: Final = (
    Column("construct", "Int32", "its number"),
    Column("kind", "String", "program, task, parallel, kernel, phase, wait, loop, mpi, target or device"),
    Column("name", "String", "fib.c:12 (fib), or the name of the kernel, phase, MPI function or device"),
    Column("function", "String", "function as written"),
    Column("file", "String", "as compiled; empty when unknown"),
    Column("line", "Int32", "0 when unknown"),
)
_TARGET: Final = (
    Column(
        "kind",
        "String",
        "target, enter data, exit data or update, each also with nowait; call, load, or a number",
    ),
    Column("device", "Int32", "number of the device; -1: unknown"),
)
_TOTALS: Final = _figures(ConstructRow, ("construct", "thread"))

TABLES: Final[Mapping[str, Table]] = {
    table.name: table
    for table in (
        *(
            Table(name, meaning, True, tuple(Column(*column) for column in columns))
            for name, meaning, columns in _core.trace_tables()
        ),
        Table(
            "constructs",
            "places in the source: tasks, regions, kernels, phases, waits, loops, calls; over all threads",
            False,
            (*_PLACE, *_TOTALS),
        ),
        Table("regions", "figures of each parallel construct, by thread", False, _figures(RegionRow)),
        Table(
            "wait_places",
            "waiting times of each wait in `constructs`, by thread",
            False,
            _figures(WaitRow),
        ),
        Table("loops", "figures of each loop in `constructs`, by thread", False, _figures(LoopRow)),
        Table(
            "call_places",
            "figures of each MPI call or target construct in `constructs`, by thread",
            False,
            _figures(CallRow),
        ),
        Table(
            "targets",
            "figures of each target construct in `constructs`, by device and host thread",
            False,
            (*_TARGET, *_figures(TargetRow)),
        ),
        Table("threads", "threads of the process that took part", False, _figures(ThreadRow)),
    )
}
"""All tables, by name: the tables of a trace (from the core) and of any run's profile."""


def load_polars() -> Any:
    """Returns the polars module, which is large and therefore loaded only when a frame is made.

    Raises IncompleteInstallationError.
    """
    try:
        return importlib.import_module("polars")
    except ImportError as error:
        raise IncompleteInstallationError(
            "tables need polars, which cannot be loaded", str(error), "pip install polars"
        ) from error


class Tables:
    """The tables of one run, as lazy frames of polars.

    `locate` returns the source location of a construct, for the table `constructs`.
    """

    def __init__(self, run: Run, locate: Callable[[int], Location]) -> None:
        self._run = run
        self._locate = locate
        self._failure: OmpassError | None = None

    def scan(self, name: str) -> polars.LazyFrame:
        """Returns the table `name` of TABLES.

        Raises UsageError for other names, NothingToShowError if the table needs a trace and the run has none.
        """
        table = TABLES.get(name)
        if table is None:
            raise UsageError(f"{name}", "no such table", f"the tables are {', '.join(TABLES)}")
        if not table.needs_trace:
            return self._small(table)
        check_has_events(self._run)
        return self._of_trace(table)

    def sql(self, query: str) -> polars.LazyFrame:
        """Returns the result of the query. Raises UsageError, with the query's error."""
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
        """Returns the result of `action`, which collects a frame of these tables; converts its errors."""
        pl = load_polars()
        self._failure = None
        try:
            return action()
        except pl.exceptions.PolarsError as error:
            if self._failure is not None:
                raise self._failure from None
            raise UsageError("the query cannot be answered", _first_line(error)) from error

    # ------------------------------------------------------------ from the profile

    def _small(self, table: Table) -> polars.LazyFrame:
        pl = load_polars()
        if table.name == "constructs":
            rows = self._constructs()
        elif table.name == "targets":
            rows = self._targets(table)
        else:
            names = [column.name for column in table.columns]
            of_run = {
                "regions": (*self._run.regions, *self._run.helper_regions),
                "wait_places": (*self._run.waits, *self._run.helper_waits),
                "loops": self._run.loops,
                "call_places": self._run.calls,
                "threads": self._run.threads,
            }[table.name]
            rows = [tuple(getattr(row, name) for name in names) for row in of_run]
        return pl.DataFrame(rows, schema=_schema(pl, table), orient="row").lazy()  # type: ignore[no-any-return]

    def _constructs(self) -> list[tuple[Any, ...]]:
        totals: dict[int, ConstructRow] = {}
        for row in self._run.constructs:
            known = totals.get(row.construct)
            totals[row.construct] = row if known is None else known + row
        rows = []
        for definition in self._run.definitions:
            place = self._locate(definition.id)
            name = definition.name or place.label()
            total = totals.get(definition.id, ConstructRow())
            figures = (getattr(total, column.name) for column in _TOTALS)
            rows.append(
                (definition.id, definition.kind, name, place.function, place.file, place.line, *figures)
            )
        return rows

    def _targets(self, table: Table) -> list[tuple[Any, ...]]:
        names = [column.name for column in table.columns[len(_TARGET) :]]
        rows = []
        for row in self._run.targets:
            flags = self._run.definitions[row.construct].flags
            rows.append((kind_name(flags), device_of(flags), *(getattr(row, name) for name in names)))
        return rows

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
        """Yields the arrays of the columns, one list per batch; the core reads ahead in another thread."""
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
                with core_errors(self._run.path):
                    _core.read_rows(str(self._run.path), table.name, names, _BATCH_ROWS, hand_over)
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
                yield item
        finally:
            enough.set()
            reader.join()


class _EnoughError(Exception):
    """Ends the reading thread when no more rows are needed."""


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0].rstrip(":") if str(error).strip() else type(error).__name__


def _schema(pl: Any, table: Table) -> dict[str, Any]:
    return {
        column.name: pl.Enum(column.labels) if column.labels else getattr(pl, column.type)
        for column in table.columns
    }


def _series(pl: Any, column: Column, values: Any) -> Any:
    """Returns values of the core (int64, -1 for unknown values) in the type of their column."""
    import numpy as np

    if column.labels:
        codes = values if column.type == "State" else _label_codes(column, values)
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
    for number, name in WAIT_KINDS.items():
        codes[number] = column.labels.index(name)
    return np.where(values < codes.size, codes[values & 255], codes[0])
