# SPDX-License-Identifier: Apache-2.0
"""The simulation finds task graphs that recorded programs create repeatedly.

tests/unit/test_repeated_graphs.py checks the exact gain on synthetic traces.
"""

from __future__ import annotations

import pytest

from ompass.simulation.reader import graphs, read_task_program
from toolchains import Record, toolchain_named

N_GRAPHS = 10
N_TASKS = 12


@pytest.mark.parametrize("preload", [True, False], ids=["preload", "tool"])
@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize(
    ("shape", "is_found"),
    [("waits", True), ("singles", True), ("regions", True), ("longer", False), ("linked", False)],
)
def test_a_graph_is_found_if_all_of_its_executions_are_alike(
    record: Record, shape: str, is_found: bool, threads: int, preload: bool
) -> None:
    run = record("simulation/graphs.c", shape, str(N_GRAPHS), mode="trace", threads=threads, preload=preload)
    found = [(one.n_graphs, one.n_tasks, one.n_replayed) for one in graphs(read_task_program(run.run_dir))]
    replayed = N_GRAPHS - 1
    assert found == ([(replayed, N_TASKS, replayed * N_TASKS)] if is_found else [])


@pytest.mark.parametrize("name", ["clang-14", "clang-16", "clang-19", "gcc-12-libomp-19"])
def test_graphs_are_found_on_every_runtime(record: Record, name: str) -> None:
    toolchain = toolchain_named(name)
    run = record(
        "simulation/graphs.c", "waits", str(N_GRAPHS), toolchain=toolchain, mode="trace", preload=True
    )
    found = [one.n_replayed for one in graphs(read_task_program(run.run_dir))]
    assert found == [(N_GRAPHS - 1) * N_TASKS]
