# SPDX-License-Identifier: Apache-2.0
"""libompass_mpi.so forwards every call with all its arguments, and the tool records the outermost calls.

The programs call a fake MPI library of the tests, so the length of every call is known.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from command import call
from fake_mpi import SOURCES, build_fake_mpi, compile_with, forwarding_library
from marked_programs import in_a_calm_moment, lines_of
from needs import require_commands
from ompass import _core
from ompass.model import MPI_CLASSES
from ompass.readers.run import open_run
from ompass.reports.content import ReportContent, collect
from ompass.reports.model import plain
from ompass.reports.run import run_report
from ompass.simulation.reader import TaskProgram, read_task_program, serial_parts
from recorded_run import OUTSIDE, check_accounts_agree, check_sound
from sampled_run import sampled_threads
from toolchains import REPOSITORY, Recorded, RunRecorded, Toolchain, neutral_environment

MS = 1_000_000
ROUNDING_NS = 10_000
MODES = pytest.mark.parametrize("mode", ["profile", "trace"])
ANSWERS = "sum=4900 added=45 control=6 rank=3\nnames=1,2,3,4,5,6,7,8,9,10,11,12\ncaught=1 nested=2\n"


@pytest.fixture(scope="module")
def fake_mpi(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_fake_mpi(tmp_path_factory.mktemp("fake"))


@pytest.fixture(scope="module")
def forwarding(libompass: Path) -> Path:
    return forwarding_library(libompass)


@pytest.fixture
def recorded(
    fake_mpi: Path, libompass: Path, forwarding: Path, default_toolchain: Toolchain, run_recorded: RunRecorded
) -> Any:
    """Records a program of tests/programs/mpi."""

    def run(source: str, *arguments: str, **options: Any) -> Recorded:
        toolchain, nested = options.pop("toolchain", default_toolchain), options.pop("nested", "1")
        program = compile_with(fake_mpi, source, toolchain)
        environment = {"LD_PRELOAD": f"{libompass}:{forwarding}", "OMP_MAX_ACTIVE_LEVELS": nested}
        return run_recorded(program, toolchain, *arguments, environment=environment, **options)

    return run


def test_aarch64_forwards_all_arguments(tmp_path: Path) -> None:
    require_commands("clang-19", "ld.lld-19", "qemu-aarch64")
    names = ("MPI_Alltoallw", "MPI_Put", "MPI_Get")
    lines = (f"FORWARD {name}, {number}\n" for number, name in enumerate(names))
    (tmp_path / "symbols.inc").write_text("".join(lines))
    sources = (SOURCES / "aarch64.c", REPOSITORY / "ompt_tool/mpi/forward.S")
    options = [
        "--target=aarch64-linux-gnu",
        "-O1",
        "-ffreestanding",
        "-nostdlib",
        "-static",
        "-fuse-ld=lld-19",
    ]
    program = tmp_path / "program"
    subprocess.run(["clang-19", *options, f"-I{tmp_path}", *sources, "-o", program], check=True)
    done = subprocess.run(["qemu-aarch64", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["4900", "45", "40"] * 3 + ["6", "3"]


def calls_of(run: _core.Run) -> Counter[str]:
    calls: Counter[str] = Counter()
    for row in run.calls:
        calls[run.definitions[row.construct].name] += row.n_calls
    return calls


def test_calls_are_forwarded_without_the_tool(
    fake_mpi: Path, forwarding: Path, default_toolchain: Toolchain
) -> None:
    program = compile_with(fake_mpi, "arguments.cpp", default_toolchain)
    environment = neutral_environment() | {"LD_LIBRARY_PATH": str(default_toolchain.runtime_dir)}
    plainly = subprocess.run([program], env=environment, capture_output=True, text=True, check=True)
    assert plainly.stdout == ANSWERS
    environment["LD_PRELOAD"] = str(forwarding)
    forwarded = subprocess.run([program], env=environment, capture_output=True, text=True, check=True)
    assert (forwarded.stdout, forwarded.stderr) == (ANSWERS, "")


@MODES
def test_recorded_calls_have_all_their_arguments(recorded: Any, mode: str) -> None:
    done = recorded("arguments.cpp", mode=mode)
    assert done.process.stdout == ANSWERS
    run = check_sound(done.run_dir)
    calls = calls_of(run)
    assert calls == {
        "MPI_Init": 1, "MPI_Alltoallw": 1, "MPI_Put": 1, "MPI_Send": 12, "MPI_Wait": 1, "MPI_Reduce": 2,
        "MPI_Allreduce": 1, "MPI_Finalize": 1,
    }  # fmt: skip
    kinds = {run.definitions[row.construct].name: run.definitions[row.construct].flags for row in run.calls}
    assert {name: MPI_CLASSES[flags] for name, flags in kinds.items()} == {
        "MPI_Init": "other", "MPI_Alltoallw": "collective", "MPI_Put": "one-sided",
        "MPI_Send": "point-to-point", "MPI_Wait": "wait", "MPI_Reduce": "collective",
        "MPI_Allreduce": "collective", "MPI_Finalize": "other",
    }  # fmt: skip
    (of_thread,) = (row for row in run.calls if run.definitions[row.construct].name == "MPI_Wait")
    assert of_thread.unaccounted_ns == of_thread.time_ns >= MS, "the thread is unknown to OpenMP"
    if mode == "trace":
        check_accounts_agree(run, _core.replay_trace(str(done.run_dir)))


@MODES
def test_time_in_mpi_is_a_state_of_regions_and_tasks(recorded: Any, mode: str) -> None:
    def record() -> tuple[ReportContent, str]:
        done = recorded("states.c", mode=mode)
        run = check_sound(done.run_dir)
        if mode == "trace":
            check_accounts_agree(run, _core.replay_trace(str(done.run_dir)))
        return collect(run), done.process.stdout

    in_a_calm_moment(record, check_states)


def check_states(recording: tuple[ReportContent, str]) -> None:
    """Checks the times of states.c: of calls, in regions and in tasks."""
    content, stdout = recording
    run, lines = content.run, lines_of("mpi/states.c")
    found = {(call.function, content.location(call.construct).line): call for call in content.mpi}
    expected = {
        ("MPI_Barrier", "serial"): (1, 30, 0), ("MPI_Barrier", "one_thread"): (1, 40, 0),
        ("MPI_Wait", "all_threads"): (2, 40, 0), ("MPI_Recv", "in_task"): (4, 40, 4),
        ("MPI_Allreduce", "nested"): (1, 15, 1), ("MPI_Reduce", "operation"): (1, 22, 0),
    }  # fmt: skip
    inside_ns = 0
    for (function, mark), (n_calls, ms, n_in_tasks) in expected.items():
        call = found[function, lines[mark]]
        assert (call.n_calls, call.n_in_tasks) == (n_calls, n_in_tasks), mark
        assert call.time_ns >= ms * MS
        assert call.serial_ns == (call.time_ns if mark in ("serial", "operation") else 0)
        assert call.task_ns == (call.time_ns if n_in_tasks else 0)
        inside_ns += call.time_ns - call.serial_ns
    regions = [row for row in run.regions if row.construct != OUTSIDE]
    assert abs(sum(row.mpi_ns for row in regions) - inside_ns) <= ROUNDING_NS
    tasks = [row for row in run.constructs if run.kind_of(row.construct) == "task"]
    of_tasks_ns = sum(call.task_ns for call in content.mpi)
    assert abs(sum(row.mpi_ns for row in tasks) - of_tasks_ns) <= ROUNDING_NS
    assert sum(row.work_ns for row in tasks) >= 16 * MS
    # MPI_Reduce leaves the state mpi when its operation begins a parallel region.
    serial = sum(row.mpi_ns for row in run.regions if row.construct == OUTSIDE)
    assert 40 * MS <= serial <= sum(call.serial_ns for call in content.mpi) - 10 * MS
    if all(thread.cpu_source == "switches" for thread in run.threads):
        assert sum(row.mpi_blocked_ns for row in regions) >= 0.8 * 135 * MS
    slept_ns = dict(re.findall(r"(MPI_\w+)=(\d+)", stdout))
    for function in ("MPI_Barrier", "MPI_Wait", "MPI_Recv"):
        time_ns = sum(call.time_ns for call in content.mpi if call.function == function)
        assert 0 <= time_ns - int(slept_ns[function]) <= MS, function


def test_a_call_in_which_the_program_is_killed_is_recorded(recorded: Any) -> None:
    problems = []
    for mode in ("profile", "trace"):
        done = recorded("states.c", "killed", mode=mode, check=False)
        run = open_run(done.run_dir)
        assert not run.complete
        runs = [run, *([_core.replay_trace(str(done.run_dir))] if mode == "trace" else [])]
        for one in runs:
            content = collect(one)
            last = max(content.mpi, key=lambda call: content.location(call.construct).line)
            assert (last.function, last.n_calls) == ("MPI_Barrier", 1)
        problems.append(_core.validate(str(done.run_dir)))
    assert problems == [[], []]


def test_the_report_shows_mpi_calls_and_the_mpi_state(recorded: Any) -> None:
    done = recorded("states.c")
    run = check_sound(done.run_dir)
    report = run_report(collect(run))
    (table,) = (section for section in report.sections if section.key == "mpi")
    (states,) = (section.parts[1] for section in report.sections if section.key == "thread-time")
    assert [row[0] for row in states.rows] == ["work", "create", "schedule", "sync", "idle", "mpi"]  # type: ignore[union-attr]
    rows = plain(table.parts[0])
    assert {row["class"] for row in rows} == {"collective", "wait", "point-to-point", "other"}
    assert all(row["file"].endswith("states.c") for row in rows)
    assert 0 < sum(row["share"] for row in rows) <= 1


def test_a_trace_lists_each_call(recorded: Any) -> None:
    import ompass

    done = recorded("states.c", mode="trace")
    run = ompass.open(done.run_dir)
    frame = run.sql(
        "SELECT constructs.name AS name, calls.end_ns - calls.start_ns AS ns, task FROM calls "
        "JOIN constructs ON calls.construct = constructs.construct"
    )
    names = Counter(frame["name"])
    assert names["MPI_Recv"] == 4
    assert names["MPI_Wait"] == 2
    assert min(frame.filter(frame["name"] == "MPI_Recv")["ns"]) >= 10 * MS
    dumped = call({}, done.run_dir.parent, "dump", done.run_dir, "--kind", "call").stdout
    assert len(re.findall(r"MPI_Recv states.c:\d+ \(main", dumped)) == 8
    in_mpi = run.sql("SELECT sum(end_ns - start_ns) AS ns FROM stretches WHERE state = 'mpi'").item()
    assert in_mpi == pytest.approx(sum(row.mpi_ns for row in run.run.regions), rel=0.01)


def test_advice_keeps_the_time_in_mpi(recorded: Any) -> None:
    def record() -> tuple[int, TaskProgram, dict[str, Any]]:
        done = recorded("states.c", mode="trace")
        in_mpi_ns = sum(row.mpi_ns for row in open_run(done.run_dir).regions)
        program = read_task_program(done.run_dir)
        advice = json.loads(call({}, done.run_dir.parent, "advise", done.run_dir, "--json").stdout)
        return in_mpi_ns, program, advice

    def check(found: tuple[int, TaskProgram, dict[str, Any]]) -> None:
        in_mpi_ns, program, advice = found
        assert program.called_ns == pytest.approx(in_mpi_ns, rel=0.05)
        assert "order" not in {change["kind"] for change in advice["advice"]}
        # Outside of regions, only the part of MPI_Reduce after its operation counts as work.
        serial_ns = sum(part.work_ns for part in serial_parts(program))
        assert serial_ns < in_mpi_ns / 3

    in_a_calm_moment(record, check)


@MODES
def test_calls_in_every_kind_of_construct_are_accounted_exactly(
    fake_mpi: Path,
    libompass: Path,
    forwarding: Path,
    toolchain: Toolchain,
    run_recorded: RunRecorded,
    mode: str,
) -> None:
    program = compile_with(fake_mpi, "everywhere.c", toolchain)
    environment = {"LD_PRELOAD": f"{libompass}:{forwarding}", "OMP_MAX_ACTIVE_LEVELS": "2"}
    done = run_recorded(program, toolchain, mode=mode, environment=environment)
    run = check_sound(done.run_dir)
    if mode == "trace":
        check_accounts_agree(run, _core.replay_trace(str(done.run_dir)))
    assert calls_of(run)["MPI_Reduce"] == 3
    accounted_ns = sum(row.time_ns - row.unaccounted_ns for row in run.calls)
    in_states_ns = sum(row.mpi_ns for row in run.regions)
    assert in_states_ns <= accounted_ns  # a call leaves the state mpi when it runs OpenMP code
    operations_ns = sum(
        row.time_ns for row in run.calls if run.definitions[row.construct].name == "MPI_Reduce"
    )
    assert in_states_ns >= accounted_ns - operations_ns - 1000 * len(run.calls)


@MODES
def test_logs_of_threads_that_ended_are_closed(recorded: Any, mode: str) -> None:
    done = recorded("threads.c", mode=mode)
    (n_mapped,) = map(int, re.findall(r"mapped=(\d+)", done.process.stdout))
    assert n_mapped <= 10
    run = check_sound(done.run_dir)
    assert len(run.threads) == 101
    assert calls_of(run)["MPI_Wait"] == 100


def test_a_call_costs_little_even_in_programs_with_many_call_sites(
    recorded: Any, fake_mpi: Path, default_toolchain: Toolchain
) -> None:
    program = compile_with(fake_mpi, "speed.c", default_toolchain)
    environment = neutral_environment() | {"LD_LIBRARY_PATH": str(default_toolchain.runtime_dir)}

    def numbers(text: str) -> list[float]:
        return [float(number) for number in re.findall(r"=([\d.]+)", text)]

    def measure() -> list[float]:
        bare = subprocess.run([program], env=environment, capture_output=True, text=True, check=True).stdout
        with_tool = recorded("speed.c").process.stdout
        return [after - before for before, after in zip(numbers(bare), numbers(with_tool), strict=True)]

    def check(cost_ns: list[float]) -> None:
        outside_ns, inside_ns, many_ns = cost_ns
        # The limit allows for other programs: docs/cost.md states about 40 ns per call.
        assert max(outside_ns, inside_ns) <= 150, cost_ns
        assert many_ns <= 1.5 * outside_ns + 10, cost_ns

    in_a_calm_moment(measure, check)


@MODES
def test_times_in_the_initialization_of_mpi_come_from_the_clock(recorded: Any, mode: str) -> None:
    done = recorded("initializes.c", mode=mode)
    found = re.search(r"INIT ns=(\d+) running=(\d+)", done.process.stdout)
    assert found is not None
    took_ns, running_ns = map(int, found.groups())
    run = check_sound(done.run_dir)
    (thread,) = run.threads
    assert thread.cpu_source == "switches"
    assert (thread.n_lost_switches, thread.by_clock_ns) == (0, 0)
    (outside,) = run.regions
    assert outside.mpi_ns == pytest.approx(took_ns, rel=0.02)
    off_ns = outside.mpi_preempted_ns + outside.mpi_blocked_ns
    assert outside.mpi_ns - off_ns == pytest.approx(running_ns, rel=0.05)
    assert outside.mpi_blocked_ns > 4000 * 50_000 * 0.9
    weights = Counter[str]()
    for sample in (sample for each in sampled_threads(done.run_dir) for sample in each.samples):
        weights[sample.state] += sample.weight
    assert weights["mpi"] <= 1
    assert weights["work"] == pytest.approx(30, abs=6)
    if mode == "trace":
        check_accounts_agree(run, _core.replay_trace(str(done.run_dir)))
