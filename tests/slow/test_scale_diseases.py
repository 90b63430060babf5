# SPDX-License-Identifier: Apache-2.0
"""Checks that `ompass scale` names the disease of real programs; needs two idle CPUs.

The cases of health and cilksort follow Acar et al., Fig. 3: a small input with a small cut-off, a cut-off
above the input, a large input with a small cut-off. Two cores cannot saturate the memory of a server, so the
tasks of the memory-bound program here contend for one cache line instead.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from sweeps import SECONDS, judged_quietly, sweep
from toolchains import CompileProgram, Toolchain, neutral_environment

pytestmark = [
    pytest.mark.alone,
    pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="two threads need two CPUs"),
]

BOTS = (
    ("health", "--size 4 --steps 300 --cutoff none", "too_fine"),
    ("health", "--size 6 --steps 600 --depth 0", "too_coarse"),
    ("health", "--size 6 --steps 600 --depth 2", "scales"),
    ("cilksort", "--size 200000 --sort-grain 200 --merge-grain 200", "too_fine"),
    ("cilksort", "--size 200000 --sort-grain 200000 --merge-grain 200000", "too_coarse"),
    ("cilksort", "--size 4000000 --sort-grain 200 --merge-grain 200", "too_fine"),
    ("cilksort", "--size 2000000 --sort-grain 50000 --merge-grain 50000", "scales"),
)


@pytest.fixture
def environment(libompass: Path, default_toolchain: Toolchain) -> dict[str, str]:
    return {
        **neutral_environment(),
        "OMPASS_LIBRARY": str(libompass),
        "LD_LIBRARY_PATH": str(default_toolchain.runtime_dir),
    }


@pytest.mark.parametrize(("program", "arguments", "verdict"), BOTS)
def test_the_disease_of_a_benchmark_program_is_named(
    program: str, arguments: str, verdict: str, bots_dir: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    def measure(name: str) -> dict[str, Any]:
        return sweep(
            environment,
            tmp_path,
            name,
            "--repeat",
            5,
            "--",
            bots_dir / f"{program}-tasks",
            *arguments.split(),
        )

    judged_quietly(verdict, measure)


@pytest.mark.parametrize(
    ("disease", "verdict"),
    [("fine", "too_fine"), ("coarse", "too_coarse"), ("memory", "atomic_contention"), ("none", "scales")],
)
def test_the_disease_of_a_program_made_for_it_is_named(
    disease: str, verdict: str, compile_program: CompileProgram, environment: dict[str, str], tmp_path: Path
) -> None:
    program = compile_program("scaling/diseases.c")

    def measure(name: str) -> dict[str, Any]:
        return sweep(
            environment, tmp_path, name, "--baseline", f"{program} {disease} serial", "--seconds", SECONDS,
            "--", program, disease,
        )  # fmt: skip

    report = judged_quietly(verdict, measure)
    point = report["points"][-1]
    assert point["speedup"] == pytest.approx(2 / (point["ovr"] * point["wti"]))
    if disease == "coarse":
        assert point["idle_ns"] == pytest.approx(30e6, rel=0.3)
        assert "main" in report["verdict"]["place"]
    if disease == "memory":
        task = point["constructs"][0]
        assert task["same_work"]
        assert (task["kind"], Path(task["file"]).name) == ("task", "diseases.c")
        assert task["factor"] > 1.2
