# SPDX-License-Identifier: Apache-2.0
"""Readers: convert a run directory to the model, through the C++ core, which alone knows the file format."""

from ompass.readers.events import EventTable, event_kinds, read_events
from ompass.readers.graph import read_task_graph
from ompass.readers.reuse import check_has_accesses, read_reuse
from ompass.readers.rundir import find_missing, find_problems, is_run_directory, open_run

__all__ = [
    "EventTable",
    "check_has_accesses",
    "event_kinds",
    "find_missing",
    "find_problems",
    "is_run_directory",
    "open_run",
    "read_events",
    "read_reuse",
    "read_task_graph",
]
