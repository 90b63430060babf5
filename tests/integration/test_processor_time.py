# SPDX-License-Identifier: Apache-2.0
"""Running, preempted and blocked time: exact sums, and programs that sleep for known times.

No test here depends on how often the machine preempts a thread.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from command import ompass
from ompass import _core
from ompass.system import step_ns, stolen_ns
from recorded_run import check_accounts_agree, check_sound, run_directories
from toolchains import CompileProgram, Record, RunRecorded, Toolchain

SLEEPS = "processor/sleeps.c"
AROUND_NS = 5_000_000  # to enter and leave the region on a busy machine
PASSIVE = {"OMP_WAIT_POLICY": "passive", "KMP_BLOCKTIME": "0"}


@pytest.fixture(scope="module")
def sleeps(compile_program: CompileProgram) -> Path:
    return compile_program(SLEEPS, opt_level="-O1")


def report_of(run_dir: Path, *options: str) -> dict[str, Any]:
    answer = ompass("report", str(run_dir), "--json", *options)
    report: dict[str, Any] = json.loads(answer.stdout)
    return report


def objects_with_states(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        if "thread_time_ns" in value and "idle_ns" in value:
            yield value
        for part in value.values():
            yield from objects_with_states(part)
    elif isinstance(value, list):
        for part in value:
            yield from objects_with_states(part)


def running_ns_by_tid(stdout: str) -> dict[int, int]:
    """Returns each thread's processor time in the region, as the program measured it with getrusage."""
    return {int(tid): int(ns) for tid, ns in re.findall(r"THREAD tid=(\d+) running_ns=(\d+)", stdout)}


def stolen_so_far_ns() -> int:
    """Returns the host's steal time so far. The tool counts it as running, getrusage does not."""
    return stolen_ns(os.sched_getaffinity(0)) or 0


def check_running(running_ns: int, known_ns: int, stolen: int, within_ns: float) -> None:
    most_stolen = stolen + step_ns() if stolen else 0  # the kernel reports steal time in whole steps
    assert known_ns - within_ns <= running_ns <= known_ns + most_stolen + within_ns


def check_sums(report: dict[str, Any], source: str = "switches") -> None:
    found = list(objects_with_states(report))
    assert len(found) >= 4  # the run, its threads, and regions
    for part in found:
        cpu = dict(part["cpu"])
        assert cpu.pop("source") == source
        assert cpu.keys() == {"running_ns", "preempted_ns", "blocked_ns"}
        assert sum(cpu.values()) == part["thread_time_ns"]
        assert min(cpu.values()) >= 0
        if source == "switches":
            assert sum(part["work_cpu"].values()) == part["work_ns"]
            assert all(0 <= ns <= cpu[name] for name, ns in part["work_cpu"].items())
        else:
            assert part["work_cpu"] is None


@pytest.mark.parametrize("mode", ["profile", "trace"])
def test_parts_of_thread_time_add_up_exactly(
    sleeps: Path, default_toolchain: Toolchain, run_recorded: RunRecorded, mode: str
) -> None:
    recorded = run_recorded(sleeps, default_toolchain, "1000", "40", mode=mode)
    check_sound(recorded.run_dir)
    for scope in ("regions", "program"):
        check_sums(report_of(recorded.run_dir, "--scope", scope))
    report = report_of(recorded.run_dir)
    (tasks,) = report["constructs"]
    assert sum(tasks["work_cpu"].values()) == tasks["work_ns"]
    assert tasks["work_cpu"]["blocked_ns"] >= 40 * 1_000_000  # each of the 40 tasks slept for 1 ms
    if mode == "trace":
        profile, replay = _core.read_profile(str(recorded.run_dir)), _core.replay_trace(str(recorded.run_dir))
        check_accounts_agree(profile, replay)
        check_sums(report_of(recorded.run_dir, "--from", "events"))


def test_running_time_matches_getrusage_within_2_percent(
    sleeps: Path, default_toolchain: Toolchain, run_recorded: RunRecorded
) -> None:
    stolen_before = stolen_so_far_ns()
    recorded = run_recorded(sleeps, default_toolchain, "2000", "100", environment=PASSIVE)
    stolen = stolen_so_far_ns() - stolen_before
    known = running_ns_by_tid(recorded.process.stdout)
    profile = _core.read_profile(str(recorded.run_dir))
    tids = {thread.thread: thread.tid for thread in profile.threads}
    (share,) = report_of(recorded.run_dir)["regions"]
    assert {tids[thread["thread"]] for thread in share["thread_breakdown"]} == known.keys()
    for thread in share["thread_breakdown"]:
        known_ns = known[tids[thread["thread"]]]
        check_running(thread["cpu"]["running_ns"], known_ns, stolen, max(0.02 * known_ns, AROUND_NS))


def test_tasks_that_sleep_half_their_time_are_blocked_half(
    sleeps: Path, default_toolchain: Toolchain, run_recorded: RunRecorded
) -> None:
    stolen_before = stolen_so_far_ns()
    recorded = run_recorded(sleeps, default_toolchain, "5000", "60")
    stolen = stolen_so_far_ns() - stolen_before
    (tasks,) = report_of(recorded.run_dir)["constructs"]
    cpu = tasks["work_cpu"]
    computed_ns = 60 * 5_000_000
    check_running(cpu["running_ns"], computed_ns, stolen, 0.02 * computed_ns)
    asleep = re.search(r"ASLEEP ns=(\d+)", recorded.process.stdout)
    assert asleep is not None
    # On a busy machine, a woken thread waits for a processor. The program's clock includes this time.
    assert cpu["blocked_ns"] == pytest.approx(int(asleep[1]), rel=0.03)


def test_lost_records_leave_the_running_time_exact(
    sleeps: Path, default_toolchain: Toolchain, run_recorded: RunRecorded
) -> None:
    recorded = run_recorded(sleeps, default_toolchain, "100", "2", "4000", mode="trace", environment=PASSIVE)
    profile = check_sound(recorded.run_dir)
    assert sum(thread.n_lost_switches for thread in profile.threads) > 0
    report = report_of(recorded.run_dir)
    check_sums(report)
    known_ns = sum(running_ns_by_tid(recorded.process.stdout).values())
    assert report["cpu"]["running_ns"] == pytest.approx(known_ns, rel=0.05)
    assert report["work_cpu"]["blocked_ns"] > 4000 * 100_000
    check_accounts_agree(profile, _core.replay_trace(str(recorded.run_dir)))


def test_a_clock_replaces_records_that_are_too_frequent(record: Record) -> None:
    recorded = record(
        "processor/yields.c", "3000", "100", opt_level="-O1", threads=3, mode="trace", environment=PASSIVE
    )
    switches = re.findall(r"switches=(\d+) ns=(\d+)", recorded.process.stdout)
    # If other programs run, a thread that yields is off-CPU for milliseconds, so switches are rare.
    is_frequent = min(int(n) * 1e9 / int(ns) for n, ns in switches) > 20_000
    profile = check_sound(recorded.run_dir)
    recorded_ns = sum(thread.last_ns - thread.first_ns for thread in profile.threads)
    by_clock_ns = sum(thread.by_clock_ns for thread in profile.threads)
    assert (recorded_ns / 2 if is_frequent else 0) <= by_clock_ns < recorded_ns
    report = report_of(recorded.run_dir)
    check_sums(report)
    known = running_ns_by_tid(recorded.process.stdout)
    tids = {thread.thread: thread.tid for thread in profile.threads}
    (share,) = report["regions"]
    for thread in share["thread_breakdown"]:
        # The kernel counts a part of each switch as the thread's time. Its records exclude that part.
        assert thread["cpu"]["running_ns"] == pytest.approx(known[tids[thread["thread"]]], rel=0.1)
    # A task that yields is preempted, not blocked: its thread could have run.
    assert report["work_cpu"]["preempted_ns"] > 0.4 * report["work_ns"]
    assert report["work_cpu"]["blocked_ns"] < 0.1 * report["work_ns"]
    check_accounts_agree(profile, _core.replay_trace(str(recorded.run_dir)))
    # A sample costs as much as a record of a switch, so sampling stops when these records stop.
    if is_frequent:
        assert report["samples"]["samples"] < 0.5 * report["work_cpu"]["running_ns"] / 10_000_000


def test_threads_that_wait_for_each_other_are_not_preempted_in_their_work(record: Record) -> None:
    n_threads = 4 * len(os.sched_getaffinity(0))  # so many that waiting threads yield immediately
    recorded = record("processor/meetings.c", "400", "20000", opt_level="-O1", threads=n_threads)
    assert sum(thread.by_clock_ns for thread in check_sound(recorded.run_dir).threads) > 0
    report = report_of(recorded.run_dir)
    check_sums(report)
    computed = re.search(r"COMPUTED ns=(\d+)", recorded.process.stdout)
    assert computed is not None
    assert report["work_cpu"]["running_ns"] == pytest.approx(int(computed[1]), rel=0.1)


def test_processor_times_are_unknown_if_switched_off(
    sleeps: Path, default_toolchain: Toolchain, run_recorded: RunRecorded
) -> None:
    recorded = run_recorded(sleeps, default_toolchain, "100", "5", environment={"OMPASS_CPU": "off"})
    for part in objects_with_states(report_of(recorded.run_dir)):
        assert part["cpu"] is None
        assert part["work_cpu"] is None


def test_the_child_of_a_fork_records_its_own_switches(record: Record) -> None:
    recorded = record("kinds/fork_openmp.c", opt_level="-O0", mode="trace")
    directories = run_directories(recorded.run_dir.parent)
    assert len(directories) == 2
    for directory in directories:
        check_sound(directory)
        check_sums(report_of(directory))


def test_the_tool_uses_no_descriptor_that_the_program_expects(
    compile_program: CompileProgram, default_toolchain: Toolchain, run_recorded: RunRecorded
) -> None:
    program = compile_program("processor/descriptors.c", default_toolchain, opt_level="-O0")
    recorded = run_recorded(program, default_toolchain, threads=4)
    alone = subprocess.run(
        [program],
        env=default_toolchain.run_environment({"OMP_NUM_THREADS": "4"}),
        capture_output=True,
        text=True,
        check=True,
    )
    assert recorded.process.stdout == alone.stdout
    profile = _core.read_profile(str(recorded.run_dir))
    assert {thread.cpu_source for thread in profile.threads} == {"switches"}


def test_clocks_replace_forbidden_records(record: Record, sleeps: Path) -> None:
    recorded = record(
        "processor/forbidden.c", str(sleeps), "5000", "60", opt_level="-O0", environment=PASSIVE
    )
    profile = check_sound(recorded.run_dir)
    assert {thread.cpu_source for thread in profile.threads} == {"clocks"}
    known = running_ns_by_tid(recorded.process.stdout)
    for scope in ("regions", "program"):
        report = report_of(recorded.run_dir, "--scope", scope)
        check_sums(report, "clocks")
    tids = {thread.thread: thread.tid for thread in profile.threads}
    (region,) = report["regions"]
    for thread in region["thread_breakdown"]:
        assert thread["cpu"]["running_ns"] == pytest.approx(
            known[tids[thread["thread"]]], rel=0.02, abs=AROUND_NS
        )
    assert region["cpu"]["blocked_ns"] >= 60 * 5_000_000
    (remark,) = [finding for finding in report["findings"] if finding["kind"] == "cpu_from_clocks"]
    assert "perf_event_open" in remark["because"]


def test_a_killed_program_keeps_its_processor_times(sleeps: Path, record: Record) -> None:
    recorded = record("processor/shares.c", "1000000", "20", "kill", opt_level="-O1", check=False)
    assert recorded.process.returncode == -signal.SIGKILL
    report = report_of(recorded.run_dir)
    check_sums(report)
    assert report["work_cpu"]["running_ns"] > 0


def test_a_pause_is_not_off_cpu_time(record: Record) -> None:
    recorded = record("processor/shares.c", "1000000", "20", "pause", opt_level="-O1", mode="trace")
    assert not _core.validate(str(recorded.run_dir))
    for scope in ("regions", "program"):
        check_sums(report_of(recorded.run_dir, "--scope", scope))
    profile = _core.read_profile(str(recorded.run_dir))
    assert profile.wall_ns < 10**9 * 60
    outside = next(row for row in profile.regions if row.construct == -1 and row.thread == 0)
    assert outside.blocked_ns < 900_000_000  # the thread slept for a second in the pause
