# SPDX-License-Identifier: Apache-2.0
"""Counts how often the first finding on an MPI job with one known problem is right, under three loads.

Records each job of tests/programs/ranks, in C and Fortran, with OpenMPI and MPICH: alone (two ranks), with
more ranks than processors, and next to a program that uses a processor. `crowded_hosts` and `one_core`
are also right if the job has more busy threads than processors; `disturbed` is also right next to the other
program. A job that runs alone has the highest priority (as root). Each of its ranks is bound to a core, as by
OpenMPI's default for two ranks, unless each of several threads can have a processor. If other programs
disturb the job nevertheless, the benchmark repeats it, and omits it after the last try. Prints a table;
--json writes all findings. Needs both MPI implementations; takes some five minutes.

    PYTHONPATH=tests:tests/support python tests/benchmarks/job_findings.py --json job-findings.json
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import json
import os
import random
import tempfile
import threading
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Final

from diseases.conditions import HOG, QUIET, Condition
from mpi_jobs import job_environment, record_job
from mpi_programs import IMPLEMENTATIONS, compile_mpi
from ompass.installation import Component, library_path
from toolchains import toolchain_named

NOTHING: Final = "nothing"
KINDS: Final = {
    "imbalanced": "rank_imbalance",
    "communication": "communication",
    "serialised": "ranks_in_turn",
    "in_task": "mpi_in_regions",
    "multiple": "communication",
    "even": NOTHING,
}
"""The right first finding on each kind of job."""
BUSY_THREADS: Final = {"multiple": 2}
"""Threads of a rank that work or poll at the same time, if more than one."""
THREADS: Final = {"multiple": 2, "in_task": 2}
TOOLCHAINS: Final = {"c": "clang-19", "f90": "gcc-12-libomp-19"}
CROWDED: Final = "crowded"


@dataclass(frozen=True, slots=True)
class Case:
    """One recording of a job."""

    kind: str
    implementation: str
    language: str
    load: str  # "quiet", "crowded" or "hog"

    @property
    def condition(self) -> Condition:
        return HOG if self.load == HOG.name else QUIET

    @property
    def n_ranks(self) -> int:
        """Returns the number of ranks, which is even."""
        n_processors = len(os.sched_getaffinity(0))
        return n_processors + n_processors % 2 + 2 if self.load == CROWDED else 2

    @property
    def is_bound(self) -> bool:
        """True if the launcher binds each rank to a core."""
        threads = THREADS.get(self.kind, 1)
        return self.load == QUIET.name and (threads == 1 or 2 * threads > len(os.sched_getaffinity(0)))

    @property
    def right(self) -> frozenset[str]:
        """Returns the kinds of right first findings."""
        right = {KINDS[self.kind]}
        if self.n_ranks * BUSY_THREADS.get(self.kind, 1) > len(os.sched_getaffinity(0)):
            right |= {"crowded_hosts", "one_core"}
        return frozenset(right | ({"disturbed"} if self.load == HOG.name else set()))


@dataclass(frozen=True, slots=True)
class Outcome:
    """The kinds of the findings on a job, most important first."""

    case: Case
    findings: tuple[str, ...]

    @property
    def first(self) -> str:
        return self.findings[0] if self.findings else NOTHING

    @property
    def is_right(self) -> bool:
        return self.first in self.case.right

    @property
    def is_spoilt(self) -> bool:
        """True if others disturbed a job that should run alone."""
        return "disturbed" in self.findings and self.case.load != HOG.name


def measure(case: Case, program: Path, library: Path, n_rounds: int) -> Outcome:
    toolchain = toolchain_named(TOOLCHAINS[case.language])
    environment = job_environment(library, toolchain, THREADS.get(case.kind, 1))
    launcher = [f"mpirun.{case.implementation}"]
    if case.is_bound:
        environment["OMPI_MCA_hwloc_base_binding_policy"] = "core"
        launcher += ["-bind-to", "core"] if case.implementation == "mpich" else []
    first = contextlib.nullcontext() if case.condition.hogged else preferred(program.name, case.n_ranks)
    with tempfile.TemporaryDirectory() as folder, case.condition(), first:
        command = (program, case.kind, n_rounds)
        report, _ = record_job(environment, Path(folder), case.n_ranks, *command, launcher=launcher)
    return Outcome(case, tuple(finding["kind"] for finding in report["job"]["findings"]))


@contextlib.contextmanager
def preferred(name: str, n: int) -> Iterator[None]:
    """Gives priority to the first n processes of this name.

    MPICH starts each rank in its own session, and Linux may schedule a session as a group with default
    priority. The search stops when it has found n processes, because each pass uses a processor for some
    milliseconds.
    """
    ended = threading.Event()
    found: set[Path] = set()

    def prefer() -> None:
        while len(found) < n and not ended.wait(0.02):
            for path in Path("/proc").glob("[0-9]*/comm"):
                with contextlib.suppress(OSError):
                    if path not in found and path.read_text(encoding="utf-8").strip() == name[:15]:
                        path.with_name("autogroup").write_text("-20", encoding="ascii")
                        found.add(path)

    watcher = threading.Thread(target=prefer)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()


def print_table(outcomes: Sequence[Outcome]) -> None:
    """Prints the numbers of right and judged jobs by kind and load, and each wrong first finding."""
    loads = (QUIET.name, CROWDED, HOG.name)
    print(f"{'job':15}" + "".join(f"{load:>12}" for load in loads))
    judged = [outcome for outcome in outcomes if not outcome.is_spoilt]
    for kind in KINDS:
        cells = []
        for load in loads:
            here = [one.is_right for one in judged if (one.case.kind, one.case.load) == (kind, load)]
            cells.append(f"{sum(here)} of {len(here)}")
        print(f"{kind:15}" + "".join(f"{cell:>12}" for cell in cells))
    for outcome in judged:
        if not outcome.is_right:
            case = outcome.case
            print(f"wrong: {case.kind}, {case.implementation}, {case.language}, {case.load}: {outcome.first}")
    n_spoilt = len(outcomes) - len(judged)
    print(f"{sum(one.is_right for one in judged)} of {len(judged)} right; {n_spoilt} disturbed jobs omitted")
    firsts = collections.Counter(one.first for one in judged)
    print("first findings:", ", ".join(f"{name} {n}" for name, n in firsts.most_common()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=10, help="rounds of each job")
    parser.add_argument("--tries", type=int, default=3, help="tries for a job that should run alone")
    parser.add_argument("--kind", action="append", choices=list(KINDS), help="only this kind of job")
    parser.add_argument("--load", action="append", choices=[QUIET.name, CROWDED, HOG.name])
    parser.add_argument("--json", type=Path, help="write all findings to this file")
    arguments = parser.parse_args()
    library = library_path(Component.TOOL)
    scratch = tempfile.TemporaryDirectory()
    programs = {
        (implementation, language): compile_mpi(
            f"ranks/jobs.{language}",
            implementation,
            toolchain_named(toolchain),
            Path(scratch.name),
            name=f"jobs-{language}",
        )
        for implementation, (language, toolchain) in product(IMPLEMENTATIONS, TOOLCHAINS.items())
    }
    loads = arguments.load or [QUIET.name, CROWDED, HOG.name]
    cases = [Case(*each) for each in product(arguments.kind or KINDS, IMPLEMENTATIONS, TOOLCHAINS, loads)]
    outcomes = []
    for case in random.sample(cases, len(cases)):
        program = programs[case.implementation, case.language]
        for _ in range(arguments.tries):
            outcome = measure(case, program, library, arguments.rounds)
            if not outcome.is_spoilt:
                break
        outcomes.append(outcome)
    outcomes.sort(key=lambda one: cases.index(one.case))
    print_table(outcomes)
    if arguments.json:
        values = [
            {**asdict(one.case), "ranks": one.case.n_ranks, "findings": one.findings, "right": one.is_right}
            for one in outcomes
        ]
        arguments.json.write_text(json.dumps(values, indent=1) + "\n", encoding="utf-8")
    scratch.cleanup()


if __name__ == "__main__":
    main()
