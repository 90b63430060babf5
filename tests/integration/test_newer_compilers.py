# SPDX-License-Identifier: Apache-2.0
"""Recorded programs of a compiler newer than the tool, which call functions that the tool does not know."""

from __future__ import annotations

import pytest

from ompass.readers.run import open_run
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
