# SPDX-License-Identifier: Apache-2.0
"""Programs of compilers newer than the tool: calls of functions that it does not know, and workdistribute."""

from __future__ import annotations

import pytest

from marked_programs import lines_of
from ompass.readers.run import open_run
from ompass.reports.content import collect
from ompass.reports.model import plain
from ompass.reports.run import run_report
from toolchains import TOOLCHAINS, Record, toolchain_named

LLVM = [toolchain.name for toolchain in TOOLCHAINS if not toolchain.name.startswith("gcc")]


@pytest.mark.parametrize("mode", ["profile", "trace"])
@pytest.mark.parametrize("name", LLVM)
def test_a_creation_ends_when_the_runtime_reports_it(record: Record, name: str, mode: str) -> None:
    toolchain = toolchain_named(name)
    run = record("loading/unknown_creation.c", toolchain=toolchain, mode=mode, threads=2, preload=True)
    regions = open_run(run.run_dir).regions
    create_ns, work_ns = (sum(getattr(row, f"{state}_ns") for row in regions) for state in ("create", "work"))
    assert work_ns >= 20_000_000
    assert create_ns < work_ns / 4


@pytest.mark.parametrize("name", ["clang-23"])
def test_workdistribute_is_a_distributed_loop_at_its_line(record: Record, name: str) -> None:
    # flang 23 compiles workdistribute to distributed loops. No runtime reports OMPT's own kind for it yet.
    source = "waits/workdistribute.f90"
    flags = ("-fopenmp-version=60",)
    run = record(source, toolchain=toolchain_named(name), flags=flags, threads=2, preload=True)
    report = plain(run_report(collect(open_run(run.run_dir))))
    (loop,) = report["loops"]
    assert loop["kind"] == "distribute"
    assert loop["line"] == lines_of(source)["assignment"]
    assert loop["instances"] == 20
