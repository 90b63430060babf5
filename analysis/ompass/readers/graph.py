# SPDX-License-Identifier: Apache-2.0
"""The task graph of a trace, from the C++ core; folding and judging are metrics'."""

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
    """Returns the graph with `depth` levels of task nesting told apart, and the tasks of `expanded` groups.

    `on_processors`: work and span leave out the time in which threads were preempted.

    Raises RunNotFoundError, DamagedRunError (also when the run has no trace).
    """
    check_directory(path)
    with core_errors(path):
        graph = _core.task_graph(str(path), depth, expanded, max_tasks, on_processors)
    return TaskGraph(**graph.as_dict())
