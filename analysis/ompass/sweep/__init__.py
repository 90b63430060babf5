# SPDX-License-Identifier: Apache-2.0
"""Sweeps: repeated runs of one program on several numbers of threads, resumable from a directory."""

from ompass.sweep.directory import Done, SweepDirectory, is_sweep_directory
from ompass.sweep.execute import Executor
from ompass.sweep.plan import BASELINE, ELISION, RECORDED, UNRECORDED, Job, SweepSpec, jobs_of
from ompass.sweep.results import SweepRuns, load_runs

__all__ = [
    "BASELINE",
    "ELISION",
    "RECORDED",
    "UNRECORDED",
    "Done",
    "Executor",
    "Job",
    "SweepDirectory",
    "SweepRuns",
    "SweepSpec",
    "is_sweep_directory",
    "jobs_of",
    "load_runs",
]
