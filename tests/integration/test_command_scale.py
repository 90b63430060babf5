# SPDX-License-Identifier: Apache-2.0
"""Tests `ompass scale` as a command: it resumes sweeps, reports failures, and all forms of its report agree.

tests/unit (on recorded sweeps) and tests/slow (on real ones) test that it names the right disease.
"""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from command import call, command_line
from sweeps import sweep
from toolchains import CompileProgram, Toolchain, neutral_environment

PATIENCE_S = 60


@pytest.fixture(scope="module")
def program(compile_program: CompileProgram) -> Path:
    return compile_program("scaling/diseases.c")


@pytest.fixture
def environment(libompass: Path, default_toolchain: Toolchain, tmp_path: Path) -> dict[str, str]:
    return {
        **neutral_environment(),
        "OMPASS_LIBRARY": str(libompass),
        "LD_LIBRARY_PATH": str(default_toolchain.runtime_dir),
        "RUNS_LOG": str(tmp_path / "runs.log"),
    }


def runs_in(environment: dict[str, str]) -> list[str]:
    log = Path(environment["RUNS_LOG"])
    return log.read_text(encoding="utf-8").splitlines() if log.exists() else []


def test_a_killed_sweep_loses_nothing_and_repeats_nothing(
    program: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    command = ("scale", "-t", "1,2", "--repeat", 4, "-o", "s.sweep", "--json", "--", program, "none")
    n_jobs = 8
    first = subprocess.Popen(
        command_line(*command), env=environment, cwd=tmp_path,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    give_up_s = time.monotonic() + PATIENCE_S
    while len(runs_in(environment)) < 3 and time.monotonic() < give_up_s:
        time.sleep(0.005)
    os.killpg(first.pid, signal.SIGKILL)
    assert first.wait() == -signal.SIGKILL
    journal = tmp_path / "s.sweep" / "journal.jsonl"
    kept = journal.read_text(encoding="utf-8").splitlines()
    assert 2 <= len(kept) < n_jobs
    report = json.loads(call(environment, tmp_path, *command).stdout)
    lines = journal.read_text(encoding="utf-8").splitlines()
    assert lines[: len(kept)] == kept
    assert len(lines) == len(set(lines)) == n_jobs
    # Every job runs once; only the killed one may run twice.
    assert n_jobs <= len(runs_in(environment)) <= n_jobs + 1
    assert sum(p["rounds"] + p["rounds_left_out"] for p in report["points"]) == n_jobs
    again = call(environment, tmp_path, "scale", "-o", "s.sweep", "--json")
    assert json.loads(again.stdout) == report
    assert len(runs_in(environment)) <= n_jobs + 1


def test_a_failing_program_is_reported_and_the_sweep_can_be_resumed(
    program: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    script = tmp_path / "fails.sh"
    script.write_text(f'#!/bin/sh\ntest -e ok || {{ echo no luck; exit 7; }}\nexec {program} "$@"\n')
    script.chmod(0o755)
    command = ("scale", "-t", "2", "--repeat", 1, "--", "./fails.sh", "none")
    done = call(environment, tmp_path, *command, status=9)
    assert "exited with 7: it printed: no luck" in done.stderr
    (tmp_path / "ok").touch()
    assert "Factored speed-up" in call(environment, tmp_path, *command[:1], "--full", *command[1:]).stdout


def test_threads_in_arguments_are_replaced_and_each_command_also_runs_on_one_thread(
    program: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    script = tmp_path / "by_threads.sh"
    script.write_text(f'#!/bin/sh\necho "$1" "$OMP_NUM_THREADS" >> seen\nexec {program} none\n')
    script.chmod(0o755)
    report = sweep(environment, tmp_path, "p", "--repeat", 1, "--", script, "{threads}")
    seen = (tmp_path / "seen").read_text(encoding="utf-8").split("\n")[:-1]
    assert sorted(seen) == ["1 1", "2 1", "2 2"]
    assert [p["threads"] for p in report["points"]] == [1, 2]


def test_every_form_of_the_report_shows_the_same_figures(
    program: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    report = sweep(
        environment, tmp_path, "f", "--repeat", 2, "--unrecorded", "--elision", f"{program} none serial",
        "--", program, "none",
    )  # fmt: skip
    assert report["scope"] == "program"
    assert all(point["unrecorded"]["recording_cost"] > 0 for point in report["points"])
    assert all(point["curves"]["elision"] > 0 for point in report["points"])
    points = call(environment, tmp_path, "scale", "-o", "f.sweep", "--csv", "--svg", "f.svg").stdout
    rows = list(csv.DictReader(io.StringIO(points)))
    assert [float(row["speedup"]) for row in rows] == [point["speedup"] for point in report["points"]]
    constructs = call(
        environment, tmp_path, "scale", "-o", "f.sweep", "--csv", "--table", "constructs"
    ).stdout
    assert "diseases.c" in constructs
    picture = (tmp_path / "f.svg").read_text(encoding="utf-8")
    assert all(name in picture for name in ("idle-time specific", "serial elision", "schedule"))
    again = json.loads(call(environment, tmp_path, "report", "f.sweep", "--json").stdout)
    assert again["points"] == report["points"]
    compared = json.loads(call(environment, tmp_path, "compare", "f.sweep", "f.sweep", "--json").stdout)
    assert [one["threads_after"] for one in compared["compared"]] == [1, 2]
    for change in (change for one in compared["compared"] for change in one["changes"]):
        assert change["difference_ns"] == 0
        assert change["p_value"] in (1, None)
    mixed = call(environment, tmp_path, "compare", "f.sweep/runs", "f.sweep/runs", status=2)
    assert "not repeats of one measurement" in mixed.stderr
    brief = call({**environment, "COLUMNS": "80"}, tmp_path, "scale", "-o", "f.sweep").stdout
    assert f"{report['points'][-1]['speedup']:.2f}" in brief
    assert len(brief.splitlines()) <= 30
    assert brief.splitlines()[-2].split()[:4] == ["ompass", "scale", "-o", "f.sweep"]
    page = call(environment, tmp_path, "scale", "-o", "f.sweep", "--full").stdout
    assert f"{report['points'][-1]['speedup']:.2f}" in page
    assert "T_1 excludes the cost of queues" in " ".join(page.split())


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("-t", "0", "--", "./x"), "not a list of numbers"),
        (("-t", "2", "--seconds", "abc", "--", "./x"), "one group"),
        (("-t", "2", "--baseline", "a 'b", "--", "./x"), "quote it as for a shell"),
        ((), "neither a program nor a sweep"),
        (("-o", "none.sweep"), "no sweep to resume"),
    ],
)
def test_wrong_usage_is_reported_in_one_line(
    arguments: tuple[str, ...], complaint: str, environment: dict[str, str], tmp_path: Path
) -> None:
    done = call(environment, tmp_path, "scale", *arguments, status=2)
    assert complaint in done.stderr
    assert done.stderr.count("\n") == 1
