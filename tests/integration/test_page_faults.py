# SPDX-License-Identifier: Apache-2.0
"""Page faults and system time of programs that touch a known number of fresh pages in known regions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command import ompass
from ompass import _core
from recorded_run import OUTSIDE, check_accounts_agree, check_sound
from toolchains import CompileProgram, RunRecorded, Toolchain

PAGES = 20_000


def compiled(compile_program: CompileProgram, toolchain: Toolchain) -> Path:
    return compile_program("processor/touches.c", toolchain, opt_level="-O1")


def regions_in_order(profile: _core.Run) -> list[list[_core.RegionRow]]:
    """Returns a list of rows for each parallel construct, in the order of first execution."""
    numbers = sorted({row.construct for row in profile.regions} - {OUTSIDE})
    return [[row for row in profile.regions if row.construct == number] for number in numbers]


@pytest.mark.parametrize("mode", ["profile", "trace"])
def test_faults_belong_to_the_region_and_thread_that_touched_the_page(
    toolchain: Toolchain, compile_program: CompileProgram, run_recorded: RunRecorded, mode: str
) -> None:
    program = compiled(compile_program, toolchain)
    recorded = run_recorded(program, toolchain, str(PAGES), mode=mode)
    profile = check_sound(recorded.run_dir)
    first, second = regions_in_order(profile)
    n_threads = len(first)
    for row in first:
        assert row.n_minor_faults == pytest.approx(PAGES / n_threads, rel=0.01), row
        assert 0 <= row.n_major_faults < 10  # pages of code that the kernel had not yet read
        # The kernel measures a thread's time exactly, but estimates how much of it is system time.
        assert 0 < row.system_ns <= 1.05 * row.total_ns
    assert all(0 <= row.n_minor_faults < 0.01 * PAGES for row in second)
    (serial,) = (row for row in profile.regions if row.construct == OUTSIDE)
    assert serial.n_minor_faults == pytest.approx(PAGES, rel=0.01)
    for thread in profile.threads:
        rows = [row for row in profile.regions if row.thread == thread.thread]
        assert thread.n_minor_faults >= sum(row.n_minor_faults for row in rows)
        assert thread.n_minor_faults == pytest.approx(
            (thread.thread == 0) * PAGES + PAGES / n_threads, rel=0.02
        )
        assert thread.system_ns >= sum(row.system_ns for row in rows)
    if mode == "trace":
        check_accounts_agree(profile, _core.replay_trace(str(recorded.run_dir)))


@pytest.mark.parametrize("mode", ["profile", "trace"])
def test_faults_in_a_pause_do_not_count(
    default_toolchain: Toolchain, compile_program: CompileProgram, run_recorded: RunRecorded, mode: str
) -> None:
    program = compiled(compile_program, default_toolchain)
    recorded = run_recorded(program, default_toolchain, str(PAGES), "pause", mode=mode)
    profile = _core.read_profile(str(recorded.run_dir))
    faults = [sum(row.n_minor_faults for row in rows) for rows in regions_in_order(profile)]
    assert max(faults) == pytest.approx(PAGES, rel=0.01)
    assert sum(faults) == pytest.approx(PAGES, rel=0.03)


def test_the_report_states_faults_of_the_regions(
    default_toolchain: Toolchain, compile_program: CompileProgram, run_recorded: RunRecorded
) -> None:
    recorded = run_recorded(compiled(compile_program, default_toolchain), default_toolchain, str(PAGES))
    report = json.loads(ompass("report", recorded.run_dir, "--json").stdout)
    assert report["system_use"]["minor_faults"] == pytest.approx(PAGES, rel=0.02)
    assert max(region["system_use"]["minor_faults"] for region in report["regions"]) == pytest.approx(
        PAGES, rel=0.01
    )
    assert 0 < report["system_use"]["system_ns"] <= report["thread_time_ns"]


def test_faults_are_unknown_if_processor_times_are_not_recorded(
    default_toolchain: Toolchain, compile_program: CompileProgram, run_recorded: RunRecorded
) -> None:
    program = compiled(compile_program, default_toolchain)
    recorded = run_recorded(program, default_toolchain, "100", environment={"OMPASS_CPU": "off"})
    profile = check_sound(recorded.run_dir)
    use = [(row.n_minor_faults, row.n_major_faults, row.system_ns) for row in profile.regions]
    use += [(row.n_minor_faults, row.n_major_faults, row.system_ns) for row in profile.threads]
    assert use
    assert set(use) == {(-1, -1, -1)}
