# SPDX-License-Identifier: Apache-2.0
"""Compares predictions with the measured times of other numbers of threads and of changed programs.

The tasks sleep, so their times do not depend on the machine's load, and the program prints how late the
system woke them. Only the rounds with the least lateness count. If four threads share two processors, the
schedule of a tree is random, so the tests predict trees for at most two threads.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from ompass._core import TaskProgram
from ompass.readers.run import open_run
from ompass.simulation.advice import advise
from ompass.simulation.machine import read_machine
from ompass.simulation.reader import UNCHANGED, SimulationOptions, read_task_program
from ompass.simulation.runs import predict
from toolchains import CompileProgram, RunRecorded, Toolchain

pytestmark = pytest.mark.alone

SOURCE = "simulation/sleepers.c"
POINTS = 0.03  # tolerated error of the gain of a faster construct
ROUNDS = 8
BEST = 3  # rounds that count
Shape = tuple[str, ...]


@pytest.fixture(scope="module")
def sleepers(compile_program: CompileProgram) -> Path:
    return compile_program(SOURCE, opt_level="-O1")


def least_late(rounds: list[tuple[int, int]]) -> int:
    """Returns the shortest time among the rounds (lateness, time) with the least lateness."""
    return min(time for _, time in sorted(rounds)[:BEST])


def printed_times(output: str) -> tuple[int, int]:
    """Returns the lateness and the wall time that the program prints, in ns."""
    match = re.search(r"WALL ns=(\d+) late=(\d+)", output)
    assert match
    return int(match[2]), int(match[1])


def wall_ns(program: Path, runs: Mapping[str, tuple[int, Shape]]) -> dict[str, int]:
    """Returns the wall time of each kind of run (threads, arguments), without the tool; alternates kinds."""
    found: dict[str, list[tuple[int, int]]] = {name: [] for name in runs}
    for _ in range(ROUNDS):
        for name, (threads, arguments) in runs.items():
            done = subprocess.run(
                [str(program), *arguments],
                env={"OMP_NUM_THREADS": str(threads), "OMP_MAX_TASK_PRIORITY": "1", "PATH": "/usr/bin"},
                capture_output=True,
                text=True,
                check=True,
            )
            found[name].append(printed_times(done.stdout))
    return {name: least_late(rounds) for name, rounds in found.items()}


def traces(
    run_recorded: RunRecorded, toolchain: Toolchain, program: Path, threads: int, *arguments: str
) -> list[tuple[int, Path, TaskProgram]]:
    """Records ROUNDS runs; returns (lateness, directory, program) of those with the least lateness."""
    found = []
    for _ in range(ROUNDS):
        run = run_recorded(program, toolchain, *arguments, mode="trace", threads=threads, preload=True)
        late_ns, _ = printed_times(run.process.stdout)
        found.append((late_ns, run.run_dir, read_task_program(run.run_dir)))
    return sorted(found, key=lambda one: one[0])[:BEST]


def region_ns(program: TaskProgram, threads: int, options: SimulationOptions = UNCHANGED) -> int:
    run = predict(program, read_machine(), "libomp", threads, options)
    return run.wall_ns - run.serial_ns


@pytest.mark.parametrize(
    ("recorded", "error", "shape"),
    [
        (2, 0.1, ("flat", "20")),
        (2, 0.1, ("tree", "20")),
        (2, 0.1, ("chain", "20", "20")),
        (1, 0.2, ("flat", "20")),  # a team of one reports no dependences
        (1, 0.2, ("tree", "20")),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else str(value),
)
def test_other_numbers_of_threads_are_predicted(
    sleepers: Path,
    run_recorded: RunRecorded,
    default_toolchain: Toolchain,
    recorded: int,
    error: float,
    shape: Shape,
) -> None:
    programs = [one[2] for one in traces(run_recorded, default_toolchain, sleepers, recorded, *shape)]
    assert all((program.n_serialised > 0) == (recorded == 1) for program in programs)
    numbers = (1, 2) if shape[0] == "tree" else (1, 2, 4)
    walls = wall_ns(sleepers, {str(threads): (threads, shape) for threads in numbers})
    for threads in numbers:
        predicted = min(region_ns(program, threads) for program in programs)
        assert predicted == pytest.approx(walls[str(threads)], rel=error)


def test_the_causal_profile_predicts_the_changed_program(
    sleepers: Path, run_recorded: RunRecorded, default_toolchain: Toolchain
) -> None:
    shape = ("computing", "40", "40")
    walls = wall_ns(
        sleepers,
        {
            "as it is": (2, shape),
            "chain": (2, ("computing", "20", "40")),
            "free": (2, ("computing", "40", "20")),
        },
    )
    gains: dict[str, list[float]] = {"chain": [], "free": []}
    for _, directory, program in traces(
        run_recorded, default_toolchain, sleepers, 2, "computing", "40", "40"
    ):
        tasks = [d.id for d in open_run(directory).definitions if d.kind == "task"]
        on_path, off_path = sorted(tasks, key=lambda construct: -program.work_of_constructs[construct])
        base = region_ns(program, 2)
        gains["chain"].append(1 - region_ns(program, 2, SimulationOptions(speed={on_path: 2.0})) / base)
        gains["free"].append(1 - region_ns(program, 2, SimulationOptions(speed={off_path: 2.0})) / base)
    for name, found in gains.items():
        assert sorted(found)[len(found) // 2] == pytest.approx(
            1 - walls[name] / walls["as it is"], abs=POINTS
        )
    assert min(gains["chain"]) > 0.3 and max(gains["free"]) < POINTS


@pytest.mark.parametrize(
    ("shape", "threads", "kind"),
    [
        ("late", 2, "priority"),
        ("columns", 2, "dependences"),
        ("bound", 3, "untied"),
        ("coarse", 2, "finer"),
        ("uneven", 2, "schedule"),
    ],
)
def test_the_predicted_gain_is_the_gain_of_the_changed_program(
    sleepers: Path,
    run_recorded: RunRecorded,
    default_toolchain: Toolchain,
    shape: str,
    threads: int,
    kind: str,
) -> None:
    walls = wall_ns(sleepers, {"": (threads, (shape, "20")), "better": (threads, (shape, "20", "better"))})
    gains = []
    for _, directory, _ in traces(run_recorded, default_toolchain, sleepers, threads, shape, "20"):
        gains += [change.gain for change in advise(directory).changes if change.kind == kind]
    assert len(gains) == BEST
    assert sorted(gains)[BEST // 2] == pytest.approx(1 - walls["better"] / walls[""], abs=0.05)
