# SPDX-License-Identifier: Apache-2.0
"""Checks the creators, times and threads that tools see for the tasks that libomp_ext.so schedules.

Ompass observes these tasks through omp_ext_tool.h, in any load order of the two libraries. Other tools
observe them through OMPT and must see a valid life cycle of each task. The programs are those of
test_task_kinds.py.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ext_programs import compile_with_ext, ext_library
from needs import require_toolchain
from ompass import _core
from ompass.metrics.locality import locality
from ompass.readers.run import open_run
from ompass.simulation.machine import find_machine
from ompass.simulation.runs import simulate
from recorded_run import (
    check_accounts_agree,
    check_facts,
    check_identity,
    check_sound,
    counted,
    facts_in,
    run_directories,
)
from task_programs import TASK_PROGRAMS, TaskProgram, compiled, flags_for
from toolchains import RunRecorded, Toolchain, compile_source, toolchain_named

SCHEDULED = {"OMP_EXT_SCHEDULE": "1", "OMP_EXT_DOMAINS": "2"}
# When these programs end, a tool can check all life cycles. The others end while tasks are running, or fork.
SUMMED_UP = [
    program
    for program in TASK_PROGRAMS
    if not program.ends_in_flight and program.name not in ("exit_in_region", "fork_exit", "fork_plain")
]


def check_recorded(run_dir: Path, stdout: str, program: TaskProgram) -> _core.Run:
    profile = check_sound(run_dir)
    check_facts(facts_in(stdout), profile, ends_in_flight=program.ends_in_flight)
    replay = _core.replay_trace(str(run_dir))
    check_accounts_agree(profile, replay)
    assert counted(replay) == counted(profile)
    assert not profile.create_estimated, "the extension reports how long creations take"
    return profile


@pytest.mark.parametrize("tasks", ["light", "runtime"])
@pytest.mark.parametrize("program", TASK_PROGRAMS, ids=lambda program: program.name)
def test_held_tasks_are_recorded_correctly(
    program: TaskProgram, tasks: str, default_toolchain: Toolchain, libompass: Path, run_recorded: RunRecorded
) -> None:
    executable, *arguments = compiled(program, default_toolchain)
    number = TASK_PROGRAMS.index(program)
    both_orders = (f"{libompass}:{ext_library()}", f"{ext_library()}:{libompass}")
    libraries = (*both_orders, str(ext_library()))[number % 3]
    recorded = run_recorded(
        Path(executable),
        default_toolchain,
        *arguments,
        mode="trace",
        threads=4,
        environment={
            "LD_PRELOAD": libraries,
            **({} if number % 3 == 2 else {"OMP_TOOL_LIBRARIES": ""}),
            "OMP_EXT_TASKS": tasks,
            "OMP_EXT_STRICT": str(number % 2 if tasks == "runtime" else 0),
            **SCHEDULED,
            **program.environment,
        },
    )
    assert len(run_directories(recorded.run_dir.parent)) == program.n_processes
    check_recorded(recorded.run_dir, recorded.process.stdout, program)


def test_the_creation_of_a_task_that_is_cancelled_at_once_keeps_its_time(
    default_toolchain: Toolchain, libompass: Path, run_recorded: RunRecorded
) -> None:
    recorded = run_recorded(
        compile_with_ext("ext/cancelled_at_once.c", default_toolchain),
        default_toolchain,
        mode="trace",
        threads=2,
        environment={**SCHEDULED, "OMP_CANCELLATION": "true"},
    )
    names = [name.removesuffix("_short") for name, _ in _core.event_kinds()]
    events = _core.read_events(str(recorded.run_dir))
    is_end = np.isin(events.kind, [number for number, name in enumerate(names) if name == "create_span"])
    # If a task is cancelled within its creation, `discard` directly precedes the end of the creation.
    assert (is_end[1:] & (events.kind[:-1] == names.index("discard"))).any()
    created_ns = sum(row.create_ns for row in _core.replay_trace(str(recorded.run_dir)).constructs)
    assert created_ns == pytest.approx(int(events.value[is_end].sum()), rel=1e-3)


@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize("program", TASK_PROGRAMS, ids=lambda program: program.name)
def test_a_profile_counts_held_tasks_though_it_times_only_some(
    program: TaskProgram,
    threads: int,
    default_toolchain: Toolchain,
    libompass: Path,
    run_recorded: RunRecorded,
) -> None:
    executable, *arguments = compiled(program, default_toolchain)
    recorded = run_recorded(
        Path(executable),
        default_toolchain,
        *arguments,
        mode="profile",
        threads=threads,
        environment={
            "LD_PRELOAD": f"{ext_library()}:{libompass}",
            "OMP_TOOL_LIBRARIES": "",
            **SCHEDULED,
            **program.environment,
        },
    )
    assert len(run_directories(recorded.run_dir.parent)) == program.n_processes
    profile = check_sound(recorded.run_dir)
    check_facts(facts_in(recorded.process.stdout), profile, ends_in_flight=program.ends_in_flight)
    if program.name == "tied":
        n_timed = sum(row.n_timed for row in profile.constructs)
        assert 0 < n_timed < sum(row.n_completed for row in profile.constructs)


@pytest.mark.parametrize("name", ["clang-14", "clang-19-libomp-15", "clang-19", "clang-19-libiomp5"])
def test_target_tasks_have_no_domain(name: str, libompass: Path, run_recorded: RunRecorded) -> None:
    # Up to libomp 15 and on Intel's runtime, threads of the team run target tasks.
    toolchain = require_toolchain(toolchain_named(name))
    recorded = run_recorded(
        compile_source("kinds/hidden_helper.c", toolchain),
        toolchain,
        mode="trace",
        threads=4,
        environment={
            "LD_PRELOAD": f"{ext_library()}:{libompass}",
            "OMP_TOOL_LIBRARIES": "",
            **SCHEDULED,
        },
    )
    profile = check_sound(recorded.run_dir)
    replay = _core.replay_trace(str(recorded.run_dir))
    check_accounts_agree(profile, replay)
    simulated = recorded.run_dir.with_name("simulated.ompass")
    machine = find_machine("pack:2 core:2 pu:1")
    simulate(recorded.run_dir, machine=machine, policies=["locality"], anyway=True, record=simulated)
    for run in (profile, replay, _core.replay_trace(str(simulated))):
        assert sum(sum(row.n_from_domain) for row in run.regions) == 60


@pytest.mark.parametrize("mode", ["profile", "trace"])
@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize(
    "act",
    [
        "nothing",
        "locks",
        "region",
        "inner",
        "undeferred",
        "final",
        "untied",
        "depend",
        "group",
        "loop",
        "flat",
        "settings",
        "pauses",
        "forks",
    ],
)
def test_nothing_is_lost_among_short_tasks(
    act: str,
    threads: int,
    mode: str,
    default_toolchain: Toolchain,
    libompass: Path,
    run_recorded: RunRecorded,
) -> None:
    recorded = run_recorded(
        compile_with_ext("ext/short_tasks.c", default_toolchain),
        default_toolchain,
        act,
        mode=mode,
        threads=threads,
        environment={
            "LD_PRELOAD": f"{ext_library()}:{libompass}",
            "OMP_TOOL_LIBRARIES": "",
            **SCHEDULED,
        },
    )
    facts = facts_in(recorded.process.stdout)
    if act == "pauses":  # a task that runs when a pause begins or ends is recorded only in part
        profile = _core.read_profile(str(recorded.run_dir))
        assert not _core.validate(str(recorded.run_dir))
        check_identity(profile)
        assert counted(profile)["regions"] == facts["regions"]
        assert all(row.max_ns <= row.inclusive_ns < 10**12 for row in profile.constructs)
        return
    profile = check_sound(recorded.run_dir)
    check_facts(facts, profile)
    regions: dict[int, int] = {}
    for row in profile.regions:
        regions[row.construct] = regions.get(row.construct, 0) + row.n_tasks
    if act == "inner":
        assert int(recorded.process.stdout.split()[1]) in regions.values(), regions
    if mode == "trace":
        replay = _core.replay_trace(str(recorded.run_dir))
        check_accounts_agree(profile, replay)
        assert counted(replay) == counted(profile)
    if act != "settings" and (mode == "profile" or threads == 1):  # changed settings need the runtime's tasks
        assert 0 < sum(row.n_timed for row in profile.constructs) < counted(profile)["tasks"] / 4


@pytest.mark.parametrize("tasks", ["light", "runtime"])
@pytest.mark.parametrize("name", ["tied", "taskloop_grainsize", "depend", "undeferred"])
@pytest.mark.parametrize("comes_first", ["tool", "extension"])
def test_gcc_programs_are_recorded_correctly(
    name: str, comes_first: str, tasks: str, libompass: Path, run_recorded: RunRecorded
) -> None:
    toolchain = toolchain_named("gcc-12-libomp-19")
    program = next(program for program in TASK_PROGRAMS if program.name == name)
    executable = compile_source(program.source, toolchain, flags=flags_for(toolchain))
    both = [str(libompass), str(ext_library())]
    preloaded = ":".join(both if comes_first == "tool" else reversed(both))
    recorded = run_recorded(
        executable,
        toolchain,
        mode="trace",
        threads=4,
        environment={
            "LD_PRELOAD": preloaded,
            "OMP_TOOL_LIBRARIES": "",
            "OMP_EXT_TASKS": tasks,
            **SCHEDULED,
        },
    )
    profile = check_recorded(recorded.run_dir, recorded.process.stdout, program)
    modules = [Path(module.path).name for module in profile.modules]
    of_tasks = {modules[d.module] for d in profile.definitions if d.kind == "task"}
    assert of_tasks == {executable.name}, "constructs outside of the program"


# counting_runtime.c counts the tasks of the runtime. On one thread, the runtime runs each task when it is
# created; the tool must record light tasks in the same way.
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("mode", ["profile", "trace"])
@pytest.mark.parametrize("comes_first", ["tool", "extension", "loaded"])
def test_light_tasks_stay_light_under_ompass_alone(
    comes_first: str,
    mode: str,
    threads: int,
    default_toolchain: Toolchain,
    libompass: Path,
    run_recorded: RunRecorded,
) -> None:
    program = next(program for program in TASK_PROGRAMS if program.name == "tied")
    executable, *arguments = compiled(program, default_toolchain)
    counter = compile_source(
        "ext/counting_runtime.c", default_toolchain, flags=("-shared", "-fPIC"), openmp=False
    )
    libraries = {
        "tool": [libompass, ext_library()],
        "extension": [ext_library(), libompass],
        "loaded": [ext_library()],
    }[comes_first]
    n_tasks = {}
    for tasks in ("light", "runtime"):
        recorded = run_recorded(
            Path(executable),
            default_toolchain,
            *arguments,
            mode=mode,
            threads=threads,
            environment={
                "LD_PRELOAD": ":".join(map(str, [*libraries, counter])),
                **({} if comes_first == "loaded" else {"OMP_TOOL_LIBRARIES": ""}),
                "OMP_EXT_TASKS": tasks,
                **SCHEDULED,
                **program.environment,
            },
        )
        profile = check_sound(recorded.run_dir)
        check_facts(facts_in(recorded.process.stdout), profile)
        (line,) = (x for x in recorded.process.stderr.splitlines() if x.startswith("counting_runtime: "))
        n_tasks[tasks] = int(line.split()[-1])
    assert n_tasks["light"] == 0 < n_tasks["runtime"]


@pytest.mark.parametrize("mode", ["profile", "trace"])
@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize("comes_first", ["tool", "extension", "loaded"])
def test_light_tasks_among_those_of_the_runtime_are_recorded(
    comes_first: str,
    threads: int,
    mode: str,
    default_toolchain: Toolchain,
    libompass: Path,
    run_recorded: RunRecorded,
) -> None:
    flags = flags_for(default_toolchain)
    source = "ext/late_library.c"
    library = compile_source(source, default_toolchain, flags=(*flags, "-DLIBRARY", "-shared", "-fPIC"))
    libraries = {
        "tool": [libompass, ext_library()],
        "extension": [ext_library(), libompass],
        "loaded": [ext_library()],
    }[comes_first]
    recorded = run_recorded(
        compile_source(source, default_toolchain, flags=flags),
        default_toolchain,
        str(library),
        mode=mode,
        threads=threads,
        environment={
            "LD_PRELOAD": ":".join(map(str, libraries)),
            **({} if comes_first == "loaded" else {"OMP_TOOL_LIBRARIES": ""}),
            "OMPASS_CPU": "off",  # off-CPU intervals are not compared
            **SCHEDULED,
        },
    )
    profile = check_sound(recorded.run_dir)
    if mode == "trace":
        replay = _core.replay_trace(str(recorded.run_dir))
        check_accounts_agree(profile, replay)
        assert counted(replay) == counted(profile)


@pytest.mark.parametrize("program", SUMMED_UP, ids=lambda program: program.name)
def test_any_tool_sees_a_conforming_life_cycle(program: TaskProgram, default_toolchain: Toolchain) -> None:
    checker = compile_source(
        "ext/life_cycle_checker.c", default_toolchain, flags=("-shared", "-fPIC"), openmp=False
    )
    for way in ({}, {"OMP_EXT_STRICT": "1"}):
        finished = default_toolchain.run(
            compiled(program, default_toolchain),
            {
                "LD_PRELOAD": str(ext_library()),
                "OMP_TOOL_LIBRARIES": str(checker),
                "OMP_NUM_THREADS": "4",
                **SCHEDULED,
                **way,
                **program.environment,
            },
        )
        assert finished.returncode == 0, finished.stdout + finished.stderr
        lines = [line for line in finished.stderr.splitlines() if line.startswith("life_cycle_checker: ")]
        assert lines and all(line.endswith("faults 0") for line in lines), finished.stderr


# Programs in tests/programs/ext whose tasks step aside.
STEP_ASIDE = [
    *(
        ("ext/aside.c", how, "40")
        for how in ("taskwait", "taskgroup", "taskloop", "taskyield", "critical", "lock", "nest_lock")
    ),
    ("ext/aside.c", "nested_region", "40"),
    ("ext/ordered.c", "static", "20"),
    ("ext/ordered.c", "doacross", "20"),
    ("ext/aside_exceptions.cpp",),
    ("ext/tree.c", "10"),
]
UNTIED = ("ext/untied.c", "tree", "8")  # not with other tools, because libomp 19 then fails an assertion


@pytest.mark.parametrize("mode", ["profile", "trace"])
@pytest.mark.parametrize("case", [*STEP_ASIDE, UNTIED], ids=" ".join)
def test_tasks_that_step_aside_are_recorded_correctly(
    case: tuple[str, ...], mode: str, default_toolchain: Toolchain, run_recorded: RunRecorded
) -> None:
    source, *arguments = case
    program = compile_with_ext(source, default_toolchain, *flags_for(default_toolchain), "-frounding-math")
    recorded = run_recorded(
        program,
        default_toolchain,
        *arguments,
        mode=mode,
        threads=4,
        preload=True,
        environment={"OMP_EXT_STRICT": "1", "OMP_EXT_DOMAINS": "2", "OMP_MAX_ACTIVE_LEVELS": "2"},
    )
    profile = check_sound(recorded.run_dir)
    if mode == "trace":
        check_accounts_agree(profile, _core.replay_trace(str(recorded.run_dir)))


@pytest.mark.parametrize("case", [*STEP_ASIDE, ("ext/aside.c", "undeferred", "40")], ids=" ".join)
def test_any_tool_sees_a_valid_life_cycle_of_tasks_that_step_aside(
    case: tuple[str, ...], default_toolchain: Toolchain
) -> None:
    source, *arguments = case
    program = compile_with_ext(source, default_toolchain, *flags_for(default_toolchain), "-frounding-math")
    checker = compile_source(
        "ext/life_cycle_checker.c", default_toolchain, flags=("-shared", "-fPIC"), openmp=False
    )
    settings = {
        "OMP_TOOL_LIBRARIES": str(checker),
        "OMP_NUM_THREADS": "4",
        "OMP_EXT_STRICT": "1",
        "OMP_EXT_DOMAINS": "2",
        "OMP_MAX_ACTIVE_LEVELS": "2",
    }
    finished = default_toolchain.run([str(program), *arguments], settings)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert "rescued 0\n" in finished.stdout
    lines = [line for line in finished.stderr.splitlines() if line.startswith("life_cycle_checker: ")]
    assert lines and all(line.endswith("faults 0") for line in lines), finished.stderr


@pytest.mark.parametrize("comes_first", ["tool", "extension", "loaded"])
@pytest.mark.parametrize("strict", ["0", "1"])
def test_report_shows_constructs_domains_and_steals(
    comes_first: str, strict: str, default_toolchain: Toolchain, libompass: Path, run_recorded: RunRecorded
) -> None:
    program = compile_with_ext("ext/strict.c", default_toolchain)
    preloaded = {
        "tool": f"{libompass}:{ext_library()}",
        "extension": f"{ext_library()}:{libompass}",
        "loaded": "",
    }[comes_first]
    recorded = run_recorded(
        program,
        default_toolchain,
        "64",
        "7",
        mode="trace",
        threads=4,
        environment={
            "LD_PRELOAD": preloaded,
            **({"OMP_TOOL_LIBRARIES": ""} if preloaded else {}),
            "OMP_EXT_STRICT": strict,
            "OMP_EXT_DOMAINS": "2",
        },
    )
    check_accounts_agree(check_sound(recorded.run_dir), _core.replay_trace(str(recorded.run_dir)))
    figures = locality(open_run(recorded.run_dir))
    assert figures is not None
    assert figures.n_tasks == 64 * 255
    names = ("created", "run", "local", "rescued", "outside")
    counters = dict(zip(names, numbers_of(recorded.process.stdout), strict=True))
    assert (figures.n_local, figures.n_rescued) == (counters["local"], counters["rescued"])
    if strict == "1":
        assert [sum(row) for row in figures.matrix] == [32 * 255, 32 * 255]
    again = locality(open_run(recorded.run_dir, "events"))
    assert again == figures

    report = subprocess.run(
        [sys.executable, "-m", "ompass", "report", "--json", str(recorded.run_dir)],
        env=dict(os.environ),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert report.returncode == 0, report.stderr
    shown = json.loads(report.stdout)
    assert shown["locality"]["placed_ran"] == [list(row) for row in figures.matrix]
    assert {(c["file"].rsplit("/", 1)[-1], c["line"]) for c in shown["constructs"]} == {
        ("strict.c", 22),
        ("strict.c", 37),
    }


def numbers_of(stdout: str) -> list[int]:
    """Returns the numbers in the line that shows the extension's counters."""
    line = next(line for line in stdout.splitlines() if line.startswith("created "))
    return [int(part.split()[-1]) for part in line.split(",")]
