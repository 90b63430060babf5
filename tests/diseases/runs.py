# SPDX-License-Identifier: Apache-2.0
"""Records each program with both compilers, on every number of threads, under every condition.

Owns the folder of recordings and its journal. Skips finished runs unless the program or the tool has changed;
repeats an interrupted run.
"""

from __future__ import annotations

import hashlib
import random
import shutil
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import toolchains
from command import call
from diseases.conditions import QUIET, Condition
from diseases.labels import PROGRAMS, Label
from ompass.journal import Journal
from ompass.packed import TRACE
from ompass.reports.model import plain
from ompass.simulation.advice import advise
from ompass.simulation.report import advice_report
from ompass.simulation.stored import store_advice

COMPILERS = ("clang-19", "gcc-12-libomp-19")
FOLDER = toolchains.REPOSITORY / "build" / "diseases"
SWEEP_ROUNDS = 3
_SIMULATED = ("priority_inverted",)
"""Diseases that only a second run with a trace shows."""
_FORTRAN_MODULE = PROGRAMS / "disease_steps.f90"


@dataclass(frozen=True, slots=True)
class Case:
    """One run or sweep."""

    label: Label
    compiler: str
    threads: int
    condition: Condition
    round_number: int
    cured: bool = False
    sweep: bool = False

    @property
    def key(self) -> str:
        variant = ("-cured" if self.cured else "") + ("-sweep" if self.sweep else "")
        name = f"{self.label.program}{variant}"
        return f"{name}-{self.compiler}-{self.threads}-{self.condition.name}-{self.round_number}"

    @property
    def is_well(self) -> bool:
        """True if the program is healthy or was cured."""
        return self.cured or self.label.is_healthy


def build(label: Label, compiler: str, *, cured: bool = False) -> Path:
    """Returns the executable; builds it if its source has changed. Raises AssertionError on failure."""
    fortran = label.source.suffix == ".f90"
    return toolchains.compile_source(
        label.source,
        toolchains.toolchain_named(compiler),
        flags=(*(("-cpp",) if fortran else ()), *(("-DCURED",) if cured else ())),
        extra_sources=(_FORTRAN_MODULE,) if fortran else (),
    )


def record(case: Case, library: Path, run_dir: Path) -> None:
    """Records one run as `ompass run` does, or a sweep with `ompass scale`.

    Raises AssertionError if that fails.
    """
    toolchain = toolchains.toolchain_named(case.compiler)
    program = build(case.label, case.compiler, cured=case.cured)
    with case.condition():
        if case.sweep:
            environment = {"OMPASS_LIBRARY": str(library), **case.label.environment}
            threads = ("-t", f"1,{case.threads}", "--repeat", SWEEP_ROUNDS)
            arguments = (*threads, "-o", run_dir, "--json", "--", program)
            call(toolchain.run_environment(environment), run_dir.parent, "scale", *arguments)
            return
        run = partial(
            toolchains.run_with_tool,
            program,
            toolchain,
            library=library,
            threads=case.threads,
            preload=True,
            environment=case.condition.environment(case.threads) | case.label.environment,
        )
        run(run_dir=run_dir)
        if case.label.disease in _SIMULATED:
            trace = run_dir / TRACE
            run(run_dir=trace, mode="trace")
            store_advice(run_dir, plain(advice_report(advise(trace))))


class Recordings:
    """The folder of recordings. One process at a time may open it. Use it as a context manager."""

    def __init__(self, library: Path, folder: Path = FOLDER) -> None:
        """Opens or creates the folder.

        Raises UsageError if another process holds it, and OutputError if it is not writable.
        """
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._library = library
        self._tool = hashlib.sha256(library.read_bytes()).hexdigest()[:16]
        self._journal = Journal(
            folder / "journal.jsonl", f"remove {folder}", {"format": "ompass diseases journal 1"}
        )
        self._adding = threading.Lock()
        self._finished = {
            entry["key"]: (entry["program"], entry["tool"])
            for number, entry in self._journal.entries()
            if number > 1 and entry
        }

    def __enter__(self) -> Recordings:
        return self

    def __exit__(self, *_: object) -> None:
        self._journal.close()

    def run_dir(self, case: Case) -> Path:
        return self._folder / case.key / "run.ompass"

    def missing(self, cases: Sequence[Case]) -> list[Case]:
        """Returns the cases that are not recorded yet."""
        return [case for case in cases if self._finished.get(case.key) != self._versions_of(case)]

    def add(self, case: Case) -> None:
        """Records a case and adds it to the journal. Any thread may call it.

        Raises AssertionError if the program fails.
        """
        run_dir = self.run_dir(case)
        shutil.rmtree(run_dir.parent, ignore_errors=True)
        run_dir.parent.mkdir(parents=True)
        record(case, self._library, run_dir)
        program, tool = self._versions_of(case)
        with self._adding:
            self._journal.append({"key": case.key, "program": program, "tool": tool})
            self._finished[case.key] = program, tool

    def _versions_of(self, case: Case) -> tuple[str, str]:
        """Returns the executable's name and the tool's hash, which change with their sources."""
        return build(case.label, case.compiler, cured=case.cured).name, self._tool


@dataclass(frozen=True, slots=True)
class Selection:
    """The requested runs."""

    labels: Sequence[Label]
    compilers: Sequence[str]
    threads: Sequence[int]
    conditions: Sequence[Condition]
    rounds: int = 1
    cured: bool = False  # cured versions too
    sweeps: bool = False  # sweeps too, under the condition QUIET


def cases_of(selection: Selection, seed: int) -> Iterator[Case]:
    """Yields all requested runs, one round after the other, each in a random order."""
    order = random.Random(seed)
    for number in range(selection.rounds):
        cases = [
            Case(label, compiler, n, condition, number, cured, sweep)
            for label in selection.labels
            for compiler in selection.compilers
            if label.builds_with(compiler)
            for n in selection.threads
            for cured in (False, True)
            if not cured or (selection.cured and not label.is_healthy)
            for condition, sweep in _ways(selection)
        ]
        order.shuffle(cases)
        yield from cases


def _ways(selection: Selection) -> Iterator[tuple[Condition, bool]]:
    """Yields the conditions of runs, then of sweeps."""
    yield from ((condition, False) for condition in selection.conditions)
    if selection.sweeps:
        yield QUIET, True
