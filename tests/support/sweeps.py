# SPDX-License-Identifier: Apache-2.0
"""Runs sweeps for tests. Repeats sweeps with a wrong verdict, because other programs may disturb them."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from command import call

SECONDS = r"seconds +([0-9.]+)"
PATIENCE_S = 120
N_TRIES = 3
QUIET_SHARE = 0.02


def sweep(environment: Mapping[str, str], cwd: Path, name: str, *arguments: object) -> dict[str, Any]:
    """Runs a sweep on one and two threads; returns its report."""
    done = call(environment, cwd, "scale", "-t", "1,2", "-o", f"{name}.sweep", "--json", *arguments)
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def judged_quietly(verdict: str, measure: Callable[[str], dict[str, Any]]) -> dict[str, Any]:
    """Repeats sweeps until a report has this verdict; returns the report. Allows two misses on quiet CPUs."""
    give_up_s = time.monotonic() + PATIENCE_S
    n_misses = 0
    while True:
        report = measure(f"{verdict}-{time.monotonic_ns()}")
        if report["verdict"]["kind"] == verdict:
            return report
        n_misses += report["points"][-1]["others_share"] < QUIET_SHARE
        assert n_misses < N_TRIES, report["verdict"]
        assert time.monotonic() < give_up_s, f"disturbed all the time: {report['verdict']}"
