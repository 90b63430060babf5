# SPDX-License-Identifier: Apache-2.0
"""libomp's hidden helper threads, which run `target nowait` tasks, count neither in teams nor as idle."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from command import ompass
from recorded_run import check_sound, counted
from toolchains import Record, Toolchain

N_TASKS, N_TARGETS, N_HELPERS = 200, 20, 8  # counts of the program; libomp starts N_HELPERS helper threads
TEAM_SIZE = 2
LEAST_NS = N_TARGETS * 200_000  # least work of the target tasks
WITHOUT_HELPERS = {"LIBOMP_NUM_HIDDEN_HELPER_THREADS": "0"}

RecordWithHelpers = Callable[..., Path]


@pytest.fixture
def record_helpers(toolchain: Toolchain, record: Record) -> RecordWithHelpers:
    """Returns a function that records the program and returns the run directory.

    Skips runtimes without hidden helper threads.
    """
    if "libiomp5" in toolchain.name or toolchain.cc.startswith("gcc"):
        pytest.skip("Intel's team runs these tasks; libomp lacks the function that gcc's code calls")
    return lambda **options: record("kinds/helper_threads.c", toolchain=toolchain, **options).run_dir


def report_of(run_dir: Path) -> Any:
    return json.loads(ompass("report", run_dir, "--json").stdout)


def kinds(report: Any) -> set[str]:
    return {finding["kind"] for finding in report["findings"]}


@pytest.mark.parametrize("preload", [False, True], ids=["tool", "preload"])
@pytest.mark.parametrize("mode", ["profile", "trace"])
def test_helpers_count_neither_in_teams_nor_as_idle(
    mode: str, preload: bool, record_helpers: RecordWithHelpers
) -> None:
    run_dir = record_helpers(mode=mode, preload=preload)
    profile = check_sound(run_dir)
    helpers = {t.thread for t in profile.threads if t.kind == "helper"}
    assert len(helpers) == N_HELPERS
    assert counted(profile)["regions"] == 1
    assert not helpers & ({row.thread for row in profile.regions} | {row.thread for row in profile.waits})
    n_targets = counted(profile)["tasks"] - N_TASKS
    assert n_targets == sum(row.n_tasks for row in profile.helper_regions) == N_TARGETS

    report = report_of(run_dir)
    plain = report_of(record_helpers(mode=mode, preload=preload, environment=WITHOUT_HELPERS))
    for of_run in (report, plain):
        assert of_run["threads"] == TEAM_SIZE
        assert [region["max_team_size"] for region in of_run["regions"]] == [TEAM_SIZE]
        assert "too_coarse" not in kinds(of_run)
        assert of_run["thread_time_ns"] == pytest.approx(TEAM_SIZE * of_run["wall_ns"], abs=TEAM_SIZE)
        team = [t for t in of_run["thread_breakdown"] if t["kind"] != "helper"]
        assert len(team) == TEAM_SIZE
        assert of_run["idle_ns"] == sum(t["idle_ns"] for t in team)
    assert [t["kind"] for t in report["thread_breakdown"]].count("helper") == N_HELPERS

    assert "helpers" not in kinds(plain)
    (note,) = (finding for finding in report["findings"] if finding["kind"] == "helpers")
    assert f"{N_HELPERS} helper threads of the runtime ran {N_TARGETS} tasks" in note["because"]
    assert note["numbers"]["work_ns"] >= LEAST_NS


def test_other_commands_leave_helpers_out_too(record_helpers: RecordWithHelpers, tmp_path: Path) -> None:
    run_dir = record_helpers(mode="trace", preload=True)
    ompass("validate", run_dir)
    from_events = json.loads(ompass("report", run_dir, "--json", "--from", "events").stdout)
    assert from_events["threads"] == TEAM_SIZE
    info = json.loads(ompass("info", run_dir, "--json").stdout)
    assert [t["kind"] for t in info["threads"]].count("helper") == N_HELPERS
    simulated = json.loads(ompass("simulate", run_dir, "--json").stdout)
    assert simulated["recorded"]["threads"] == TEAM_SIZE
    graph = json.loads(ompass("graph", run_dir, "--json").stdout)
    assert sorted(group["n_tasks"] for group in graph["groups"]) == [1, TEAM_SIZE, N_TARGETS, N_TASKS]
    timeline = tmp_path / "timeline.pftrace"
    ompass("timeline", run_dir, "--perfetto", timeline)
    assert timeline.stat().st_size
