# SPDX-License-Identifier: Apache-2.0
"""Sanitizers and a debugger see tasks that step aside as they see tasks of the runtime.

ThreadSanitizer learns about OpenMP's synchronization from LLVM's tool Archer, which comes with libomp.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from ext_programs import compile_with_ext
from needs import require_commands
from task_programs import flags_for
from toolchains import Toolchain, toolchain_named

STRICT = {
    "OMP_EXT_SCHEDULE": "1",
    "OMP_EXT_DOMAINS": "2",
    "OMP_EXT_STRICT": "1",
    "OMP_MAX_ACTIVE_LEVELS": "2",
}
ARCHER = Path("/usr/lib/llvm-19/lib/libarcher.so")

# Programs and arguments. They cover all kinds of waits and of resumption, and all kinds of locks and
# exceptions that a task may hold while it waits.
ASIDE = ("taskwait", "taskgroup", "taskloop", "taskyield", "critical", "lock", "nest_lock", "nested_region")
COMMON = [
    *(("ext/aside.c", how, "40") for how in ASIDE),
    ("ext/aside.c", "chain", "3000"),
    ("ext/ordered.c", "static", "20"),
    ("ext/ordered.c", "doacross", "20"),
    ("ext/aside_exceptions.cpp",),
    ("ext/tree.c", "10", "2"),
    ("kinds/nested_reductions.cpp",),
]
# These run without Archer: with a tool, libomp 19 fails assertions in undeferred tasks with dependences, and
# in untied tasks.
WITHOUT_TOOL = [
    ("ext/aside.c", "depend", "40"),
    ("ext/aside.c", "undeferred", "40"),
    ("ext/untied.c", "busy", "5"),
    ("ext/untied.c", "tree", "8"),
]


def run(
    source: str, sanitizer: str, toolchain: Toolchain, *arguments: str, settings: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    flags = (*flags_for(toolchain), f"-fsanitize={sanitizer}", "-frounding-math")
    program = compile_with_ext(source, toolchain, *flags)
    return toolchain.run([str(program), *arguments], {"OMP_NUM_THREADS": "4", **STRICT, **settings})


@pytest.mark.parametrize(
    ("name", "case"),
    [
        *(("clang-19", case) for case in [*COMMON, *WITHOUT_TOOL]),
        *(("gcc-12-libomp-19", case) for case in WITHOUT_TOOL),
        ("gcc-12-libomp-19", ("ext/aside_exceptions.cpp",)),
    ],
    ids=str,
)
def test_address_sanitizer_finds_nothing(name: str, case: tuple[str, ...]) -> None:
    source, *arguments = case
    finished = run(
        source,
        "address",
        toolchain_named(name),
        *arguments,
        # Memory that the runtime never frees is not a leak of the program.
        settings={"ASAN_OPTIONS": "detect_leaks=0:detect_stack_use_after_return=1"},
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert "Sanitizer" not in finished.stderr


def under_thread_sanitizer(
    source: str, toolchain: Toolchain, *arguments: str
) -> subprocess.CompletedProcess[str]:
    assert ARCHER.is_file(), "Archer comes with libomp-19-dev"
    settings = {"OMP_TOOL_LIBRARIES": str(ARCHER), "TSAN_OPTIONS": "ignore_noninstrumented_modules=1"}
    return run(source, "thread", toolchain, *arguments, settings=settings)


@pytest.mark.parametrize("case", COMMON, ids=" ".join)
def test_thread_sanitizer_finds_nothing(case: tuple[str, ...], default_toolchain: Toolchain) -> None:
    source, *arguments = case
    finished = under_thread_sanitizer(source, default_toolchain, *arguments)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert "WARNING: ThreadSanitizer" not in finished.stderr


def test_thread_sanitizer_finds_a_race_between_domains(default_toolchain: Toolchain) -> None:
    # ThreadSanitizer reports a race only in a run in which it occurs.
    said = (under_thread_sanitizer("ext/race.c", default_toolchain).stderr for _ in range(10))
    assert any("WARNING: ThreadSanitizer: data race" in each for each in said)


@pytest.mark.parametrize("name", ["clang-19", "gcc-12-libomp-19"])
def test_backtraces_of_tasks_end_where_their_stack_begins(name: str) -> None:
    require_commands("gdb")
    toolchain = toolchain_named(name)
    program = compile_with_ext("ext/aside.c", toolchain, *flags_for(toolchain), "-O0")
    # Skips fifty stops, then stops at a resumed task that has held its lock throughout its wait.
    steps = ("break end_alone", "run", "ignore 1 50", "continue", "thread apply all backtrace")
    commands = [word for step in steps for word in ("-ex", step)]
    finished = toolchain.run(
        ["gdb", "-nx", "-batch", *commands, "--args", str(program), "critical", "200"],
        {"OMP_NUM_THREADS": "2", **STRICT},
    )
    said = finished.stdout + finished.stderr
    assert re.search(r"^#1 .* wait_in .*aside\.c", finished.stdout, re.MULTILINE), said
    for complaint in ("Backtrace stopped", "corrupt stack", "?? ()\n#"):
        assert complaint not in finished.stdout.replace("?? () from ", ""), said
    last = [stack.rstrip().splitlines()[-1] for stack in re.split(r"\n\nThread ", finished.stdout)[1:]]
    assert len(last) >= 2
    assert any(" omp_ext::" in frame and " begin " in frame.replace("::", " ") for frame in last), last
