# SPDX-License-Identifier: Apache-2.0
"""Finds the most likely reason why a program recorded nothing, and its cure."""

from __future__ import annotations

from collections.abc import Mapping

from ompass.launch.child import Ending
from ompass.launch.plan import Plan
from ompass.launch.program import Program


def why_nothing(program: Program, plan: Plan, ending: Ending, environ: Mapping[str, str]) -> tuple[str, str]:
    """Returns (reason, cure) when no run directory appeared."""
    if environ.get("OMPASS_ENABLED", "").strip().lower() in ("off", "0", "false", "no"):
        return f"OMPASS_ENABLED={environ['OMPASS_ENABLED']} switches the tool off", "unset OMPASS_ENABLED"
    if program.is_privileged:
        return (
            f"{program.path} runs with raised privileges, so the loader ignored LD_PRELOAD",
            "record a copy of it without set-user-ID bit and capabilities",
        )
    if program.has_own_tool:
        return (
            f"{program.path} contains an OMPT tool of its own, and only one can be active",
            "link it without that tool",
        )
    if ending.signal:
        return (
            f"the program {ending.describe()} before recording began",
            f"run {program.path} without ompass: if it ends likewise, the fault is in the program; "
            "otherwise, please report a fault of ompass",
        )
    if program.is_script and plan.runtime is None:
        return (
            f"neither {program.path} nor its child processes used an OpenMP runtime of the LLVM family",
            "if it starts a program built with gcc, record that program, or use --libomp FILE",
        )
    if plan.runtime is None:
        return (
            f"{program.path} is not linked with an OpenMP runtime and loaded none of the LLVM family",
            "compile and link it with -fopenmp; for a gcc library loaded at run time, use --libomp FILE",
        )
    return (
        f"the OpenMP runtime {plan.runtime.path} was never started",
        "check that the program reaches a parallel region or a task with these arguments",
    )
