# SPDX-License-Identifier: Apache-2.0
"""Checks in strict mode, with random placement, that no task of a benchmark runs outside of its domain."""

from __future__ import annotations

from pathlib import Path

import pytest

import bots_programs
from ext_programs import ext_library
from toolchains import Toolchain, compile_source

# A synthetic machine, because fewer than four CPUs cannot be divided into four places.
FOUR_PLACES = "synthetic:pack:4 numa:1 l3:1 core:8 pu:1"


@pytest.mark.parametrize("domains", ["2", "4", FOUR_PLACES], ids=["2", "4", "four-places"])
@pytest.mark.parametrize("version", [name for name in bots_programs.versions() if name.endswith("-tasks")])
def test_every_task_of_a_program_can_be_placed_at_random(
    version: str, domains: str, bots_dir: Path, default_toolchain: Toolchain, tmp_path: Path
) -> None:
    preloaded = compile_source(
        "ext/place_at_random.c", default_toolchain, flags=("-shared", "-fPIC", "-D_GNU_SOURCE"), openmp=False
    )
    counts = tmp_path / "counts"
    environment = {
        "LD_PRELOAD": f"{preloaded}:{ext_library()}",
        "OMP_EXT_STRICT": "1",
        "OMP_EXT_DOMAINS": domains,
        "PLACED_AT_RANDOM": str(counts),
    }
    bots_programs.verify(bots_dir / version, (2, 4, 8), environment=environment, timeout_s=300.0)
    n_run, n_outside, n_rescued = (int(number) for number in counts.read_text().split())
    assert n_run > 0
    assert (n_outside, n_rescued) == (0, 0)
