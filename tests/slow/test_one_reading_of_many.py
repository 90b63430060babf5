# SPDX-License-Identifier: Apache-2.0
"""All readers agree on two hundred random task programs, recorded with and without wrappers.

tests/integration/test_one_reading.py tests a few such programs.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from needs import require_toolchain
from random_programs import WAYS, all_disagreements, record
from toolchains import TOOLCHAINS, Toolchain

SEEDS = range(1000, 1200)


def _toolchain_of(seed: int) -> Toolchain:
    return require_toolchain(TOOLCHAINS[seed % len(TOOLCHAINS)])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("seed", SEEDS)
def test_all_readers_agree_on_a_random_program(seed: int, way: str, libompass: Path, tmp_path: Path) -> None:
    recorded = record(seed, _toolchain_of(seed), WAYS[way], libompass, tmp_path)
    found = all_disagreements(recorded.run_dir)
    assert not found, f"seed {seed}: " + "\n".join(found[:10])
