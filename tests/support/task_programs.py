# SPDX-License-Identifier: Apache-2.0
"""The table of the programs in tests/programs/kinds: their needs, and toolchains on which they cannot work.

A program that is not listed needs nothing. A comment at the head of each program describes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from toolchains import PROGRAMS, Toolchain, compile_source

_NO_GOMP_TARGET = "libomp does not have GOMP_target_ext, which gcc's target tasks call"
_NO_GOMP_DETACH = "gcc asks for omp_fulfill_event of symbol version OMP_5.0.1, which libomp does not have"
_GOMP_FREES_COPIES = "libomp's GOMP_task frees copies for undeferred tasks at a wrong address"
_NO_DISPATCH_DEINIT = "clang 19 calls __kmpc_dispatch_deinit at dynamic loops, which came with libomp 19"
_LEAGUES_ABORT = "libomp 14 to 16 abort, with and without a tool, after leagues of two teams and of one"
_PRIORITY_HANGS = "libomp 15 and 16 sometimes lose tasks with priorities, with and without a tool, and hang"
_EMULATED_FORK = "qemu 7.2 aborts if a program forks while its other threads run"
_EMULATED_EXEC = "the kernel cannot start AArch64 programs, only the emulator can"
_NO_TASKWAIT_DEPS = "clang 19 calls __kmpc_omp_taskwait_deps_51, which came with libomp 16"


@dataclass(frozen=True)
class TaskProgram:
    """One program of tests/programs/kinds."""

    source: str  # relative to tests/programs
    environment: Mapping[str, str] = field(default_factory=dict)
    is_library_too: bool = False  # also compiled as the library that it loads
    n_processes: int = 1  # processes that use OpenMP, each of which makes its own run directory
    ends_in_flight: bool = False  # the process ends while tasks are running, some never complete
    ends_in_region: bool = False  # the process ends while other threads are in the middle of an event
    lacks: Mapping[str, str] = field(default_factory=dict)  # reasons why it cannot work, by toolchain
    variant: str = ""  # name of this variant, for a program that is listed twice

    @property
    def name(self) -> str:
        return self.source.rsplit("/", 1)[-1].split(".")[0] + self.variant


_CANCELLATION = {"OMP_CANCELLATION": "true"}
_NEEDS: dict[str, TaskProgram] = {
    program.name: program
    for program in (
        TaskProgram("kinds/cancel_for.c", _CANCELLATION),
        TaskProgram("kinds/cancel_parallel.c", _CANCELLATION),
        TaskProgram("kinds/cancel_taskgroup.c", _CANCELLATION),
        TaskProgram("kinds/deep_recursion.c", {"OMP_STACKSIZE": "64M"}),
        TaskProgram(
            "kinds/depend_inoutset.c",
            lacks={
                "clang-14": "clang 14 does not know depend(inoutset)",
                "gcc-12-libomp-19": "gcc 12 does not know depend(inoutset)",
            },
        ),
        TaskProgram("kinds/depend_undeferred.c", lacks={"clang-19-libomp-15": _NO_TASKWAIT_DEPS}),
        TaskProgram("kinds/detached_thread.c", ends_in_flight=True, ends_in_region=True),
        TaskProgram("kinds/detach_destructor.cpp", lacks={"gcc-12-libomp-19": _NO_GOMP_DETACH}),
        TaskProgram("kinds/detach_early.c", lacks={"gcc-12-libomp-19": _NO_GOMP_DETACH}),
        TaskProgram("kinds/detach_in_task.c", lacks={"gcc-12-libomp-19": _NO_GOMP_DETACH}),
        TaskProgram("kinds/detach_late_pthread.c", lacks={"gcc-12-libomp-19": _NO_GOMP_DETACH}),
        TaskProgram("kinds/detach_late_task.c", lacks={"gcc-12-libomp-19": _NO_GOMP_DETACH}),
        TaskProgram("kinds/dlopen_library.c", is_library_too=True),
        TaskProgram("kinds/exit_in_region.c", ends_in_region=True),
        TaskProgram("kinds/fork_exec.c", n_processes=2, lacks={"clang-19-aarch64": _EMULATED_EXEC}),
        TaskProgram("kinds/fork_openmp.c", n_processes=2, lacks={"clang-19-aarch64": _EMULATED_FORK}),
        TaskProgram(
            "kinds/fork_exit.c",
            lacks={"clang-16": "libomp 16 aborts, with and without a tool, when a forked child exits"},
        ),
        TaskProgram("kinds/helper_threads.c", lacks={"gcc-12-libomp-19": _NO_GOMP_TARGET}),
        TaskProgram("kinds/hidden_helper.c", lacks={"gcc-12-libomp-19": _NO_GOMP_TARGET}),
        TaskProgram(
            "kinds/lock_hints.c",
            lacks={"gcc-12-libomp-19": "libgomp 12 has no omp_init_lock_with_hint to link against"},
        ),
        TaskProgram(
            "kinds/objects_undeferred.cpp",
            lacks={"gcc-12-libomp-19": _GOMP_FREES_COPIES},
        ),
        TaskProgram("kinds/ordered.c", lacks={"clang-19-libomp-15": _NO_DISPATCH_DEINIT}),
        TaskProgram("kinds/outlived.c", lacks={"gcc-12-libomp-19": _GOMP_FREES_COPIES}),
        TaskProgram("kinds/taskwait_depend.c", lacks={"clang-19-libomp-15": _NO_TASKWAIT_DEPS}),
        TaskProgram(
            "kinds/teams_serial.c",
            lacks=dict.fromkeys(("clang-14", "clang-16", "clang-19-libomp-15"), _LEAGUES_ABORT),
        ),
        TaskProgram("kinds/worksharing_loops.c", lacks={"clang-19-libomp-15": _NO_DISPATCH_DEINIT}),
    )
}

_VARIANTS = (
    TaskProgram(
        "kinds/priority.c",
        {"OMP_MAX_TASK_PRIORITY": "10"},  # without it libomp ignores priorities
        lacks={"clang-16": _PRIORITY_HANGS, "clang-19-libomp-15": _PRIORITY_HANGS},
        variant="-levels",
    ),
)

TASK_PROGRAMS: tuple[TaskProgram, ...] = (
    *(
        _NEEDS.get(path.stem, TaskProgram(f"kinds/{path.name}"))
        for path in sorted((PROGRAMS / "kinds").iterdir())
        if path.suffix in (".c", ".cpp")
    ),
    *_VARIANTS,
)


def compiled(program: TaskProgram, toolchain: Toolchain, opt_level: str = "-O2") -> list[str]:
    """Returns the command that runs the program."""
    flags = flags_for(toolchain)
    if not program.is_library_too:
        return [str(compile_source(program.source, toolchain, opt_level=opt_level, flags=flags))]
    library_flags = (*flags, "-DLIBRARY", "-shared", "-fPIC")
    library = compile_source(program.source, toolchain, opt_level=opt_level, flags=library_flags)
    return [str(compile_source(program.source, toolchain, opt_level=opt_level, openmp=False)), str(library)]


def flags_for(toolchain: Toolchain) -> tuple[str, ...]:
    """Returns the flags of the programs. `masked` needs OpenMP 5.1, which is not every clang's default."""
    return ("-fopenmp-version=51",) if "clang" in toolchain.cc else ()
