# SPDX-License-Identifier: Apache-2.0
"""MPI calls with OpenMPI and MPICH, in C and Fortran: each rank's waiting time, at the lines of its calls."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from command import call, command_line
from fake_mpi import forwarding_library
from marked_programs import in_a_calm_moment, lines_of
from mpi_programs import IMPLEMENTATIONS, compile_mpi, run_mpi
from ompass import _core
from ompass.metrics.library_calls import CallTotals
from ompass.readers.run import open_run
from ompass.reports.content import collect
from recorded_run import check_sound
from toolchains import Toolchain, toolchain_named

MS = 1_000_000
LATE_NS = 40 * MS
ERROR_NS = 10 * MS
implementations = pytest.mark.parametrize("implementation", IMPLEMENTATIONS)


@pytest.fixture(scope="module")
def environment(libompass: Path, default_toolchain: Toolchain) -> dict[str, str]:
    forwarding_library(libompass)
    return {
        "OMPASS_LIBRARY": str(libompass),
        "LD_LIBRARY_PATH": str(default_toolchain.runtime_dir),
        "OMP_NUM_THREADS": "2",
    }


def calls_by_rank(folder: Path) -> list[dict[tuple[str, int], CallTotals]]:
    """Returns the calls of rank 0 and of rank 1, by function and line."""
    found = []
    for path in sorted(folder.glob("*-r[01]-*.ompass")):
        check_sound(path)
        content = collect(open_run(path))
        found.append({(c.function, content.location(c.construct).line): c for c in content.mpi})
    assert len(found) == 2
    return found


@pytest.mark.parametrize("mode", ["profile", "trace"])
@implementations
def test_the_waiting_rank_has_the_time_at_the_line_of_its_call(
    implementation: str, mode: str, environment: dict[str, str], default_toolchain: Toolchain, tmp_path: Path
) -> None:
    program = compile_mpi("mpi/waits.c", implementation, default_toolchain, tmp_path)
    lines = lines_of("mpi/waits.c")

    def record() -> list[dict[tuple[str, int], CallTotals]]:
        folder = tmp_path / f"job-{len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        run_mpi(
            implementation, [*command_line("run", "-q", "--mode", mode, "--", program)], folder, environment
        )
        return calls_by_rank(folder)

    def check(ranks: list[dict[tuple[str, int], CallTotals]]) -> None:
        late, waiting = ranks
        for function, mark in (
            ("MPI_Allreduce", "allreduce"),
            ("MPI_Wait", "wait"),
            ("MPI_Win_fence", "fence"),
        ):
            call = waiting[function, lines[mark]]
            assert call.n_calls == 1
            assert LATE_NS - ERROR_NS < call.time_ns < LATE_NS + 2 * ERROR_NS, (mark, call.time_ns)
            assert call.serial_ns == call.time_ns
            assert late[function, lines[mark]].time_ns < LATE_NS // 2
        received = waiting["MPI_Recv", lines["exchange"]]
        assert received.n_in_tasks == 1
        assert received.n_calls in (1, 3)  # 1: only one thread may call this MPI
        assert 0 < received.task_ns <= received.time_ns
        assert received.serial_ns == 0

    in_a_calm_moment(record, check)


@pytest.mark.parametrize("interface", ["mpif", "F08"])
@implementations
def test_fortran_calls_have_the_line_of_the_program(
    implementation: str, interface: str, environment: dict[str, str], tmp_path: Path
) -> None:
    flags = ("-DF08",) if interface == "F08" else ("-fallow-argument-mismatch",)
    toolchain = toolchain_named("gcc-12-libomp-19")
    program = compile_mpi("mpi/waits.F90", implementation, toolchain, tmp_path, flags)
    lines = lines_of("mpi/waits.F90")
    run_mpi(implementation, [*command_line("run", "-q", "--", program)], tmp_path, environment)
    _, waiting = calls_by_rank(tmp_path)
    for function, mark in (("MPI_Allreduce", "allreduce"), ("MPI_Recv", "recv")):
        call = waiting[function, lines[mark]]
        assert call.n_calls == 1
        assert LATE_NS - ERROR_NS < call.time_ns < 4 * LATE_NS


MESSAGES = {
    "split": ["collective of 2 ranks"] * 2,
    "send": ["sends to rank 1, tag 7", ""],
    "ssend": ["sends synchronously to rank 1, tag 8", ""],
    "recv": ["", "receives from any rank, any tag"],
    "recv_reversed": ["", "receives from rank 0, tag 8"],
    "irecv": ["receives from rank 1, tag 9", "receives from rank 0, tag 9"],
    "isend": ["sends to rank 1, tag 9", "sends to rank 0, tag 9"],
    "nobody": ["no message"] * 2,
    "bcast": ["collective of 2 ranks, root rank 0"] * 2,
    "iallreduce": ["collective of 2 ranks"] * 2,
    "allgather": ["collective of 2 ranks"] * 2,
}
"""The expected steps of messages.c, by the name of the line: on rank 0 and on rank 1."""
BYTES = {"send": 12, "ssend": 8, "recv": 32, "irecv": 8, "bcast": 5, "iallreduce": 8, "allgather": 8}


def dumped_steps(environment: dict[str, str], run: Path, source: str = "messages.c") -> dict[int, list[str]]:
    """Returns the steps of MPI calls that `ompass dump` lists, by the line of the call."""
    steps: dict[int, list[str]] = {}
    for line in call(environment, None, "dump", run, "--kind", "call").stdout.splitlines():
        if found := re.search(rf"{re.escape(source)}:(\d+) .*: (.*)$", line):
            step = re.sub("^(enters|leaves)(: |$)", "", found[2])
            steps.setdefault(int(found[1]), []).append(step)
    return steps


@implementations
def test_a_trace_has_the_messages_of_calls(
    implementation: str, environment: dict[str, str], default_toolchain: Toolchain, tmp_path: Path
) -> None:
    program = compile_mpi("mpi/messages.c", implementation, default_toolchain, tmp_path)
    command = [*command_line("run", "-q", "--mode", "trace", "--"), program]
    run_mpi(implementation, command, tmp_path, environment)
    runs = sorted(tmp_path.glob("*-r[01]-*.ompass"))
    lines = lines_of("mpi/messages.c")
    for rank, run in enumerate(runs):
        check_sound(run)
        steps = dumped_steps(environment, run)
        for mark, of_ranks in MESSAGES.items():
            if of_ranks[rank]:
                assert of_ranks[rank] in steps[lines[mark]], mark
                n_bytes = f"{BYTES.get(mark)} bytes, communicator "
                assert mark not in BYTES or any(step.startswith(n_bytes) for step in steps[lines[mark]])
        requests = {
            mark: [step.split()[-1] for step in steps[lines[mark]] if "request" in step]
            for mark in ("irecv", "isend", "waitall", "iallreduce", "wait")
        }
        assert requests["waitall"] == requests["irecv"] + requests["isend"]
        assert requests["wait"] == requests["iallreduce"] != []
        assert len([step for step in steps[lines["sendrecv"]] if ", tag 1" in step]) == 2
    times, why = _core.ideal_network([str(run) for run in runs], [0, 1])
    assert (len(times), why) == (2, "")


@implementations
def test_an_ideal_network_leaves_the_time_of_nested_regions(
    implementation: str, environment: dict[str, str], default_toolchain: Toolchain, tmp_path: Path
) -> None:
    program = compile_mpi("mpi/nested.c", implementation, default_toolchain, tmp_path)
    command = [*command_line("run", "-q", "--mode", "trace", "--"), program]
    run_mpi(implementation, command, tmp_path, environment)
    runs = sorted(tmp_path.glob("*-r[01]-*.ompass"))
    times, why = _core.ideal_network([str(run) for run in runs], [0, 1])
    assert why == ""
    assert len(times) == 2
    assert all(time >= 80e6 for time in times)  # INSIDE


@implementations
def test_a_reused_handle_has_the_size_and_members_of_its_new_object(
    implementation: str, environment: dict[str, str], default_toolchain: Toolchain, tmp_path: Path
) -> None:
    program = compile_mpi("mpi/reused_handles.c", implementation, default_toolchain, tmp_path)
    command = [*command_line("run", "-q", "--mode", "trace", "--"), program]
    output = run_mpi(implementation, command, tmp_path, environment)
    assert "SAME type=1 communicator=1" in output
    lines = lines_of("mpi/reused_handles.c")
    runs = sorted(tmp_path.glob("*-r[01]-*.ompass"))
    assert len(runs) == 2
    for run in runs:
        steps = dumped_steps(environment, run, "reused_handles.c")
        for mark, root, n_bytes in (
            ("three", 0, 24),
            ("five", 0, 40),
            ("in_order", 0, 4),
            ("reversed", 1, 4),
        ):
            entered, left = steps[lines[mark]]
            assert entered == f"collective of 2 ranks, root rank {root}", mark
            assert left.startswith(f"{n_bytes} bytes, communicator "), mark
