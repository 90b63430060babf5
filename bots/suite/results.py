# SPDX-License-Identifier: Apache-2.0
"""Writes the results of a suite as JSON or Parquet files, completely or not at all, and reads them."""

from __future__ import annotations

import io
import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ompass import __version__
from ompass.errors import OutputError, UsageError
from suite.measurement import Run

SCHEMA = "ompass suite 1"
_NESTED = ("inputs", "cuts")  # objects with program-specific names, stored in Parquet as JSON text


@dataclass(frozen=True, slots=True)
class SuiteResults:
    """All measurements of a suite, including failed ones, and its settings."""

    settings: Mapping[str, Any]
    runs: Sequence[Run]


def is_parquet(path: Path) -> bool:
    return path.suffix == ".parquet"


def write_results(results: SuiteResults, path: Path) -> None:
    """Writes the whole file or none: Parquet if its name ends in .parquet, otherwise JSON.

    Raises OutputError if the file cannot be written.
    """
    content = _parquet(results) if is_parquet(path) else _json(results)
    try:
        handle, name = tempfile.mkstemp(dir=path.absolute().parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            Path(name).chmod(0o644)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise OutputError(f"{path} cannot be written", error.strerror or "", "name another file") from error


def read_results(path: Path) -> SuiteResults:
    """Returns the results in a file of write_results.

    Raises UsageError if the file cannot be read or is not such a file.
    """
    try:
        if is_parquet(path):
            return _from_parquet(path)
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["schema"] != SCHEMA:
            raise ValueError(f"its schema is {content['schema']}, not {SCHEMA}")
        return SuiteResults(content["settings"], content["runs"])
    except OSError as error:
        raise UsageError(f"{path} cannot be read", error.strerror or str(error)) from error
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"{path} contains no results of a suite", str(error), "name a file that --json wrote"
        ) from error


def _json(results: SuiteResults) -> bytes:
    head = {"schema": SCHEMA, "ompass": __version__, "settings": results.settings}
    lines = ",\n    ".join(json.dumps(run, ensure_ascii=False) for run in results.runs)
    text = json.dumps(head, indent=2, ensure_ascii=False).removesuffix("\n}")
    return f'{text},\n  "runs": [\n    {lines}\n  ]\n}}\n'.encode()


def _parquet(results: SuiteResults) -> bytes:
    import polars  # a large library, needed here only

    schema = {
        "program": polars.String,
        "version": polars.String,
        "class": polars.String,
        "runtime": polars.String,
        "threads": polars.Int32,
        "cutoff": polars.String,
        "tied": polars.Boolean,
        "round": polars.Int32,
        "started": polars.String,
        "inputs": polars.String,
        "cuts": polars.String,
        "seconds": polars.Float64,
        "tasks": polars.Int64,
        "unit": polars.String,
        "units": polars.Float64,
        "verified": polars.Boolean,
        "error": polars.String,
    }
    rows = [
        {**run, **{name: None if run[name] is None else json.dumps(run[name]) for name in _NESTED}}
        for run in results.runs
    ]
    buffer = io.BytesIO()
    polars.DataFrame(rows, schema=schema).write_parquet(
        buffer, metadata={"schema": SCHEMA, "ompass": __version__, "settings": json.dumps(results.settings)}
    )
    return buffer.getvalue()


def _from_parquet(path: Path) -> SuiteResults:
    import polars

    try:
        metadata = polars.read_parquet_metadata(path)
        rows = polars.read_parquet(path).to_dicts()
    except polars.exceptions.PolarsError as error:
        raise ValueError(str(error)) from error
    if metadata.get("schema") != SCHEMA:
        raise ValueError("it has no ompass schema")
    runs = [
        {**row, **{name: None if row[name] is None else json.loads(row[name]) for name in _NESTED}}
        for row in rows
    ]
    return SuiteResults(json.loads(metadata["settings"]), runs)
