# SPDX-License-Identifier: Apache-2.0
"""Random sequences of OMPT events, which a simulated runtime (tests/events) reports to libompass.so.

Existing runtimes use only some of these orders. They report no free agents (threads outside of the team that
run its tasks), and no numbers that OMPT does not define yet. tests/benchmarks/event_sequences.py plays 20,000
sequences.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

import toolchains
from ompass.metrics.waits import loop_totals, wait_totals
from ompass.model import loop_kind, wait_kind
from ompass.readers.run import find_problems, open_run

PLAYER = toolchains.BUILD / "bin" / "ompass-events"


def play(library: Path, folder: Path, *arguments: str) -> dict[str, Any]:
    """Plays sequences; returns the player's JSON result, which lists the failures."""
    if not PLAYER.is_file():
        pytest.fail(f"{PLAYER} is not built: ./run test builds it")
    done = subprocess.run(
        [PLAYER, "--library", library, "--directory", folder, *arguments],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def test_events_in_the_order_of_libomp_are_counted_exactly(libompass: Path, tmp_path: Path) -> None:
    result = play(libompass, tmp_path, "--kind", "usual", "--sequences", "100", "--batch", "25")
    assert result["failures"] == []


def test_any_legal_order_of_events_is_counted_exactly(libompass: Path, tmp_path: Path) -> None:
    result = play(libompass, tmp_path, "--kind", "conforming", "--sequences", "300", "--batch", "50")
    assert result["failures"] == []


def test_threads_that_report_at_once_are_counted_exactly(libompass: Path, tmp_path: Path) -> None:
    result = play(
        libompass, tmp_path, "--kind", "conforming", "--sequences", "100", "--batch", "50", "--at-once"
    )
    assert result["failures"] == []


def test_unspecified_numbers_do_not_change_counts(libompass: Path, tmp_path: Path) -> None:
    result = play(libompass, tmp_path, "--kind", "unknown", "--sequences", "200", "--batch", "50")
    assert result["failures"] == []


def test_events_that_contradict_each_other_do_not_crash_the_tool(libompass: Path, tmp_path: Path) -> None:
    result = play(
        libompass, tmp_path, "--kind", "disturbed", "--sequences", "200", "--batch", "20", "--mode", "profile"
    )
    assert result["failures"] == []


# 501318: starts a task with the data of an implicit task that has ended.
@pytest.mark.parametrize("seed", [501318])
def test_a_contradiction_that_once_broke_the_trace_does_not_break_it(
    libompass: Path, tmp_path: Path, seed: int
) -> None:
    result = play(
        libompass, tmp_path, "--kind", "disturbed", "--mode", "trace", "--first", str(seed),
        "--sequences", "1", "--batch", "1",
    )  # fmt: skip
    assert result["failures"] == []


def test_unknown_kinds_are_shown_as_numbers(libompass: Path, tmp_path: Path) -> None:
    play(libompass, tmp_path, "--kind", "unknown", "--sequences", "100", "--batch", "100", "--keep")
    (directory,) = tmp_path.glob("events-*/run.ompass")
    assert find_problems(directory) == []
    run = open_run(directory)
    kinds = {wait.kind for wait in wait_totals(run)} | {loop.kind for loop in loop_totals(run)}
    assert {"sync region 11", "sync region 300", "mutex 8", "mutex 200", "work 31", "work 77"} <= kinds


def test_names_of_unknown_kinds_contain_their_numbers() -> None:
    assert [wait_kind(5), wait_kind(11), wait_kind(556)] == [
        "taskwait",
        "sync region 11",
        "sync region 300",
    ]
    assert [wait_kind(128 | 9), wait_kind((1 << 25) | (256 + 200))] == ["mutex 9", "mutex 200"]
    assert [loop_kind(9), loop_kind(31), loop_kind(256 + 77)] == ["workdistribute", "work 31", "work 77"]
