# SPDX-License-Identifier: Apache-2.0
"""Tests that `omp_control_tool` ends and pauses recordings with wrappers, as `ompass run` makes them."""

from __future__ import annotations

import pytest

from ompass import _core
from recorded_run import check_facts, check_sound, facts_in
from toolchains import Record


@pytest.mark.parametrize("mode", ["profile", "trace"])
@pytest.mark.parametrize("program", ["survival/controlled.c", "golden/paused.c"])
def test_nothing_is_recorded_after_the_end_or_in_a_pause(program: str, mode: str, record: Record) -> None:
    recorded = record(program, mode=mode, preload=True)
    profile = check_sound(recorded.run_dir)
    check_facts(facts_in(recorded.process.stdout), profile)
    if mode == "trace":
        check_facts(facts_in(recorded.process.stdout), _core.replay_trace(str(recorded.run_dir)))
