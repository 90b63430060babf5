# SPDX-License-Identifier: Apache-2.0
"""Launch: inspects a program, plans how to record it here, and runs it under the tool."""

from ompass.launch.child import Ending, run_child
from ompass.launch.plan import Plan, RunOptions, plan_here, plan_recording, unrecorded_variables
from ompass.launch.produced import ProducedRuns, choose_directory
from ompass.launch.program import Program, inspect_program
from ompass.launch.runtimes import Runtime, find_runtimes
from ompass.launch.tool import find_tool_library

__all__ = [
    "Ending",
    "Plan",
    "ProducedRuns",
    "Program",
    "RunOptions",
    "Runtime",
    "choose_directory",
    "find_runtimes",
    "find_tool_library",
    "inspect_program",
    "plan_here",
    "plan_recording",
    "run_child",
    "unrecorded_variables",
]
