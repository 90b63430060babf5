# SPDX-License-Identifier: Apache-2.0
"""Sweeps: the order of the jobs, the journal that survives a kill, CPUs and their busy time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ompass.errors import DamagedRunError, OmpassError, UsageError
from ompass.scaling.command import doubled
from ompass.scaling.directory import Done, SweepDirectory
from ompass.scaling.plan import (
    BASELINE,
    ELISION,
    RECORDED,
    UNRECORDED,
    Job,
    SweepSpec,
    cpus_in_order,
    jobs_of,
    pinned_to,
)
from ompass.system import busy_ns, stolen_ns

SPEC = SweepSpec(("./fib", "30"))


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "fib"
    path.write_text("one", encoding="utf-8")
    return path


def test_one_thread_is_measured_once_a_round() -> None:
    jobs = list(jobs_of(SPEC, (1, 2, 4), 2))
    assert sorted(jobs, key=lambda j: (j.repeat, j.threads)) == [
        Job(RECORDED, p, 0, r) for r in (1, 2) for p in (1, 2, 4)
    ]


def test_one_thread_is_measured_for_each_value_that_replaces_threads() -> None:
    spec = SweepSpec(("./sort", "--grain", "{threads}000"), baseline=("./serial",))
    jobs = list(jobs_of(spec, (2, 4), 1))
    assert set(jobs) == {
        Job(BASELINE, 1, 0, 1),
        Job(RECORDED, 1, 2, 1),
        Job(RECORDED, 2, 2, 1),
        Job(RECORDED, 1, 4, 1),
        Job(RECORDED, 4, 4, 1),
    }
    assert Job(RECORDED, 1, 4, 1).command(spec) == ("./sort", "--grain", "4000")
    assert Job(BASELINE, 1, 0, 1).command(spec) == ("./serial",)


@given(
    st.lists(st.integers(1, 64), min_size=1, max_size=6, unique=True),
    st.integers(1, 6),
    st.booleans(),
    st.booleans(),
)
def test_rounds_are_complete_and_begin_with_different_jobs(
    threads: list[int], repeats: int, unrecorded: bool, serial: bool
) -> None:
    spec = replace(SPEC, baseline=("./serial",), elision=("./elision",)) if serial else SPEC
    jobs = list(jobs_of(spec, tuple(threads), repeats, unrecorded))
    assert len(set(jobs)) == len({job.key for job in jobs}) == len(jobs)
    size = len(jobs) // repeats
    rounds = [jobs[k * size : (k + 1) * size] for k in range(repeats)]
    kinds = {job.kind for job in jobs}
    assert kinds == {RECORDED} | ({UNRECORDED} if unrecorded else set()) | (
        {BASELINE, ELISION} if serial else set()
    )
    for number, one in enumerate(rounds, 1):
        assert {job.repeat for job in one} == {number}
        assert {replace(job, repeat=1) for job in one} == set(rounds[0])
    if size > 1 and repeats > 1:
        assert replace(rounds[1][0], repeat=1) != rounds[0][0]


def test_a_reopened_sweep_has_its_finished_jobs(tmp_path: Path, program: Path) -> None:
    first = Done(Job(RECORDED, 2, 0, 1), 5, None, "a.ompass", 0.25)
    second = Done(Job(BASELINE, 1, 0, 1), 6, 7, "")
    with SweepDirectory.open(tmp_path / "s", SPEC, program) as sweep:
        for name in ("a.ompass", "b.ompass"):
            (sweep.runs / name).mkdir()
        sweep.finish(first)
        sweep.finish(second)
    with (tmp_path / "s" / "journal.jsonl").open("a") as journal:
        journal.write('{"kind": "recorded", "thr')  # killed in the middle of a line
    with SweepDirectory.open(tmp_path / "s", None, None) as sweep:
        assert sweep.spec == SPEC
        assert sweep.done() == {first.job: first, second.job: second}
        third = Done(Job(RECORDED, 1, 0, 1), 8, None, "b.ompass")
        sweep.finish(third)
    with SweepDirectory.open(tmp_path / "s", SPEC, program) as sweep:
        assert set(sweep.done()) == {first.job, second.job, third.job}
        (sweep.runs / "a.ompass").rmdir()
    with SweepDirectory.open(tmp_path / "s", SPEC, program) as sweep:
        assert set(sweep.done()) == {second.job, third.job}, "a removed recording is repeated"


def refuse(
    path: Path, spec: SweepSpec | None, program: Path | None, error: type[OmpassError], why: str
) -> None:
    with pytest.raises(error) as raised, SweepDirectory.open(path, spec, program):
        pass
    assert why in str(raised.value)


def test_a_directory_holds_one_sweep_of_one_program(tmp_path: Path, program: Path) -> None:
    with SweepDirectory.open(tmp_path / "s", SPEC, program) as sweep:
        sweep.finish(Done(Job(RECORDED, 1, 0, 1), 5, None, "a.ompass"))
    other = replace(SPEC, command=("./fib", "31"))
    refuse(tmp_path / "s", other, program, UsageError, "command was `./fib 30`, now it is `./fib 31`")
    program.write_text("two", encoding="utf-8")
    refuse(tmp_path / "s", SPEC, program, UsageError, "has changed")


def test_a_sweep_without_finished_runs_can_be_changed(tmp_path: Path, program: Path) -> None:
    with SweepDirectory.open(tmp_path / "s", replace(SPEC, baseline=("./absent",)), program):
        pass
    with SweepDirectory.open(tmp_path / "s", SPEC, program) as sweep:
        assert sweep.spec == SPEC


def test_a_directory_is_used_by_one_sweep_at_a_time(tmp_path: Path, program: Path) -> None:
    with SweepDirectory.open(tmp_path / "s", SPEC, program):
        refuse(tmp_path / "s", SPEC, program, UsageError, "another")


def test_missing_sweep_and_broken_journal_are_reported(tmp_path: Path, program: Path) -> None:
    refuse(tmp_path / "s", None, None, UsageError, "no sweep")
    with SweepDirectory.open(tmp_path / "s", SPEC, program):
        pass
    (tmp_path / "s" / "journal.jsonl").write_text("{}\n", encoding="utf-8")
    refuse(tmp_path / "s", SPEC, program, DamagedRunError, "line 1")


def test_only_files_of_an_unfinished_job_are_removed(tmp_path: Path, program: Path) -> None:
    with SweepDirectory.open(tmp_path / "s", SPEC, program) as sweep:
        job = Job(RECORDED, 1, 0, 1)
        for name in ("recorded-t1-r1.ompass", "recorded-t1-r1-2.ompass", "recorded-t1-r11.ompass"):
            (sweep.runs / name).mkdir()
        (sweep.runs / "recorded-t1-r1.out").touch()
        sweep.clear(job)
        assert [path.name for path in sweep.runs.iterdir()] == ["recorded-t1-r11.ompass"]


def made_topology(root: Path, cores: dict[int, str]) -> Path:
    for cpu, siblings in cores.items():
        folder = root / f"cpu{cpu}" / "topology"
        folder.mkdir(parents=True)
        (folder / "core_cpus_list").write_text(siblings + "\n", encoding="ascii")
    return root


def test_first_hardware_threads_of_cores_come_before_second_ones(tmp_path: Path) -> None:
    topology = made_topology(tmp_path, {0: "0,2", 1: "1,3", 2: "0,2", 3: "1,3"})
    assert cpus_in_order(frozenset({0, 1, 2, 3}), topology) == (0, 1, 2, 3)
    neighbours = made_topology(tmp_path / "b", {0: "0-1", 1: "0-1", 2: "2-3", 3: "2-3"})
    assert cpus_in_order(frozenset({0, 1, 2, 3}), neighbours) == (0, 2, 1, 3)
    assert cpus_in_order(frozenset({1, 3}), neighbours) == (1, 3)
    assert cpus_in_order(frozenset({5, 4}), tmp_path / "none") == (4, 5)


def test_each_thread_gets_a_place_if_there_are_enough() -> None:
    assert pinned_to(2, (0, 2, 1)) == (
        frozenset({0, 2}),
        {"OMP_PLACES": "{0},{2}", "OMP_PROC_BIND": "close"},
    )
    assert pinned_to(3, (0, 2, 1))[1]["OMP_PLACES"] == "{0},{2},{1}"
    assert pinned_to(4, (0, 2, 1)) == (frozenset({0, 1, 2}), {})


def test_busy_and_stolen_time_exclude_idle_and_may_be_unknown(tmp_path: Path) -> None:
    stat = tmp_path / "stat"
    stat.write_text(
        "cpu  9 9 9 9 9 9 9 9\ncpu0 1 2 3 100 50 4 5 6 0 0\ncpu1 1 0 0 0 0 0 0 0\n", encoding="ascii"
    )
    tick_ns = 10_000_000
    assert busy_ns({0}, stat) == 21 * tick_ns
    assert busy_ns({0, 1}, stat) == 22 * tick_ns
    assert busy_ns({0, 7}, stat) is None
    assert busy_ns({0}, tmp_path / "none") is None
    assert stolen_ns({0}, stat) == 6 * tick_ns
    assert stolen_ns({1}, stat) == 0  # known to be zero
    assert stolen_ns({0, 7}, stat) is None


@pytest.mark.parametrize(
    ("n_cpus", "counts"), [(1, (1,)), (2, (1, 2)), (6, (1, 2, 4, 6)), (8, (1, 2, 4, 8)), (9, (1, 2, 4, 8, 9))]
)
def test_a_sweep_doubles_the_threads_up_to_the_processors(n_cpus: int, counts: tuple[int, ...]) -> None:
    assert doubled(n_cpus) == counts
