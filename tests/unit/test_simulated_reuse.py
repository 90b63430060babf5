# SPDX-License-Identifier: Apache-2.0
"""Simulated runs and their recordings have the same reuse distances, and every policy has distances."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest

from command import ompass
from made_traces import Schedule, write_trace
from ompass import _core
from ompass.errors import NothingToShowError
from ompass.readers.run import open_run
from ompass.reuse.metrics import total_histogram
from ompass.reuse.reader import read_reuse
from ompass.simulation.machine import find_machine
from ompass.simulation.reader import POLICIES, RECORDABLE
from ompass.simulation.runs import simulate
from unit.test_task_graph import fib

GOLDEN = Path(__file__).resolve().parent.parent / "golden"
MACHINE = "4x-xeon-e7-4807"


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kernels")
    with tarfile.open(GOLDEN / "kernels.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return folder / "kernels.ompass"


@pytest.mark.parametrize("threads", [1, 2, 7])
@pytest.mark.parametrize("policy", RECORDABLE)
def test_a_simulated_run_has_the_distances_of_its_record(
    policy: str, threads: int, kernels: Path, tmp_path: Path
) -> None:
    machine, out = find_machine(MACHINE), tmp_path / "out.ompass"
    found = simulate(
        kernels, machine=machine, threads=[threads], policies=[policy], anyway=True, record=out, reuse=True
    ).predictions[0]
    topology = machine.topology
    assert topology is not None and found.reuse is not None
    groups = [group.with_sizes() for group in topology.groups]
    recorded = read_reuse(
        open_run(out),
        group_of_thread=topology.group_of_thread(threads),
        group_of_cpu=[],
        class_bytes=[(group.l2_bytes, group.llc_bytes) for group in groups],
    )
    assert total_histogram(recorded) == found.reuse
    assert found.reuse.accessed_bytes > 0


def test_every_policy_accesses_the_same_bytes(kernels: Path) -> None:
    machine = find_machine(MACHINE)
    found = simulate(kernels, machine=machine, threads=[24], policies=POLICIES, anyway=True, reuse=True)
    reuses = [one.reuse for one in found.predictions]
    assert len(reuses) == len(POLICIES)
    assert len({one.accessed_bytes for one in reuses if one}) == 1


def test_without_declared_data_there_are_no_distances(tmp_path: Path) -> None:
    path = write_trace(tmp_path / "made.ompass", Schedule(fib(5), 2))
    with pytest.raises(NothingToShowError, match="holds no accesses"):
        simulate(path, threads=[2], reuse=True)


def test_the_command_shows_the_distances(kernels: Path) -> None:
    shown = ompass("simulate", kernels, "--threads", "2", "--reuse", "--policy", "shared-lifo").stdout
    assert "Declared data by reuse distance" in shown and "coherence" in shown
    runs = json.loads(ompass("simulate", kernels, "--threads", "2", "--reuse", "--json").stdout)["runs"]
    histogram = runs[0]["reuse"]
    assert histogram["accessed_bytes"] == sum(
        histogram[f"{name}_bytes"] for name in ("close", "near", "far", "coherence", "cold")
    )
    without = json.loads(ompass("simulate", kernels, "--threads", "2", "--json").stdout)["runs"]
    assert without[0]["reuse"] is None


def test_a_log_without_threads_has_no_distances() -> None:
    log = _core.AccessLog()
    assert len(log) == 0
    assert log.reuse([], [(1, 2)]).groups[0].kernels == ()


def test_a_thread_without_a_group_is_refused(kernels: Path) -> None:
    log = _core.AccessLog()
    _core.simulate(_core.task_program(str(kernels)), policy="work-first", threads=2, accesses=log)
    assert len(log) > 0
    with pytest.raises(ValueError, match="has no group"):
        log.reuse([0], [(1, 2)])
    with pytest.raises(ValueError, match="unknown group"):
        log.reuse([0, -1], [(1, 2)])
    with pytest.raises(ValueError, match="unknown group"):
        log.reuse([0, 1], [(1, 2)])
