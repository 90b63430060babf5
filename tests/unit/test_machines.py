# SPDX-License-Identifier: Apache-2.0
"""Machine files: the limits and defaults of their values, and their use in predictions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from made_traces import Schedule, write_trace
from ompass.errors import UsageError
from ompass.simulation import runs
from ompass.simulation.calibration import as_toml, costs_from, recording_from
from ompass.simulation.machine import Machine, Recording, find_machine, read_machine
from ompass.simulation.reader import SimulationOptions, read_task_program
from unit.test_task_graph import fib


def machine_of(folder: Path, text: str) -> Machine:
    file = folder / "m.toml"
    file.write_text(text, encoding="utf-8")
    return read_machine(str(file))


@pytest.mark.parametrize(
    "text",
    [
        "clock_ratio = 0.01",
        "clock_ratio = 100",
        "clock_ghz = 0",
        "clock_ghz = 100",
        "[costs]\nsteal = 0",
        "[costs]\nsteal = 1e9",
        "[costs]\nsteal = [[1, 5]]",
        "[costs]\nsteal = [[1, 5], [2, 5], [1000000, 7]]",
        "[recording]\ntask = 0\nwait = 1e9",
        "[memory]\nlocal = [0, 0.01]",
        "[memory]\nlocal = [1e9, 1e5]",
        "[memory]\nblock = 64",
        "[memory]\nblock = 1048576",
    ],
)
def test_the_largest_and_smallest_values_are_accepted(tmp_path: Path, text: str) -> None:
    machine_of(tmp_path, text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("clock_ratio = 0.009", "`clock_ratio` is not a number from 0.01 to 100"),
        ("clock_ratio = 101", "`clock_ratio` is not a number from 0.01 to 100"),
        ("clock_ratio = true", "`clock_ratio` is not a number"),
        ("clock_ghz = -0.1", "`clock_ghz` is not a number from 0 to 100"),
        ("clock_ghz = 101", "`clock_ghz` is not a number from 0 to 100"),
        ("[costs]\nsteal = 1.001e9", "above a second"),
        ("[costs]\nsteal = [[0, 5]]", "neither a cost nor a list"),
        ("[costs]\nsteal = [[1000001, 5]]", "neither a cost nor a list"),
        ("[costs]\nsteal = [[2, 5], [2, 6]]", "neither a cost nor a list"),
        ("[costs]\nsteal = [[1, 5, 6]]", "neither a cost nor a list"),
        ("[costs]\nsteal = [[1.5, 5]]", "neither a cost nor a list"),
        ('[costs]\nsteal = [[1, "much"]]', "neither a cost nor a list"),
        ("[costs]\nsteal = [[1, 5], 3]", "neither a cost nor a list"),
        ('[costs]\nunit = "ms"\nsteal = 1', "neither ns nor cycles"),
        ("[recording]\ntask = 1.001e9", "not a time in ns"),
        ("[recording]\nlunch = 1", "`recording` is not a table of"),
        ("recording = 1", "`recording` is not a table of"),
        ("[memory]\nlocal = [1.001e9, 2]", "above a second"),
        ("[memory]\nlocal = [90, 0.009]", "has no bandwidth from 0.01"),
        ("[memory]\nlocal = [90, 1.001e5]", "has no bandwidth from 0.01"),
        ("[memory]\nlocal = [90, 2, 3]", "is not [latency"),
        ("[memory]\nblock = 32", "`memory.block` is not from 64 to 1048576"),
        ("[memory]\nblock = 2097152", "`memory.block` is not from 64 to 1048576"),
        ("[memory]\nblock = 96", "`memory.block` is not a power of two"),
        ("[memory]\nblock = true", "`memory.block` is not a power of two"),
    ],
)
def test_values_beyond_the_limits_are_refused(tmp_path: Path, text: str, expected: str) -> None:
    with pytest.raises(UsageError) as caught:
        machine_of(tmp_path, text)
    assert expected in caught.value.one_line()


@pytest.mark.parametrize(("threads", "fits"), [(0, False), (1, True), (4, True), (5, False)])
def test_a_machine_runs_at_most_one_thread_on_each_hardware_thread(threads: int, fits: bool) -> None:
    machine = find_machine("pack:2 core:2 pu:1")
    if fits:
        machine.check_threads(threads)
    else:
        with pytest.raises(UsageError, match=f"{threads}"):
            machine.check_threads(threads)


def test_a_file_with_some_costs_keeps_the_other_costs_of_the_reference(tmp_path: Path) -> None:
    reference = read_machine()
    machine = machine_of(tmp_path, "[costs]\nsteal = 5")
    for policy in ("libomp", "help-first"):
        costs = machine.costs_of(policy)
        assert costs["steal"] == ((1, 5.0),)
        assert costs["dequeue"] == reference.costs_of(policy)["dequeue"]
    assert reference.costs_of("libomp")["between"] != reference.costs_of("help-first")["between"]
    own = machine_of(tmp_path, "[libomp]\nsteal = 5")
    assert own.costs_of("libomp") == {**reference.costs_of("libomp"), "steal": ((1, 5.0),)}
    assert own.costs_of("help-first") == reference.costs_of("help-first")
    both = machine_of(tmp_path, "[costs]\nsteal = 5\nlock = 7\n[libomp]\nsteal = 6")
    assert [both.costs_of("libomp")[name] for name in ("steal", "lock")] == [((1, 6.0),), ((1, 7.0),)]
    calibrated = machine_of(
        tmp_path, as_toml("here", dict.fromkeys(("libomp", "omp_ext"), costs_from(FIGURES)))
    )
    assert calibrated.costs_of("libomp")["replay"] == reference.costs_of("libomp")["replay"]
    assert machine.memory == reference.memory
    assert machine.recording == reference.recording


def test_bandwidths_are_times_per_byte(tmp_path: Path) -> None:
    memory = machine_of(tmp_path, "[memory]\nlocal = [90, 4]\nnode = 50\npages = 'interleaved'").memory
    assert memory is not None
    assert memory.local == (90.0, 0.25)
    assert memory.node_ns_per_byte == 0.02
    assert memory.interleaved


def test_caches_of_unknown_size_have_usual_sizes_and_the_costs_of_their_level(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("ompass.simulation.machine.MemorySystem", SimpleNamespace)
    machine = find_machine("pack:1 l3:1 l2:2 l1:1 core:1 pu:1")
    assert machine.topology is not None and machine.memory is not None
    memory: Any = machine.memory.system(machine.topology, 3)
    by_cost = {cost: (size, list(of)) for size, cost, of in memory.levels}
    one, two, three = machine.memory.levels
    sizes = {caches.level: caches.size_bytes for caches in machine.topology.caches}
    usual = {1: 32 << 10, 2: 1 << 20, 3: 32 << 20}
    for level, cost in ((1, one), (2, two), (3, three)):
        assert by_cost[cost][0] == (sizes[level] or usual[level])
    # The third thread shares the first processor, because there are only two.
    assert by_cost[three][1] == [0, 0, 0]
    assert by_cost[one][1] == [0, 1, 0]


FIGURES = {"create": 50.0, "pair": 120.0, "run": 590.0, "wake": 240.0, "steal": 600.0, "inlined": 47.0,
           "barrier": 140.0, "region": 380.0, "lock": 96.0, "chunk": 42.0, "depend": 300.0,
           "contended": 290.0, "loop": 20.0}  # fmt: skip


def test_costs_are_differences_of_measured_figures() -> None:
    costs = costs_from(FIGURES)
    assert costs == {
        "depend": 250,  # a creation with depend clauses minus a plain creation
        "contended": 240,  # a creation while others steal minus a plain creation
        "enqueue": 0,
        "dequeue": 70,  # a task that a wait runs, minus its creation
        "between": 520,  # a task after another minus taking it from the queue
        "steal": 80,  # a task of another thread minus the time between tasks
        "failed_steal": 80,
        "inlined": 47,
        "wake": 190,  # a task for a sleeping thread minus its creation
        "lock": 96,
        "chunk": 42,
        "fork": 240,  # a region minus its barrier
        "barrier": 140,
    }
    assert costs_from({**FIGURES, "steal": 100.0})["steal"] == 70, "no less than taking an own task"
    assert costs_from({**FIGURES, "wake": 100.0})["failed_steal"] == 50, "no more than waking up"
    low = costs_from({**FIGURES, "pair": 40.0, "run": 0.0, "wake": 10.0, "region": 100.0})
    assert [low[name] for name in ("dequeue", "between", "wake", "fork")] == [0, 0, 0, 0]


def test_the_cost_of_tracing_is_the_increase_of_the_figures() -> None:
    deferred = {"task": 50.0, "creation": 20.0, "create": 95.0}
    serial = {"task": 27.0, "creation": 30.0, "create": 9.0}
    traced = {**FIGURES, "create": 80.0, "run": 660.0, "pair": 230.0, "barrier": 210.0, "region": 590.0}
    traced["loop"] = 130.0
    assert recording_from(FIGURES, traced, deferred, serial) == {
        "task": 50,
        "creation": 20,
        "schedule": 20,  # 70 more in total, 50 of them for the task
        "wait": 10,  # 110 more in total, 30 of them for the creation and 70 for the task
        "create": 50,
        "traced_create": 95,
        "serial_task": 27,
        "serial_creation": 30,
        "barrier": 70,
        "fork": 140,  # 210 more in total, 70 of them for the barrier
        "loop": 110,
    }
    none = recording_from(FIGURES, FIGURES, deferred, serial)
    assert [none[name] for name in ("schedule", "wait", "barrier", "fork", "loop")] == [0, 0, 0, 0, 0]


def test_a_measured_file_names_runtime_and_costs() -> None:
    text = as_toml("here", {"libomp": {"steal": 79.6}, "omp_ext": {"steal": 5.0}})
    assert text.splitlines()[3:5] == ["[libomp]", "steal = 80"]


@pytest.fixture
def predicted(monkeypatch: pytest.MonkeyPatch) -> list[SimulationOptions]:
    """Lists the options of each simulated run."""
    seen: list[SimulationOptions] = []

    def run(program: Any, policy: str, threads: int, options: SimulationOptions) -> None:
        del program, policy, threads
        seen.append(options)

    monkeypatch.setattr(runs, "run_simulation", run)
    return seen


def options_of(
    folder: Path, seen: list[SimulationOptions], threads: int, *, untraced: bool = False
) -> SimulationOptions:
    recording = Recording(
        task=40, creation=17, schedule=28, wait=9, create=47, traced_create=95, serial_task=27,
        serial_creation=30, barrier=60, fork=300,
    )  # fmt: skip
    costs = {"dequeue": ((1, 70.0), (8, 90.0)), "barrier": ((1, 100.0), (8, 160.0)), "fork": ((1, 290.0),)}
    machine = Machine("m", costs=costs, recording=recording, clock_ratio=2.0)
    program = read_task_program(write_trace(folder / f"{threads}-{untraced}.ompass", Schedule(fib(3), 2)))
    runs.predict(program, machine, "libomp", threads, untraced=untraced)
    return seen[-1]


def cost(options: SimulationOptions, name: str) -> Sequence[tuple[int, float]] | None:
    return dict(options.costs).get(name)


def test_a_prediction_of_a_traced_run_has_the_costs_of_tracing(
    tmp_path: Path, predicted: list[SimulationOptions]
) -> None:
    two = options_of(tmp_path, predicted, 2)
    assert cost(two, "dequeue") == ((1, 98.0), (8, 118.0))
    assert cost(two, "steal") == ((1, 28.0),)
    assert cost(two, "wait") == ((1, 9.0),)
    assert cost(two, "barrier") == ((1, 100.0), (8, 160.0))
    assert cost(two, "create") is None, "as recorded"
    # In a team of one, tracing a task takes a different time than in other teams.
    assert two.serialised == (27 - 40, 30 - 17, 95)
    assert (two.untraced_task_ns, two.untraced_creation_ns, two.as_recorded) == (0, 0, True)
    assert two.clock_ratio == 2.0
    one = options_of(tmp_path, predicted, 1)
    assert cost(one, "dequeue") == ((1, 70.0), (8, 90.0)), "in a team of one, no task is taken from a queue"
    assert cost(one, "wait") is None


def test_a_prediction_without_tracing_subtracts_its_costs(
    tmp_path: Path, predicted: list[SimulationOptions]
) -> None:
    two = options_of(tmp_path, predicted, 2, untraced=True)
    assert cost(two, "dequeue") == ((1, 70.0), (8, 90.0))
    assert cost(two, "barrier") == ((1, 100.0), (8, 160.0)), "untraced_regions() subtracts their cost"
    assert cost(two, "create") is None, "creations take their recorded time, less the cost of tracing"
    assert two.untraced_create == (48, 47)
    assert two.serialised == (27, 30, 47)
    assert (two.untraced_task_ns, two.untraced_creation_ns, two.as_recorded) == (40, 17, False)


@pytest.mark.parametrize(
    ("threads", "barrier", "removed"), [(2, 60.0, 4 * 60 + 2 * 300), (1, 60.0, 0), (2, 1e-9, 0)]
)
def test_the_cost_of_recording_regions_is_removed_if_it_counts(
    tmp_path: Path, threads: int, barrier: float, removed: int
) -> None:
    trace = write_trace(tmp_path / "t.ompass", Schedule(fib(3), threads))
    program = read_task_program(trace)
    machine = Machine("m", recording=Recording(barrier=barrier, fork=300.0 if barrier > 1 else 0.0))
    cleaned = runs.untraced_regions(program, machine)
    assert (cleaned is program) == (not removed)
    assert program.work_ns - cleaned.work_ns in range(bool(removed), removed + 1)
