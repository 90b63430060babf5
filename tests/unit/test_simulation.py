# SPDX-License-Identifier: Apache-2.0
"""Simulation reproduces the recorded program for any schedule; absurd machine files are refused."""

from __future__ import annotations

import json
import tarfile
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from made_runs import MS
from made_traces import (
    DEPENDENCE,
    FULFILL,
    IF_CLAUSE_FALSE,
    MUTEX_RELEASED,
    STAMP,
    TASK,
    TASKWAIT,
    WAIT,
    AtOnce,
    Body,
    Locked,
    Op,
    Schedule,
    Sleep,
    Spawn,
    Wait,
    Work,
    chain_of,
    work_of,
    write_trace,
)
from ompass import _core
from ompass._core import SimulatedRun, TaskProgram
from ompass.commands.main import application
from ompass.errors import NothingToShowError, OmpassError, UsageError
from ompass.readers.run import event_kinds, read_events
from ompass.simulation import runs
from ompass.simulation.advice import advise, middle_of_shortest
from ompass.simulation.calibration import as_toml, costs_from, recording_from
from ompass.simulation.machine import MACHINES, Machine, Recording, find_machine, read_machine
from ompass.simulation.reader import (
    POLICIES,
    RECORDABLE,
    SimulationOptions,
    placed,
    read_task_program,
    run_simulation,
    task_shapes,
)
from ompass.simulation.refusals import Doubt
from ompass.simulation.report import advice_report, simulation_report
from ompass.simulation.runs import predict, simulate
from ompass.topology import recorded_topology, synthetic_topology
from unit.test_task_graph import bodies, fib

GOLDEN = Path(__file__).resolve().parent.parent / "golden"
OUTSIDE_NS = 5  # work outside the region of a synthetic trace
MANY = 64  # more threads than any synthetic body has simultaneous tasks
FREE = read_machine().with_topology("pack:1 core:64 pu:1")


def call(*arguments: object) -> Result:
    return CliRunner().invoke(application(), [str(a) for a in arguments])


def error_of(result: Result) -> str:
    assert isinstance(result.exception, OmpassError), result.output
    line = result.exception.one_line()
    assert "\n" not in line
    return line


def program_of(body: Body, n_threads: int = 2, spread: int = 0, wrapper_ns: int = 0) -> TaskProgram:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "made.ompass"
        return _core.task_program(str(write_trace(path, Schedule(body, n_threads, spread, wrapper_ns))))


def free_run(program: TaskProgram, threads: int, policy: str = "help-first") -> SimulatedRun:
    """Simulates the program on a machine on which only work takes time."""
    return run_simulation(program, policy, threads, SimulationOptions(costs={"create": [(1, 0.0)]}))


def region_ns(run: SimulatedRun) -> int:
    return run.wall_ns - run.serial_ns


@settings(max_examples=200)
@given(bodies, st.integers(1, 4), st.integers(0, 5))
def test_enough_threads_take_as_long_as_the_span(body: Body, n_threads: int, spread: int) -> None:
    program = program_of(body, n_threads, spread)
    run = free_run(program, MANY)
    assert program.n_out_of_order == 0
    assert region_ns(run) == chain_of(body)[1]
    assert run.work_ns == program.work_ns == work_of(body) + run.serial_ns


@settings(max_examples=100)
@given(bodies, st.integers(2, 4), st.integers(0, 5), st.integers(1, 9))
def test_the_simulated_time_does_not_depend_on_the_recorded_schedule(
    body: Body, n_threads: int, spread: int, simulated: int
) -> None:
    one, other = program_of(body, n_threads), program_of(body, n_threads, spread)
    for policy in ("work-first", "libomp"):
        assert region_ns(free_run(one, simulated, policy)) == region_ns(free_run(other, simulated, policy))


# With these policies a thread that waits in a task runs any other task, and the waiting task may move.
GREEDY = tuple(p for p in POLICIES if p not in ("libomp", "omp_ext", "locality", "strict", "tbb"))
TWO_SPAWN_TWO: Body = (Spawn((Spawn((Work(1),)), Work(1))),) * 2


@settings(max_examples=100)
@example(TWO_SPAWN_TWO, 3, 4)
@given(bodies, st.integers(2, 4), st.integers(1, 9))
def test_no_thread_idles_while_a_task_is_queued(body: Body, n_threads: int, simulated: int) -> None:
    program = program_of(body, n_threads)
    work, span = work_of(body), chain_of(body)[1]
    for policy in GREEDY:
        took = region_ns(free_run(program, simulated, policy))
        assert max(span, work / simulated) <= took <= span + (work - span) / simulated  # Graham's bound


@settings(max_examples=50)
@given(bodies, st.integers(1, 50))
def test_creations_take_as_long_as_in_the_recorded_run(body: Body, wrapper_ns: int) -> None:
    program = program_of(body, wrapper_ns=wrapper_ns)
    run = run_simulation(program, "help-first", 3)
    assert run.create_ns == program.n_deferred * wrapper_ns
    assert run.work_ns == program.work_ns == work_of(body) + run.serial_ns


@pytest.mark.parametrize("policy", POLICIES)
def test_time_adds_up_for_every_policy(policy: str) -> None:
    program = program_of(fib(12))
    for threads in (1, 2, 7):
        run = predict(program, read_machine(), policy, threads)
        states = run.work_ns + run.create_ns + run.schedule_ns + run.sync_ns + run.idle_ns
        assert states == threads * run.wall_ns
        assert run.n_tasks == program.n_deferred
        assert run.n_steals_successful <= run.n_steals_attempted


def test_a_faster_construct_shortens_the_run_by_its_part_of_the_path() -> None:
    chain: Body = tuple(Spawn((Work(1000),), 2, after_last=k > 0) for k in range(10))
    body = (*chain, *(Spawn((Work(1000),), 3) for _ in range(4)))
    program = program_of(body)
    numbers = sorted(program.work_of_constructs)[-2:]
    base = region_ns(free_run(program, 2))
    assert base == 10_000
    for construct, expected in zip(numbers, (5_000, 10_000), strict=True):
        options = SimulationOptions(costs={"create": [(1, 0.0)]}, speed={construct: 2.0})
        run = run_simulation(program, "help-first", 2, options)
        assert region_ns(run) == expected


def test_a_run_without_recording_has_less_work() -> None:
    program = program_of(tuple(Spawn((Work(1000),)) for _ in range(10)))
    run = run_simulation(program, "help-first", 1, SimulationOptions(untraced_task_ns=60))
    assert program.work_ns - run.work_ns == 10 * 60
    run = run_simulation(program, "help-first", 1, SimulationOptions(untraced_task_ns=5000))
    assert run.work_ns == run.serial_ns


# ---------------------------------------------------------------- changed programs


def locking(n_tasks: int, lock: int = 1) -> Body:
    return (*[Spawn((Work(10), Locked(100, lock)))] * n_tasks, Wait())


@pytest.mark.parametrize("policy", POLICIES)
def test_no_number_of_threads_beats_the_total_hold_time_of_a_lock(policy: str) -> None:
    program = program_of(locking(16))
    assert program.n_locks == 1
    assert program.blocked_ns == 0
    assert program.work_ns == OUTSIDE_NS + 16 * 110
    for threads in (2, 4, 16):
        assert free_run(program, threads, policy).wall_ns >= 1600
    assert region_ns(free_run(program, 16)) == 1610


def test_advice_names_the_lock_that_more_threads_wait_for(tmp_path: Path) -> None:
    body: Body = (*[Spawn((Work(10_000), Locked(100_000)))] * 32, Wait())
    content = advise(write_trace(tmp_path / "lock.ompass", Schedule(body, 2)))
    assert "threads" not in {change.kind for change in content.changes}
    (note,) = [note for note in content.notes if "gain nothing" in note]
    assert "4 threads" in note
    assert "one lock for 3.20 ms" in note


def test_advice_names_the_chain_that_more_threads_wait_for(tmp_path: Path) -> None:
    body: Body = (*[Spawn((Work(100_000),), after_last=True)] * 32, Spawn((Work(200_000),)), Wait())
    content = advise(write_trace(tmp_path / "chain.ompass", Schedule(body, 2)))
    assert "threads" not in {change.kind for change in content.changes}
    (note,) = [note for note in content.notes if "gain nothing" in note]
    assert "the longest chain of work takes 3.20 ms" in note


def test_more_threads_are_not_advised_without_times_of_memory(tmp_path: Path) -> None:
    content = advise(
        write_trace(tmp_path / "coarse.ompass", Schedule((*[Spawn((Work(10**6),))] * 64, Wait()), 2))
    )
    assert "threads" not in {change.kind for change in content.changes}
    (note,) = [note for note in content.notes if "4 threads" in note]
    assert "does not show whether 4 threads gain anything" in note
    assert "ompass scale" in note


def test_different_locks_are_held_at_the_same_time() -> None:
    one, two = locking(8, lock=1), locking(8, lock=2)
    program = program_of((*one[:-1], *two))
    assert program.n_locks == 2
    assert region_ns(free_run(program, 16)) == 810


def test_waits_for_locks_of_older_traces_are_repeated(tmp_path: Path) -> None:
    path = write_trace(tmp_path / "old.ompass", Schedule(locking(16, lock=0), 2))
    program = read_task_program(path)
    assert program.n_locks == 0
    assert program.blocked_ns > 0
    (note,) = [note for note in simulate(path).notes if "locks" in note]
    assert "repeated as recorded" in note
    assert "record it again" in note


def test_a_lock_without_a_release_delays_no_thread() -> None:
    schedule = Schedule(locking(4), 2)
    for worker in schedule.workers:
        words = worker.log.words
        places = [i for i, word in enumerate(words) if word & 63 == MUTEX_RELEASED and word >> 6 & 255 == 1]
        for i in places[:1]:
            words[i] = words[i] >> 32 << 32 | STAMP
    with tempfile.TemporaryDirectory() as folder:
        path = write_trace(Path(folder) / "made.ompass", schedule)
        assert region_ns(free_run(_core.task_program(str(path)), 4)) == 310 - 100


def test_a_release_without_an_acquisition_delays_no_thread() -> None:
    program = program_of(
        (
            Spawn((Locked(10),)),
            Spawn((Locked(300, tried=True),)),
            Spawn((Work(500), Locked(100))),
            Spawn((Work(2000),)),
            Wait(),
        )
    )
    assert region_ns(free_run(program, 4)) == 2000


@pytest.mark.parametrize("n_threads", [1, 2])
def test_an_undeferred_task_without_children_waits_for_nothing(tmp_path: Path, n_threads: int) -> None:
    body = (Spawn((Work(1000),)), AtOnce(10, construct=6, place=7), Work(200))
    more = ((TASK, IF_CLAUSE_FALSE), (WAIT, TASKWAIT))
    path = write_trace(tmp_path / "made.ompass", Schedule(body, n_threads), more=more)
    assert region_ns(free_run(_core.task_program(str(path)), 2)) == 1000


@pytest.mark.parametrize(("n_dropped", "lasts"), [(0, True), (1, False)])
def test_a_thread_without_its_last_records_does_no_unknown_work(
    tmp_path: Path, n_dropped: int, lasts: bool
) -> None:
    schedule = Schedule((Spawn((Work(100),)), Work(200), Wait()), 2)
    del schedule.workers[0].log.words[9:]  # everything after the creation
    schedule.end += MS
    path = write_trace(tmp_path / "made.ompass", schedule, n_dropped=n_dropped)
    for work_ns in (_core.task_program(str(path)).work_ns, _core.task_graph(str(path)).work_ns):
        assert (work_ns >= MS) == lasts


def test_regions_of_a_thread_that_the_program_created_are_refused(tmp_path: Path) -> None:
    schedule = Schedule((Spawn((Work(1000),)), Wait()), 2)
    other = Schedule((Work(700),), 1, first=2)
    schedule.workers += other.workers
    path = write_trace(tmp_path / "made.ompass", schedule)
    program = read_task_program(path)
    assert 700 <= program.other_regions_ns < 1000 < program.regions_ns
    with pytest.raises(NothingToShowError, match="regions of their own"):
        simulate(path)


def test_blocked_time_takes_as_long_on_a_faster_processor() -> None:
    program = program_of((Spawn((Work(1000), Sleep(500))), Spawn((Work(100), Sleep(1400))), Wait()))
    assert program.work_ns == OUTSIDE_NS + 3000
    assert program.off_cpu_ns == 1900
    options = SimulationOptions(costs={"create": [(1, 0.0)]}, clock_ratio=2.0)
    run = run_simulation(program, "help-first", 2, options)
    assert region_ns(run) == 50 + 1400
    assert region_ns(free_run(program, 1)) == 3000


def test_a_detached_task_completes_with_its_event_while_its_thread_runs_others() -> None:
    detached = Spawn((Work(10),), event_ns=1000)
    program = program_of((detached, Spawn((Work(5),), after_last=True), *[Spawn((Work(200),))] * 3, Wait()))
    assert program.n_detached == 1
    assert program.n_unfulfilled == 0
    for policy in POLICIES:
        for threads in (1, 2, 8):
            if policy == "libomp" and threads == 1:
                continue  # one thread runs each task at its creation
            run = free_run(program, threads, policy)
            others_first = 3 * 200 // threads  # policies that run the newest task first
            assert 1015 <= region_ns(run) <= 1015 + others_first, policy
            assert run.work_ns == program.work_ns


def test_many_detached_tasks_wait_for_their_events_together() -> None:
    program = program_of((*[Spawn((Work(10),), event_ns=1000)] * 20, Wait()))
    assert region_ns(free_run(program, 1)) == 1200
    assert region_ns(free_run(program, 20)) == 1010


def test_a_detached_task_without_an_event_completes_at_its_end(tmp_path: Path) -> None:
    schedule = Schedule((Spawn((Work(10),), event_ns=1000), Wait()), 2)
    for worker in schedule.workers:
        words = worker.log.words
        for i in [i for i, word in enumerate(words[:-1]) if word & 63 == FULFILL and not word >> 32]:
            words[i + 1] = 77 << 40 | 1  # another task
    path = write_trace(tmp_path / "made.ompass", schedule)
    assert read_task_program(path).n_unfulfilled == 1
    assert any("complete at their end" in note for note in simulate(path).notes)


def test_coarser_tasks_are_fewer_with_the_same_work() -> None:
    body = tuple(Spawn((Work(100),)) for _ in range(10))
    program = program_of(body)
    construct = max(program.work_of_constructs)
    run = free_run(_core.coarsen(program, construct, 4), MANY)
    assert (run.n_tasks, run.work_ns, region_ns(run)) == (3, program.work_ns, 400)


def test_coarser_tasks_keep_their_work_if_the_first_one_is_empty() -> None:
    program = program_of((Spawn(()), *(Spawn((Work(100),)) for _ in range(9))))
    run = free_run(_core.coarsen(program, max(program.work_of_constructs), 4), MANY)
    assert run.work_ns == program.work_ns >= 900


def test_tasks_that_depend_on_others_keep_their_dependences() -> None:
    body = tuple(Spawn((Work(100),), after_last=k > 0) for k in range(10))
    program = program_of(body)
    run = free_run(_core.coarsen(program, max(program.work_of_constructs), 4), MANY)
    assert (run.n_tasks, region_ns(run)) == (10, 1000)


def test_several_producers_create_in_parallel() -> None:
    op: tuple[Op, ...] = (Work(50), Spawn((Work(50),)))
    program = program_of(op * 64)
    construct = max(program.work_of_constructs)
    assert region_ns(free_run(program, MANY)) == 64 * 50 + 50
    run = free_run(_core.spread(program, construct, 32, 8), MANY)
    assert region_ns(run) < 64 * 50 / 4
    assert run.work_ns == program.work_ns
    assert run.n_tasks == 64 + 8


def test_joined_phases_overlap() -> None:
    phase: tuple[Op, ...] = (Spawn((Work(100),)), Spawn((Work(300),)), Wait())
    program = program_of((Spawn(phase * 4), Wait()))
    shapes = {shape.construct: shape for shape in _core.shapes(program)}
    outer = max(shapes.values(), key=lambda shape: shape.most_phases)
    assert outer.most_phases == 4
    assert region_ns(free_run(program, MANY)) == 4 * 300
    assert region_ns(free_run(_core.join_phases(program, outer.construct), MANY)) == 300


def test_advice_finds_the_cut_off_of_tasks_that_are_too_short(tmp_path: Path) -> None:
    path = write_trace(tmp_path / "fine.ompass", Schedule(fib(14), 2))
    content = advise(path, threads=4)
    best = {change.kind: change for change in content.changes}
    assert best["depth"].gain > 0.5
    assert best["depth"].low <= best["depth"].gain <= best["depth"].high
    walls = [tried.wall_ns for tried in best["depth"].tried]
    assert min(walls) == best["depth"].wall_ns
    assert walls[-1] > 2 * best["depth"].wall_ns  # almost no cut-off


def test_advice_omits_changes_without_gain(tmp_path: Path) -> None:
    body = tuple(Spawn((Work(1_000_000),)) for _ in range(8))
    content = advise(write_trace(tmp_path / "coarse.ompass", Schedule(body, 2)), threads=2)
    assert not content.changes
    assert content.causal[0].gain == pytest.approx(0.5, abs=0.02)


def test_advice_distributes_the_creations_of_one_task_over_several(tmp_path: Path) -> None:
    op: tuple[Op, ...] = (Work(2000), Spawn((Work(8000),)))
    content = advise(write_trace(tmp_path / "producer.ompass", Schedule(op * 256, 2)), threads=16)
    best = {change.kind: change for change in content.changes}
    # Undivided, one thread creates 256 tasks in 2 us each, then the last task runs. Divided, 256 times 10 us
    # run on 16 threads.
    assert content.wall_ns == pytest.approx(256 * 2000 + 8000, rel=0.1)
    assert best["producer"].wall_ns == pytest.approx(256 * 10_000 / 16, rel=0.25)
    assert best["producer"].value in (16, 64)


def test_advice_merges_tasks_that_are_too_short(tmp_path: Path) -> None:
    body = tuple(Spawn((Work(200),)) for _ in range(2000))
    content = advise(write_trace(tmp_path / "short.ompass", Schedule(body, 2)), threads=2)
    best = {change.kind: change for change in content.changes}
    assert best["grain"].value >= 8 and best["grain"].gain > 0.3
    walls = {tried.value: tried.wall_ns for tried in best["grain"].tried}
    assert walls[2] > walls[8] and walls[best["grain"].value] == min(walls.values())


def test_advice_on_priorities_names_the_higher_one_to_write(tmp_path: Path) -> None:
    # The chain has the lower priority: 4 ms of other tasks run first, then 8 ms of the chain on one thread.
    others = tuple(Spawn((Work(MS),), 2, priority=5) for _ in range(4))
    chain = tuple(Spawn((Work(MS),), 3, after_last=k > 0, priority=2) for k in range(8))
    path = write_trace(tmp_path / "inverted.ompass", Schedule((*others, *chain, *others), 2))
    content = advise(path, threads=2)
    (change,) = (one for one in content.changes if one.kind == "priority")
    assert (change.construct, change.priority) == (3, 5)
    assert change.gain == pytest.approx(1 / 3, abs=0.02)  # 8 ms instead of 12 ms
    (written,) = (one for one in advice_report(content).values["advice"] if one["kind"] == "priority")
    assert "priority(6)" in written["write"] and "OMP_MAX_TASK_PRIORITY=6" in written["write"]


def test_advice_reverses_the_priorities_of_one_construct(tmp_path: Path) -> None:
    short = tuple(Spawn((Work(MS),), 2, priority=9) for _ in range(8))
    body = (*short[:4], Spawn((Work(8 * MS),), 2, priority=1), *short[4:])
    path = write_trace(tmp_path / "lengths.ompass", Schedule(body, 2))
    content = advise(path, threads=2)
    (change,) = (one for one in content.changes if one.kind == "priority")
    assert change.value == -1
    assert change.gain == pytest.approx(1 / 3, abs=0.02)  # 8 ms instead of 4 + 8 ms


def test_advice_bounds_the_gain_of_dependences_without_declared_data(tmp_path: Path) -> None:
    phase: tuple[Op, ...] = (Spawn((Work(100_000),)), Spawn((Work(300_000),)), Wait())
    path = write_trace(tmp_path / "phases.ompass", Schedule((Spawn(phase * 8), Wait()), 2))
    best = {change.kind: change for change in advise(path, threads=2).changes}
    assert best["phases"].at_most
    assert best["phases"].gain == pytest.approx(1 / 3, abs=0.02)  # 8 x 300 us, or all work on two threads
    assert "dependences" not in best


def test_advice_puts_a_chain_before_other_tasks(tmp_path: Path) -> None:
    free = tuple(Spawn((Work(100_000),), 2) for _ in range(4))
    chain = tuple(Spawn((Work(100_000),), 3, after_last=k > 0) for k in range(8))
    path = write_trace(tmp_path / "late.ompass", Schedule((*free, *chain, *free), 2))
    content = advise(path, threads=2)
    priorities = [change for change in content.changes if change.kind == "priority"]
    assert [change.construct for change in priorities] == [3]
    assert priorities[0].gain == pytest.approx(1 / 3, abs=0.02)


# ---------------------------------------------------------------- memory


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kernels")
    (folder / "kernels.ompass").mkdir()
    with tarfile.open(GOLDEN / "kernels.tar.xz") as archive:
        for entry in archive:
            if contents := archive.extractfile(entry):
                (folder / entry.name).write_bytes(contents.read())
    return folder / "kernels.ompass"


def test_declared_data_are_simulated_where_caches_are_known(kernels: Path) -> None:
    program = read_task_program(kernels)
    named = [name for name, _ in event_kinds()]
    declared = [
        named[kind] in ("read", "write", "read_near", "write_near") for kind in read_events(kernels).kind
    ]
    assert program.n_accesses == sum(declared) > 0
    known = simulate(kernels, threads=[1, 2])
    for one in known.predictions:
        assert one.run.memory_ns > 0
        assert len(one.run.levels) == len(recorded_topology(kernels).caches)
        states = one.run.work_ns + one.run.create_ns + one.run.schedule_ns + one.run.sync_ns + one.run.idle_ns
        assert states == one.threads * one.run.wall_ns
    assert "Caches and memory are modelled" in known.notes[0]
    unknown = simulate(kernels, threads=[1, 4096])  # more threads than the recorded machine has
    assert all(one.run.work_ns == program.work_ns and not one.run.levels for one in unknown.predictions)
    assert "not modelled because no caches are known" in unknown.notes[0]


def test_more_threads_than_the_machine_has_are_not_compared_with_modelled_memory(kernels: Path) -> None:
    kinds: dict[int, list[str]] = {2: [], 1: []}
    for threads, tried in kinds.items():
        advise(kernels, threads=threads, progress=tried.append)
    assert len(recorded_topology(kernels).cpus) == 2
    assert "threads" in kinds[1]
    assert "threads" not in kinds[2]


def test_without_declared_data_a_note_says_that_inflation_is_not_modelled(tmp_path: Path) -> None:
    path = write_trace(tmp_path / "made.ompass", Schedule(fib(5), 2))
    simulation = simulate(path, threads=[2], machine=find_machine("2x-epyc-7763"))
    assert not simulation.predictions[0].run.levels
    assert simulation.notes[0].endswith("caches and memory are not modelled.")


def test_remote_memory_and_small_caches_make_kernels_slower(kernels: Path, tmp_path: Path) -> None:
    def memory_ns(text: str) -> int:
        file = tmp_path / "m.toml"
        file.write_text(text, encoding="utf-8")
        return simulate(kernels, threads=[2], machine=read_machine(str(file))).predictions[0].run.memory_ns

    near = 'topology = "pack:1 numa:1 l2:1(size=1048576) core:2 pu:1"\n[memory]\nl2 = [4, 60]\n'
    assert memory_ns(near + "local = [900, 1]") > memory_ns(near + "local = [90, 15]")
    apart = 'topology = "pack:2 numa:1 l2:1(size=1048576) core:1 pu:1"\n[memory]\nremote = [5000, 1]\n'
    assert memory_ns(apart + 'pages = "interleaved"') > memory_ns(near)
    tiny = near.replace("1048576", "2048")
    assert memory_ns(tiny) > memory_ns(near)


def test_placement_is_tried_where_data_is_declared_and_there_are_domains(
    kernels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[tuple[int, int]] = []

    def place(program: TaskProgram, construct: int, n_domains: int) -> TaskProgram:
        tried.append((construct, n_domains))
        return placed(program, construct, n_domains)

    monkeypatch.setattr("ompass.simulation.changes.placed", place)
    two = find_machine("pack:2 l3:1(size=4194304) core:2 pu:1")
    advise(kernels, machine=two, threads=4)
    tasks = {shape.construct for shape in task_shapes(read_task_program(kernels)) if shape.deepest}
    assert tried == [(construct, 2) for construct in sorted(tasks)] and tasks
    tried.clear()
    advise(kernels, machine=find_machine("pack:1 l3:1(size=4194304) core:4 pu:1"), threads=4)
    advise(write_trace(tmp_path / "made.ompass", Schedule(fib(5), 2)), machine=two, threads=4)
    assert not tried


def test_a_described_machine_has_its_caches_and_nodes() -> None:
    topology = synthetic_topology("pack:2 numa:1 l3:2(size=4194304) l2:2(size=65536) core:1 pu:1")
    l2, l3 = (next(caches for caches in topology.caches if caches.level == level) for level in (2, 3))
    assert (l2.size_bytes, l2.of_cpu) == (65536, tuple(range(8)))
    assert (l3.size_bytes, l3.of_cpu) == (4194304, (0, 0, 1, 1, 2, 2, 3, 3))
    assert topology.nodes == (0, 0, 0, 0, 1, 1, 1, 1)


# ---------------------------------------------------------------- simulated runs as run directories


EVERY_COST = replace(
    read_machine(),
    costs={cost.name: ((1, 10.0 + k),) for k, cost in enumerate(_core.simulated_costs())},
    by_runtime={},
)


def recorded_again(
    path: Path, folder: Path, threads: int, policy: str, machine: Machine | None = None
) -> tuple[Path, SimulatedRun]:
    out = folder / f"{policy}-{threads}.ompass"
    simulation = simulate(
        path, machine=machine, threads=[threads], policies=[policy], anyway=True, record=out
    )
    return out, simulation.predictions[0].run


def states_in(profile: _core.Run, *states: str) -> list[int]:
    return [sum(getattr(row, f"{state}_ns") for row in profile.regions) for state in states]


@pytest.mark.parametrize("machine", [read_machine(), EVERY_COST], ids=["reference", "every-cost"])
@settings(max_examples=40)
@given(bodies, st.integers(1, 4), st.sampled_from(RECORDABLE), st.integers(0, 9))
def test_a_simulated_run_can_be_read_like_a_recorded_one(
    machine: Machine, body: Body, threads: int, policy: str, wrapper_ns: int
) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        body = (*body, Spawn((Work(7),)))
        path = write_trace(folder / "made.ompass", Schedule(body, 2, wrapper_ns=wrapper_ns))
        out, run = recorded_again(path, folder, threads, policy, machine)
        for profile in (_core.read_profile(str(out)), _core.replay_trace(str(out))):
            assert profile.wall_ns == run.wall_ns
            assert states_in(profile, "create") == [run.create_ns]
            # A single thread runs all parts of the recorded team; their begins and barriers count as work.
            if threads > 1:
                assert states_in(profile, "work") == [run.work_ns]
        assert not _core.validate(str(out))
        before, after = _core.task_program(str(path)), _core.task_program(str(out))
        assert after.n_out_of_order == 0
        assert after.n_dependences <= before.n_dependences
        assert after.n_deferred + run.n_inlined == before.n_deferred


def test_a_simulated_run_has_the_acquisitions_of_its_locks(tmp_path: Path) -> None:
    path = write_trace(tmp_path / "made.ompass", Schedule(locking(8), 2))
    out, _ = recorded_again(path, tmp_path, 1, "libomp")
    assert read_task_program(out).longest_hold_ns == read_task_program(path).longest_hold_ns == 800


def test_a_simulated_run_has_the_kernels_and_data_of_the_recorded_one(kernels: Path, tmp_path: Path) -> None:
    out, run = recorded_again(kernels, tmp_path, 2, "omp_ext")
    assert read_task_program(out).n_accesses == read_task_program(kernels).n_accesses
    assert read_task_program(out).work_ns == run.work_ns

    def bytes_of(path: Path) -> list[tuple[int, int, int]]:
        rows = [row for row in _core.read_profile(str(path)).constructs if row.read_bytes + row.write_bytes]
        found: dict[int, list[int]] = {}
        for row in rows:
            total = found.setdefault(row.construct, [0, 0])
            total[0] += row.read_bytes
            total[1] += row.write_bytes
        return sorted((construct, read, written) for construct, (read, written) in found.items())

    assert bytes_of(out) == bytes_of(kernels)


@pytest.mark.parametrize("command", ["report", "graph", "krd", "info", "validate", "simulate", "advise"])
def test_commands_read_a_simulated_run(command: str, kernels: Path, tmp_path: Path) -> None:
    out = tmp_path / "simulated.ompass"
    machine = "pack:2 l3:1(size=4194304) core:2 pu:1"
    result = call("simulate", kernels, "--threads", "4", "--topology", machine, "--record", out)
    assert result.exit_code == 0, result.output
    result = call(command, out)
    assert result.exit_code == 0, result.output
    assert result.output


def test_one_simulated_run_is_written_to_a_new_directory(tmp_path: Path) -> None:
    path = write_trace(tmp_path / "made.ompass", Schedule(fib(5), 2))
    out = tmp_path / "out.ompass"
    assert "one run" in error_of(call("simulate", path, "--threads", "1,2", "--record", out))
    assert "traces cannot" in error_of(call("simulate", path, "--policy", "work-first", "--record", out))
    assert not out.exists()
    assert call("simulate", path, "--record", out).exit_code == 0
    assert "it exists; name a new directory" in error_of(call("simulate", path, "--record", out))
    assert "meta.json is a file" in error_of(call("simulate", path, "--record", out / "meta.json" / "where"))
    assert call("simulate", path, "--record", tmp_path / "no" / "where").exit_code == 0


def test_a_directory_that_appears_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    path = write_trace(tmp_path / "made.ompass", Schedule(fib(5), 2))
    with pytest.raises(UsageError) as raised:
        simulate(path, record=path)
    assert raised.value.why == "File exists"


def test_a_refused_simulation_leaves_no_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_trace(tmp_path / "made.ompass", Schedule(fib(5), 2))
    out = tmp_path / "out.ompass"
    monkeypatch.setattr(runs, "refusal", lambda *_: Doubt(1.0, "reason", "cure"))
    refused = error_of(call("simulate", path, "-t", "4", "--record", out))
    assert "does not predict 4 threads" in refused and "--anyway" in refused
    assert not out.exists()
    again = call("simulate", path, "-t", "1", "--record", out, "--anyway")
    assert "Doubtful for 1 thread, because reason" in " ".join(again.output.split())
    assert out.is_dir()


def test_refusals_name_their_policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_trace(tmp_path / "made.ompass", Schedule(fib(5), 2))
    doubts = iter([Doubt(1.0, "reason", "cure"), None])
    monkeypatch.setattr(runs, "refusal", lambda *_: next(doubts))
    simulation = simulate(path, threads=[4], policies=["libomp", "work-first"])
    report = simulation_report(simulation)
    assert [(one["policy"], one["threads"]) for one in report.values["refused"]] == [("libomp", 4)]
    assert "Not predicted for 4 threads under libomp, because reason." in report.sections[0].parts


def test_more_threads_than_the_simulation_can_run_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_trace(tmp_path / "made.ompass", Schedule(fib(5), 2))
    one_core = find_machine("pack:1 core:1 pu:1")
    with pytest.raises(UsageError, match=r"has 1 hardware thread\b"):
        simulate(path, machine=one_core)
    monkeypatch.setattr("ompass.simulation.reader.MOST_THREADS", 1)
    for command in ("simulate", "advise"):
        assert "the simulation has at most 1" in error_of(call(command, path))


def test_speedups_do_not_depend_on_the_order_of_the_numbers_of_threads(tmp_path: Path) -> None:
    path = write_trace(tmp_path / "made.ompass", Schedule(fib(5), 2))
    rising, falling = (
        {
            (one.policy, one.threads): one.speedup
            for one in simulate(path, threads=threads, policies=RECORDABLE).predictions
        }
        for threads in ([1, 2, 4], [4, 2, 1])
    )
    assert falling == rising
    assert None not in rising.values()


# ---------------------------------------------------------------- commands


def test_simulate_follows_the_schema(tmp_path: Path) -> None:
    path = write_trace(tmp_path / "made.ompass", Schedule(fib(8), 2))
    result = call("simulate", path, "--threads", "1,2,4", "--policy", "libomp,work-first", "--json")
    report = json.loads(result.output)
    assert [(run["policy"], run["threads"]) for run in report["runs"]] == [
        (policy, threads) for policy in ("libomp", "work-first") for threads in (1, 2, 4)
    ]
    for run in report["runs"]:
        states = sum(run[f"{state}_ns"] for state in ("work", "create", "schedule", "sync", "idle"))
        assert states == run["threads"] * run["wall_ns"]
        assert set(run["steals"]) == {"attempted", "successful", "false_negatives"}
    again = call("simulate", path, "--threads", "1,2,4", "--policy", "libomp,work-first", "--json")
    assert again.output == result.output


def test_advise_shows_the_code_to_write(tmp_path: Path) -> None:
    path = write_trace(tmp_path / "made.ompass", Schedule(fib(12), 2))
    report = json.loads(call("advise", path, "--threads", "4", "--json").output)
    assert report["advice"] and all(
        one["write"] and one["gain_low"] <= one["gain"] <= one["gain_high"] for one in report["advice"]
    )
    gains = [one["gain"] for one in report["advice"] if one["kind"] != "threads"]
    assert gains == sorted(gains, reverse=True)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--threads", "0"], "out of range"),
        (["--threads", "two"], "not a list of numbers"),
        (["--threads", "99999"], "out of range"),
        (["--policy", "magic"], "there is no such policy"),
        (["--topology", "pack:nonsense"], "hwloc cannot read it"),
        (["--topology", "pack:1 core:2 pu:1", "--threads", "3"], "has 2 hardware threads"),
        (["--machine-file", "nowhere.toml"], "name a file, or one of"),
    ],
)
def test_simulate_reports_errors_in_one_line(tmp_path: Path, options: list[str], expected: str) -> None:
    path = write_trace(tmp_path / "made.ompass", Schedule(fib(5), 2))
    assert expected in error_of(call("simulate", path, *options))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("costs = 3", "`costs` is not a table"),
        ("colour = 3", "`colour` is not a key"),
        ("[costs]\nsteal = -1", "below 0"),
        ("[costs]\nsteal = nan", "neither a cost"),
        ("[costs]\nsteal = inf", "above a second"),
        ("[costs]\nsteal = [[4, 1], [2, 1]]", "neither a cost nor a list"),
        ("[costs]\nsteal = []", "neither a cost nor a list"),
        ("[costs]\nteleport = 1", "`costs.teleport` is not a cost"),
        ('[costs]\nunit = "cycles"\nsteal = 1', "neither ns nor cycles"),
        ("clock_ratio = 0", "`clock_ratio` is not"),
        ('clock_ratio = "fast"', "`clock_ratio` is not"),
        ("topology = 7", "`topology` is not a string"),
        ('topology = "pack:0"', "hwloc cannot read it"),
        ("[recording]\ntask = -3", "not a time in ns"),
        ("memory = 1", "`memory` is not a table"),
        ("[memory]\nl4 = [1, 2]", "`memory.l4` is not a key"),
        ("[memory]\nl1 = 3", "`memory.l1` is not [latency"),
        ("[memory]\nlocal = [-1, 2]", "a latency below 0"),
        ("[memory]\nlocal = [90, 0]", "`memory.local` has no bandwidth"),
        ("[memory]\nnode = nan", "`memory.node` has no bandwidth"),
        ("[memory]\nblock = 1000", "`memory.block` is not a power of two"),
        ("[memory]\nblock = 0", "`memory.block` is not from 64"),
        ('[memory]\npages = "last-touch"', "`memory.pages` is not one of first-touch"),
        ("= =", "not TOML"),
    ],
)
def test_absurd_machine_files_are_refused(tmp_path: Path, text: str, expected: str) -> None:
    file = tmp_path / "m.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        read_machine(str(file))
    assert expected in caught.value.one_line()


@pytest.mark.parametrize("name", MACHINES)
def test_included_machines_are_valid_and_name_their_source(name: str) -> None:
    machine = read_machine(name)
    assert machine.costs_of("libomp")["dequeue"]
    assert machine.recording.task > 0
    assert MACHINES[name]["source"]


def test_a_cost_in_cycles_is_converted_to_nanoseconds() -> None:
    assert read_machine("cmp-32").costs_of("libomp")["steal"] == ((4, 230.0), (32, 550.0))


def test_a_measured_machine_file_can_be_read(tmp_path: Path) -> None:
    figures = {"create": 50.0, "pair": 120.0, "run": 590.0, "wake": 240.0, "steal": 600.0}
    figures |= {"inlined": 47.0, "barrier": 140.0, "region": 380.0, "lock": 96.0, "chunk": 42.0}
    figures |= {"depend": 300.0, "contended": 290.0, "loop": 20.0}
    costs = costs_from(figures)
    assert costs["chunk"] == 42
    assert costs["depend"] == 250 and costs["contended"] == 240
    assert costs["dequeue"] == 70 and costs["between"] == 520 and costs["steal"] == 80
    file = tmp_path / "here.toml"
    traced = figures | {"create": 80.0, "run": 660.0, "pair": 230.0}
    recording = recording_from(
        figures,
        traced,
        {"task": 50.0, "creation": 20.0, "create": 95.0},
        {"task": 27.0, "creation": 30.0, "create": 9.0},
    )
    assert recording["schedule"] == 20  # part of the 70 ns by which recording lengthens a task in a wait
    file.write_text(as_toml("here", {"libomp": costs, "omp_ext": costs, "recording": recording}))
    machine = read_machine(str(file))
    assert machine.costs_of("libomp")["between"] == ((1, 520.0),)
    assert machine.recording == Recording(**recording)


def test_the_middle_of_equally_good_values_is_advised() -> None:
    def middle(walls: list[float]) -> int:
        return middle_of_shortest(walls, [7] * len(walls))

    assert middle([120, 100, 100, 100, 130]) == 2
    assert middle([100.5, 100.9, 100, 100.4, 101.2, 100]) == 1  # ignores values beyond a worse one
    assert middle([3, 2, 1]) == 2
    assert middle([0]) == 0


def test_the_middle_of_equally_good_values_is_found_by_their_numbers_of_tasks() -> None:
    assert middle_of_shortest([1.0] * 5, [2, 4, 8, 16, 32]) == 2  # a tree that doubles
    assert middle_of_shortest([1.0] * 5, [100, 800, 1600, 3200, 6400]) == 1  # a tree with a wide root
    assert middle_of_shortest([2, 1, 1, 1], [1, 100, 101, 10000]) == 2
    assert middle_of_shortest([1, 1], [0, 0]) == 0


def test_a_trace_without_regions_is_reported(tmp_path: Path) -> None:
    schedule = Schedule((Work(100),), 2)
    for worker in schedule.workers:
        del worker.log.words[3:]  # everything after the beginning of the thread
    path = write_trace(tmp_path / "none.ompass", schedule)
    with pytest.raises(NothingToShowError, match="holds no parallel regions"):
        read_task_program(path)
    assert "holds no parallel regions" in error_of(call("simulate", path))
    assert "holds no parallel regions" in error_of(call("advise", path))


def test_a_truncated_trace_is_simulated_as_far_as_it_goes(tmp_path: Path) -> None:
    path = write_trace(tmp_path / "cut.ompass", Schedule(fib(10), 2))
    log = path / "thread-00001.log"
    whole = log.read_bytes()
    for share in (0.9, 0.7, 0.5):
        log.write_bytes(whole[: 4096 + 64 + 8 * int((len(whole) - 4160) * share / 8)])
        program = read_task_program(path)
        run = predict(program, read_machine(), "libomp", 2)
        assert run.work_ns == program.work_ns


def test_tasks_that_depend_on_each_other_in_a_ring_are_refused(tmp_path: Path) -> None:
    body = (Spawn((Work(100),)), Spawn((Work(100),), after_last=True))
    schedule = Schedule(body, 2)
    first, second = schedule.tasks
    log = schedule.workers[0].log
    place = next(
        i for i in range(len(log.words)) if log.words[i : i + 3] == [DEPENDENCE, first.id, second.id]
    )
    log.words[place:place] = [DEPENDENCE, second.id, first.id]
    path = write_trace(tmp_path / "ring.ompass", schedule)
    for command in ("simulate", "advise"):
        assert "a task depends on itself or on a later task" in error_of(call(command, path))


def test_runs_longer_than_the_simulated_clock_are_refused() -> None:
    with pytest.raises(NothingToShowError, match="never ends") as refused:
        run_simulation(program_of(fib(5)), "help-first", 2, SimulationOptions(costs={"create": [(1, 1e15)]}))
    assert "more than three days" in refused.value.one_line()


def test_python_and_command_predict_the_same(tmp_path: Path) -> None:
    path = write_trace(tmp_path / "made.ompass", Schedule(fib(8), 2))
    simulation = simulate(path, threads=[4], machine=find_machine("pack:2 l3:1 core:2 pu:1"))
    result = call("simulate", path, "--threads", "4", "--topology", "pack:2 l3:1 core:2 pu:1", "--json")
    (run,) = json.loads(result.output)["runs"]
    assert simulation.predictions[0].run.wall_ns == run["wall_ns"]
    assert find_machine("cmp-32").name == "32-core CMP"
    assert find_machine("").name == read_machine().name
