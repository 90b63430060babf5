# SPDX-License-Identifier: Apache-2.0
"""The task graph of a trace, from the C++ core: groups of tasks, dependences, the critical path.

Owns the typed form of the core's columns; folding and judging are metrics'.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ompass.model import Definition
from ompass.model_graph import CriticalStep, GraphTask, GroupDependence, TaskGraph, TaskGroup
from ompass.readers.core import check_directory, core_errors, load_core


def read_task_graph(
    path: Path,
    definitions: Sequence[Definition],
    *,
    depth: int,
    expanded: Sequence[int] = (),
    max_tasks: int = 10_000,
) -> TaskGraph:
    """The graph with `depth` levels of task nesting told apart, and the tasks of `expanded` groups.

    Raises RunNotFoundError, DamagedRunError (also when the run has no trace).
    """
    check_directory(path)
    core = load_core()
    with core_errors(core, path):
        values = core.task_graph(str(path), depth, list(expanded), max_tasks)
    kinds = {d.id: d.kind for d in definitions}
    return TaskGraph(
        work_ns=values["work_ns"],
        outside_ns=values["outside_ns"],
        span_ns=values["span_ns"],
        span_outside_ns=values["span_outside_ns"],
        burdened_ns=values["burdened_ns"],
        n_deferred=values["n_deferred"],
        n_undeferred=values["n_undeferred"],
        n_dependences=values["n_dependences"],
        n_taskgroup_ends=values["n_taskgroup_ends"],
        n_dependent_waits=values["n_dependent_waits"],
        n_out_of_order=values["n_out_of_order"],
        n_steps=values["n_steps"],
        groups=tuple(
            TaskGroup(
                number=number,
                kind="program" if number == 0 else kinds.get(row["construct"], "unknown"),
                folded=bool(row.pop("folded")),
                **row,
            )
            for number, row in enumerate(_rows(values["groups"]))
        ),
        dependences=tuple(GroupDependence(**row) for row in _rows(values["dependences"])),
        critical=tuple(CriticalStep(**row) for row in _rows(values["critical"])),
        tasks=tuple(GraphTask(**row) for row in _rows(values["tasks"])),
    )


def _rows(columns: Mapping[str, Any]) -> list[dict[str, int]]:
    names = list(columns)
    return [
        dict(zip(names, row, strict=True))
        for row in zip(*(columns[name].tolist() for name in names), strict=True)
    ]
