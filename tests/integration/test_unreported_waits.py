# SPDX-License-Identifier: Apache-2.0
"""Waits in the runtime that OMPT does not report: the tool counts them as sync at their line, not as work.

The programs measure each wait themselves. The last test checks a few kinds of wait that OMPT does report.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

import pytest

from marked_programs import in_a_calm_moment, lines_of
from ompass import _core
from ompass.reports.content import collect
from ompass.reports.model import plain
from ompass.reports.run import run_report
from recorded_run import OUTSIDE, check_accounts_agree, check_sound
from toolchains import CompileProgram, RunRecorded, Toolchain

LATE_NS = 30_000_000
ERROR_NS = 2_000_000  # a thread may be preempted between its clock and the call
MODES = pytest.mark.parametrize("mode", ["profile", "trace"])


class Seen:
    """A recording of one wait: its report, and the wait's length as the program measured it."""

    def __init__(self, source: str, kind: str, run_dir: Path, mode: str, stdout: str) -> None:
        (line,) = (line for line in stdout.splitlines() if line.startswith("WAITED "))
        self.waited_ns, self.waited_cpu_ns = (int(pair.split("=")[1]) for pair in line.split()[1:])
        profile = check_sound(run_dir)
        if mode == "trace":
            check_accounts_agree(profile, _core.replay_trace(str(run_dir)))
        self.report: dict[str, Any] = plain(run_report(collect(profile)))
        self.rows = [row for row in profile.regions if row.construct != OUTSIDE]
        self.lines = lines_of(source)
        self.waits = [wait for wait in self.report["waits"] if wait["kind"].endswith(kind)]

    def check(self, state: str) -> None:
        """Checks that the wait has its measured length in this state, and that only the known spin is work.

        If the waiting thread polls, the time that it is off-CPU between two calls counts as work.
        """
        polls = self.waits[0]["kind"] == "taskyield"
        away_ns = sum(row.work_preempted_ns + row.work_blocked_ns for row in self.rows)
        lost_ns = self.waited_ns - self.waited_cpu_ns if polls else 0
        wait = max(self.waits, key=lambda wait: wait["wait_ns"])
        assert self.waited_ns >= LATE_NS // 4
        assert wait[f"{state}_ns"] >= self.waited_ns - max(away_ns, lost_ns) - ERROR_NS
        assert sum(row.work_ns for row in self.rows) - away_ns <= LATE_NS + lost_ns + ERROR_NS


class InRegion(Protocol):
    """The type of the fixture `in_region`."""

    def __call__(self, what: str, kind: str, mode: str, source: str = "waits/unreported.c") -> Seen: ...


@pytest.fixture
def in_region(toolchain: Toolchain, compile_program: CompileProgram, run_recorded: RunRecorded) -> InRegion:
    """Returns a function that records one case of a program, and returns its waits of one kind."""

    def record(what: str, kind: str, mode: str, source: str = "waits/unreported.c") -> Seen:
        program = compile_program(source, toolchain, opt_level="-O0")
        run = run_recorded(program, toolchain, what, mode=mode, preload=True)
        return Seen(source, kind, run.run_dir, mode, run.process.stdout)

    return record


@MODES
@pytest.mark.parametrize(
    ("what", "finding"), [("doacross", "iteration_order"), ("taskyield", "busy_waiting")]
)
def test_a_wait_that_ompt_does_not_report_is_sync_at_its_line(
    what: str, finding: str, toolchain: Toolchain, mode: str, in_region: InRegion
) -> None:
    def check(seen: Seen) -> None:
        seen.check("sync")
        (wait,) = seen.waits
        assert wait["line"] == seen.lines[what] or toolchain.name.startswith("gcc")
        assert sum(row.lock_ns for row in seen.rows) == wait["sync_ns"]
        if what == "taskyield":  # thousands of consecutive calls are one wait
            assert wait["count"] < seen.waited_ns // 10_000
        kinds = {found["kind"] for found in seen.report["findings"]}
        assert kinds & {finding, "disturbed"}  # on a busy machine, the report does not judge waits

    in_a_calm_moment(lambda: in_region(what, what, mode), check)


@pytest.mark.parametrize("what", ["doacross", "taskyield"])
def test_an_unreported_wait_in_fortran_is_sync(what: str, toolchain: Toolchain, in_region: InRegion) -> None:
    if toolchain.fc is None or (what == "doacross" and "flang" in toolchain.fc):
        return
    in_a_calm_moment(
        lambda: in_region(what, what, "trace", "waits/unreported.F90"), lambda seen: seen.check("sync")
    )


@MODES
@pytest.mark.parametrize(
    ("what", "kind", "state"),
    [("copyprivate", "barrier", "wait"), ("helper", "taskwait", "idle"), ("reduction", "critical", "sync")],
)
def test_waits_for_copied_values_helper_threads_and_reductions_are_reported(
    what: str, kind: str, state: str, toolchain: Toolchain, mode: str, in_region: InRegion
) -> None:
    if what == "helper" and toolchain.name in ("gcc-12-libomp-19", "clang-19-libiomp5"):  # no helper threads
        return
    if toolchain.name.startswith("gcc"):
        kind = {"critical": "atomic"}.get(kind, kind)
    in_a_calm_moment(lambda: in_region(what, kind, mode), lambda seen: seen.check(state))
