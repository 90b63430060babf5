# SPDX-License-Identifier: Apache-2.0
"""The task graph as JSON. The schema is documented in docs/task-graph.md and versioned here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final

from ompass import __version__
from ompass.reports.graph.content import GraphContent

SCHEMA_VERSION: Final = 1


def json_graphs(contents: Sequence[GraphContent]) -> dict[str, Any]:
    """One run: its graph; several: a list of graphs in an object."""
    graphs = [json_graph(content) for content in contents]
    if len(graphs) == 1:
        return graphs[0]
    return {"schema": "ompass-graphs", "schema_version": SCHEMA_VERSION, "runs": graphs}


def json_graph(content: GraphContent) -> dict[str, Any]:
    """The report as plain values, in the order in which they are documented."""
    graph = content.graph
    return {
        "schema": "ompass-graph",
        "schema_version": SCHEMA_VERSION,
        "ompass_version": __version__,
        "directory": str(content.run.path),
        "work_ns": graph.work_ns,
        "span_ns": graph.region_span_ns,
        "burdened_span_ns": graph.region_burdened_ns,
        "parallelism": graph.parallelism,
        "burdened_parallelism": graph.burdened_parallelism,
        "program_work_ns": graph.work_ns + graph.outside_ns,
        "program_span_ns": graph.span_ns,
        "program_parallelism": graph.program_parallelism,
        "tasks_deferred": graph.n_deferred,
        "tasks_undeferred": graph.n_undeferred,
        "bounds": [asdict(bound) for bound in content.bounds],
        "critical_constructs": [
            {
                "label": content.label(row.kind, row.construct),
                "construct": row.construct,
                "kind": row.kind,
                "critical_ns": row.critical_ns,
                "steps": row.n_steps,
                "work_ns": row.work_ns,
                "tasks": row.n_tasks,
            }
            for row in content.constructs
        ],
        "critical_steps": graph.n_steps,
        "critical_path": [step.as_dict() for step in graph.critical],
        "groups": [{"label": content.label_of(group), **group.as_dict()} for group in graph.groups],
        "dependences": [dependence.as_dict() for dependence in graph.dependences],
        "tasks": [task.as_dict() for task in graph.tasks],
        "notes": list(content.notes),
    }
