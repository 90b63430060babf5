# SPDX-License-Identifier: Apache-2.0
"""Advice on synthetic traces whose best change is known exactly.

tests/native/test_simulated_order.cpp tests the programs that synthetic traces cannot express.
"""

from __future__ import annotations

import os
import re
import tarfile
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from made_traces import Body, Locked, Schedule, Spawn, Wait, Work, write_trace
from ompass.simulation import trial
from ompass.simulation.advice import AdviceContent, Change, advise, ranked
from ompass.simulation.machine import read_machine
from ompass.simulation.reader import MOST_THREADS, read_task_program
from ompass.simulation.report import advice_report
from ompass.simulation.trial import Trial, Way

GOLDEN = Path(__file__).resolve().parent.parent / "golden"
MS = 1_000_000


def advice_on(tmp_path: Path, body: Body, threads: int = 2) -> AdviceContent:
    return advise(write_trace(tmp_path / "made.ompass", Schedule(body, 2)), threads=threads)


def only(content: AdviceContent, kind: str) -> Change:
    (change,) = [change for change in content.changes if change.kind == kind]
    return change


def recursion(depth: int) -> Body:
    """Returns a binary tree of short tasks, each with a wait for its children."""
    if not depth:
        return (Work(300),)
    return (Spawn(recursion(depth - 1)), Spawn(recursion(depth - 1)), Wait())


def test_advice_on_a_large_program_tries_fewer_values_with_the_same_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_trace(tmp_path / "made.ompass", Schedule(recursion(9), 2))
    whole = advise(path)
    monkeypatch.setattr(trial, "LARGE", 1)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1, 2})
    less = advise(path)
    for kind in ("depth", "time"):
        one, other = only(whole, kind), only(less, kind)
        assert other.gain == pytest.approx(one.gain, abs=0.01)
        assert len(other.tried) < len(one.tried)
        walls = {tried.value: tried.wall_ns for tried in one.tried}
        assert all(walls[tried.value] == tried.wall_ns for tried in other.tried), "the same runs"
    assert [one.kind for one in less.changes] == [one.kind for one in whole.changes]
    assert less.causal[0].gain == whole.causal[0].gain


def test_advice_simulates_no_more_threads_than_possible(tmp_path: Path) -> None:
    path = write_trace(tmp_path / "made.ompass", Schedule((Spawn((Work(MS),)),) * 4, 2))
    assert advise(path, threads=MOST_THREADS).threads == MOST_THREADS
    with tarfile.open(GOLDEN / "loops.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    loops = Trial(read_task_program(tmp_path / "loops.ompass"), read_machine(), MOST_THREADS // 4, None)
    assert loops.limit_of(loops.base.wall_ns)[0] in ("chain", "memory")


@pytest.mark.parametrize("n", [1, 2, 3, 4, 13, 30])
def test_coarse_values_leave_gaps_that_the_second_step_fills(n: int) -> None:
    values = trial.coarse_values(n)
    assert values[0] == 0
    assert values[-1] == n - 1
    assert all(b - a <= 3 for a, b in pairwise(values))


def test_a_wait_in_a_loop_is_moved_out_of_it(tmp_path: Path) -> None:
    body: Body = (Spawn((Work(MS),)), Wait()) * 16
    content = advice_on(tmp_path, body)
    first = content.changes[0]
    assert first.kind == "phases"
    assert first.at_most
    assert first.count == 16
    assert first.gain == pytest.approx(1 / 2, abs=0.01)
    assert first.wall_ns == pytest.approx(8 * MS, rel=0.01)


def test_two_waits_in_a_loop_gain_only_together(tmp_path: Path) -> None:
    # Three tasks of 1 ms in each iteration: 2 ms on two threads with both waits, 1.5 ms without them.
    body: Body = (Spawn((Work(MS),)), Wait(), Spawn((Work(MS),)), Spawn((Work(MS),)), Wait()) * 8
    content = advice_on(tmp_path, body)
    assert content.changes[0].kind == "phases"
    assert content.changes[0].gain == pytest.approx(1 / 4, abs=0.01)


def test_a_chain_that_all_tasks_share_is_named_with_its_tasks(tmp_path: Path) -> None:
    body: Body = tuple(Spawn((Work(MS),), 2 + k % 2, after_last=k > 0) for k in range(16))
    content = advice_on(tmp_path, body)
    first = content.changes[0]
    assert first.kind == "dependence"
    assert first.at_most
    assert {first.construct, *first.also} == {2, 3}
    assert first.gain == pytest.approx(1 / 2, abs=0.01)
    assert "if they do not share data" in content.advice[0].title
    assert "threads" not in {change.kind for change in content.changes}


def test_a_chain_next_to_enough_other_work_gives_no_advice(tmp_path: Path) -> None:
    chain: Body = tuple(Spawn((Work(MS),), 2, after_last=k > 0) for k in range(8))
    free: Body = tuple(Spawn((Work(MS),), 3) for _ in range(24))
    content = advice_on(tmp_path, (*chain, *free))
    assert "dependence" not in {change.kind for change in content.changes}


def test_a_held_lock_bounds_the_gain_by_the_work(tmp_path: Path) -> None:
    # 16 tasks work for 1 ms and hold the lock for 3 ms. The lock alone takes 48 ms. Without it, two threads
    # share 64 ms of work.
    body: Body = (Spawn((Work(MS), Locked(3 * MS))),) * 16
    content = advice_on(tmp_path, body)
    first = content.changes[0]
    assert first.kind == "lock"
    assert first.at_most
    assert (first.count, first.share_ns) == (16, 48 * MS)
    assert first.wall_ns == pytest.approx(32 * MS, rel=0.01)
    assert first.gain == pytest.approx(1 - 32 / 49, abs=0.01)


def test_a_rarely_held_lock_gives_no_advice(tmp_path: Path) -> None:
    body: Body = (Spawn((Work(MS), Locked(1000))),) * 32
    assert "lock" not in {change.kind for change in advice_on(tmp_path, body).changes}


def test_few_long_tasks_are_split(tmp_path: Path) -> None:
    body: Body = (Spawn((Work(6 * MS),)),) * 3
    content = advice_on(tmp_path, body)
    first = content.changes[0]
    assert first.kind == "split"
    assert not first.at_most
    assert first.gain == pytest.approx(1 / 4, abs=0.01)  # 9 ms instead of 12 ms
    assert {tried.value for tried in first.tried} == {2, 4, 8}


def test_only_the_longest_tasks_are_split(tmp_path: Path) -> None:
    body: Body = (*[Spawn((Work(MS),))] * 32, Spawn((Work(64 * MS),)))
    content = advice_on(tmp_path, body)
    first = content.changes[0]
    assert first.kind == "split"
    walls = {tried.value: tried.wall_ns for tried in first.tried}
    assert walls[64] == pytest.approx(48 * MS, rel=0.03)  # the parts take 1 ms, as the other tasks do
    assert walls[2] == pytest.approx(64 * MS, rel=0.03)  # 32 ms each; one thread runs the short tasks too


def test_work_that_one_thread_does_alone_is_shared(tmp_path: Path) -> None:
    body: Body = (Work(20 * MS), *[Spawn((Work(MS),))] * 20)
    content = advice_on(tmp_path, body)
    first = content.changes[0]
    assert first.kind == "share"
    assert first.at_most
    assert first.share_ns == 20 * MS
    assert first.gain == pytest.approx(1 - 20 / 30, abs=0.01)  # 20 ms instead of 20 + 10 ms


def test_advice_is_a_list_of_sentences_with_places_and_numbers(tmp_path: Path) -> None:
    body: Body = (Spawn((Work(MS),)), Wait()) * 16
    content = advice_on(tmp_path, body)
    assert len(content.advice) == len(content.changes) > 0
    for advice, change in zip(content.advice, content.changes, strict=True):
        values = advice.as_values()
        assert values["kind"] == change.kind
        assert (values["gain"], values["low"], values["high"]) == (change.gain, change.low, change.high)
        assert values["wall_ns"] == change.wall_ns
        assert all(values[text] for text in ("title", "write"))
        assert re.fullmatch(
            r"(up to about )?\d+% less time \([\d.]+ ms instead of 16(\.\d)? ms\)", advice.gain_text
        )
        assert "predicted" not in advice.because, "the text of the gain has the times"
    written = advice_report(content).values["advice"]
    assert [one["because"] for one in written] == [advice.because for advice in content.advice]


def change(kind: str, gain: float, construct: int = 2, **properties: object) -> tuple[Change, Way]:
    return replace(Change(kind, construct, 0, 1, gain), **properties), Way()  # type: ignore[arg-type]


def test_among_close_gains_bounds_come_after_others_and_changes_that_add_tasks_last() -> None:
    found = [
        change("split", 0.301),
        change("share", 0.3, at_most=True),
        change("producer", 0.3),
        change("threads", 0.6),
        change("taskgraph", 0.6),
        change("untied", 0.009),
    ]
    assert [one.kind for one, _ in ranked(found)] == ["producer", "share", "split", "taskgraph", "threads"]


@pytest.mark.parametrize("gain", [0.3, 0.3024, 0.3026])
def test_gains_that_differ_by_a_thousandth_are_close_at_any_size(gain: float) -> None:
    found = [change("share", gain, at_most=True), change("producer", gain - 0.001)]
    assert [one.kind for one, _ in ranked(found)] == ["producer", "share"]


def test_the_twelve_best_changes_and_more_threads_are_kept() -> None:
    found = [change("lock", 0.5 - 0.01 * k, construct=k) for k in range(13)]
    kept = ranked([change("threads", 0.6), *found])
    assert [one.construct for one, _ in kept] == [*range(12), 2]
    assert kept[-1][0].kind == "threads"


def test_a_change_that_contains_another_counts_only_if_it_gains_more() -> None:
    of_one, of_two = change("dependence", 0.3), change("dependence", 0.3, also=(3,))
    assert [one.also for one, _ in ranked([of_two, of_one])] == [()]
    better, other = change("dependence", 0.4, also=(3,)), change("dependence", 0.2, construct=4)
    assert [one.construct for one, _ in ranked([of_one, other, better])] == [2, 4]
    assert [one.kind for one, _ in ranked([change("waits", 0.3), change("phases", 0.3)])] == ["waits"]
