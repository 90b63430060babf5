# SPDX-License-Identifier: Apache-2.0
"""Compares simulated runs with recorded ones: every benchmark program on one and two threads, as a table.

First calibrates the costs. Records each program --rounds times on one and on two threads, in turn, and keeps
the recordings with the shortest time in parallel regions. Predicts the time of two threads from the
trace of two and from the trace of one, and the time of one thread from the trace of two.

Then takes the programs that have a cut-off by depth. Runs each at every depth, in eight times as many rounds,
and records some runs at the deepest cut-off. Predicts from the shortest of these recordings the best depth,
and its gain over the deepest. Compares both with the measured best depth and gain. The column "of half" has
the best depths of the even rounds and of the odd rounds. Their difference limits how exact advice can be. The
column "measured there" has the excess of the time at the predicted depth over the best measured time. A depth
is "as good" as the best if its shortest time does not exceed the median time of the best: these rounds cannot
distinguish the two.

Writes both tables as Markdown, for docs/simulation.md. Tries cut-offs after it has recorded all programs.
Names and omits the cases that do not begin within --minutes. Needs the build (release preset), an idle
machine, and the Python that has the package installed.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from ompass._core import TaskProgram
from ompass.simulation.advice import middle_of_shortest
from ompass.simulation.calibration import as_toml, calibrate
from ompass.simulation.machine import Machine, read_machine
from ompass.simulation.reader import SimulationOptions, read_task_program
from ompass.simulation.runs import predict

REPOSITORY = Path(__file__).resolve().parents[2]
SUFFIX = "-tasks"
DEEPEST = 24
MOST_TASKS = 300_000  # largest number of tasks of a run whose cut-off is tried
NEAR = 0.05  # tolerance, relative to the best measured time
UNRECORDED = 8  # times as many rounds without a recording, because curves are flat


@dataclass(frozen=True)
class Row:
    """One program: recorded and predicted times in parallel regions, in ns."""

    program: str
    n_tasks: int
    recorded_1_ns: int
    recorded_2_ns: int
    own_ns: int
    two_from_one_ns: int
    one_from_two_ns: int


def record(
    program: Path, threads: int, arguments: list[str], folder: Path, name: str
) -> tuple[Path, TaskProgram]:
    directory = folder / f"{program.name}-{name}.ompass"
    command = [
        sys.executable, "-m", "ompass", "run", "--mode", "trace", "--quiet", "-o", str(directory), "--",
        str(program), "--threads", str(threads), *arguments,
    ]  # fmt: skip
    subprocess.run(
        command, check=True, stdout=subprocess.DEVNULL, env={**os.environ, "OMP_PROC_BIND": "close"}
    )
    return directory, read_task_program(directory)


def shortest(programs: list[TaskProgram]) -> TaskProgram:
    return min(programs, key=lambda recorded: recorded.regions_ns)


def regions_ns(program: TaskProgram, machine: Machine, threads: int) -> int:
    run = predict(program, machine, "libomp", threads)
    return run.wall_ns - run.serial_ns


def measure(program: Path, machine: Machine, arguments: list[str], folder: Path, rounds: int) -> Row:
    ones, twos = [], []
    for k in range(rounds):
        ones.append(record(program, 1, arguments, folder, f"1-{k}")[1])
        twos.append(record(program, 2, arguments, folder, f"2-{k}")[1])
    one, two = shortest(ones), shortest(twos)
    return Row(
        program.name.removesuffix(SUFFIX),
        two.n_deferred,
        one.regions_ns,
        two.regions_ns,
        regions_ns(two, machine, 2),
        regions_ns(one, machine, 2),
        regions_ns(two, machine, 1),
    )


@dataclass(frozen=True)
class CutOff:
    """One program with a cut-off by depth: measured times, and predictions from the deepest trace, in s."""

    program: str
    depths: list[int]
    tasks: list[int]
    measured: list[float]  # shortest time of all rounds
    typical: list[float]  # median time of all rounds
    halves: list[list[float]]  # shortest times of the even and of the odd rounds
    predicted: list[float]

    @property
    def best(self) -> int:
        """Returns the index of the best measured depth."""
        return self.measured.index(min(self.measured))

    @property
    def best_of_halves(self) -> list[int]:
        """Returns the indices of the best depths by the even rounds and by the odd rounds."""
        return [half.index(min(half)) for half in self.halves]

    @property
    def advised(self) -> int:
        """Returns the index of the depth that `ompass advise` would choose."""
        return middle_of_shortest(self.predicted, self.tasks)

    @property
    def as_good(self) -> list[int]:
        """Returns the indices of the depths that the rounds cannot distinguish from the best."""
        limit = self.typical[self.best]
        return [k for k, seconds in enumerate(self.measured) if seconds <= limit]

    @property
    def above(self) -> float:
        """Returns the excess of the time at the advised depth over the best measured time, as a share."""
        return self.measured[self.advised] / self.measured[self.best] - 1

    def gain(self, seconds: list[float]) -> float:
        """Returns the gain of the advised depth over the deepest."""
        return 1 - seconds[self.advised] / seconds[-1]


def run_once(program: Path, arguments: list[str]) -> tuple[float, int]:
    """Returns the seconds and tasks of an unrecorded run."""
    command = [str(program), "--threads", "2", "--json", *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    result = json.loads(done.stdout)
    return float(result["seconds"]), int(result["tasks"])


def measure_cut_off(
    program: Path, machine: Machine, arguments: list[str], folder: Path, rounds: int
) -> CutOff | None:
    """Measures and predicts the time at each depth.

    Returns None for programs without a cut-off by depth, or with fewer than three values of it.
    """
    described = json.loads(
        subprocess.run([str(program), "--describe"], check=True, capture_output=True, text=True).stdout
    )
    if list(described["cuts"]) != ["depth"] or "manual" not in described["cutoffs"]:
        return None
    tasks: dict[int, int] = {}
    found: dict[int, list[float]] = {}
    for depth in range(1, DEEPEST + 1):
        seconds, tasks[depth] = run_once(program, [*arguments, "--depth", str(depth)])
        if tasks[depth] > MOST_TASKS or tasks[depth] == tasks.get(depth - 1):
            break
        found[depth] = [seconds]
    depths = list(found)
    if len(depths) < 3:
        return None
    deepest = [*arguments, "--depth", str(depths[-1])]
    traces = []
    for k in range(1, UNRECORDED * rounds):
        for depth in depths:
            found[depth].append(run_once(program, [*arguments, "--depth", str(depth)])[0])
        if k % UNRECORDED == UNRECORDED - 1:
            traces.append(record(program, 2, deepest, folder, f"deepest-{k}")[1])
    trace = shortest(traces)
    levels = range(1, DEEPEST + 4)
    left = {}  # tasks by level; libomp runs some immediately if queues are full
    for level in levels:
        run = predict(trace, machine, "help-first", 2, SimulationOptions(max_depth=level))
        left[level] = run.n_tasks - run.n_inlined
    predicted = []
    for depth in depths:  # the program's levels may differ from the simulator's by one
        level = min(levels, key=lambda level: abs(left[level] - tasks[depth]))
        options = SimulationOptions(max_depth=level, serial_below=True)
        run = predict(trace, machine, "libomp", 2, options, untraced=True)
        predicted.append((run.wall_ns - run.serial_ns) / 1e9)
    return CutOff(
        program.name.removesuffix(SUFFIX),
        depths,
        [tasks[depth] for depth in depths],
        [min(found[depth]) for depth in depths],
        [median(found[depth]) for depth in depths],
        [[min(found[depth][half::2]) for depth in depths] for half in range(2)],
        predicted,
    )


def cut_off_table(rows: list[CutOff]) -> Iterator[str]:
    yield (
        "| program | depths | best measured | of half | as good | best predicted | gain measured "
        "| predicted | measured there |"
    )
    yield "|---|--:|--:|--:|--:|--:|--:|--:|--:|"
    for row in rows:
        as_good = ", ".join(str(row.depths[k]) for k in row.as_good)
        of_halves = ", ".join(str(row.depths[k]) for k in row.best_of_halves)
        yield (
            f"| {row.program} | {row.depths[0]} to {row.depths[-1]} | {row.depths[row.best]} "
            f"| {of_halves} | {as_good} | {row.depths[row.advised]} "
            f"| {row.gain(row.measured):.0%} | {row.gain(row.predicted):.0%} | {row.above:+.1%} |"
        )
    yield ""
    steps = sum(abs(row.best - row.advised) <= 1 for row in rows)
    good = sum(min(abs(k - row.advised) for k in row.as_good) <= 1 for row in rows)
    points = sum(abs(row.gain(row.measured) - row.gain(row.predicted)) <= 0.15 for row in rows)
    close = sum(row.above <= NEAR for row in rows)
    yield (
        f"Cut-offs: {steps} of {len(rows)} within a step of the best depth, {good} within a step "
        f"of a depth that is as good; {points} gains within 15 points."
    )
    itself = sum(max(row.best_of_halves) - min(row.best_of_halves) <= 1 for row in rows)
    yield f"The best depths of two halves of the rounds are within a step in {itself} of {len(rows)}."
    yield f"With the advised depth, {close} of {len(rows)} programs are within {NEAR:.0%} of their best time."


def table(rows: list[Row]) -> Iterator[str]:
    yield "| program | tasks | recorded, 1 thread | 2 threads | predicted, 2 from 2 | 2 from 1 | 1 from 2 |"
    yield "|---|--:|--:|--:|--:|--:|--:|"
    for row in rows:
        yield (
            f"| {row.program} | {row.n_tasks:,} | {row.recorded_1_ns / 1e6:.2f} ms "
            f"| {row.recorded_2_ns / 1e6:.2f} ms | {error(row.own_ns, row.recorded_2_ns):+.0%} "
            f"| {error(row.two_from_one_ns, row.recorded_2_ns):+.0%} "
            f"| {error(row.one_from_two_ns, row.recorded_1_ns):+.0%} |"
        )
    yield ""
    for name, limit, errors in (
        ("2 from 2", 0.1, [error(row.own_ns, row.recorded_2_ns) for row in rows]),
        ("2 from 1", 0.2, [error(row.two_from_one_ns, row.recorded_2_ns) for row in rows]),
        ("1 from 2", 0.2, [error(row.one_from_two_ns, row.recorded_1_ns) for row in rows]),
    ):
        within = sum(abs(one) <= limit for one in errors)
        yield f"Predicted {name}: {within} of {len(rows)} programs within {limit:.0%}."


def error(predicted: int, recorded: int) -> float:
    return predicted / recorded - 1 if recorded else 0.0


def forget(folder: Path, program: Path) -> None:
    for recorded in folder.glob(f"{program.name}-*.ompass"):
        shutil.rmtree(recorded)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--bots", type=Path, default=REPOSITORY / "build/release/bots")
    parser.add_argument("--class", dest="size", default="small")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--only", default="", help="names of programs, separated by commas")
    parser.add_argument("--cut-offs-only", action="store_true", help="without the first table")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows: list[Row] = []
    cut_offs: list[CutOff] = []
    left_out: list[str] = []
    end = time.monotonic() + 60 * options.minutes
    with tempfile.TemporaryDirectory(prefix="ompass-simulation-") as name:
        folder = Path(name)
        here = folder / "here.toml"
        here.write_text(as_toml("here", calibrate()))
        machine = read_machine(str(here))
        programs = [
            program
            for program in sorted(options.bots.glob(f"*{SUFFIX}"))
            if not options.only or program.name.removesuffix(SUFFIX) in options.only.split(",")
        ]
        arguments = ["--class", options.size]
        for program in [] if options.cut_offs_only else programs:
            if time.monotonic() > end:
                left_out.append(program.name.removesuffix(SUFFIX))
                continue
            rows.append(measure(program, machine, arguments, folder, options.rounds))
            print(rows[-1], file=sys.stderr, flush=True)
            forget(folder, program)
        for program in programs:
            if time.monotonic() > end:
                left_out.append("further cut-offs")
                break
            cut_off = measure_cut_off(program, machine, arguments, folder, options.rounds)
            if cut_off:
                cut_offs.append(cut_off)
                print(cut_off, file=sys.stderr, flush=True)
            forget(folder, program)
    print("\n".join([*(table(rows) if rows else ()), "", *cut_off_table(cut_offs)]))
    if left_out:
        print(f"\nLeft out after {options.minutes:g} minutes: {', '.join(left_out)}.")
    if options.json:
        options.json.write_text(json.dumps([row.__dict__ for row in [*rows, *cut_offs]], indent=2))


if __name__ == "__main__":
    main()
