# SPDX-License-Identifier: Apache-2.0
"""Runs a program stock (without the tool and the extension), and in every way of ways.py to load them.

Repeats runs that differ, to recognize flaky programs.
"""

from __future__ import annotations

import hashlib
import os
import resource
import subprocess
import tempfile
from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

from conformance.programs import Program
from conformance.reference import ORDER, Ended, Reference
from conformance.running import RunningPrograms
from conformance.ways import Way
from toolchains import Toolchain

STOCK_RUNS: Final = 3
_MOST_STOCK_RUNS: Final = 100
_STEP: Final = 5  # stock runs that are added before a difference is checked again
# Stock runs alternate among these settings, because flaky programs depend on timing.
_STOCK_SETTINGS: Final[tuple[dict[str, str], ...]] = (
    {},
    {"KMP_BLOCKTIME": "0"},
    {"OMP_WAIT_POLICY": "active"},
)
Entry = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Case:
    """A built program with a number of threads."""

    program: Program
    executable: Path
    threads: int

    @property
    def key(self) -> str:
        return f"{self.program.key} {self.threads}"


@dataclass(frozen=True, slots=True)
class Campaign:
    """The libraries and settings of all runs."""

    tool: Path
    extension: Path
    toolchain: Toolchain
    ways: Sequence[Way]
    limit_s: float = 60.0  # of a run; a stock run must end in a third of it
    repeats: int = 5  # of a run that differs
    running: RunningPrograms = field(default_factory=RunningPrograms)

    def inputs(self, case: Case) -> str:
        """Returns a digest of everything that decides the outcome of a case."""
        parts = [
            *(_digest(path) for path in (case.executable, self.tool, self.extension)),
            *case.program.arguments,
            self.toolchain.name,
            *(way.name for way in self.ways),
            str(self.limit_s),
            str(self.repeats),
        ]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]

    def run_all(self, cases: Sequence[Case], at_once: int) -> Generator[Entry]:
        """Yields the entries of the cases in order; runs `at_once` cases at a time.

        If the generator is closed early, it ends the running programs.
        """
        with ThreadPoolExecutor(at_once) as pool:
            try:
                yield from pool.map(self.entry, cases)
            except BaseException:
                self.running.stop()
                raise

    def entry(self, case: Case) -> Entry:
        """Runs a case in every way and returns the differences as an entry of the journal."""
        entry: Entry = {
            "key": case.key,
            "program": case.program.key,
            "threads": case.threads,
            "inputs": self.inputs(case),
            "skipped": "",
            "differences": [],
        }
        reference = Reference(case.program.has_race, case.program.free)
        if not self._extend(case, reference, STOCK_RUNS):
            return entry | {"skipped": f"a stock run takes more than {self.limit_s / 3:.0f} s"}
        found = [self._judge(case, way, reference) for way in self.ways]
        return entry | {"differences": [difference for difference in found if difference]}

    def _extend(self, case: Case, reference: Reference, n_runs: int) -> bool:
        """Adds stock runs to the reference. Returns False if one reaches the time limit."""
        for _ in range(n_runs):
            number = len(reference.runs)
            settings = _STOCK_SETTINGS[number % len(_STOCK_SETTINGS)]
            run = self.run(case, settings, self.limit_s / 3, on_one_cpu=number % 2 == 1)
            if run.status is None:
                return False
            reference.runs.append(run)
        return True

    def _judge(self, case: Case, way: Way, reference: Reference) -> Entry | None:
        """Returns how a way differs; None if it does not, or if stock runs show the same difference.

        Adds few stock runs to the reference if every run of the way differs, and many if only some do.
        """
        first = self._run_way(case, way)
        if not reference.difference(first):
            return None
        if first.status is None:
            reference.may_hang = reference.may_hang or not self._extend(case, reference, _STEP)
            if reference.may_hang:
                return None
        runs = [first, *(self._run_way(case, way) for _ in range(self.repeats))]
        if reference.has_race:  # the race may keep some runs from ending
            runs = [run for run in runs if run.status is not None] or runs
        while reasons := [reason for run in runs if (reason := reference.difference(run))]:
            serious = [reason for reason in reasons if reason != ORDER]
            enough = _MOST_STOCK_RUNS if serious and len(serious) < len(runs) else 2 * self.repeats
            if len(reference.runs) >= enough or not self._extend(case, reference, _STEP):
                break
        else:
            return None  # stock runs did the same, so the program is flaky
        return {
            "way": way.name,
            "difference": next(iter(serious), ORDER),
            "is_order": not serious,
            "n_different": len(serious or reasons),
            "n_runs": len(runs),
            "n_stock_runs": len(reference.runs),
        }

    def _run_way(self, case: Case, way: Way) -> Ended:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            settings = way.settings(self.tool, self.extension, Path(folder) / "run.ompass")
            return self.run(case, settings, self.limit_s)

    def run(
        self, case: Case, settings: Mapping[str, str], limit_s: float, *, on_one_cpu: bool = False
    ) -> Ended:
        """Runs a program in an empty folder, without input, and ends it at the time limit."""
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            with self.running.program(
                [str(case.executable), *case.program.arguments],
                env=self.toolchain.run_environment({"OMP_NUM_THREADS": str(case.threads), **settings}),
                cwd=Path(folder),
                prepare=_use_one_cpu if on_one_cpu else _leave_no_core,
            ) as process:
                try:
                    stdout, stderr = process.communicate(timeout=limit_s)
                except subprocess.TimeoutExpired:
                    return Ended(None)
            return Ended(process.returncode, stdout, stderr)


def _use_one_cpu() -> None:
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    _leave_no_core()


def _leave_no_core() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


@cache
def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
