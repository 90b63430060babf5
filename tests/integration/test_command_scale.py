# SPDX-License-Identifier: Apache-2.0
"""`ompass scale` on programs with one known disease: the right one is named, and a killed sweep goes on."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from toolchains import CompileProgram, Toolchain, neutral_environment

PATIENCE_S = 60
N_TRIES = 3
SECONDS = r"seconds ([0-9.]+)"


@pytest.fixture(scope="module")
def program(compile_program: CompileProgram, default_toolchain: Toolchain) -> Path:
    return compile_program("scaling/diseases.c", default_toolchain)


@pytest.fixture
def environment(libompass: Path, default_toolchain: Toolchain, tmp_path: Path) -> dict[str, str]:
    return {
        **neutral_environment(),
        "OMPASS_LIBRARY": str(libompass),
        "LD_LIBRARY_PATH": str(default_toolchain.runtime_dir),
        "RUNS_LOG": str(tmp_path / "runs.log"),
    }


def ompass(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "ompass", *(str(a) for a in arguments)]


def call(
    environment: dict[str, str], cwd: Path, *arguments: object, status: int = 0
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        ompass(*arguments), env=environment, cwd=cwd, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == status, done.stderr + done.stdout
    return done


def runs_in(environment: dict[str, str]) -> list[str]:
    log = Path(environment["RUNS_LOG"])
    return log.read_text(encoding="utf-8").splitlines() if log.exists() else []


def sweep(environment: dict[str, str], cwd: Path, name: str, *arguments: object) -> dict[str, Any]:
    done = call(environment, cwd, "scale", "-t", "1,2", "-o", f"{name}.sweep", "--json", *arguments)
    report: dict[str, Any] = json.loads(done.stdout)
    return report


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="two threads need two CPUs")
@pytest.mark.parametrize(
    ("disease", "verdict"),
    [("fine", "too_fine"), ("coarse", "too_coarse"), ("memory", "memory_bound"), ("none", "scales")],
)
def test_the_disease_of_a_program_is_named(
    disease: str, verdict: str, program: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    # A sweep whose CPUs were used by others says so, and is made again.
    give_up_s = time.monotonic() + PATIENCE_S
    n_misses = 0
    while True:
        name = f"{disease}-{time.monotonic_ns()}"
        report = sweep(
            environment, tmp_path, name, "--baseline", f"{program} {disease} serial", "--seconds", SECONDS,
            "--", program, disease,
        )  # fmt: skip
        found = report["verdict"]
        if found["kind"] == verdict:
            break
        n_misses += report["points"][-1]["others_share"] < 0.02
        assert n_misses < N_TRIES, found
        assert time.monotonic() < give_up_s, f"disturbed all the time: {found}"
    point = report["points"][-1]
    assert point["speedup"] == pytest.approx(2 / (point["ovr"] * point["wti"]))
    if disease == "coarse":
        assert point["idle_ns"] == pytest.approx(30e6, rel=0.3)
        assert "main" in found["place"]
    if disease == "memory":
        task = point["constructs"][0]
        assert task["same_work"]
        assert (task["kind"], Path(task["file"]).name) == ("task", "diseases.c")
        assert task["factor"] > 1.2


def test_a_killed_sweep_loses_nothing_and_repeats_nothing(
    program: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    command = ("scale", "-t", "1,2", "--repeat", 4, "-o", "s.sweep", "--json", "--", program, "none")
    n_jobs = 8
    first = subprocess.Popen(
        ompass(*command), env=environment, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True,
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
    # every job once, and the one that was killed once more
    assert n_jobs <= len(runs_in(environment)) <= n_jobs + 1
    assert sum(p["rounds"] + p["rounds_left_out"] for p in report["points"]) == n_jobs
    again = call(environment, tmp_path, "scale", "-o", "s.sweep", "--json")
    assert json.loads(again.stdout) == report
    assert len(runs_in(environment)) <= n_jobs + 1


def test_a_program_that_fails_is_told_and_can_be_gone_on_with(
    program: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    script = tmp_path / "fails.sh"
    script.write_text(f'#!/bin/sh\ntest -e ok || {{ echo no luck; exit 7; }}\nexec {program} "$@"\n')
    script.chmod(0o755)
    command = ("scale", "-t", "2", "--repeat", 1, "--", "./fails.sh", "none")
    done = call(environment, tmp_path, *command, status=9)
    assert "exited with 7: it printed: no luck" in done.stderr
    (tmp_path / "ok").touch()
    assert "Factored speed-up" in call(environment, tmp_path, *command).stdout


def test_threads_in_arguments_are_replaced_and_one_thread_is_measured_for_each(
    program: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    script = tmp_path / "by_threads.sh"
    script.write_text(f'#!/bin/sh\necho "$1" "$OMP_NUM_THREADS" >> seen\nexec {program} none\n')
    script.chmod(0o755)
    report = sweep(environment, tmp_path, "p", "--repeat", 1, "--", script, "{threads}")
    seen = (tmp_path / "seen").read_text(encoding="utf-8").split("\n")[:-1]
    assert sorted(seen) == ["1 1", "2 1", "2 2"]
    assert [p["threads"] for p in report["points"]] == [1, 2]


def test_every_form_of_the_report_says_the_same(
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
    page = call(environment, tmp_path, "scale", "-o", "f.sweep").stdout
    assert f"{report['points'][-1]['speedup']:.2f}" in page
    assert "T_1 leaves the cost of queues out" in page


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--", "./x"), "--threads"),
        (("-t", "0", "--", "./x"), "no list of numbers"),
        (("-t", "2", "--seconds", "abc", "--", "./x"), "one group"),
        (("-t", "2", "--baseline", "a 'b", "--", "./x"), "quotes closed"),
        ((), "neither a program nor a sweep"),
        (("-o", "none.sweep"), "no sweep is there"),
    ],
)
def test_wrong_usage_is_one_line(
    arguments: tuple[str, ...], complaint: str, environment: dict[str, str], tmp_path: Path
) -> None:
    done = call(environment, tmp_path, "scale", *arguments, status=2)
    assert complaint in done.stderr
    assert done.stderr.count("\n") == 1
