# SPDX-License-Identifier: Apache-2.0
"""Figures: each one renders and shows the run's numbers. A run without tasks has no figures of tasks."""

import json
from pathlib import Path

import pytest

import made_traces
from made_runs import MS, construct, made_run, team, wait
from made_traces import Spawn, Wait, Work, write_trace
from ompass.errors import OutputError, UsageError
from ompass.figures.render import FORMATS, BrowserScript, render
from ompass.figures.run import RUN_FIGURES
from ompass.recording import open_recording
from ompass.reports.content import ReportContent, collect

MAGIC = {".svg": b"<svg", ".pdf": b"%PDF", ".png": b"\x89PNG", ".json": b"{"}


def recorded() -> ReportContent:
    return collect(
        made_run(
            regions=team(
                0,
                [
                    {"work_ns": 60 * MS, "idle_ns": 40 * MS, "n_tasks": 3},
                    {"work_ns": 90 * MS, "sync_ns": 10 * MS, "n_tasks": 1},
                ],
            ),
            constructs=[construct(1, 0, [MS, 2 * MS, 30 * MS], create_ns=5000), construct(1, 1, [40 * MS])],
            waits=[wait(2, 1, sync_ns=10 * MS)],
        )
    )


@pytest.mark.parametrize("n_runs", [1, 2])
@pytest.mark.parametrize("name", [name for name in RUN_FIGURES if name != "devices"])  # it needs a trace
def test_every_figure_renders(name: str, n_runs: int, tmp_path: Path) -> None:
    spec = RUN_FIGURES[name].make([recorded()] * n_runs)
    assert spec is not None
    render(spec, tmp_path / "figure.svg")
    assert (tmp_path / "figure.svg").read_bytes().startswith(b"<svg")


@pytest.mark.parametrize("suffix", FORMATS)
def test_the_name_of_the_file_chooses_the_format(suffix: str, tmp_path: Path) -> None:
    spec = RUN_FIGURES["breakdown"].make([recorded()])
    assert spec is not None
    render(spec, tmp_path / f"figure{suffix}")
    assert (tmp_path / f"figure{suffix}").read_bytes().startswith(MAGIC[suffix])


def test_the_breakdown_adds_up_to_the_thread_time() -> None:
    content = recorded()
    spec = RUN_FIGURES["breakdown"].make([content])
    assert spec is not None
    rows = spec["data"]["values"]
    assert sum(row["seconds"] for row in rows) == pytest.approx(content.breakdown.thread_time_ns / 1e9)
    assert {row["state"]: row["seconds"] for row in rows}["work"] == pytest.approx(0.150)


def test_granularity_counts_every_timed_task() -> None:
    spec = RUN_FIGURES["granularity"].make([recorded()])
    assert spec is not None
    assert sum(row["tasks"] for row in spec["data"]["values"]) == 4


def test_a_single_bin_of_durations_takes_an_eighth_of_the_axis() -> None:
    run = made_run(regions=team(0, [{"work_ns": MS}]), constructs=[construct(1, 0, [1_000_000] * 3)])
    spec = RUN_FIGURES["granularity"].make([collect(run)])
    assert spec is not None
    (low, high) = spec["encoding"]["x"]["scale"]["domain"]
    (row,) = spec["data"]["values"]
    assert high / low == pytest.approx((row["high"] / row["low"]) ** 8)
    assert low < row["low"] < row["high"] < high


def test_a_run_without_tasks_has_no_figures_of_tasks() -> None:
    empty = collect(made_run(regions=team(0, [{"work_ns": MS}])))
    assert RUN_FIGURES["granularity"].make([empty]) is None
    assert RUN_FIGURES["constructs"].make([empty]) is None


def test_an_unknown_suffix_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"\.svg, \.pdf, \.png, \.json"):
        render({}, tmp_path / "figure.doc")


def test_a_picture_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    spec = RUN_FIGURES["breakdown"].make([recorded()])
    assert spec is not None
    with pytest.raises(OutputError):
        render(spec, tmp_path / "absent" / "figure.json")


def test_the_scripts_of_figures_are_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    made = BrowserScript().text
    assert "vegaEmbed" in made
    with monkeypatch.context() as without:
        without.setattr("subprocess.Popen", None)
        assert BrowserScript().text == made
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/none")  # not writable
    assert BrowserScript().text == made


def test_specifications_are_plain_json() -> None:
    for each in RUN_FIGURES.values():
        spec = each.make([recorded()])
        assert json.loads(json.dumps(spec)) == spec


def test_a_figure_of_a_recording_shows_itself_in_a_notebook(tmp_path: Path) -> None:
    path = write_trace(tmp_path / "made.ompass", made_traces.Schedule((Spawn((Work(500),), 2), Wait()), 2, 0))
    recording = open_recording(path)
    shown = recording.figure("schedule")._repr_mimebundle_()
    assert shown["image/svg+xml"].startswith("<svg")
    assert "data:image/svg+xml" in recording._repr_html_()
    with pytest.raises(UsageError, match="choose one of breakdown"):
        recording.figure("nothing")
