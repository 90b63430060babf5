# SPDX-License-Identifier: Apache-2.0
"""Commands on a profile whose directory contains the trace of a second run, as `ompass run` leaves it."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import polars
import pytest
from typer.testing import CliRunner, Result

from ompass.commands.main import application
from ompass.packed import TRACE

GOLDEN = Path(__file__).parents[1] / "golden"


def unpack(name: str, place: Path) -> None:
    with tarfile.open(GOLDEN / f"{name}.tar.xz") as archive:
        archive.extractall(place.parent, filter="data")
    (place.parent / f"{name}.ompass").rename(place)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    directory = tmp_path / "runs" / "q.ompass"
    directory.parent.mkdir()
    unpack("clang-19-preloaded-profile", directory)
    unpack("clang-19-preloaded-trace", directory / TRACE)
    return directory


def call(*arguments: object) -> Result:
    return CliRunner().invoke(application(), [str(each) for each in arguments], catch_exceptions=False)


def test_a_query_reads_the_events_of_the_trace(run: Path) -> None:
    query = "SELECT count(*) AS n FROM tasks"
    found = json.loads(call("query", run, query, "--json").stdout)
    assert found["n"] > 0
    assert found == json.loads(call("query", run / TRACE, query, "--json").stdout)


def test_an_export_has_the_tables_of_the_trace(run: Path, tmp_path: Path) -> None:
    assert call("export", run, "--parquet", tmp_path / "tables").exit_code == 0
    assert polars.read_parquet(tmp_path / "tables" / "tasks.parquet").height > 0


@pytest.mark.parametrize("figure", ["schedule", "over-time", "matrix"])
def test_a_figure_of_events_shows_the_trace(run: Path, tmp_path: Path, figure: str) -> None:
    for place, output in ((run, "outer.json"), (run / TRACE, "inner.json")):
        assert call("plot", figure, place, "-o", tmp_path / output).exit_code == 0
    assert (tmp_path / "outer.json").read_bytes() == (tmp_path / "inner.json").read_bytes()


def test_a_figure_of_the_profile_shows_the_profile(run: Path, tmp_path: Path) -> None:
    def figure_of(place: Path) -> str:
        assert call("plot", "breakdown", place, "-o", tmp_path / "figure.json").exit_code == 0
        return (tmp_path / "figure.json").read_text(encoding="utf-8")

    assert figure_of(run) != figure_of(run / TRACE)


def test_clean_lists_and_removes_the_run_with_its_trace(run: Path) -> None:
    (listed,) = json.loads(call("clean", run.parent, "--json").stdout)
    assert listed["path"] == str(run)
    whole = sum(path.stat().st_blocks * 512 for path in run.rglob("*") if path.is_file())
    assert listed["size_bytes"] >= 0.9 * whole
    assert call("clean", run.parent, "--remove", "--yes").exit_code == 0
    assert not run.exists()
