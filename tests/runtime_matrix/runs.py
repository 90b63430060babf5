# SPDX-License-Identifier: Apache-2.0
"""Runs of the programs: the pairs of compiler and runtime, the ways to load tool and extension, the verdict.

A run is right if it prints the same as without tool and extension, if the recorded counts equal the program's
counts, and if thread time is the sum of its states. Under the extension alone, all tasks that the extension
created must have run, except in programs that cancel or detach tasks or end early.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import toolchains
from ext_programs import ext_library
from ompass import _core
from ompass.launch.runtimes import version_key
from recorded_run import check_accounts_agree, check_facts, check_sound, facts_in
from task_programs import TASK_PROGRAMS, TaskProgram, compiled
from toolchains import RUNTIMES, TOOLCHAINS, Toolchain, compile_source, toolchain_named

_LIMIT_S = 60.0
_THREADS = 4
_GCC_RUNTIMES = ("llvm-14", "llvm-22", "llvm-23", "intel")
FORTRAN = TaskProgram("api/kernels.f90")
_STATISTICS = re.compile(r"tasks: (\d+) created, (\d+) run")


@dataclass(frozen=True, slots=True)
class Pair:
    """A compiler and a runtime, and their names in the table."""

    compiler: str
    runtime: str
    toolchain: Toolchain

    def lacks(self, program: TaskProgram) -> bool:
        """True if task_programs.py excludes the program here, or if its Fortran compiler is missing."""
        known = {self.toolchain.name} | ({"gcc-12-libomp-19"} if self.compiler == "gcc 12" else set())
        return bool(known & set(program.lacks)) or (program is FORTRAN and self.toolchain.fc is None)


@dataclass(frozen=True, slots=True)
class Way:
    """A way to load the tool and the extension."""

    name: str
    settings: Mapping[str, str]
    mode: str = ""  # of the tool; empty: no tool
    preload: bool = False


_SCHEDULE = {"OMP_EXT_SCHEDULE": "1", "OMP_EXT_STATISTICS": "1"}
WAYS = (
    Way("profile", {}, "profile"),
    Way("trace", {}, "trace", preload=True),
    Way("light", _SCHEDULE),
    Way("runtime", {**_SCHEDULE, "OMP_EXT_TASKS": "runtime"}),
    Way("strict", {**_SCHEDULE, "OMP_EXT_DOMAINS": "2", "OMP_EXT_STRICT": "1"}),
    Way("both", _SCHEDULE, "trace", preload=True),
)


@dataclass(frozen=True, slots=True)
class Case:
    """One program on one pair, loaded in one way."""

    program: TaskProgram
    pair: Pair
    way: Way

    def __str__(self) -> str:
        return f"{self.program.name}, {self.pair.compiler} on {self.pair.runtime}, {self.way.name}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """A case, and the reason why it is wrong (empty if it is right)."""

    case: Case
    wrong: str
    is_late: bool = False  # reached the time limit, perhaps because the machine was busy
    is_ours: bool = True  # False if the program fails even without tool and extension


def pairs() -> list[Pair]:
    """Returns all pairs: the tests' matrix, gcc on more runtimes, the newest clang on an older runtime."""
    newest = toolchain_named("clang-23")
    older = replace(newest, name="clang-23-libomp-22", runtime_dir=RUNTIMES / "llvm-22" / "lib")
    every = [
        *(Pair(_compiler_name(toolchain), _runtime_name(toolchain), toolchain) for toolchain in TOOLCHAINS),
        Pair(_compiler_name(newest), "libomp 22", older),
        *(Pair("gcc 12", _runtime_name(toolchain), toolchain) for toolchain in map(_gcc_on, _GCC_RUNTIMES)),
    ]
    return sorted(every, key=lambda pair: (version_key(Path(pair.runtime)) or (99,), pair.compiler))


def _compiler_name(toolchain: Toolchain) -> str:
    """Returns the name of the compiler in the table, such as `clang 19`."""
    return " ".join(toolchain.name.split("-")[:2])


def _runtime_name(toolchain: Toolchain) -> str:
    home = toolchain.runtime_library.resolve().parents[1].name
    return "Intel" if home == "intel" else f"libomp {home.removeprefix('llvm-')}"


def _gcc_on(home: str) -> Toolchain:
    """Returns gcc with the runtime of RUNTIMES / `home`, linked under the file name of libgomp."""
    folder = toolchains.COMPILED / "runtime_matrix" / home
    folder.mkdir(parents=True, exist_ok=True)
    link = folder / "libgomp.so.1"
    library = RUNTIMES / home / "lib" / ("libiomp5.so" if home == "intel" else "libomp.so.5")
    if not link.is_symlink():
        link.symlink_to(library)
    gcc = toolchain_named("gcc-12-libomp-19")
    newest = toolchain_named("clang-23")
    libc_flags = newest.libc_flags if newest.runtime_library == library else ()
    return replace(
        gcc,
        name=f"gcc-12-{home}",
        runtime_dir=folder,
        runtime_library=link,
        link_flags=libc_flags,
        libc_flags=libc_flags,
    )


def cases_of(chosen: Sequence[Pair], ways: Sequence[Way], only: str = "") -> list[Case]:
    """Returns a case per program, pair and way. If `only` is set, takes only the programs that it names."""
    wanted = set(only.split(",")) if only else set()
    return [
        Case(program, pair, way)
        for pair in chosen
        for program in (*TASK_PROGRAMS, FORTRAN)
        if not pair.lacks(program) and (not wanted or program.name in wanted)
        for way in ways
    ]


class Campaign:
    """Runs cases with one build of the tool. Runs each program once alone, and keeps that output."""

    def __init__(self, tool: Path, limit_s: float = _LIMIT_S) -> None:
        self._tool = tool
        self._limit_s = limit_s
        self._plain: dict[tuple[str, str], str | None] = {}

    def run_all(self, cases: Sequence[Case], at_once: int) -> Iterator[Outcome]:
        """Yields the outcomes in the order of the cases; runs `at_once` cases at a time."""
        with ThreadPoolExecutor(at_once) as pool:
            list(
                pool.map(
                    self._run_plain, {(c.pair.toolchain.name, c.program.name): c for c in cases}.values()
                )
            )
            yield from pool.map(self.run, cases)

    def run(self, case: Case) -> Outcome:
        """Runs one case. Returns its outcome, with a reason of one line if it is wrong."""
        expected = self._run_plain(case)
        if expected is None:
            return Outcome(case, "fails without tool and extension, too", is_ours=False)
        try:
            self._check(case, expected)
        except subprocess.TimeoutExpired:
            return Outcome(case, f"did not end within {self._limit_s:.0f} s", is_late=True)
        except (AssertionError, RuntimeError, OSError) as error:
            return Outcome(case, next(iter(str(error).splitlines()), repr(error)))
        return Outcome(case, "")

    def _check(self, case: Case, expected: str) -> None:
        with tempfile.TemporaryDirectory() as folder:
            run_dir = Path(folder) / "run.ompass"
            finished = self._start(case, run_dir)
            last = next(reversed(finished.stderr.strip().splitlines()), "no message")
            assert finished.returncode == 0, f"ended with {finished.returncode}: {last}"
            assert _without_facts(finished.stdout) == expected, "other output"
            if case.way.mode:
                _check_recording(case, run_dir, finished.stdout)
            else:
                _check_statistics(case, finished.stderr)

    def _start(self, case: Case, run_dir: Path) -> subprocess.CompletedProcess[str]:
        program, way = case.program, case.way
        libraries = [*([str(self._tool)] if way.mode and way.preload else [])]
        libraries += [str(ext_library())] if "OMP_EXT_SCHEDULE" in way.settings else []
        settings = {"OMP_NUM_THREADS": str(_THREADS), **way.settings, **program.environment}
        if libraries:
            settings["LD_PRELOAD"] = " ".join(libraries)
        if way.mode:
            settings |= {"OMPASS_MODE": way.mode, "OMPASS_DIR": str(run_dir), "OMPASS_SUMMARY": "off"}
        if way.mode and not way.preload:
            settings["OMP_TOOL_LIBRARIES"] = str(self._tool)
        return case.pair.toolchain.run(_command(case), settings, cwd=run_dir.parent, timeout_s=self._limit_s)

    def _run_plain(self, case: Case) -> str | None:
        """Returns the output without tool and extension; None if the program fails."""
        key = case.pair.toolchain.name, case.program.name
        if key not in self._plain:
            settings = {"OMP_NUM_THREADS": str(_THREADS), **case.program.environment}
            with tempfile.TemporaryDirectory() as folder:
                try:
                    finished = case.pair.toolchain.run(
                        _command(case), settings, cwd=Path(folder), timeout_s=self._limit_s
                    )
                except subprocess.TimeoutExpired:
                    finished = None
            is_right = finished is not None and finished.returncode == 0
            self._plain[key] = _without_facts(finished.stdout) if finished and is_right else None
        return self._plain[key]


def _command(case: Case) -> list[str]:
    """Compiles the program and returns the command that runs it."""
    if case.program is not FORTRAN:
        return compiled(case.program, case.pair.toolchain)
    module = toolchains.REPOSITORY / "ompt_tool" / "fortran" / "ompass.f90"
    return [str(compile_source(FORTRAN.source, case.pair.toolchain, extra_sources=(module,)))]


def _without_facts(stdout: str) -> str:
    """Returns all lines but FACTS lines. The returned lines must not depend on the schedule."""
    return "\n".join(line for line in stdout.splitlines() if not line.startswith("FACTS "))


def _check_recording(case: Case, run_dir: Path, stdout: str) -> None:
    profile = check_sound(run_dir)
    check_facts(facts_in(stdout), profile, ends_in_flight=case.program.ends_in_flight)
    if case.way.mode == "trace":
        replay = _core.replay_trace(str(run_dir))
        check_accounts_agree(profile, replay, ends_in_region=case.program.ends_in_region)


def _check_statistics(case: Case, stderr: str) -> None:
    """Checks the extension's statistics, if any: a program that ends early prints none."""
    for created, run in _STATISTICS.findall(stderr):
        assert int(created) >= int(run), f"{created} tasks created, {run} run"
        # Cancelled tasks never run. A thread that is not a worker may complete a detached task.
        if not (case.program.ends_in_flight or re.match("cancel|detach", case.program.name)):
            assert created == run, f"{created} tasks created, {run} run"
