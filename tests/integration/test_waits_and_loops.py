# SPDX-License-Identifier: Apache-2.0
"""Waits and loops at known lines, on every toolchain and in both modes: their cost and their cause.

The programs, in tests/programs/waits, mark each line with a comment `@name`. Most times have only lower
bounds, because the machine may be busy. test_known_answers.py checks exact states.
"""

from __future__ import annotations

import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from marked_programs import in_a_calm_moment, lines_of
from ompass import _core
from ompass.reports.content import collect
from ompass.reports.model import plain
from ompass.reports.run import run_report
from recorded_run import check_accounts_agree, check_sound
from toolchains import PROGRAMS, CompileProgram, Record, RunRecorded, Toolchain, toolchain_named

LATE_NS = 10_000_000
LONG_NS = LATE_NS * 8 // 10  # a wait begins slightly later than the awaited task
MS = 1_000_000
MODES = pytest.mark.parametrize("mode", ["profile", "trace"])
Entry = dict[str, Any]


class Reported:
    """The JSON report of a recorded program; finds its entries by the names of lines.

    gcc gives many calls the line of a neighbour. For its programs, `exact` is False, and entries of the right
    kind on other lines count too.
    """

    def __init__(self, source: str, run_dir: Path, mode: str, *, exact: bool) -> None:
        self.lines = lines_of(source)
        self.exact = exact
        profile = check_sound(run_dir)
        if mode == "trace":
            check_accounts_agree(profile, _core.replay_trace(str(run_dir)))
        self.report: Entry = plain(run_report(collect(profile)))

    def entry(self, what: str, name: str, kind: str) -> Entry:
        """Returns the entry of `waits` or `loops` whose kind ends in `kind`, nearest to the line `name`."""
        line = self.lines[name]
        near = [e for e in self.report[what] if e["kind"].endswith(kind) and e["line"]]
        near = [e for e in near if e["line"] == line or not self.exact]
        assert near, f"no {kind} at line {line}, but {[(e['kind'], e['line']) for e in self.report[what]]}"
        return min(near, key=lambda e: abs(e["line"] - line))

    def wait(self, name: str, kind: str) -> Entry:
        return self.entry("waits", name, kind)

    def loop(self, name: str, kind: str) -> Entry:
        return self.entry("loops", name, kind)

    def check_waited_for(self, wait: Entry, kind: str, name: str) -> None:
        """Checks that threads waited for only one construct: of this kind, at the line `name`."""
        (entry,) = wait["waited_for"]
        assert entry["construct_kind"] == kind
        assert entry["line"] == self.lines[name] or not self.exact


@pytest.mark.parametrize(
    ("compiler", "flags", "names"),
    [
        ("clang-19", (), ["first", "first", "second"]),
        ("clang-19", ("-DUNNAMED",), ["", "first", "first", "second"]),
        ("gcc-12-libomp-19", (), ["first", "first", "second"]),
        # gcc's unnamed sections have no variable, so the tool cannot distinguish them from named ones
        ("gcc-12-libomp-19", ("-DUNNAMED",), [None] * 4),
    ],
)
@pytest.mark.parametrize("opt_level", ["-O0", "-O2"])
def test_critical_sections_have_their_names(
    record: Record, compiler: str, flags: tuple[str, ...], names: list[str | None], opt_level: str
) -> None:
    toolchain = toolchain_named(compiler)
    run_dir = record(
        "waits/criticals.c", toolchain=toolchain, opt_level=opt_level, flags=flags, preload=True
    ).run_dir
    report: Entry = plain(run_report(collect(check_sound(run_dir))))
    criticals = [wait for wait in report["waits"] if wait["kind"] == "critical"]
    assert sorted(names, key=str) == sorted((wait["name"] for wait in criticals), key=str)
    text = (PROGRAMS / "waits/criticals.c").read_text(encoding="utf-8").splitlines()
    for wait in criticals:
        if wait["name"] and not compiler.startswith("gcc"):
            assert text[wait["line"] - 1].endswith(f"// name {wait['name']}")


def recorded(
    source: str,
    toolchain: Toolchain,
    mode: str,
    compile_program: CompileProgram,
    run_recorded: RunRecorded,
    opt_level: str = "-O0",
) -> Reported:
    program = compile_program(source, toolchain, opt_level=opt_level)
    environment = {"OMP_WAIT_POLICY": "active", "OMP_DYNAMIC": "false"}
    run = run_recorded(program, toolchain, mode=mode, preload=True, environment=environment)
    return Reported(source, run.run_dir, mode, exact=not toolchain.name.startswith("gcc"))


@MODES
def test_each_wait_has_its_line_its_cost_and_its_cause(
    toolchain: Toolchain, mode: str, compile_program: CompileProgram, run_recorded: RunRecorded
) -> None:
    in_a_calm_moment(
        lambda: recorded("waits/waits.c", toolchain, mode, compile_program, run_recorded), check_waits
    )


def check_waits(seen: Reported) -> None:
    waits = {
        name: seen.wait(name, kind)
        for name, kind in (
            ("barrier", " barrier"),
            ("taskwait", "taskwait"),
            ("taskgroup", "taskgroup"),
            ("critical", "critical"),
            ("lock", "lock"),
            ("nest", "nest lock"),
        )
    }
    for name, wait in waits.items():
        assert wait["wait_ns"] >= LONG_NS, name
        assert wait["max_ns"] >= LONG_NS, name
        assert wait["wait_ns"] == wait["schedule_ns"] + wait["sync_ns"] + wait["idle_ns"]
        assert wait["wait_ns"] == sum(t["wait_ns"] for t in wait["thread_breakdown"])
    assert waits["barrier"]["idle_ns"] >= LONG_NS
    assert waits["critical"]["sync_ns"] == waits["critical"]["wait_ns"]
    assert (waits["barrier"]["count"], waits["critical"]["count"]) == (2, 2)
    assert (waits["lock"]["count"], waits["lock"]["long_waits"]) == (1, 1)
    assert seen.wait("holder", "lock")["waited_for"] == [] or not seen.exact

    seen.check_waited_for(waits["barrier"], "parallel", "region")
    seen.check_waited_for(waits["taskwait"], "task", "task")
    seen.check_waited_for(waits["taskgroup"], "task", "grouped")
    for name in ("critical", "lock", "nest"):
        seen.check_waited_for(waits[name], "parallel", "region")

    dependence = seen.wait("after", "dependence")
    assert dependence["count"] == 1
    assert dependence["delay_ns"] >= LONG_NS
    seen.check_waited_for(dependence, "task", "before")


def test_tasks_ready_at_the_same_moment_share_one_idle_time(
    toolchain: Toolchain, compile_program: CompileProgram, run_recorded: RunRecorded
) -> None:
    # Preemption of a thread between the first task's end and the release of the others adds idle time.
    in_a_calm_moment(
        lambda: recorded("waits/one_before_many.c", toolchain, "trace", compile_program, run_recorded),
        check_shared_idle_time,
    )


def check_shared_idle_time(seen: Reported) -> None:
    dependence = seen.wait("after", "dependence")
    assert dependence["count"] == 8
    assert dependence["idle_ns"] <= dependence["max_ns"]


def loops_run_on(toolchain: Toolchain) -> bool:
    """True if the runtime has the function that clang 19 calls for dynamic loops."""
    return toolchain.name != "clang-19-libomp-15"


@MODES
def test_each_loop_has_its_line_and_the_most_uneven_one_is_first(
    toolchain: Toolchain, mode: str, compile_program: CompileProgram, run_recorded: RunRecorded
) -> None:
    if not loops_run_on(toolchain):
        return
    in_a_calm_moment(
        lambda: recorded("waits/loops.cpp", toolchain, mode, compile_program, run_recorded),
        lambda seen: check_loops(seen, toolchain),
    )


def check_loops(seen: Reported, toolchain: Toolchain) -> None:
    gcc = toolchain.name.startswith("gcc")
    dynamic, guided = seen.loop("dynamic", "loop"), seen.loop("guided", "loop")
    if gcc:
        dynamic = next(e for e in seen.report["loops"] if e["iterations"] == 60)
        guided = next(e for e in seen.report["loops"] if e["iterations"] == 150)
    assert (dynamic["instances"], dynamic["iterations"]) == (3, 60)
    assert (guided["instances"], guided["iterations"]) == (3, 150)
    assert dynamic["time_ns"] >= 6 * MS
    if toolchain.name == "clang-14":
        assert dynamic["chunks"] is None, "this runtime reports no chunks"
    else:
        assert dynamic["chunks"] == 30
        assert sum(t["iterations"] for t in guided["thread_breakdown"]) == 150
    single = seen.loop("single", "single")
    assert (single["kind"], single["instances"], single["imbalance"]) == ("single", 3, 0)
    assert single["imbalance_ns"] >= 24 * MS, "one thread waits for the other three times"
    taskloop = seen.loop("taskloop", "taskloop")
    assert (taskloop["instances"], taskloop["iterations"]) == (3, 120)
    if gcc:
        assert all(e["iterations"] != 16 for e in seen.report["loops"]), "gcc reports no static loop,"
        assert seen.wait("uneven", "region barrier")["idle_ns"] >= 30 * MS, "but the wait after it"
        return
    uneven, sections = seen.loop("uneven", "loop"), seen.loop("sections", "sections")
    first = next(loop for loop in seen.report["loops"] if loop["kind"] != "single")
    assert first["line"] == uneven["line"], "the most uneven one is first"
    assert (uneven["instances"], uneven["iterations"]) == (1, 16)
    assert uneven["max_thread_ns"] >= 40 * MS
    assert uneven["imbalance"] > 0.5
    assert uneven["imbalance_ns"] >= 30 * MS
    seen.check_waited_for(seen.wait("uneven", "barrier"), "loop", "uneven")
    assert (sections["instances"], sections["iterations"]) == (3, 6)
    assert seen.loop("masked", "masked")["instances"] == 3


@MODES
@pytest.mark.parametrize("name", ["clang-19", "gcc-12-libomp-19"])
def test_a_fortran_program_names_its_most_uneven_loop(
    name: str, mode: str, compile_program: CompileProgram, run_recorded: RunRecorded
) -> None:
    # If a thread is preempted in the even loop, that loop may be the most uneven one.
    in_a_calm_moment(
        lambda: recorded(
            "waits/loops.f90", toolchain_named(name), mode, compile_program, run_recorded, "-O2"
        ),
        check_fortran_loops,
    )


def check_fortran_loops(seen: Reported) -> None:
    uneven, even = (seen.loop(which, "loop") for which in ("uneven", "even"))
    assert seen.report["loops"][0]["line"] == uneven["line"] == seen.lines["uneven"]
    assert (uneven["instances"], uneven["iterations"]) == (1, 16)
    assert uneven["imbalance_ns"] >= 30 * MS
    assert (even["instances"], even["iterations"]) == (1, 20)
    (critical,) = (wait for wait in seen.report["waits"] if wait["kind"] == "critical")
    assert critical["count"] == 20
    assert abs(critical["line"] - seen.lines["critical"]) <= 1, "flang gives it the line of the loop"


@MODES
def test_a_wait_for_a_lock_that_never_ends_is_not_work(
    mode: str, compile_program: CompileProgram, libompass: Path, default_toolchain: Toolchain, tmp_path: Path
) -> None:
    program = compile_program("waits/held_lock.c", default_toolchain)
    run_dir = tmp_path / "killed.ompass"
    settings = {"OMP_TOOL_LIBRARIES": str(libompass), "OMPASS_DIR": str(run_dir), "OMPASS_MODE": mode}
    environment = default_toolchain.run_environment(settings)
    with subprocess.Popen([str(program)], env=environment, stdout=subprocess.PIPE) as process:
        assert process.stdout and process.stdout.readline() == b"waits\n"
        time.sleep(0.5)
        process.kill()
    profile = _core.read_profile(str(run_dir))
    if mode == "trace":
        check_accounts_agree(profile, _core.replay_trace(str(run_dir)))
    waiting = next(row for row in profile.regions if row.thread == 1 and row.level)
    assert waiting.sync_ns > 400 * MS
    assert waiting.work_ns < 50 * MS


@MODES
def test_the_last_of_many_predecessors_makes_a_task_ready(mode: str, record: Record) -> None:
    def check(run: Any) -> None:
        report = plain(run_report(collect(check_sound(run.run_dir))))
        waiting = min(report["constructs"], key=lambda task: task["tasks"])
        assert waiting["tasks"] == 3
        assert waiting["ready_max_ns"] < 20 * MS, "the longest predecessor takes 40 ms"

    in_a_calm_moment(lambda: record("waits/many_predecessors.c", mode=mode, preload=True), check)


@MODES
def test_tasks_that_divide_a_large_taskloop_belong_to_its_construct(
    toolchain: Toolchain, mode: str, record: Record
) -> None:
    source = "kinds/taskloop_many.c"
    run = record(source, toolchain=toolchain, mode=mode, preload=True)
    tasks = plain(run_report(collect(check_sound(run.run_dir))))["constructs"]
    lines = enumerate((PROGRAMS / source).read_text(encoding="utf-8").splitlines(), 1)
    taskloops = [number for number, line in lines if "#pragma omp taskloop" in line]
    assert {(task["function"], Path(task["file"]).name) for task in tasks} == {("main", "taskloop_many.c")}
    if not toolchain.name.startswith("gcc"):
        assert sorted(task["line"] for task in tasks) == taskloops
    assert len(tasks) == len(taskloops)
    assert sum(task["tasks"] for task in tasks) >= 2008
