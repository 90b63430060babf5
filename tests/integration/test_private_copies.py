# SPDX-License-Identifier: Apache-2.0
"""Samples show how long threads work on private copies of variables."""

from __future__ import annotations

import json

import pytest

from command import ompass
from marked_programs import lines_of
from recorded_run import check_sound
from sampled_run import require_samples
from toolchains import CompileProgram, RunRecorded, Toolchain

SOURCE = "samples/copies.c"


@pytest.mark.parametrize("once", [False, True])
def test_many_reductions_of_a_large_array_are_a_finding(
    once: bool, compile_program: CompileProgram, run_recorded: RunRecorded, default_toolchain: Toolchain
) -> None:
    program = compile_program(SOURCE, default_toolchain, flags=("-DONCE",) if once else ())
    environment = {"OMPASS_SAMPLE": "1000"}
    run = run_recorded(program, default_toolchain, threads=2, environment=environment).run_dir
    check_sound(run)
    require_samples(run)
    report = json.loads(ompass("report", str(run), "--json").stdout)
    found = [finding for finding in report["findings"] if finding["kind"] == "private_copies"]
    assert bool(found) == (not once)
    if found:
        assert found[0]["line"] == lines_of(SOURCE)["copies"]
