# SPDX-License-Identifier: Apache-2.0
"""Runs the programs: on libgomp alone, for the right result, and under `ompass run` on each runtime.

Decides whether a run had the same result, was refused, or had another result.
"""

from __future__ import annotations

import multiprocessing
import os
import re
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import toolchains
from ext_programs import ext_library
from gcc_matrix.programs import MatrixProgram
from ompass.commands.main import main as command
from ompass.launch.plan import missing_functions
from ompass.launch.program import inspect_program
from ompass.launch.runtimes import read_runtime

_LLVM = (14, 15, 16, 19, 20, 21, 22)
RUNTIMES: Mapping[str, Path] = {
    **{f"libomp {n}": toolchains.RUNTIMES / f"llvm-{n}" / "lib" / "libomp.so.5" for n in _LLVM},
    "libiomp5": toolchains.RUNTIMES / "intel" / "lib" / "libiomp5.so",
}
MODES = ("profile", "trace", "extension")
THREADS = (1, 2, 4)
SAME, REFUSED, OTHER = "same", "refused", "other"
_NOT_STARTED = 125
_LIMIT_S = 60
_NAMED = re.compile(r"\b(?:GOMP|GOACC|omp|acc)_\w+")


@dataclass(frozen=True, slots=True)
class Case:
    """One run: a program on a runtime, on a number of threads, recorded in one mode."""

    program: MatrixProgram
    runtime: str
    threads: int
    mode: str

    def __str__(self) -> str:
        return f"{self.program.name} on {self.runtime}, {self.threads} threads, {self.mode}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of a run: SAME, REFUSED with the functions that the refusal names, or OTHER with a reason."""

    case: Case
    kind: str
    names: frozenset[str] = frozenset()
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Ended:
    """The status and the output of a finished process."""

    status: int | None  # None: it did not end in time
    stdout: str
    stderr: str


class Campaign:
    """Runs cases with one build of the tool; keeps the results on libgomp."""

    def __init__(self, tool: Path) -> None:
        self._tool = tool
        self._references: dict[tuple[str, int], Ended] = {}
        self._missing: dict[tuple[str, str], frozenset[str]] = {}

    def run(self, case: Case) -> Outcome:
        """Runs one case with `ompass run`, in a forked copy of this process, and judges it."""
        expected = self._reference(case.program, case.threads)
        environment = _environment(case) | {"OMPASS_LIBRARY": str(self._tool)}
        if case.mode == "extension":
            environment |= {"LD_PRELOAD": str(ext_library()), "OMP_EXT_SCHEDULE": "1"}
        mode = "trace" if case.mode == "trace" else "profile"
        with tempfile.TemporaryDirectory() as folder:
            arguments = (
                *("run", "-q", "--mode", mode, "--libomp", str(RUNTIMES[case.runtime])),
                *("-o", f"{folder}/run.ompass", "--", str(case.program.path)),
            )
            ended = _run_forked(lambda: _become_command(arguments), environment, Path(folder))
        return self._judged(case, expected, ended)

    def run_all(self, cases: Sequence[Case], at_once: int) -> Iterator[Outcome]:
        """Yields the outcomes of these cases in their order; runs `at_once` cases at a time."""
        for case in cases:
            self._reference(case.program, case.threads)
        with multiprocessing.get_context("fork").Pool(at_once, initializer=_begin, initargs=(self,)) as pool:
            yield from pool.imap(_run_here, cases)

    def _judged(self, case: Case, expected: Ended, ended: Ended) -> Outcome:
        if ended.status == _NOT_STARTED and (named := self._named(case, ended)):
            return Outcome(case, REFUSED, named)
        if (ended.status, ended.stdout) == (expected.status, expected.stdout):
            return Outcome(case, SAME)
        return Outcome(case, OTHER, detail=_difference(expected, ended))

    def _named(self, case: Case, ended: Ended) -> frozenset[str]:
        """Returns the program's functions that the refusal names; empty if it names none."""
        named = frozenset(_NAMED.findall(ended.stderr)) & case.program.calls
        if not named:
            return named
        # A message about many functions names only three, and the number of the others.
        return named | (self._missing_in(case) if re.search(r"and \d+ more", ended.stderr) else frozenset())

    def _missing_in(self, case: Case) -> frozenset[str]:
        key = case.program.name, case.runtime
        if key not in self._missing:
            runtime = read_runtime("libomp", RUNTIMES[case.runtime])
            assert runtime
            program = inspect_program(str(case.program.path), toolchains.neutral_environment())
            self._missing[key] = frozenset(missing_functions(program, runtime, self._tool))
        return self._missing[key]

    def _reference(self, program: MatrixProgram, threads: int) -> Ended:
        key = program.name, threads
        if key not in self._references:
            alone = Case(program, "libgomp", threads, "alone")
            command = [str(program.path)]
            first, second = (
                _run_forked(lambda: os.execve(command[0], command, os.environ), _environment(alone), None)
                for _ in range(2)
            )
            assert first == second, f"{alone}: two runs differ: {_difference(first, second)}"
            self._references[key] = first
        return self._references[key]


def cases_of(
    programs: Sequence[MatrixProgram],
    runtimes: Sequence[str],
    threads: Sequence[int] = THREADS,
    modes: Sequence[str] = MODES,
    rounds: int = 1,
) -> list[Case]:
    """Returns each program on each runtime, number of threads and mode, in each round."""
    return [
        Case(program, runtime, n, mode)
        for _ in range(rounds)
        for program in programs
        for runtime in runtimes
        for n in threads
        for mode in modes
    ]


def _environment(case: Case) -> dict[str, str]:
    return {
        **toolchains.neutral_environment(),
        **case.program.environment,
        "OMP_NUM_THREADS": str(case.threads),
    }


_campaign: Campaign | None = None  # set in the processes of the pool


def _begin(campaign: Campaign) -> None:
    global _campaign
    _campaign = campaign


def _run_here(case: Case) -> Outcome:
    assert _campaign
    return _campaign.run(case)


def _become_command(arguments: Sequence[str]) -> None:
    """Runs `ompass ARGUMENTS` in this process, whose loaded modules save most of the time."""
    sys.argv = ["ompass", *arguments]
    command()


def _run_forked(become: Callable[[], object], environment: Mapping[str, str], cwd: Path | None) -> Ended:
    """Runs `become` in a copy of this process, with this environment, and returns how it ended."""
    with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        pid = os.fork()
        if pid == 0:
            _child(become, environment, cwd, stdout.fileno(), stderr.fileno())
        deadline = time.monotonic() + _LIMIT_S
        pause = 0.002
        while (waited := os.waitpid(pid, os.WNOHANG)) == (0, 0):
            if time.monotonic() > deadline:
                os.killpg(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                return Ended(None, "", "")
            time.sleep(pause)
            pause = min(pause * 1.5, 0.05)
        stdout.seek(0)
        stderr.seek(0)
        return Ended(
            os.waitstatus_to_exitcode(waited[1]),
            stdout.read().decode(errors="replace"),
            stderr.read().decode(errors="replace"),
        )


def _child(
    become: Callable[[], object], environment: Mapping[str, str], cwd: Path | None, stdout: int, stderr: int
) -> NoReturn:
    status = 1
    try:
        os.setpgid(0, 0)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(stdout, 1)
        os.dup2(stderr, 2)
        sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)  # noqa: SIM115
        os.environ.clear()
        os.environ.update(environment)
        if cwd:
            os.chdir(cwd)
        become()
        status = 0
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _difference(expected: Ended, ended: Ended) -> str:
    if ended.status is None:
        return f"it did not end within {_LIMIT_S} s"
    if ended.status != expected.status:
        last = ended.stderr.strip().splitlines()[-1:] or ["no message"]
        return f"status {ended.status} in place of {expected.status}: {last[0]}"
    pairs = zip(expected.stdout.splitlines(), ended.stdout.splitlines(), strict=False)
    for right, wrong in pairs:
        if right != wrong:
            return f"`{wrong}` in place of `{right}`"
    return "lines are missing or added"
