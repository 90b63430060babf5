# SPDX-License-Identifier: Apache-2.0
"""Tests the records of detached tasks: their region, the thread that fulfils their event, and its delay.

The program itself measures the delay of each event.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from marked_programs import in_a_calm_moment, lines_of
from ompass import _core
from ompass.reports.content import collect
from ompass.reports.model import plain
from ompass.reports.run import run_report
from recorded_run import OUTSIDE, check_accounts_agree, check_sound, task_rows
from toolchains import CompileProgram, RunRecorded, Toolchain

N_TASKS = 5
ERROR_NS = 1_000_000  # of a delay: the program reads the clock before the task's end and the fulfilment
SOURCE = "waits/detached.c"


class Seen:
    """A recording, and the delays of the events that the program measured."""

    def __init__(self, run_dir: Path, stdout: str, mode: str, *, outside: bool) -> None:
        (events,) = (line for line in stdout.splitlines() if line.startswith("EVENTS "))
        self.sum_ns, self.longest_ns = (int(pair.split("=")[1]) for pair in events.split()[1:])
        self.outside = outside
        self.profile = check_sound(run_dir)
        self.accounts = [self.profile]
        if mode == "trace":
            self.accounts.append(_core.replay_trace(str(run_dir)))
            check_accounts_agree(*self.accounts)

    def check_counts(self) -> None:
        n_tasks = N_TASKS if self.outside else N_TASKS + 1
        for account in self.accounts:
            assert sum(row.n_tasks for row in account.regions if row.construct != OUTSIDE) == n_tasks
            rows = task_rows(account)
            assert sum(row.n_completed for row in rows) == n_tasks
            assert sum(row.n_detached for row in rows) == N_TASKS
            assert sum(row.n_events_fulfilled for row in rows) == N_TASKS
            assert sum(row.n_events_outside for row in rows) == (N_TASKS if self.outside else 0)

    def check_times(self) -> None:
        for account in self.accounts:
            rows = task_rows(account)
            apart_ns = abs(sum(row.event_ns for row in rows) - self.sum_ns)
            assert apart_ns <= N_TASKS * ERROR_NS + self.sum_ns // 20
            apart_ns = abs(max(row.event_max_ns for row in rows) - self.longest_ns)
            assert apart_ns <= ERROR_NS + self.longest_ns // 20
        if self.outside:
            self.check_finding()

    def check_finding(self) -> None:
        report = plain(run_report(collect(self.profile)))
        (finding,) = [finding for finding in report["findings"] if finding["kind"] == "detached_events"]
        line = next(entry["line"] for entry in report["constructs"] if entry["id"] == finding["construct"])
        assert line == lines_of(SOURCE)["task"]
        assert finding["numbers"]["detached_tasks"] == finding["numbers"]["events_from_outside"] == N_TASKS
        assert "a thread outside of the team" in finding["because"]
        idle_ns = sum(row.idle_ns for row in self.profile.regions)
        assert 0.8 * idle_ns <= finding["cost_ns"] <= idle_ns


@pytest.mark.parametrize("mode", ["profile", "trace"])
@pytest.mark.parametrize("by", ["outside", "team"])
def test_a_detached_task_belongs_to_its_region_and_its_event_is_timed(
    toolchain: Toolchain, mode: str, by: str, compile_program: CompileProgram, run_recorded: RunRecorded
) -> None:
    if toolchain.name.startswith("gcc"):  # needs a symbol version of omp_fulfill_event that libomp lacks
        return
    program = compile_program(SOURCE, toolchain, opt_level="-O0")

    def recorded() -> Seen:
        run = run_recorded(program, toolchain, by, mode=mode, preload=True)
        seen = Seen(run.run_dir, run.process.stdout, mode, outside=by == "outside")
        seen.check_counts()
        return seen

    in_a_calm_moment(recorded, Seen.check_times)
