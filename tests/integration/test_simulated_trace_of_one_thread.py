# SPDX-License-Identifier: Apache-2.0
"""A team of one thread runs each task immediately. Its trace still shows where more threads would wait."""

from __future__ import annotations

from pathlib import Path

import pytest

from ompass import _core
from ompass.simulation.machine import read_machine
from ompass.simulation.reader import read_task_program
from ompass.simulation.refusals import refusal
from ompass.simulation.runs import notes_on, predict
from recorded_run import check_accounts_agree, check_sound
from sampled_run import require_samples
from toolchains import CompileProgram, RunRecorded, Toolchain

SOURCE = "simulation/phases.c"
WAITS = 3 + 2 + 1
TASKS = 1 + 2 + 3 * 4 + 2 * 3


@pytest.fixture
def program(compile_program: CompileProgram) -> Path:
    return compile_program(SOURCE)


@pytest.mark.parametrize("preload", [False, True])
def test_a_trace_of_one_thread_names_its_waits(
    program: Path, run_recorded: RunRecorded, default_toolchain: Toolchain, preload: bool
) -> None:
    recorded = run_recorded(program, default_toolchain, "1", mode="trace", threads=1, preload=preload)
    profile = check_sound(recorded.run_dir)
    check_accounts_agree(profile, _core.replay_trace(str(recorded.run_dir)))
    tasks = read_task_program(recorded.run_dir)
    assert tasks.n_serialised == TASKS
    assert tasks.n_supposed_waits == 0
    for threads in (1, 2, 8):
        run = predict(tasks, read_machine(), "libomp", threads)
        assert run.operations["wait"][0] == WAITS
    assert not any("assumed to wait" in note for note in notes_on(tasks))


def test_waits_of_a_team_of_two_are_simulated(
    program: Path, run_recorded: RunRecorded, default_toolchain: Toolchain
) -> None:
    recorded = run_recorded(program, default_toolchain, "2", mode="trace", threads=2)
    tasks = read_task_program(recorded.run_dir)
    assert (tasks.n_deferred, tasks.n_serialised) == (TASKS, 0)
    assert predict(tasks, read_machine(), "libomp", 2).operations["wait"][0] == WAITS


def test_one_simulated_thread_has_the_recorded_work(
    program: Path, run_recorded: RunRecorded, default_toolchain: Toolchain
) -> None:
    recorded = run_recorded(program, default_toolchain, "1", mode="trace", threads=1)
    tasks = read_task_program(recorded.run_dir)
    run = predict(tasks, read_machine(), "libomp", 1)
    assert run.operations["inlined"][1] == 0  # the recorded times include this overhead
    assert run.work_ns == tasks.work_ns


CHAINS, LENGTH, READERS = 2, 8, 3


@pytest.mark.parametrize("preload", [False, True])
@pytest.mark.parametrize("threads", [1, 2])
def test_dependences_follow_from_depend_clauses_on_any_number_of_threads(
    compile_program: CompileProgram,
    run_recorded: RunRecorded,
    toolchain: Toolchain,
    threads: int,
    preload: bool,
) -> None:
    program = compile_program("simulation/dependences.c", toolchain)
    recorded = run_recorded(program, toolchain, "1000", mode="trace", threads=threads, preload=preload)
    check_sound(recorded.run_dir)
    tasks = read_task_program(recorded.run_dir)
    assert tasks.n_dependences == CHAINS * (LENGTH - 1 + 2 * READERS)
    assert tasks.n_unknown_dependences == 0


def test_only_tasks_whose_if_clause_is_true_are_deferred(
    compile_program: CompileProgram, run_recorded: RunRecorded, default_toolchain: Toolchain
) -> None:
    program = compile_program("simulation/if_false.c")
    recorded = run_recorded(program, default_toolchain, mode="trace", threads=1, preload=True)
    check_sound(recorded.run_dir)
    tasks = read_task_program(recorded.run_dir)
    assert tasks.n_serialised == 20
    one, two, four = (predict(tasks, read_machine(), "libomp", n).wall_ns for n in (1, 2, 4))
    # Two threads run the two tasks of each wait at the same time; more threads find no more tasks.
    assert one - two > 5e6
    assert two - four < (one - two) / 4


@pytest.mark.parametrize("asks", [False, True])
def test_another_team_may_get_other_tasks_if_the_program_asks_for_its_size(
    compile_program: CompileProgram, run_recorded: RunRecorded, default_toolchain: Toolchain, asks: bool
) -> None:
    program = compile_program("simulation/per_thread.c", flags=("-DASKS",) if asks else ())
    recorded = run_recorded(program, default_toolchain, mode="trace", threads=1)
    tasks = read_task_program(recorded.run_dir)
    assert tasks.asks_for_threads == asks
    assert tasks.few_tasks_ns == pytest.approx(20e6, rel=0.2)
    doubt = refusal(tasks, 2, predict(tasks, read_machine(), "libomp", 2))
    assert (doubt is not None and "asks for its number of threads" in doubt.reason) == asks


@pytest.mark.parametrize("flags", [(), ("-DCURED",)])
def test_one_thread_does_not_show_how_long_tasks_hold_a_mutex(
    compile_program: CompileProgram,
    run_recorded: RunRecorded,
    default_toolchain: Toolchain,
    flags: tuple[str, ...],
) -> None:
    program = compile_program("simulation/mutex.c", flags=flags)
    doubts = {}
    for threads in (1, 2):
        recorded = run_recorded(program, default_toolchain, mode="trace", threads=threads)
        tasks = read_task_program(recorded.run_dir)
        doubts[threads] = refusal(tasks, 4, predict(tasks, read_machine(), "libomp", 4))
    one, two = doubts[1], doubts[2]
    assert two is None
    assert (one is not None and "locks of the C library" in one.reason) == (not flags)


@pytest.mark.parametrize("flags", [(), ("-DCURED",)])
def test_one_thread_does_not_show_how_threads_share_the_allocator(
    compile_program: CompileProgram,
    run_recorded: RunRecorded,
    default_toolchain: Toolchain,
    flags: tuple[str, ...],
) -> None:
    program = compile_program("simulation/allocations.c", flags=flags)
    recorded = run_recorded(
        program, default_toolchain, mode="trace", threads=1, environment={"OMPASS_SAMPLE": "1000"}
    )
    require_samples(recorded.run_dir)
    tasks = read_task_program(recorded.run_dir)
    doubt = refusal(tasks, 2, predict(tasks, read_machine(), "libomp", 2))
    assert (doubt is not None and "the memory allocator" in doubt.reason) == (not flags)
    if not flags:
        assert 0.5 * tasks.work_ns < tasks.allocator_ns < tasks.work_ns
