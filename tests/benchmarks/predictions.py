# SPDX-License-Identifier: Apache-2.0
"""Compares predictions of `ompass simulate` with measured times, as a table and as JSON.

Uses programs of tests/diseases, built by clang (sick unless the name ends in -cured), and benchmark programs
of bots/. Two of these are other versions: lu with dependences, and sparselu with tasks created in worksharing
loops. Each round runs a program on two threads without the tool, and records traces on one thread and on two.
Each trace gives a prediction for two threads. For both numbers of recorded threads, reports the error of the
median prediction against the median measured time, or the reason for a refusal.

Also predicts 4, 8, 16 and 32 threads from both traces. The exit status is 1 if a prediction is shorter than
the work divided by the threads, the longest chain, or the time for which the program holds one lock.

All times are times in parallel regions, which region_clock.c measures. Programs have the highest priority if
permitted (to root). Needs the build (release preset) and the Python that has the package installed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import reduce
from pathlib import Path
from statistics import median

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(REPOSITORY / "tests"), str(REPOSITORY / "tests" / "support")]

import toolchains  # noqa: E402
from diseases.conditions import QUIET  # noqa: E402
from diseases.labels import Label, all_labels  # noqa: E402
from diseases.runs import build  # noqa: E402
from ompass.simulation.calibration import as_toml, calibrate  # noqa: E402
from ompass.simulation.machine import Machine, read_machine  # noqa: E402
from ompass.simulation.reader import (  # noqa: E402
    SimulationOptions,
    TaskProgram,
    in_team,
    locks,
    read_task_program,
    run_simulation,
    without_lock,
)
from ompass.simulation.refusals import misfit, refusal  # noqa: E402
from ompass.simulation.runs import fitted, predict, untraced_regions  # noqa: E402

COMPILER = "clang-19"
BOTS = (
    "alignment", "bitcounter", "cilksort", "concom", "fft", "fib", "floorplan", "health", "knapsack", "lu",
    "mis", "nqueens", "sort", "sparselu", "strassen", "uts",
)  # fmt: skip
OTHER_VERSIONS = ("lu-depend", "sparselu-for")
MANY = (4, 8, 16, 32)
WIDEST = 1024  # threads, for the longest chain
FREE = SimulationOptions(costs={"create": ((1, 0.0),)})  # operations of the runtime take no time
LIMITS = {2: 0.05, 1: 0.10}  # greatest errors, by threads of the trace
ROUNDING = 1.001  # allows for the rounding of predicted times
CLOCK = Path(__file__).with_name("region_clock.c")


@dataclass(frozen=True)
class Subject:
    """A program, and how to start it."""

    name: str
    command: tuple[str, ...]
    environment: dict[str, str] = field(default_factory=dict)


@dataclass
class Result:
    """The measured and predicted times of one program, in ns."""

    name: str
    measured: list[float] = field(default_factory=list)
    # By threads of the trace: predicted times, and reasons for refusals.
    predicted: dict[int, list[float]] = field(default_factory=lambda: {2: [], 1: []})
    refused: dict[int, str] = field(default_factory=dict)
    beyond_bounds: list[str] = field(default_factory=list)

    def error(self, recorded: int) -> float:
        return median(self.predicted[recorded]) / median(self.measured) - 1

    def is_right(self, recorded: int) -> bool:
        return recorded in self.refused or abs(self.error(recorded)) <= LIMITS[recorded]


def corpus(labels: Iterable[Label]) -> Iterator[Subject]:
    for label in labels:
        if not label.builds_with(COMPILER):
            continue
        for cured in (False,) if label.is_healthy else (False, True):
            program = build(label, COMPILER, cured=cured)
            name = label.program + ("-cured" if cured else "")
            yield Subject(name, (str(program),), label.environment)


def sample_of_corpus() -> list[Label]:
    """Returns the first program of each disease, and every third healthy one."""
    seen: dict[str, int] = {}
    chosen = []
    for label in all_labels():
        n = seen[label.disease] = seen.get(label.disease, -1) + 1
        if n == 0 or (label.is_healthy and n % 3 == 0):
            chosen.append(label)
    return chosen


def benchmarks(folder: Path, size: str) -> Iterator[Subject]:
    for name in (*(f"{name}-tasks" for name in BOTS), *OTHER_VERSIONS):
        yield Subject(name, (str(folder / name), "--class", size))


def environment(subject: Subject, threads: int) -> dict[str, str]:
    made = {**QUIET.environment(threads), **subject.environment, "OMP_NUM_THREADS": str(threads)}
    return toolchains.toolchain_named(COMPILER).run_environment(made)


def run_bare(subject: Subject, clock: Path, folder: Path) -> float:
    """Runs the program on two threads without the tool; returns the time in regions in ns."""
    report = folder / "region-time"
    measured = {"OMP_TOOL_LIBRARIES": str(clock), "REGION_TIME_FILE": str(report)}
    subprocess.run(
        subject.command, env={**environment(subject, 2), **measured}, check=True, stdout=subprocess.DEVNULL
    )
    return float(report.read_text())


def record(subject: Subject, threads: int, directory: Path) -> None:
    recorder = [sys.executable, "-m", "ompass", "run", "--mode", "trace", "--quiet"]
    subprocess.run(
        [*recorder, "-o", str(directory), "--", *subject.command],
        env={**os.environ, **environment(subject, threads)},
        check=True,
        stdout=subprocess.DEVNULL,
    )


def beyond_bounds(name: str, program: TaskProgram, machine: Machine) -> Iterator[str]:
    """Yields each prediction for many threads that is shorter than a lower bound, as text."""
    for n in MANY:
        predicted_ns = predict(program, machine, "libomp", n).wall_ns
        divided = in_team(program, n)
        unlocked = reduce(lambda made, lock: without_lock(made, lock.lock), locks(divided), divided)
        least = {
            "work": divided.work_ns / n,
            "chain": run_simulation(unlocked, "help-first", WIDEST, FREE).wall_ns,
            "lock": divided.longest_hold_ns,
        }
        for bound, ns in least.items():
            if predicted_ns * ROUNDING < ns:
                yield f"{name} on {n} threads: {predicted_ns} ns, but the {bound} takes {ns:.0f} ns"


def measure(subject: Subject, calibrated: Machine, rounds: int, folder: Path, clock: Path) -> Result:
    result = Result(subject.name)
    for k in range(rounds):
        with QUIET():
            result.measured.append(run_bare(subject, clock, folder))
            for recorded in (2, 1):
                record(subject, recorded, folder / f"{subject.name}-{recorded}-{k}.ompass")
        for recorded in (2, 1):
            path = folder / f"{subject.name}-{recorded}-{k}.ompass"
            program = read_task_program(path)
            machine = fitted(program, calibrated)[0]
            run = predict(untraced_regions(program, machine), machine, "libomp", 2, untraced=True)
            result.predicted[recorded].append(run.wall_ns - run.serial_ns)
            unfit = misfit(program, predict(program, machine, "libomp", program.n_threads))
            if doubt := refusal(program, 2, run) or (unfit if recorded != 2 else None):
                result.refused[recorded] = doubt.reason
            if k == 0:
                result.beyond_bounds += beyond_bounds(path.name, program, machine)
    return result


def table(results: Sequence[Result]) -> Iterator[str]:
    yield "| program | measured | spread | 2 from 2 | 2 from 1 |"
    yield "|---|--:|--:|--:|--:|"
    for one in results:
        spread = (max(one.measured) - min(one.measured)) / median(one.measured)
        errors = (
            "refused" if recorded in one.refused else f"{one.error(recorded):+.1%}" for recorded in (2, 1)
        )
        yield f"| {one.name} | {median(one.measured) / 1e6:.2f} ms | {spread:.0%} | {' | '.join(errors)} |"
    yield ""
    for recorded, limit in LIMITS.items():
        right = sum(one.is_right(recorded) for one in results)
        refused = sum(recorded in one.refused for one in results)
        yield (
            f"2 from {recorded}: {right} of {len(results)} programs within {limit:.0%} or refused "
            f"({refused} refused)."
        )


def chosen(options: argparse.Namespace) -> Iterator[Subject]:
    labels = all_labels() if options.all else sample_of_corpus()
    if "corpus" in options.kinds:
        yield from corpus(labels)
    if "bots" in options.kinds:
        yield from benchmarks(options.bots, options.size)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kinds", type=lambda text: text.split(","), default=["corpus", "bots"])
    parser.add_argument("--all", action="store_true", help="all programs of tests/diseases, not a sample")
    parser.add_argument("--only", default="", help="names of programs, separated by commas")
    parser.add_argument("--bots", type=Path, default=REPOSITORY / "build/release/bots")
    parser.add_argument("--class", dest="size", default="small")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--machine-file", default="", help="costs (default: calibrate first)")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    results: list[Result] = []
    with tempfile.TemporaryDirectory(prefix="ompass-predictions-") as name:
        folder = Path(name)
        costs = options.machine_file
        if not costs:
            costs = str(folder / "here.toml")
            Path(costs).write_text(as_toml("here", calibrate()))
        machine = read_machine(costs)
        clock = toolchains.compile_source(
            CLOCK, toolchains.toolchain_named(COMPILER), flags=("-shared", "-fPIC")
        )
        only = options.only.split(",") if options.only else []
        for subject in chosen(options):
            if only and subject.name not in only:
                continue
            results.append(measure(subject, machine, options.rounds, folder, clock))
            print("\n".join(list(table(results[-1:]))[2:3]), file=sys.stderr, flush=True)
            for trace in folder.glob("*.ompass"):
                subprocess.run(["rm", "-r", str(trace)], check=True)
    print("\n".join(table(results)))
    for one in results:
        for recorded, reason in one.refused.items():
            print(f"{one.name} from {recorded}: refused: {reason}")
        for problem in one.beyond_bounds:
            print(f"{one.name}: beyond the bounds: {problem}")
    if options.json:
        options.json.write_text(json.dumps([asdict(one) for one in results], indent=2))
    return any(one.beyond_bounds for one in results)


if __name__ == "__main__":
    sys.exit(main())
