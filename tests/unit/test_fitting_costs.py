# SPDX-License-Identifier: Apache-2.0
"""The costs of the runtime that fit a recorded run."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from ompass.simulation import runs
from ompass.simulation.machine import Machine, read_machine
from ompass.simulation.reader import TaskProgram

MS = 1_000_000
WORK_NS = 100 * MS
OPERATIONS_NS = 50 * MS  # with the machine's costs


@pytest.fixture(autouse=True)
def _simulated_times(monkeypatch: pytest.MonkeyPatch) -> None:
    def predict(program: Any, machine: Machine, policy: str, threads: int) -> Any:
        factor = machine.costs_of("libomp")["fork"][0][1] / read_machine().costs_of("libomp")["fork"][0][1]
        assert (policy, threads) == ("omp_ext" if program.n_domains else "libomp", 2)
        return SimpleNamespace(wall_ns=WORK_NS + OPERATIONS_NS * factor + 7 * MS, serial_ns=7 * MS)

    monkeypatch.setattr(runs, "predict", predict)


def factor_of(regions_ns: float, *, n_threads: int = 2, preempted_ns: int = 0, n_domains: int = 0) -> float:
    program = SimpleNamespace(
        n_threads=n_threads,
        regions_ns=regions_ns,
        preempted_ns=preempted_ns,
        work_ns=2 * WORK_NS,
        n_domains=n_domains,
    )
    machine, factor = runs.fitted(cast("TaskProgram", program), read_machine())
    assert machine == (read_machine() if factor == 1 else read_machine().slowed(factor))
    return factor


@pytest.mark.parametrize("n_domains", [0, 1])  # 1: the runtime was libomp_ext.so
@pytest.mark.parametrize("factor", [0.25, 3.0, 12.0, 16.0])
def test_fitted_costs_make_simulated_and_recorded_runs_equally_long(factor: float, n_domains: int) -> None:
    regions_ns = WORK_NS + OPERATIONS_NS * factor
    assert factor_of(regions_ns, n_domains=n_domains) == pytest.approx(factor, rel=0.05)


@pytest.mark.parametrize(("factor", "of_recording"), [(0.25, 0.5), (0.8, 0.8), (1.5, 1.5), (12.0, 2.0)])
def test_the_cost_of_recording_changes_at_most_by_a_factor_of_two(factor: float, of_recording: float) -> None:
    plain, slowed = read_machine(), read_machine().slowed(factor)
    assert slowed.recording.task == pytest.approx(of_recording * plain.recording.task)
    assert slowed.recording.create == pytest.approx(of_recording * (plain.recording.create or 0))
    (_, before), (_, after) = (machine.costs_of("libomp")["fork"][0] for machine in (plain, slowed))
    assert after == pytest.approx(factor * before)


def test_costs_that_fit_already_are_kept() -> None:
    assert factor_of(1.04 * (WORK_NS + OPERATIONS_NS)) == 1
    assert factor_of(0.96 * (WORK_NS + OPERATIONS_NS)) == 1


def test_no_factor_explains_times_that_the_operations_cannot_take() -> None:
    assert factor_of(WORK_NS + 17 * OPERATIONS_NS) == 1, "something else takes the time"
    assert factor_of(0.9 * WORK_NS) == 1, "less than the work"


def test_times_that_are_not_comparable_are_not_fitted() -> None:
    recorded_ns = WORK_NS + 3 * OPERATIONS_NS
    assert factor_of(recorded_ns, n_threads=1) == 1
    assert factor_of(recorded_ns, preempted_ns=5 * MS) == 1
    assert factor_of(recorded_ns, preempted_ns=4 * MS) > 2, "2% of the work"


@pytest.mark.parametrize(("more_ns", "is_fitted"), [(0, True), (1, False)])
def test_only_runs_of_a_reproducible_length_are_fitted(
    more_ns: int, is_fitted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded_ns = WORK_NS + 3 * OPERATIONS_NS
    monkeypatch.setattr(runs, "REPRODUCIBLE_NS", recorded_ns + more_ns)
    assert (factor_of(recorded_ns) > 2) == is_fitted


def test_a_fit_takes_eight_simulated_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    simulated, patched = list[float](), cast("Any", runs)
    predict = patched.predict

    def noted(program: TaskProgram, machine: Machine, policy: str, threads: int) -> Any:
        run = predict(program, machine, policy, threads)
        simulated.append(run.wall_ns)
        return run

    monkeypatch.setattr(runs, "predict", noted)
    factor_of(WORK_NS + 3 * OPERATIONS_NS)
    assert len(simulated) == 8, "with the machine's costs, with the largest factor, and six halvings"
