# SPDX-License-Identifier: Apache-2.0
"""Every kind of task under the scheduler of libomp_ext.so: OpenMP stays OpenMP.

The programs of tests/programs/kinds check themselves. The whole set runs preloaded with 1, 2, 4 and 8 threads
on the default toolchain, strict and not, in one, two and four domains; on the others each program runs once.
The time limit of each run is the watchdog that tells a hang.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ext_programs import compile_with_ext, ext_library
from integration.task_programs import TASK_PROGRAMS, TaskProgram, compiled, flags_for
from toolchains import DEFAULT_TOOLCHAIN, TOOLCHAINS, Toolchain, compile_source, toolchain_named

WATCHDOG_S = 60.0

# (threads, OMP_EXT_DOMAINS, further settings)
EVERY_WAY: tuple[tuple[int, str, dict[str, str]], ...] = (
    (1, "1", {}),
    (2, "2", {"OMP_EXT_STRICT": "1"}),
    (4, "4", {"OMP_EXT_STRICT": "1", "OMP_EXT_QUEUE": "shared-lifo"}),
    (8, "2", {"OMP_EXT_STEAL": "group"}),
)
ONE_WAY = ((4, "2", {"OMP_EXT_STRICT": "1"}),)

CASES = [
    pytest.param(program, toolchain.name, id=f"{program.name}-{toolchain.name}")
    for toolchain in TOOLCHAINS
    for program in TASK_PROGRAMS
    if toolchain.name not in program.lacks
]


def run(
    command: list[str], toolchain: Toolchain, settings: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    """Run to the end; pytest.fail when it hangs."""
    try:
        return subprocess.run(
            command,
            env=toolchain.run_environment(settings),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=WATCHDOG_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        pytest.fail(f"hangs: {' '.join(command)} with {settings}")


@pytest.mark.parametrize(("program", "toolchain"), CASES, indirect=["toolchain"])
def test_construct_keeps_its_meaning(program: TaskProgram, toolchain: Toolchain) -> None:
    command = compiled(program, toolchain)
    for threads, domains, others in EVERY_WAY if toolchain.name == DEFAULT_TOOLCHAIN else ONE_WAY:
        settings = {
            "LD_PRELOAD": str(ext_library()),
            "OMP_EXT_SCHEDULE": "1",
            "OMP_NUM_THREADS": str(threads),
            "OMP_EXT_DOMAINS": domains,
            **others,
            **program.environment,
        }
        finished = run(command, toolchain, settings)
        assert finished.returncode == 0, f"{settings}:\n{finished.stdout}{finished.stderr}"


@pytest.mark.parametrize("threads", [1, 2, 4, 8])
@pytest.mark.parametrize("source", ["kinds/depend.c", "kinds/taskgroup.c", "kinds/exceptions.cpp"])
def test_linked_is_as_good_as_preloaded(source: str, threads: int, default_toolchain: Toolchain) -> None:
    program = compile_with_ext(source, default_toolchain, *flags_for(default_toolchain))
    settings = {"OMP_EXT_SCHEDULE": "1", "OMP_NUM_THREADS": str(threads), "OMP_EXT_STATISTICS": "1"}
    finished = run([str(program)], default_toolchain, settings)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert ("tasks:" in finished.stderr) == (threads > 1)  # and it is the library that ran them


@pytest.mark.parametrize("tied", ["strict", "relaxed"])
@pytest.mark.parametrize(("threads", "domains"), [(2, 2), (4, 2), (8, 2), (4, 4), (8, 4)])
def test_strict_mode_runs_every_task_in_its_domain(
    threads: int, domains: int, tied: str, default_toolchain: Toolchain
) -> None:
    program = compile_with_ext("ext/strict.c", default_toolchain)
    settings = {
        "OMP_NUM_THREADS": str(threads),
        "OMP_EXT_DOMAINS": str(domains),
        "OMP_EXT_STRICT": "1",
        "OMP_EXT_TIED": tied,
    }
    finished = run([str(program), "64", "7"], default_toolchain, settings)
    assert finished.returncode == 0, finished.stdout
    assert "outside 0," in finished.stdout
    assert "rescued 0," in finished.stdout


@pytest.mark.parametrize("suffix", ["c", "cpp", "f90"])
@pytest.mark.parametrize(("threads", "limit"), [("4", None), ("2", "8")])
def test_teams_of_several_threads_end(
    toolchain: Toolchain, suffix: str, threads: str, limit: str | None
) -> None:
    if suffix == "f90" and toolchain.fc is None:
        pytest.skip(f"{toolchain.name} has no Fortran compiler")
    program = compile_source(f"ext/teams.{suffix}", toolchain)
    settings = {"LD_PRELOAD": str(ext_library()), "OMP_EXT_SCHEDULE": "1", "OMP_NUM_THREADS": threads}
    if limit:
        settings["KMP_TEAMS_THREAD_LIMIT"] = limit
    finished = run([str(program)], toolchain, settings)
    assert finished.returncode == 0, finished.stdout + finished.stderr


@pytest.mark.parametrize("threads", ["4", "64"])
def test_empty_tasks_of_a_loop_are_shared(threads: str, toolchain: Toolchain) -> None:
    program = compile_source("ext/taskloop_if.c", toolchain)
    settings = {"LD_PRELOAD": str(ext_library()), "OMP_EXT_SCHEDULE": "1", "OMP_NUM_THREADS": threads}
    finished = run([str(program)], toolchain, settings)
    assert finished.returncode == 0, finished.stdout + finished.stderr


@pytest.mark.parametrize("queue", ["stealing", "shared-lifo"])
@pytest.mark.parametrize("steal", ["nearest", "random", "occupancy", "group"])
def test_without_strict_mode_the_counts_add_up(steal: str, queue: str, default_toolchain: Toolchain) -> None:
    program = compile_with_ext("ext/strict.c", default_toolchain)
    settings = {
        "OMP_NUM_THREADS": "4",
        "OMP_EXT_DOMAINS": "2",
        "OMP_EXT_STEAL": steal,
        "OMP_EXT_QUEUE": queue,
    }
    finished = run([str(program), "64", "6"], default_toolchain, settings)
    assert finished.returncode == 0, finished.stdout


@pytest.mark.parametrize("how", ["taskwait", "taskgroup", "depend"])
def test_two_domains_that_wait_for_each_other_are_rescued(how: str, default_toolchain: Toolchain) -> None:
    program = compile_with_ext("ext/mutual_wait.c", default_toolchain, *flags_for(default_toolchain))
    settings = {"OMP_NUM_THREADS": "2", "OMP_EXT_DOMAINS": "2"}
    finished = run([str(program), how, "5"], default_toolchain, settings)
    assert finished.returncode == 0, finished.stdout
    assert "rescued 0" not in finished.stdout


def test_relaxed_waits_need_no_rescue(default_toolchain: Toolchain) -> None:
    program = compile_with_ext("ext/mutual_wait.c", default_toolchain, *flags_for(default_toolchain))
    settings = {"OMP_NUM_THREADS": "2", "OMP_EXT_DOMAINS": "2", "OMP_EXT_TIED": "relaxed"}
    finished = run([str(program), "taskwait", "5"], default_toolchain, settings)
    assert finished.returncode == 0, finished.stdout
    assert finished.stdout.endswith("rescued 0\n")


def test_random_sleeps_reveal_no_hang(default_toolchain: Toolchain) -> None:
    injected = ext_library().with_name("libomp_ext_injected.so")
    for source, arguments in (("ext/mutual_wait.c", ["taskwait", "3"]), ("kinds/depend.c", [])):
        program = compile_source(
            source,
            default_toolchain,
            flags=(*flags_for(default_toolchain), f"-L{ext_library().parent}", "-lomp_ext"),
        )
        for threads in ("2", "4"):
            settings = {
                "LD_PRELOAD": str(injected),
                "OMP_EXT_SCHEDULE": "1",
                "OMP_EXT_DOMAINS": "2",
                "OMP_EXT_STRICT": "1",
                "OMP_NUM_THREADS": threads,
                "LD_LIBRARY_PATH": f"{default_toolchain.runtime_dir}:{injected.parent}",
            }
            finished = run([str(program), *arguments], default_toolchain, settings)
            assert finished.returncode == 0, finished.stdout + finished.stderr


# ---------------------------------------------------------------- dormant, unknown and absent runtimes


def test_a_program_that_asks_for_nothing_is_left_alone(default_toolchain: Toolchain) -> None:
    program = compile_source("kinds/depend.c", default_toolchain, flags=flags_for(default_toolchain))
    settings = {"LD_PRELOAD": str(ext_library()), "OMP_EXT_STATISTICS": "1", "OMP_NUM_THREADS": "4"}
    finished = run([str(program)], default_toolchain, settings)
    assert finished.returncode == 0
    assert finished.stderr == ""


@pytest.mark.parametrize("command", [["/bin/sh", "-c", "true"], ["/usr/bin/env", "true"]])
def test_a_process_without_openmp_is_left_alone(command: list[str], default_toolchain: Toolchain) -> None:
    settings = {
        "LD_PRELOAD": str(ext_library()),
        "OMP_EXT_SCHEDULE": "1",
        "OMP_EXT_DISPLAY": "1",
        "OMP_EXT_STRIKT": "1",
    }
    finished = run(command, default_toolchain, settings)
    assert (finished.returncode, finished.stdout, finished.stderr) == (0, "", "")


def test_an_unknown_runtime_is_told_once_and_left_alone(tmp_path: Path, default_toolchain: Toolchain) -> None:
    gcc = toolchain_named("gcc-12-libomp-19")
    program = compile_source("kinds/taskgroup.c", gcc)
    settings = {
        "LD_PRELOAD": str(ext_library()),
        "OMP_EXT_SCHEDULE": "1",
        "OMP_NUM_THREADS": "2",
        "LD_LIBRARY_PATH": str(tmp_path),  # so it finds the system's libgomp
    }
    finished = run([str(program)], gcc, settings)
    assert finished.returncode == 0
    assert finished.stderr.count("is not one that this library knows") == 1


@pytest.mark.parametrize(
    ("name", "value", "valid"),
    [
        ("OMP_EXT_STEAL", "sideways", "nearest, random, occupancy, group"),
        ("OMP_EXT_QUEUE", "heap", "stealing, shared-lifo"),
        ("OMP_EXT_TIED", "loose", "strict, relaxed"),
        ("OMP_EXT_STRIKT", "1", "OMP_EXT_STRICT"),
    ],
)
def test_settings_that_are_not_understood_are_told_once(
    name: str, value: str, valid: str, default_toolchain: Toolchain
) -> None:
    program = compile_source("kinds/taskgroup.c", default_toolchain, flags=flags_for(default_toolchain))
    settings = {
        "LD_PRELOAD": str(ext_library()),
        "OMP_EXT_SCHEDULE": "1",
        "OMP_NUM_THREADS": "2",
        name: value,
    }
    finished = run([str(program)], default_toolchain, settings)
    assert finished.returncode == 0
    assert finished.stderr.count("omp_ext: ") == 1
    assert name in finished.stderr
    assert valid in finished.stderr
