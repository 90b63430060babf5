# SPDX-License-Identifier: Apache-2.0
"""Compares hardware counters with the known number of instructions that a program executes."""

from __future__ import annotations

import json

import pytest

from command import ompass
from recorded_run import check_sound
from toolchains import CompileProgram, Record, RunRecorded, Toolchain

N_TASKS, N_ITERATIONS = 20, 20_000_000
# As many counters as a virtual machine may count at once. The tool leaves out those that the machine lacks.
NAMES = ("PAPI_TOT_INS", "PAPI_TOT_CYC", "PAPI_L1_DCM", "PAPI_L2_DCM", "PAPI_BR_MSP")


@pytest.mark.parametrize("n_names", [1, 2, len(NAMES)])
@pytest.mark.parametrize("mode", ["profile", "trace"])
def test_instructions_of_tasks_are_counted_together_with_samples(
    record: Record, mode: str, n_names: int
) -> None:
    for _ in range(5):
        recorded = record(
            "counted.c",
            str(N_TASKS),
            str(N_ITERATIONS),
            mode=mode,
            environment={"OMPASS_COUNTERS": ",".join(NAMES[:n_names])},
        )
        if "PAPI_TOT_INS cannot be counted here" in recorded.process.stderr:
            pytest.skip("no hardware counters")
        check_sound(recorded.run_dir)
        report = json.loads(ompass("report", str(recorded.run_dir), "--json").stdout)
        (task,) = [construct for construct in report["constructs"] if construct["tasks"]]
        counted = task["counters"]["PAPI_TOT_INS"]
        assert counted == pytest.approx(2 * N_TASKS * N_ITERATIONS, rel=0.01), task["counters"]


@pytest.mark.parametrize("sixth", ["PAPI_BR_INS", "PAPI_BR_MSP"])  # a frequent event, and a rare one
def test_counter_without_room_is_left_out_and_not_shown_as_0(
    sixth: str, compile_program: CompileProgram, run_recorded: RunRecorded, default_toolchain: Toolchain
) -> None:
    # An AMD processor counts these six at once; a virtual machine may count only five of them.
    names = (*NAMES, sixth)
    recorded = run_recorded(
        compile_program("counted.c", default_toolchain),
        default_toolchain,
        str(N_TASKS),
        str(N_ITERATIONS),
        environment={"OMPASS_COUNTERS": ",".join(names)},
    )
    if "PAPI_TOT_INS cannot be counted here" in recorded.process.stderr:
        pytest.skip("no hardware counters")
    profile = check_sound(recorded.run_dir)
    for name in names:
        assert (name in profile.counters) != (f"{name} cannot be counted" in recorded.process.stderr)
    report = json.loads(ompass("report", str(recorded.run_dir), "--json").stdout)
    (task,) = [construct for construct in report["constructs"] if construct["tasks"]]
    assert task["counters"].get(sixth, 1) > 0
    if "PAPI_BR_INS" in task["counters"]:
        assert task["counters"]["PAPI_BR_INS"] == pytest.approx(N_TASKS * N_ITERATIONS, rel=0.01)


@pytest.mark.parametrize("mode", ["profile", "trace"])
def test_counts_of_a_pause_are_left_out(record: Record, mode: str) -> None:
    recorded = record(
        "counted.c",
        *("20", "1000000", "1000000000"),
        mode=mode,
        environment={"OMPASS_COUNTERS": "perf::TASK-CLOCK"},
    )
    if "cannot be counted here" in recorded.process.stderr:
        pytest.skip("no counter of processor time")
    profile = check_sound(recorded.run_dir)
    counted_ns = sum(row.counters[0] for row in profile.regions)
    counted_ns += sum(row.counters[0] for row in profile.constructs)
    assert 0 < counted_ns < 150_000_000  # the loop in the pause takes some 300 ms, those in tasks 10 ms
