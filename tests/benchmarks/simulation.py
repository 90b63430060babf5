# SPDX-License-Identifier: Apache-2.0
"""Holds simulated runs against recorded ones: every benchmark program on one and two threads, as a table.

Records each program --rounds times on one and on two threads, keeps the recording with the shortest time in
parallel regions, and predicts: two threads from their own trace, two from the trace of one thread, and one
from the trace of two. Costs are calibrated first. Writes the table as Markdown, as docs/simulation.md shows
it. Needs the build (release preset), an idle machine, and the Python that has the package installed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ompass._core import TaskProgram
from ompass.readers.simulation import read_task_program
from ompass.simulation.calibration import as_toml, calibrate
from ompass.simulation.machine import Machine, read_machine
from ompass.simulation.runs import predict

REPOSITORY = Path(__file__).resolve().parents[2]
SUFFIX = "-tasks"


@dataclass(frozen=True)
class Row:
    """One program: recorded and predicted times in parallel regions, ns."""

    program: str
    n_tasks: int
    recorded_1_ns: int
    recorded_2_ns: int
    own_ns: int
    two_from_one_ns: int
    one_from_two_ns: int


def record(program: Path, threads: int, arguments: list[str], folder: Path, rounds: int) -> TaskProgram:
    """The recording with the shortest time in parallel regions."""
    found = []
    for k in range(rounds):
        directory = folder / f"{program.name}-{threads}-{k}.ompass"
        command = [
            sys.executable, "-m", "ompass", "run", "--mode", "trace", "--quiet", "-o", str(directory), "--",
            str(program), "--threads", str(threads), *arguments,
        ]  # fmt: skip
        subprocess.run(
            command, check=True, stdout=subprocess.DEVNULL, env={**os.environ, "OMP_PROC_BIND": "close"}
        )
        found.append(read_task_program(directory))
    return min(found, key=lambda recorded: recorded.regions_ns)


def regions_ns(program: TaskProgram, machine: Machine, threads: int) -> int:
    run = predict(program, machine, "libomp", threads)
    return run.wall_ns - run.serial_ns


def measure(program: Path, machine: Machine, arguments: list[str], folder: Path, rounds: int) -> Row:
    one = record(program, 1, arguments, folder, rounds)
    two = record(program, 2, arguments, folder, rounds)
    return Row(
        program.name.removesuffix(SUFFIX),
        two.n_deferred,
        one.regions_ns,
        two.regions_ns,
        regions_ns(two, machine, 2),
        regions_ns(one, machine, 2),
        regions_ns(two, machine, 1),
    )


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


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--bots", type=Path, default=REPOSITORY / "build/release/bots")
    parser.add_argument("--class", dest="size", default="small")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="names of programs, separated by commas")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="ompass-simulation-") as name:
        folder = Path(name)
        here = folder / "here.toml"
        here.write_text(as_toml("here", calibrate()))
        machine = read_machine(str(here))
        for program in sorted(options.bots.glob(f"*{SUFFIX}")):
            if options.only and program.name.removesuffix(SUFFIX) not in options.only.split(","):
                continue
            rows.append(measure(program, machine, ["--class", options.size], folder, options.rounds))
            print(rows[-1], file=sys.stderr, flush=True)
            for recorded in folder.glob(f"{program.name}-*.ompass"):
                subprocess.run(["rm", "-r", str(recorded)], check=True)
    print("\n".join(table(rows)))
    if options.json:
        options.json.write_text(json.dumps([row.__dict__ for row in rows], indent=2))


if __name__ == "__main__":
    main()
