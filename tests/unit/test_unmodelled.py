# SPDX-License-Identifier: Apache-2.0
"""Times of a recorded run that its simulation lacks. Advice adds some of them to its predictions."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from made_runs import made_run, region, team
from made_traces import Body, Locked, Schedule, Spawn, Work, write_trace
from ompass.metrics.facts import Finding
from ompass.model import Run
from ompass.simulation.machine import read_machine
from ompass.simulation.order_changes import order_changes
from ompass.simulation.reader import read_task_program
from ompass.simulation.trial import Trial
from ompass.simulation.unmodelled import (
    doubt_of,
    hides_lock_passing,
    sampled_chunk_costs,
    without_sampled_loss,
)
from ompass.simulation.words import advice_of
from ompass.symbols.resolver import UNKNOWN

MS = 1_000_000
LOCKED: Body = (Spawn((Work(MS), Locked(3 * MS))),) * 16


def trial_of(tmp_path: Path, body: Body) -> Trial:
    tmp_path.mkdir(exist_ok=True)
    program = read_task_program(write_trace(tmp_path / "made.ompass", Schedule(body, 2)))
    return Trial(program, read_machine(), 2, None)


def recorded(trial: Trial, longer_ns: int, lock_ns: int, preempted_ns: int = 0) -> tuple[Run, int]:
    """Returns a run that took longer_ns longer than its simulation, and its time in regions."""
    regions_ns = trial.base.wall_ns - trial.base.serial_ns + longer_ns
    states = {"work_ns": regions_ns - lock_ns, "sync_ns": lock_ns, "lock_ns": lock_ns}
    run = made_run(team(0, [{**states, "preempted_ns": preempted_ns // 2}] * 2))
    return run.replace(n_usable_cpus=2), regions_ns


class Longer:
    """A recorded program with another time in regions."""

    def __init__(self, trial: Trial, regions_ns: int) -> None:
        self._program = trial.program
        self.regions_ns = regions_ns

    def __getattr__(self, name: str) -> object:
        return getattr(self._program, name)


def test_a_simulated_lock_is_passed_as_slowly_as_the_recorded_one(tmp_path: Path) -> None:
    body: Body = (Spawn((Work(MS), Locked(3 * MS, handoff_ns=2 * MS))),) * 16
    fast, slow = trial_of(tmp_path / "fast", LOCKED), trial_of(tmp_path / "slow", body)
    assert fast.base.wall_ns == pytest.approx(49 * MS, rel=0.02)
    assert slow.base.wall_ns == pytest.approx(slow.program.regions_ns, rel=0.02)
    assert slow.base.wall_ns > fast.base.wall_ns + 10 * MS
    (lock, _), *_ = (one for one in order_changes(slow, made_run()) if one[0].kind == "lock")
    assert lock.wall_ns == pytest.approx(32 * MS, rel=0.01)
    assert lock.gain == pytest.approx(1 - 32 * MS / slow.base.wall_ns, abs=0.01)


def test_a_lock_that_is_passed_slowly_is_a_change_even_if_it_is_held_briefly(tmp_path: Path) -> None:
    body: Body = (Spawn((Locked(MS // 100, handoff_ns=MS), Work(MS // 2))),) * 40
    trial = trial_of(tmp_path, body)
    kinds = {change.kind: change for change, _ in order_changes(trial, made_run())}
    assert kinds["lock"].gain > 0.3


def test_preemption_hides_a_part_of_the_gain_of_shorter_locks(tmp_path: Path) -> None:
    trial = trial_of(tmp_path, LOCKED)
    for preempted_ms, lock_ms, hidden in ((0, 120, False), (60, 120, True), (60, 5, False)):
        run, _ = recorded(trial, 100 * MS, lock_ms * MS, preempted_ms * MS)
        assert hides_lock_passing(run, trial.program, trial.base) == hidden
    trial.hides_passing = True
    changes = {change.kind: change for change, _ in order_changes(trial, made_run())}
    assert changes["lock"].is_least
    advice = advice_of(changes["lock"], lambda construct: UNKNOWN)
    assert re.fullmatch(
        r"3\d% less time or more \(3\d(\.\d)? ms instead of 4\d(\.\d)? ms\)", advice.gain_text
    )
    assert "other programs disturbed the run" in advice.because


@pytest.mark.parametrize(("preempted_ms", "doubted"), [(0, True), (10, False)])
def test_gains_are_doubtful_if_the_simulation_does_not_fit_a_quiet_run(
    tmp_path: Path, preempted_ms: int, doubted: bool
) -> None:
    trial = trial_of(tmp_path, (Spawn((Work(10 * MS),)),) * 12)
    run, regions_ns = recorded(trial, 30 * MS, 0, preempted_ms * MS)
    trial.program = Longer(trial, regions_ns)  # type: ignore[assignment]
    assert bool(doubt_of(run, trial, trial.base)) == doubted


@pytest.mark.parametrize(("n_cpus", "doubted"), [(0, False), (1, True), (2, False)])
def test_gains_of_more_threads_than_processors_are_doubtful(
    tmp_path: Path, n_cpus: int, doubted: bool
) -> None:
    trial = trial_of(tmp_path, LOCKED)
    run = made_run([region(0, 0)]).replace(n_usable_cpus=n_cpus)
    doubt = doubt_of(run, trial, trial.base)
    assert bool(doubt) == doubted
    if doubt:
        assert doubt.reason == "2 threads shared 1 processor"


def test_contended_atomic_updates_bound_the_gain_by_their_sampled_time(tmp_path: Path) -> None:
    trial = trial_of(tmp_path, (Spawn((Work(10 * MS),)),) * 8)
    (task,) = [number for number, ns in trial.program.work_of_constructs.items() if ns > 70 * MS]
    finding = Finding("atomic_contention", "problem", "", "", "", 40 * MS, task)
    ((change, _),) = without_sampled_loss(
        trial, (finding, Finding("blocked", "problem", "", "", "", MS, task))
    )
    assert change.kind == "atomic"
    assert change.at_most
    assert change.gain == pytest.approx(0.5, abs=0.01)
    assert change.share_ns == 40 * MS
    assert not list(without_sampled_loss(trial, ()))


def test_enough_samples_show_the_time_of_chunks() -> None:
    def found(construct: int, samples: int) -> Finding:
        numbers = (("cost_per_chunk_ns", 738.0), ("samples", float(samples)))
        return Finding("small_chunks", "problem", "", "", "", MS, construct, numbers=numbers)

    assert sampled_chunk_costs((found(1, 50), found(2, 1), found(3, 0))) == {1: 738.0}
