# SPDX-License-Identifier: Apache-2.0
"""Tests `ompass query` and `ompass export` on a recorded run: their tables agree with the replay."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import polars
import pytest

from ompass import _core
from ompass.commands.main import application
from ompass.errors import OmpassError, OutputError, UsageError
from toolchains import Recorded, RunRecorded, Toolchain

Command = Callable[..., tuple[str, str]]


@pytest.fixture
def ompass(capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs the command in this process, because starting it would take longer than the tests."""

    def call(*arguments: str) -> tuple[str, str]:
        application()(list(arguments), standalone_mode=False)
        captured = capsys.readouterr()
        return captured.out, captured.err

    return call


def complaint(ompass: Command, *arguments: str, error: type[OmpassError]) -> str:
    with pytest.raises(error) as raised:
        ompass(*arguments)
    return raised.value.one_line()


@pytest.fixture
def recorded(bots_dir: Path, run_recorded: RunRecorded, default_toolchain: Toolchain) -> Recorded:
    program = bots_dir / "health-tasks-marked"
    return run_recorded(program, default_toolchain, "--class", "test", mode="trace", preload=True)


def test_tables_have_the_counts_of_the_replay(recorded: Recorded, tmp_path: Path, ompass: Command) -> None:
    run, out = str(recorded.run_dir), tmp_path / "tables"
    ompass("export", run, "--parquet", str(out))
    tables = {path.stem: polars.read_parquet(path) for path in out.glob("*.parquet")}
    replay = _core.replay_trace(run)
    kinds = {definition.id: definition.kind for definition in replay.definitions}
    for construct in {row.construct for row in replay.constructs}:
        if kinds[construct] not in ("task", "kernel"):
            continue
        rows = [row for row in replay.constructs if row.construct == construct]
        ran = tables["tasks" if kinds[construct] == "task" else "kernels"].filter(
            polars.col("construct") == construct
        )
        assert ran.height == sum(row.n_completed for row in rows)
        if kinds[construct] == "task":
            assert ran["work_ns"].sum() == pytest.approx(sum(row.inclusive_ns for row in rows), rel=1e-3)
            waited = (
                ran.filter("deferred").select((polars.col("start_ns") - polars.col("ready_ns")).sum()).item()
            )
            assert waited == pytest.approx(sum(row.ready_ns for row in rows), rel=1e-3, abs=ran.height)
        else:
            assert ran["read_bytes"].sum() == sum(row.read_bytes for row in rows)
            accesses = tables["accesses"].filter(polars.col("construct") == construct)
            written = accesses.filter("write")["bytes"].sum()
            assert written == ran["write_bytes"].sum() == sum(row.write_bytes for row in rows)
    spent = {
        state: (stretches["end_ns"] - stretches["start_ns"]).sum()
        for (state,), stretches in tables["stretches"].group_by("state")
    }
    idle = sum(row.idle_ns for row in replay.regions)
    assert spent["idle"] == pytest.approx(idle, abs=tables["stretches"].height)
    assert "it exists" in complaint(ompass, "export", run, "--parquet", str(out), error=OutputError)


def test_answers_come_as_a_table_csv_json_or_a_file(
    recorded: Recorded, tmp_path: Path, ompass: Command
) -> None:
    run = str(recorded.run_dir)
    query = "SELECT kind, count(*) AS n FROM constructs GROUP BY kind ORDER BY kind"
    rows = list(csv.DictReader(io.StringIO(ompass("query", run, query, "--csv")[0])))
    assert {"kernel", "parallel", "task"} <= {row["kind"] for row in rows}
    lines = ompass("query", run, query, "--json")[0].splitlines()
    assert [json.loads(line)["n"] for line in lines] == [int(row["n"]) for row in rows]
    page, _ = ompass("query", run, query)
    assert all(row["kind"] in page for row in rows)
    page, message = ompass("query", run, "SELECT task, thread FROM tasks", "--rows", "3")
    assert len(page.splitlines()) == 5
    assert "first 3 rows" in message
    ompass("query", run, "SELECT * FROM tasks", "-o", str(tmp_path / "t.parquet"))
    assert polars.read_parquet(tmp_path / "t.parquet").height == _n_tasks(run)
    assert "accesses" in ompass("query", run, "--tables")[0]


def test_errors_of_a_query_name_the_cause(recorded: Recorded, tmp_path: Path, ompass: Command) -> None:
    run = str(recorded.run_dir)
    assert "x" in complaint(ompass, "query", run, "SELECT x FROM tasks", error=UsageError)
    assert "--tables" in complaint(ompass, "query", run, error=UsageError)
    assert ".parquet" in complaint(ompass, "query", run, "SELECT 1", "-o", "x.doc", error=UsageError)
    assert "one form" in complaint(ompass, "query", run, "SELECT 1", "--csv", "--json", error=UsageError)
    absent = str(tmp_path / "absent" / "t.csv")
    assert "cannot be written" in complaint(
        ompass, "query", run, "SELECT * FROM tasks", "-o", absent, error=OutputError
    )
    assert "no such table" in complaint(
        ompass, "export", run, "--parquet", "x", "--table", "y", error=UsageError
    )
    assert not Path("x").exists()


def _n_tasks(run: str) -> int:
    replay = _core.replay_trace(run)
    kinds = {definition.id: definition.kind for definition in replay.definitions}
    return sum(row.n_completed for row in replay.constructs if kinds[row.construct] == "task")
