# SPDX-License-Identifier: Apache-2.0
"""Random sequences of OMPT events, which a made runtime (tests/events) reports to libompass.so."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

import toolchains

PLAYER = toolchains.BUILD / "bin" / "ompass-events"


def play(library: Path, folder: Path, *arguments: str) -> dict[str, Any]:
    """Plays sequences and returns what became of them."""
    if not PLAYER.is_file():
        pytest.fail(f"{PLAYER} is not built: ./run test builds it")
    done = subprocess.run(
        [PLAYER, "--library", library, "--directory", folder, *arguments],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def test_events_in_the_order_of_libomp_are_counted_exactly(libompass: Path, tmp_path: Path) -> None:
    result = play(libompass, tmp_path, "--kind", "usual", "--sequences", "100", "--batch", "25")
    assert result["failures"] == []
