# SPDX-License-Identifier: Apache-2.0
"""Sampled loads: the records in files, the distribution of cycles by construct, and the sources of data."""

from __future__ import annotations

import csv
import io
import json
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from made_traces import Schedule, Spawn, Wait, Work, write_trace
from ompass.commands.main import application
from ompass.errors import DamagedRunError, NothingToShowError
from ompass.latency.metrics import SOURCES, SampledLoad, loads_by_owner
from ompass.samples.metrics import Owner
from sampled_run import sampled_threads
from unit.test_samples import REGISTERS, code, record, sample_file

LOADS, OPS = 3, 4  # kinds of event
# PERF_MEM_OP_LOAD with the level that was hit. MODIFIED: a line in the L3 that another core had modified.
L1, L3, MEMORY, REMOTE = (2 | (level | 2) << 5 for level in (0x08, 0x40, 0x80, 0x100))
MODIFIED = L3 | 0x10 << 19
WANTS_LOADS, ENODEV = 1, 19
PLACE_OF_HZ = 680  # offset of sample_hz in process.log


def load(cycles: int, source: int, **fields: Any) -> bytes:
    return record([code(0, 0x1000)], REGISTERS, {}, load=(0x7F0000001000, cycles, source), **fields)


def write_loads(run_dir: Path, *records: bytes, event: int = LOADS) -> Path:
    (run_dir / "thread-00000.samples").write_bytes(
        sample_file(b"".join(records), event=event, period=1000, n_lost=2)
    )
    return run_dir


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    return write_trace(tmp_path / "t.ompass", Schedule((Spawn((Work(1000),)), Wait())))


@pytest.fixture
def sampled(run_dir: Path) -> Path:
    """Makes a run with ten loads of the task and two of the serial part."""
    return write_loads(
        run_dir,
        *[load(4, L1)] * 5,
        load(40, L3, weight=2),
        load(100, MODIFIED),
        load(200, MEMORY),
        load(600, REMOTE),
        *[load(0, L1, construct=0, region=0)] * 2,
    )


def shown(*arguments: str) -> Result:
    return CliRunner().invoke(application(), list(arguments), catch_exceptions=False)


def test_loads_are_read_as_they_were_written(sampled: Path) -> None:
    (thread,) = sampled_threads(sampled)
    assert (thread.event, thread.period, thread.n_lost) == ("loads", 1000, 2)
    assert {sample.address for sample in thread.samples} == {0x7F0000001000}
    found = [(sample.cycles, sample.source, sample.was_modified) for sample in thread.samples[4:9]]
    assert found == [
        (4, "L1", False), (40, "L3", False), (100, "L3", True), (200, "memory", False),
        (600, "other node", False),
    ]  # fmt: skip
    assert thread.samples[0].chain == (code(0, 0x1000),)


def test_ops_are_loads_too(run_dir: Path) -> None:
    (thread,) = sampled_threads(write_loads(run_dir, load(7, MEMORY), event=OPS))
    assert (thread.event, thread.samples[0].cycles) == ("ops", 7)


def test_a_load_without_its_words_is_reported_as_damage(run_dir: Path) -> None:
    write_loads(run_dir, record([], [0] * 8, {})[:-80])
    with pytest.raises(DamagedRunError):
        sampled_threads(run_dir)


def test_constructs_have_quantiles_sources_and_a_distribution(sampled: Path) -> None:
    report = json.loads(shown("latency", str(sampled), "--json").stdout)
    assert (report["schema"], report["loads"], report["lost"]) == ("ompass-latency", 12, 2)
    task, serial = report["constructs"]
    assert (task["owner"], serial["owner"], serial["in"]) == ("task", "serial", "the serial part")
    assert (task["loads"], task["share"], task["modified_share"]) == (10, 10 / 12, 0.1)
    assert task["mean_cycles"] == (5 * 4 + 2 * 40 + 100 + 200 + 600) / 10
    assert task["quantiles"] == [
        {"share": 0.1, "cycles": 4}, {"share": 0.5, "cycles": 4}, {"share": 0.9, "cycles": 200},
        {"share": 0.99, "cycles": 600},
    ]  # fmt: skip
    sources = {row["source"]: (row["loads"], row["share"], row["mean_cycles"]) for row in task["sources"]}
    assert sources == {
        "L1": (5, 0.5, 4.0), "under way": (0, 0.0, None), "L2": (0, 0.0, None), "L3": (3, 0.3, 60.0),
        "memory": (1, 0.1, 200.0), "other node": (1, 0.1, 600.0), "unknown": (0, 0.0, None),
    }  # fmt: skip
    assert task["distribution"] == [
        {"cycles": cycles, "share": pytest.approx(part)}
        for cycles, part in ((4, 0.5), (40, 0.7), (100, 0.8), (200, 0.9), (600, 1.0))
    ]
    assert serial["distribution"] == [{"cycles": 0, "share": 1.0}]


def test_the_terminal_shows_cycles_and_sources(sampled: Path) -> None:
    text = " ".join(shown("latency", str(sampled)).stdout.split())
    for words in ("12 sampled loads", "the serial part", "Other node", "modified", "200", "50.0%"):
        assert words in text


@pytest.mark.parametrize(("table", "n_rows"), [("constructs", 2), ("sources", 14), ("distribution", 6)])
def test_every_table_is_csv(sampled: Path, table: str, n_rows: int) -> None:
    rows = list(csv.DictReader(io.StringIO(shown("latency", str(sampled), "--csv", "--table", table).stdout)))
    assert len(rows) == n_rows
    assert {row["directory"] for row in rows} == {str(sampled)}
    if table == "constructs":
        assert (rows[0]["loads"], rows[0]["p90_cycles"]) == ("10", "200")


@pytest.mark.parametrize("name", ["latency.svg", "latency.png", "latency.json"])
def test_the_figure_is_written(sampled: Path, tmp_path: Path, name: str) -> None:
    shown("latency", str(sampled), "--figure", str(tmp_path / name))
    picture = (tmp_path / name).read_bytes()
    assert len(picture) > 1000
    if name.endswith(".svg"):
        assert b"share of loads" in picture and picture.count(b"the serial part") >= 2


def test_samples_of_loads_do_not_count_as_time(sampled: Path) -> None:
    text = " ".join(shown("samples", str(sampled)).stdout.split())
    assert "12 samples of the loads of 1 thread" in text
    assert "shares are of loads, not of time" in text


def ask_for_loads(run_dir: Path, error: int) -> None:
    """Writes the request for loads into process.log, as the tool does (ProcessHeader in format.h)."""
    path = run_dir / "process.log"
    data = bytearray(path.read_bytes())
    struct.pack_into("<5I", data, PLACE_OF_HZ, 100, 0, 0, WANTS_LOADS, error)
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (ENODEV, "this processor, or the kernel for it, cannot sample loads"),
        (13, "perf_event_open failed: Permission denied"),
        (None, "it was recorded without --sample loads"),
        (0, "it was too short"),
    ],
)
def test_a_run_without_loads_shows_why_and_how_to_get_them(
    run_dir: Path, error: int | None, says: str
) -> None:
    if error is not None:
        ask_for_loads(run_dir, error)
    with pytest.raises(NothingToShowError) as raised:
        shown("latency", str(run_dir))
    assert says in raised.value.one_line()
    assert "--sample loads" in raised.value.one_line()


def made(cycles: int, source: str = "L1", weight: int = 1, **fields: Any) -> SampledLoad:
    return SampledLoad(0, Owner("task", 1), cycles, source, fields.get("modified", False), weight, 10)


@given(
    st.lists(st.builds(made, st.integers(0, 2000), st.sampled_from(SOURCES), st.integers(1, 9)), min_size=1)
)
def test_distributions_rise_to_one_and_agree_with_quantiles(loads: list[SampledLoad]) -> None:
    (of,) = loads_by_owner(loads)
    every = sorted(load.cycles for load in loads for _ in range(load.weight))
    points = of.distribution()
    assert points == sorted(points) and points[-1] == (every[-1], 1.0)
    for cycles, part in points:
        assert part == pytest.approx(sum(c <= cycles for c in every) / len(every))
    assert of.quantile(0.5) == every[(len(every) + 1) // 2 - 1]
    assert (of.n, of.cycles, sum(of.by_source.values())) == (len(every), sum(every), len(every))


def test_loads_from_other_nodes_and_of_modified_lines_are_contended() -> None:
    loads = (made(5), made(300, "other node"), made(100, "L3", 2, modified=True), made(90, "memory"))
    (of,) = loads_by_owner(loads)
    assert (of.slowed_cycles, of.waited_cycles) == (500, 5000)
