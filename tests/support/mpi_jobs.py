# SPDX-License-Identifier: Apache-2.0
"""Builds and records MPI jobs for tests, on this machine; more ranks than cores are allowed."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from command import command_line
from toolchains import Toolchain, neutral_environment

PATIENCE_S = 100


def job_environment(libompass: Path, toolchain: Toolchain, n_threads: int = 1) -> dict[str, str]:
    return {
        **neutral_environment(),
        "OMPASS_LIBRARY": str(libompass),
        "LD_LIBRARY_PATH": str(toolchain.runtime_dir),
        "OMP_NUM_THREADS": str(n_threads),
        "OMP_WAIT_POLICY": "passive",
        # allows root, and fewer cores than threads
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "OMPI_MCA_hwloc_base_binding_policy": "none",
    }


def compiler_flags(wrapper: str = "mpicc", option: str = "--showme") -> list[str]:
    """Returns the flags that a compiler wrapper adds; they may precede the source.

    `option` makes the wrapper show its command: `--showme` for Open MPI, `-show` for MPICH.
    """
    shown = subprocess.run([wrapper, option], capture_output=True, text=True, check=True).stdout
    return ["-Wl,--no-as-needed", *shown.split()[1:]]


def run_words(
    environment: Mapping[str, str], cwd: Path, *words: object, status: int = 0
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [str(word) for word in words],
        cwd=cwd, env=dict(environment), capture_output=True, text=True, timeout=PATIENCE_S, check=False,
    )  # fmt: skip
    assert done.returncode == status, done.stdout + done.stderr
    return done


def record_job(
    environment: Mapping[str, str],
    cwd: Path,
    n_ranks: int,
    *command: object,
    launcher: Sequence[str] = ("mpirun",),
    mode: str = "profile",
) -> tuple[dict[str, Any], str]:
    """Records a job by one launch; returns its report and its output."""
    report = cwd / "job.json"
    done = run_words(
        environment,
        cwd,
        *command_line("run", "-q", "--mode", mode, "--report-json", report, "--"),
        *(*launcher, "-n", n_ranks, *command),
    )
    values: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))
    return values, done.stdout
