# SPDX-License-Identifier: Apache-2.0
"""The interval at which `ompass top` reads the run, and its wait for the run of a program that it starts."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from ompass.commands import top
from ompass.errors import CannotRecordError
from ompass.launch.rank_start import LAUNCH
from ompass.live.watch import Used, until_next_s, used


def after_a_second(idle_s: float, own_s: float, asked_s: float = 1.0, n_processors: int = 2) -> float:
    before = Used(100.0, 5.0, 1000.0, n_processors)
    now = Used(101.0, 5.0 + own_s, 1000.0 + n_processors - idle_s, n_processors)
    return until_next_s(before, now, asked_s)


def test_top_reads_at_the_requested_interval_while_a_processor_is_free() -> None:
    assert after_a_second(idle_s=0.6, own_s=0.1) == 1.0


@pytest.mark.parametrize(("n_processors", "wait_s"), [(1, 5.0), (2, 2.5), (4, 1.25), (128, 1.0)])
def test_without_a_free_processor_reading_takes_a_small_share_of_all_processors(
    n_processors: int, wait_s: float
) -> None:
    assert after_a_second(0.1, 0.01, n_processors=n_processors) == pytest.approx(wait_s)


def test_the_interval_is_at_most_ten_seconds_or_the_requested_one() -> None:
    assert after_a_second(0.1, 1.0) == 10.0
    assert after_a_second(0.1, 1.0, asked_s=20.0) == 20.0


def test_an_unknown_idle_time_counts_as_no_free_processor() -> None:
    before, now = Used(100.0, 5.0, None, 2), Used(101.0, 5.01, None, 2)
    assert until_next_s(before, now, 1.0) == pytest.approx(2.5)


def test_used_times_only_grow() -> None:
    before = used()
    while time.process_time() < before.own_s + 0.02:
        pass
    now = used()
    assert now.own_s - before.own_s >= 0.02
    assert now.at_s > before.at_s
    assert before.busy_s is not None
    assert now.busy_s is not None
    assert now.busy_s >= before.busy_s > 0


class FakeProgram:
    """An `ompass run` whose program first uses OpenMP at the third poll, while an older run exists."""

    pid = 4711
    returncode = 0

    def __init__(self, command: list[str], **options: Any) -> None:
        self.pattern = Path(command[command.index("-o") + 1])
        self.launch = f"{options['env'][LAUNCH]}/own"
        self.n_polls = 0

    def poll(self) -> int | None:
        self.n_polls += 1
        if self.n_polls == 3:
            record(self.pattern.with_name("q-7-2.ompass"), self.launch)
        return 0 if self.n_polls > 3 else None

    def wait(self) -> None:
        return


def record(path: Path, launch: str) -> None:
    path.mkdir()
    meta = {"pid": 7, "environment": {LAUNCH: launch}}
    (path / "meta.json").write_text(json.dumps(meta), encoding="utf-8")
    (path / "process.log").touch()


@pytest.mark.parametrize("pattern", ["q-7.ompass", "q-%p.ompass"])
def test_top_waits_for_the_run_of_its_own_launch(
    pattern: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    record(tmp_path / "q-7.ompass", "earlier")
    shown: list[Path] = []
    monkeypatch.setattr(subprocess, "Popen", FakeProgram)
    monkeypatch.setattr(top, "_show", shown.extend)
    monkeypatch.setattr(top, "_PATIENCE_S", 0.0)
    monkeypatch.setattr(top, "_LOOK_S", 0.0)
    top._start_and_show(["./q"], str(tmp_path / pattern))
    assert shown == [tmp_path / "q-7-2.ompass"]
    assert capfd.readouterr().err.count("waiting until the program uses OpenMP") == 1


def test_top_reports_a_program_that_ends_without_openmp(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subprocess, "Popen", FakeProgram)
    monkeypatch.setattr(FakeProgram, "poll", lambda _: 0)
    with pytest.raises(CannotRecordError, match="ended before it used OpenMP"):
        top._start_and_show(["./q"], str(tmp_path / "q.ompass"))
