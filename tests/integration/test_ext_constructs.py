# SPDX-License-Identifier: Apache-2.0
"""Checks that every kind of task keeps its OpenMP semantics under the scheduler of libomp_ext.so.

The programs of tests/programs/kinds check themselves. On the default toolchain, each program runs with the
preloaded extension in all of EVERY_WAY: on 1, 2, 4 and 8 threads, strict and not, in one, two and four
domains. On the other toolchains, which take turns in quick runs, it runs in two ways. The time limit of each
run detects hangs.
"""

from __future__ import annotations

import itertools
import re
import subprocess
from pathlib import Path

import pytest

from ext_programs import FORTRAN_MODULE, STEAL_POLICIES, compile_with_ext, ext_library
from task_programs import TASK_PROGRAMS, TaskProgram, compiled, flags_for
from toolchains import DEFAULT_TOOLCHAIN, TOOLCHAINS, Toolchain, compile_source, toolchain_named

WATCHDOG_S = 60.0

# (threads, OMP_EXT_DOMAINS, other settings)
EVERY_WAY: tuple[tuple[int, str, dict[str, str]], ...] = (
    (1, "1", {}),
    (4, "1", {}),
    (2, "1", {"OMP_EXT_TASKS": "runtime"}),
    (4, "2", {"OMP_EXT_STRICT": "1", "OMP_EXT_TIED": "constrained"}),
    (2, "2", {"OMP_EXT_STRICT": "1"}),
    (4, "4", {"OMP_EXT_STRICT": "1", "OMP_EXT_QUEUE": "shared-lifo"}),
    (8, "2", {"OMP_EXT_STEAL": "group"}),
)
ONE_WAY: tuple[tuple[int, str, dict[str, str]], ...] = ((4, "2", {"OMP_EXT_STRICT": "1"}), (4, "1", {}))

CASES = [
    pytest.param(program, toolchain.name, id=f"{program.name}-{toolchain.name}")
    for toolchain in TOOLCHAINS
    for program in TASK_PROGRAMS
    if toolchain.name not in (DEFAULT_TOOLCHAIN, *program.lacks)
]


def run(
    command: list[str], toolchain: Toolchain, settings: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    """Runs the program to its end; fails the test if it hangs."""
    try:
        return toolchain.run(command, settings, timeout_s=WATCHDOG_S)
    except subprocess.TimeoutExpired:
        pytest.fail(f"hangs: {' '.join(command)} with {settings}")


@pytest.mark.list_takes_turns
@pytest.mark.parametrize(("program", "toolchain"), CASES, indirect=["toolchain"])
def test_construct_keeps_its_meaning(program: TaskProgram, toolchain: Toolchain) -> None:
    check_meaning(program, toolchain, ONE_WAY)


@pytest.mark.parametrize("program", TASK_PROGRAMS, ids=lambda program: program.name)
def test_construct_keeps_its_meaning_in_every_way(program: TaskProgram, default_toolchain: Toolchain) -> None:
    check_meaning(program, default_toolchain, EVERY_WAY)


def check_meaning(
    program: TaskProgram, toolchain: Toolchain, ways: tuple[tuple[int, str, dict[str, str]], ...]
) -> None:
    """Runs a program, which checks itself, under the extension's scheduler in each of these ways."""
    command = compiled(program, toolchain)
    for threads, domains, others in ways:
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
def test_linked_library_behaves_like_a_preloaded_one(
    source: str, threads: int, default_toolchain: Toolchain
) -> None:
    program = compile_with_ext(source, default_toolchain, *flags_for(default_toolchain))
    settings = {"OMP_EXT_SCHEDULE": "1", "OMP_NUM_THREADS": str(threads), "OMP_EXT_STATISTICS": "1"}
    finished = run([str(program)], default_toolchain, settings)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert "tasks:" in finished.stderr  # the statistics: the library ran the tasks


@pytest.mark.parametrize("tasks", ["light", "runtime"])
@pytest.mark.parametrize(
    ("name", "threads"),
    [
        *itertools.product(
            (toolchain.name for toolchain in TOOLCHAINS if toolchain.name != "gcc-12-libomp-19"), (2, 4)
        ),
        ("clang-19", 1),  # before libomp 17, a single thread fails an assertion at detachable tasks
    ],
)
def test_a_library_loaded_later_may_need_the_tasks_of_the_runtime(
    name: str, threads: int, tasks: str
) -> None:
    toolchain = toolchain_named(name)
    source = "ext/late_library.c"
    flags = flags_for(toolchain)
    library = compile_source(source, toolchain, flags=(*flags, "-DLIBRARY", "-shared", "-fPIC"))
    program = compile_source(source, toolchain, flags=flags)
    settings = {
        "LD_PRELOAD": str(ext_library()),
        "OMP_EXT_SCHEDULE": "1",
        "OMP_EXT_TASKS": tasks,
        "OMP_NUM_THREADS": str(threads),
    }
    finished = run([str(program), str(library)], toolchain, settings)
    assert finished.returncode == 0, finished.stdout + finished.stderr


@pytest.mark.parametrize("threads", [2, 4])
def test_tasks_by_functions_that_dlsym_finds_do_not_hang(threads: int, toolchain: Toolchain) -> None:
    program = compile_source("ext/unreferenced.c", toolchain)
    settings = {
        "LD_PRELOAD": str(ext_library()),
        "OMP_EXT_SCHEDULE": "1",
        "OMP_EXT_STATISTICS": "1",
        "OMP_NUM_THREADS": str(threads),
    }
    finished = run([str(program)], toolchain, settings)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    # Threads begin the first of three regions without the scheduler, so its 100 tasks belong to the runtime.
    assert "tasks: 200 created, 200 run" in finished.stderr


def test_regions_beside_tasks_by_functions_that_dlsym_finds_do_not_hang(default_toolchain: Toolchain) -> None:
    program = compile_source("ext/unreferenced.c", default_toolchain)
    settings = {"LD_PRELOAD": str(ext_library()), "OMP_EXT_SCHEDULE": "1", "OMP_NUM_THREADS": "16"}
    for _ in range(10):
        finished = run([str(program), "beside"], default_toolchain, settings)
        assert finished.returncode == 0, finished.stdout + finished.stderr


def test_a_region_may_ask_for_placement_before_all_its_threads_begin(default_toolchain: Toolchain) -> None:
    program = compile_source("ext/late_placement.c", default_toolchain)
    settings = {"LD_PRELOAD": str(ext_library()), "KMP_BLOCKTIME": "0", "OMP_NUM_THREADS": "16"}
    for _ in range(3):
        finished = run([str(program)], default_toolchain, settings)
        assert finished.returncode == 0, finished.stdout + finished.stderr


SIZES = pytest.mark.parametrize(("threads", "domains"), [(2, 2), (4, 2), (4, 4), (8, 4)])
NONE_ELSEWHERE = "outside 0, rescued 0\n"


@SIZES
def test_every_level_of_a_recursion_can_be_placed(
    threads: int, domains: int, default_toolchain: Toolchain
) -> None:
    program = compile_with_ext("ext/tree.c", default_toolchain)
    settings = {
        "OMP_NUM_THREADS": str(threads),
        "OMP_EXT_DOMAINS": str(domains),
        "OMP_EXT_STRICT": "1",
    }
    finished = run([str(program), "16", "5"], default_toolchain, settings)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert finished.stdout.endswith(NONE_ELSEWHERE)


def test_many_waits_for_another_domain_need_no_stack_of_their_own(default_toolchain: Toolchain) -> None:
    program = compile_with_ext("ext/tree.c", default_toolchain)
    settings = {
        "OMP_NUM_THREADS": "2",
        "OMP_EXT_DOMAINS": "2",
        "OMP_EXT_STRICT": "1",
        "OMP_EXT_STATISTICS": "1",
    }
    finished = run([str(program), "16", "1"], default_toolchain, settings)
    assert finished.stdout.endswith(NONE_ELSEWHERE), finished.stdout + finished.stderr
    stepped_aside = re.search(r"waits: (\d+) suspended", finished.stderr)
    n_changes_of_domain = sum(2 ** (16 - depth) for depth in range(1, 17) if depth % 3 == 1)
    assert stepped_aside
    assert int(stepped_aside[1]) < 0.7 * n_changes_of_domain


@pytest.mark.parametrize("strict", ["0", "1"])
def test_no_depth_of_relaxed_waits_overflows_the_stack(strict: str, default_toolchain: Toolchain) -> None:
    program = compile_with_ext("ext/tree.c", default_toolchain)
    settings = {
        "OMP_NUM_THREADS": "2",
        "OMP_EXT_DOMAINS": "2",
        "OMP_EXT_STRICT": strict,
        "OMP_EXT_TIED": "relaxed",
    }
    finished = run([str(program), "16", "2"], default_toolchain, settings)
    assert finished.returncode == 0, finished.stdout + finished.stderr


# The kinds of waits in tests/programs/ext/aside.c.
WAYS_TO_WAIT = (
    "taskwait",
    "taskgroup",
    "depend",
    "taskwait_depend",
    "detach",
    "undeferred",
    "taskloop",
    "taskyield",
    "critical",
    "hint",
    "lock",
    "test_lock",
    "nest_lock",
    "nested_region",
)


@pytest.mark.parametrize("how", WAYS_TO_WAIT)
def test_a_task_that_waits_steps_aside(how: str, toolchain: Toolchain) -> None:
    has_detach = toolchain.name != "gcc-12-libomp-19"  # gcc asks for a symbol version that libomp lacks
    if how == "detach" and not has_detach:
        pytest.skip("libomp has no events for gcc's tasks")
    flags = flags_for(toolchain)
    # If the program has detachable tasks, all its tasks belong to the runtime; otherwise all are light.
    programs = [compile_with_ext("ext/aside.c", toolchain, *flags, "-DDETACH")] if has_detach else []
    if how != "detach":
        programs.append(compile_with_ext("ext/aside.c", toolchain, *flags))
    sizes = (("2", "2"), ("4", "2"), ("8", "4"))
    for program, (threads, domains) in itertools.product(programs, sizes):
        settings = {
            "OMP_NUM_THREADS": threads,
            "OMP_EXT_DOMAINS": domains,
            "OMP_EXT_STRICT": "1",
            "OMP_MAX_ACTIVE_LEVELS": "2",
        }
        finished = run([str(program), how, "200"], toolchain, settings)
        assert finished.returncode == 0, finished.stdout + finished.stderr
        assert finished.stdout.endswith(NONE_ELSEWHERE)


# A light task needs a task of the runtime to change settings. It gets that task before its suspension, after
# it, or never.
@pytest.mark.parametrize("after", ["0", "1"])
@pytest.mark.parametrize("before", ["0", "1"])
def test_a_light_task_that_stepped_aside_has_its_own_settings(
    before: str, after: str, toolchain: Toolchain, default_toolchain: Toolchain
) -> None:
    program = compile_with_ext("ext/aside_settings.c", toolchain, *flags_for(toolchain))
    counter = compile_source(
        "ext/counting_runtime.c", default_toolchain, flags=("-shared", "-fPIC"), openmp=False
    )
    settings = {
        "LD_PRELOAD": f"{ext_library()}:{counter}",
        "OMP_NUM_THREADS": "2",
        "OMP_EXT_DOMAINS": "2",
        "OMP_EXT_STRICT": "1",
        "OMP_EXT_STATISTICS": "1",
    }
    n_rounds = 5
    finished = run([str(program), before, after, str(n_rounds)], toolchain, settings)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    stepped_aside = re.search(r"waits: (\d+) suspended", finished.stderr)
    assert stepped_aside, finished.stderr
    assert int(stepped_aside[1]) >= 2 * n_rounds
    counted = re.search(r"counting_runtime: tasks (\d+)", finished.stderr)
    assert counted, finished.stderr
    n_threads = 2
    if before == after == "0":
        assert int(counted[1]) <= n_threads * n_rounds, "more than one task of the runtime per implicit task"


# A task that uses its thread's copy of a reduction variable stays on this thread.
@pytest.mark.parametrize(("act", "n_tasks", "n_moved"), [("busy", 20, 20), ("reduction", 10, 0)])
def test_any_thread_of_the_domain_resumes_an_untied_task(
    act: str, n_tasks: int, n_moved: int, toolchain: Toolchain
) -> None:
    program = compile_with_ext("ext/untied.c", toolchain, *flags_for(toolchain))
    settings = {"OMP_NUM_THREADS": "4", "OMP_EXT_DOMAINS": "2", "OMP_EXT_STRICT": "1"}
    finished = run([str(program), act, str(n_tasks)], toolchain, settings)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert finished.stdout == f"moved {n_moved}, {NONE_ELSEWHERE}"


@pytest.mark.parametrize("threads", ["2", "4"])
@pytest.mark.parametrize("tiedness", ["", "untied"])
def test_a_region_may_become_strict_while_its_threads_wait(
    tiedness: str, threads: str, default_toolchain: Toolchain
) -> None:
    program = compile_with_ext("ext/strict_later.c", default_toolchain, f"-DTIEDNESS={tiedness}")
    settings = {"OMP_NUM_THREADS": threads, "OMP_EXT_DOMAINS": "2"}
    finished = run([str(program)], default_toolchain, settings)
    assert (finished.returncode, finished.stdout) == (0, NONE_ELSEWHERE), finished.stdout + finished.stderr


@pytest.mark.parametrize(("threads", "domains"), [("2", "2"), ("4", "2"), ("8", "4")])
@pytest.mark.parametrize("tied", ["strict", "relaxed"])
def test_untied_tasks_wait_in_every_way(tied: str, threads: str, domains: str, toolchain: Toolchain) -> None:
    program = compile_with_ext("ext/untied.c", toolchain, *flags_for(toolchain))
    settings = {
        "OMP_NUM_THREADS": threads,
        "OMP_EXT_DOMAINS": domains,
        "OMP_EXT_STRICT": "1",
        "OMP_EXT_TIED": tied,
        "OMP_MAX_ACTIVE_LEVELS": "2",
    }
    finished = run([str(program), "tree", "12"], toolchain, settings)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert finished.stdout.endswith(NONE_ELSEWHERE)


@pytest.mark.parametrize("how", ["critical", "lock", "nest_lock"])
def test_a_relaxed_wait_does_not_cover_the_holder_of_a_lock(how: str, default_toolchain: Toolchain) -> None:
    program = compile_with_ext("ext/aside.c", default_toolchain, *flags_for(default_toolchain))
    for threads, domains, strict in (("2", "2", "1"), ("4", "2", "1"), ("4", "2", "0"), ("2", "1", "0")):
        settings = {
            "OMP_NUM_THREADS": threads,
            "OMP_EXT_DOMAINS": domains,
            "OMP_EXT_STRICT": strict,
            "OMP_EXT_TIED": "relaxed",
        }
        finished = run([str(program), how, "200"], default_toolchain, settings)
        assert finished.returncode == 0, finished.stdout + finished.stderr
        assert finished.stdout.endswith("rescued 0\n")


# The loops in tests/programs/ext/ordered.c. In its turn, each thread waits for a task in the next domain.
WAYS_TO_BE_ORDERED = ("static", "dynamic", "guided", "every_second", "nowait", "doacross", "doacross_nest")


@pytest.mark.parametrize("suffix", ["c", "cpp"])
def test_a_task_that_waits_for_its_turn_steps_aside(suffix: str, toolchain: Toolchain) -> None:
    # clang 19 compiles such loops to calls that libomp 15 lacks.
    compiler = toolchain_named("clang-16") if toolchain.name == "clang-19-libomp-15" else toolchain
    program = compile_with_ext(f"ext/ordered.{suffix}", compiler, *flags_for(compiler))
    for how, (threads, domains) in itertools.product(WAYS_TO_BE_ORDERED, (("2", "2"), ("4", "2"))):
        settings = {"OMP_NUM_THREADS": threads, "OMP_EXT_DOMAINS": domains, "OMP_EXT_STRICT": "1"}
        finished = run([str(program), how, "100"], toolchain, settings)
        assert finished.returncode == 0, finished.stdout + finished.stderr
        assert finished.stdout.endswith(NONE_ELSEWHERE)


@pytest.mark.parametrize("name", ["clang-19", "gcc-12-libomp-19"])
def test_tasks_of_fortran_step_aside(name: str) -> None:
    toolchain = toolchain_named(name)
    assert not toolchain.missing()
    program = compile_with_ext("ext/aside.f90", toolchain, extra_sources=[FORTRAN_MODULE])
    ways = ("taskwait", "taskgroup", "critical", "lock", "nest_lock", "ordered")
    for how, (threads, domains) in itertools.product(ways, (("2", "2"), ("4", "2"))):
        settings = {"OMP_NUM_THREADS": threads, "OMP_EXT_DOMAINS": domains, "OMP_EXT_STRICT": "1"}
        finished = run([str(program), how], toolchain, settings)
        assert finished.returncode == 0, finished.stdout + finished.stderr
        assert finished.stdout.endswith(NONE_ELSEWHERE)


# Two threads, each in a domain of its own.
ONE_EACH = {"OMP_NUM_THREADS": "2", "OMP_EXT_DOMAINS": "2", "OMP_EXT_STRICT": "1"}
# Limits the address space, so that not even one stack of 1000G fits into it.
WITHOUT_STACKS = ("sh", "-c", 'ulimit -v 50000000; exec "$@"', "sh")


def test_a_task_is_not_rescued_while_its_domain_is_at_work(default_toolchain: Toolchain) -> None:
    program = compile_with_ext("ext/aside.c", default_toolchain, *flags_for(default_toolchain))
    finished = run([str(program), "long", "1"], default_toolchain, ONE_EACH)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert finished.stdout.endswith(NONE_ELSEWHERE)


def test_a_task_is_rescued_when_its_domain_is_blocked_outside_of_openmp(default_toolchain: Toolchain) -> None:
    program = compile_with_ext("ext/aside.c", default_toolchain, *flags_for(default_toolchain))
    finished = run([str(program), "blocked", "1"], default_toolchain, ONE_EACH)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert finished.stdout.endswith("outside 2, rescued 2\n")  # one in each of its two rounds


def test_a_task_is_not_rescued_while_other_threads_use_its_domains_processor(
    default_toolchain: Toolchain,
) -> None:
    program = compile_with_ext("ext/starved.c", default_toolchain)
    finished = run([str(program)], default_toolchain, ONE_EACH)
    assert (finished.returncode, finished.stdout) == (0, "rescued 0\n"), finished.stdout + finished.stderr


@pytest.mark.parametrize("threads", ["2", "4"])
def test_ten_thousand_tasks_are_suspended_at_once(threads: str, default_toolchain: Toolchain) -> None:
    program = compile_with_ext("ext/aside.c", default_toolchain, *flags_for(default_toolchain))
    settings = {
        "OMP_NUM_THREADS": threads,
        "OMP_EXT_DOMAINS": "2",
        "OMP_EXT_STRICT": "1",
        "KMP_ENABLE_TASK_THROTTLING": "0",  # otherwise the creator runs some tasks before it creates the rest
    }
    finished = run([str(program), "at_once", "10000"], default_toolchain, settings)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert finished.stdout.endswith(NONE_ELSEWHERE)


@pytest.mark.parametrize("strict", ["0", "1"])
@pytest.mark.parametrize("tied", ["strict", "constrained", "relaxed"])
def test_a_chain_of_waits_of_any_depth_fits_the_stacks(tied: str, strict: str, toolchain: Toolchain) -> None:
    program = compile_with_ext("ext/aside.c", toolchain, *flags_for(toolchain))
    settings = {
        "OMP_NUM_THREADS": "2",
        "OMP_EXT_DOMAINS": "2",
        "OMP_EXT_STRICT": strict,
        "OMP_EXT_TIED": tied,
    }
    finished = run([str(program), "chain", "100000"], toolchain, settings)
    assert finished.returncode == 0, finished.stdout + finished.stderr


def test_without_free_stacks_waits_block_and_the_program_ends(default_toolchain: Toolchain) -> None:
    program = compile_with_ext("ext/aside.c", default_toolchain, *flags_for(default_toolchain))
    settings = {**ONE_EACH, "OMP_EXT_STACKSIZE": "1000G", "OMP_EXT_STATISTICS": "1"}
    for how in ("taskwait", "critical", "taskgroup"):
        finished = run([*WITHOUT_STACKS, str(program), how, "20"], default_toolchain, settings)
        assert finished.returncode == 0, finished.stdout + finished.stderr
        assert re.search(r"[1-9]\d* not suspended for lack of a stack", finished.stderr), finished.stderr


@pytest.mark.parametrize("stacks", ["4M", "1000G"])
def test_a_task_that_waits_for_a_lock_does_not_cover_its_holder(
    stacks: str, default_toolchain: Toolchain
) -> None:
    program = compile_with_ext("ext/buried.c", default_toolchain)
    command = [*(WITHOUT_STACKS if stacks == "1000G" else ()), str(program)]
    finished = run(command, default_toolchain, {**ONE_EACH, "OMP_EXT_STACKSIZE": stacks})
    assert finished.returncode == 0, finished.stdout + finished.stderr


@pytest.mark.parametrize("how", ["fork", "fork_exit", "exit", "cancel"])
def test_a_process_may_end_while_tasks_are_suspended(how: str, toolchain: Toolchain) -> None:
    if how == "fork_exit" and toolchain.name == "clang-16":
        pytest.skip("libomp 16 aborts when a forked child exits")
    program = compile_with_ext("ext/aside_ends.c", toolchain, *flags_for(toolchain))
    settings = {"OMP_EXT_DOMAINS": "2", "OMP_EXT_STRICT": "1", "OMP_CANCELLATION": "true"}
    finished = run([str(program), how], toolchain, settings)
    assert finished.returncode == (7 if how == "exit" else 0), finished.stdout + finished.stderr


@pytest.mark.parametrize("what", ["locks", "teams"])
def test_a_process_may_fork_while_other_threads_run_regions(what: str, default_toolchain: Toolchain) -> None:
    program = compile_with_ext("ext/fork_beside_regions.c", default_toolchain)
    settings = {"OMP_NUM_THREADS": "2", "OMP_EXT_DOMAINS": "2"}
    finished = run([str(program), what], default_toolchain, settings)
    assert finished.returncode == 0, finished.stdout + finished.stderr


@pytest.mark.parametrize("construct", ["barrier", "points", "for", "sections", "taskgroup", "end"])
def test_threads_leave_a_cancelled_construct(construct: str, toolchain: Toolchain) -> None:
    if construct in (("for", "sections") if toolchain.name.startswith("gcc") else ("end",)):
        pytest.skip("the runtime itself hangs")
    program = compile_with_ext("ext/cancelled.c", toolchain, *flags_for(toolchain))
    for threads, settings in itertools.product(
        ("1", "2", "4"), ({"OMP_EXT_DOMAINS": "1"}, {"OMP_EXT_DOMAINS": "2", "OMP_EXT_STRICT": "1"})
    ):
        settings |= {"OMP_NUM_THREADS": threads, "OMP_CANCELLATION": "true"}
        finished = run([str(program), construct], toolchain, settings)
        assert finished.returncode == 0, f"{settings}:\n{finished.stdout}{finished.stderr}"


@pytest.mark.parametrize("threads", ["2", "4", "8"])
@pytest.mark.parametrize("tiedness", ["", "untied"])
def test_exceptions_stay_with_their_task(tiedness: str, threads: str, toolchain: Toolchain) -> None:
    flags = (*flags_for(toolchain), "-frounding-math", f"-DTIEDNESS={tiedness}")
    program = compile_with_ext("ext/aside_exceptions.cpp", toolchain, *flags)
    settings = {"OMP_NUM_THREADS": threads, "OMP_EXT_DOMAINS": "2", "OMP_EXT_STRICT": "1"}
    finished = run([str(program)], toolchain, settings)
    assert (finished.returncode, finished.stdout) == (0, "rescued 0\n"), finished.stdout + finished.stderr


@pytest.mark.parametrize("how", ["LOCK", "CRITICAL", "EVENT", "YIELD"])
def test_a_task_that_others_wait_for_is_not_covered(how: str, default_toolchain: Toolchain) -> None:
    program = compile_with_ext("ext/covered.c", default_toolchain, f"-DHOW={how}")
    settings = {"OMP_NUM_THREADS": "3", "OMP_EXT_DOMAINS": "2", "OMP_EXT_STRICT": "1"}
    finished = run([str(program)], default_toolchain, settings)
    assert finished.returncode == 0, finished.stdout + finished.stderr


def test_the_deepest_task_runs_first_where_tasks_step_aside(default_toolchain: Toolchain) -> None:
    program = compile_with_ext("ext/deepest.c", default_toolchain)
    settings = {"OMP_NUM_THREADS": "2", "OMP_EXT_DOMAINS": "2", "OMP_EXT_STRICT": "1"}
    finished = run([str(program)], default_toolchain, settings)
    assert (finished.returncode, finished.stdout) == (0, "ds\n"), finished.stdout + finished.stderr


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


def test_target_tasks_do_not_write_to_a_wait_that_has_ended(toolchain: Toolchain) -> None:
    if "clang" not in toolchain.name:
        pytest.skip("libomp does not have gcc's entries for target constructs")
    program = compile_source("ext/target_depend.c", toolchain)
    settings = {"LD_PRELOAD": str(ext_library()), "OMP_EXT_SCHEDULE": "1", "OMP_NUM_THREADS": "8"}
    finished = run([str(program), "1000"], toolchain, settings)
    assert finished.returncode == 0, finished.stdout + finished.stderr


@pytest.mark.parametrize("threads", ["4", "64"])
def test_empty_tasks_of_a_loop_are_shared(threads: str, toolchain: Toolchain) -> None:
    program = compile_source("ext/taskloop_if.c", toolchain)
    settings = {"LD_PRELOAD": str(ext_library()), "OMP_EXT_SCHEDULE": "1", "OMP_NUM_THREADS": threads}
    finished = run([str(program)], toolchain, settings)
    assert finished.returncode == 0, finished.stdout + finished.stderr


# A loop of 1,000 iterations has ten chunks for each thread by default, which take less time than waking a
# thread. On a busy machine the other threads may come too late in most runs. If the scheduler did not share
# tiny tasks, they would come too late in all runs.
@pytest.mark.parametrize("threads", ["4", "8"])
def test_tiny_tasks_of_the_first_region_are_shared(threads: str, toolchain: Toolchain) -> None:
    program = compile_source("ext/taskloop_default.c", toolchain)
    settings = {"LD_PRELOAD": str(ext_library()), "OMP_EXT_SCHEDULE": "1", "OMP_NUM_THREADS": threads}
    n_threads: list[int] = []
    while sum(n > 1 for n in n_threads) < 5:
        assert len(n_threads) < 200, n_threads
        n_threads.append(int(run([str(program)], toolchain, settings).stdout))


@pytest.mark.parametrize("kind", ["tasks", "dependent", "taskloop"])
def test_threads_share_rare_long_tasks_among_short_ones(kind: str, default_toolchain: Toolchain) -> None:
    program = compile_with_ext("ext/rare_long_tasks.c", default_toolchain)
    percents: list[int] = []  # share of the long tasks that their creator ran
    # On a busy machine the other thread may come too late.
    while not percents or percents[-1] > 85:
        assert len(percents) < 5, percents
        finished = run([str(program), kind], default_toolchain, {"OMP_NUM_THREADS": "2"})
        assert finished.returncode == 0, finished.stdout + finished.stderr
        percents.append(int(finished.stdout.removeprefix("CREATOR ")))


@pytest.mark.parametrize("queue", ["stealing", "shared-lifo"])
@pytest.mark.parametrize("steal", STEAL_POLICIES)
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
def test_two_domains_that_wait_for_each_other_are_rescued_when_constrained(
    how: str, default_toolchain: Toolchain
) -> None:
    program = compile_with_ext("ext/mutual_wait.c", default_toolchain, *flags_for(default_toolchain))
    settings = {"OMP_NUM_THREADS": "2", "OMP_EXT_DOMAINS": "2", "OMP_EXT_TIED": "constrained"}
    finished = run([str(program), how, "5"], default_toolchain, settings)
    assert finished.returncode == 0, finished.stdout
    assert "rescued 0" not in finished.stdout


@pytest.mark.parametrize("tied", ["strict", "relaxed"])
@pytest.mark.parametrize("how", ["taskwait", "taskgroup", "depend"])
def test_two_domains_that_wait_for_each_other_need_no_rescue(
    how: str, tied: str, default_toolchain: Toolchain
) -> None:
    program = compile_with_ext("ext/mutual_wait.c", default_toolchain, *flags_for(default_toolchain))
    settings = {"OMP_NUM_THREADS": "2", "OMP_EXT_DOMAINS": "2", "OMP_EXT_TIED": tied}
    finished = run([str(program), how, "5"], default_toolchain, settings)
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


@pytest.mark.parametrize("library", ["libomp_ext.so", "libomp_ext_injected.so"])
@pytest.mark.parametrize("tasks", ["light", "runtime"])
def test_random_dependences_give_the_results_of_a_serial_run(
    tasks: str, library: str, default_toolchain: Toolchain
) -> None:
    program = compile_source("ext/random_graph.c", default_toolchain, flags=flags_for(default_toolchain))
    for seed, (threads, domains, strict) in enumerate(
        (("1", "1", "0"), ("2", "1", "0"), ("4", "1", "0"), ("2", "2", "0"), ("4", "2", "1"))
    ):
        settings = {
            "LD_PRELOAD": str(ext_library().with_name(library)),
            "OMP_EXT_SCHEDULE": "1",
            "OMP_EXT_TASKS": tasks,
            "OMP_EXT_DOMAINS": domains,
            "OMP_EXT_STRICT": strict,
            "OMP_NUM_THREADS": threads,
        }
        finished = run([str(program), str(seed)], default_toolchain, settings)
        assert finished.returncode == 0, f"{settings}: {finished.stdout}{finished.stderr}"


# ---------------------------------------------------------------- programs without placement; wrong settings


def test_a_program_without_placement_runs_on_its_runtime_alone(default_toolchain: Toolchain) -> None:
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


def test_an_unknown_runtime_is_reported_once_and_not_used(
    tmp_path: Path, default_toolchain: Toolchain
) -> None:
    gcc = toolchain_named("gcc-12-libomp-19")
    program = compile_source("kinds/taskgroup.c", gcc)
    settings = {
        "LD_PRELOAD": str(ext_library()),
        "OMP_EXT_SCHEDULE": "1",
        "OMP_NUM_THREADS": "2",
        "LD_LIBRARY_PATH": str(tmp_path),  # finds the system's libgomp
    }
    finished = run([str(program)], gcc, settings)
    assert finished.returncode == 0
    assert finished.stderr.count("does not know the OpenMP runtime") == 1


@pytest.mark.parametrize(
    ("name", "value", "valid"),
    [
        ("OMP_EXT_STEAL", "sideways", ", ".join(STEAL_POLICIES)),
        ("OMP_EXT_QUEUE", "heap", "stealing, shared-lifo"),
        ("OMP_EXT_TIED", "loose", "strict, constrained, relaxed"),
        ("OMP_EXT_STRIKT", "1", "OMP_EXT_STRICT"),
    ],
)
def test_invalid_settings_are_reported_once(
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
