# SPDX-License-Identifier: Apache-2.0
"""The task graph of a trace, from the C++ core; metrics fold and judge it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ompass import _core
from ompass.model_graph import TaskGraph
from ompass.readers.core import check_directory, core_errors


def read_task_graph(
    path: Path,
    *,
    depth: int,
    expanded: Sequence[int] = (),
    max_tasks: int = 10_000,
    on_processors: bool = False,
) -> TaskGraph:
    """Returns the graph with `depth` separate levels of task nesting, and the tasks of `expanded` groups.

    `on_processors`: work and span exclude the time in which threads were preempted.

    Raises RunNotFoundError, DamagedRunError (also if the run has no trace).
    """
    check_directory(path)
    with core_errors(path):
        graph = _core.task_graph(str(path), depth, expanded, max_tasks, on_processors)
    return TaskGraph(**graph.as_dict())
