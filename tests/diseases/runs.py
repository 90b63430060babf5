# SPDX-License-Identifier: Apache-2.0
"""Records each program with both compilers, on every number of threads, under every condition.

Owns the folder of recordings and its journal. Finished runs are skipped unless the program or the tool has
changed; an interrupted run is repeated.
"""

from __future__ import annotations

import hashlib
import random
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import toolchains
from command import call
from diseases.conditions import Condition
from diseases.labels import PROGRAMS, Label
from ompass.journal import Journal

COMPILERS = ("clang-19", "gcc-12-libomp-19")
FOLDER = toolchains.REPOSITORY / "build" / "diseases"
VERDICT = "verdict.json"
"""The file with a sweep's report, in the sweep's folder."""
_FORTRAN_MODULE = PROGRAMS / "disease_steps.f90"


@dataclass(frozen=True, slots=True)
class Case:
    """One run."""

    label: Label
    compiler: str
    threads: int
    condition: Condition
    round_number: int

    @property
    def key(self) -> str:
        return (
            f"{self.label.program}-{self.compiler}-{self.threads}-{self.condition.name}-{self.round_number}"
        )


def build(label: Label, compiler: str) -> Path:
    """Returns the executable; builds it if its source has changed. AssertionError if that fails."""
    fortran = (_FORTRAN_MODULE,) if label.source.suffix == ".f90" else ()
    return toolchains.compile_source(
        label.source, toolchains.toolchain_named(compiler), extra_sources=fortran
    )


def record(case: Case, library: Path, run_dir: Path) -> None:
    """Runs the program as `ompass run` does, or as `ompass scale` does if the label needs a sweep.

    AssertionError if it fails.
    """
    toolchain = toolchains.toolchain_named(case.compiler)
    program = build(case.label, case.compiler)
    with case.condition():
        if case.label.needs_sweep:
            environment = toolchain.run_environment({"OMPASS_LIBRARY": str(library)})
            arguments = (
                "scale",
                "-t",
                f"1,{case.threads}",
                "--repeat",
                2,
                "-o",
                run_dir,
                "--json",
                "--",
                program,
            )
            done = call(environment, run_dir.parent, *arguments)
            (run_dir / VERDICT).write_text(done.stdout, encoding="utf-8")
            return
        toolchains.run_with_tool(
            program,
            toolchain,
            library=library,
            run_dir=run_dir,
            threads=case.threads,
            preload=True,
            environment=case.condition.environment(case.threads),
        )


class Recordings:
    """The folder of recordings, locked by one process at a time. Use it as a context."""

    def __init__(self, library: Path, folder: Path = FOLDER) -> None:
        """Opens or creates the folder. UsageError: another process holds it; OutputError: not writable."""
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._library = library
        self._tool = hashlib.sha256(library.read_bytes()).hexdigest()[:16]
        self._journal = Journal(
            folder / "journal.jsonl", f"remove {folder}", {"format": "ompass diseases journal 1"}
        )
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
        return [case for case in cases if self._finished.get(case.key) != self._made_of(case)]

    def add(self, case: Case) -> None:
        """Records a case and add it to the journal. AssertionError if the program fails."""
        run_dir = self.run_dir(case)
        shutil.rmtree(run_dir.parent, ignore_errors=True)
        run_dir.parent.mkdir(parents=True)
        record(case, self._library, run_dir)
        program, tool = self._made_of(case)
        self._journal.append({"key": case.key, "program": program, "tool": tool})
        self._finished[case.key] = program, tool

    def _made_of(self, case: Case) -> tuple[str, str]:
        return build(case.label, case.compiler).name, self._tool


def cases_of(
    labels: Sequence[Label],
    compilers: Sequence[str],
    threads: Sequence[int],
    conditions: Sequence[Condition],
    rounds: int,
    seed: int,
) -> Iterator[Case]:
    """Yields all requested runs, one round after the other, each in a random order."""
    order = random.Random(seed)
    for number in range(rounds):
        cases = [
            Case(label, compiler, n, condition, number)
            for label in labels
            for compiler in compilers
            for n in threads
            for condition in conditions
        ]
        order.shuffle(cases)
        yield from cases
