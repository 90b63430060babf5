# SPDX-License-Identifier: Apache-2.0
"""Writes the folded task graph for other programs: GraphML (Gephi, yEd, networkx) and DOT (Graphviz).

Nodes are groups, or single tasks if a group is expanded; edges are creations and dependences. `critical_ns`
marks the critical path in GraphML; in DOT, this path is red.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final
from xml.etree import ElementTree

from ompass.graph.content import GraphContent
from ompass.model import GraphGroup
from ompass.plain_text import dot_text, visible
from ompass.units import duration, percent, plural, task_name

_NAMESPACE: Final = "http://graphml.graphdrawing.org/xmlns"
_NODE_KEYS: Final = {
    "label": "string",
    "kind": "string",
    "tasks": "long",
    "undeferred": "long",
    "folded": "boolean",
    "work_ns": "long",
    "create_ns": "long",
    "max_ns": "long",
    "critical_ns": "long",
    "thread": "long",
    "start_ns": "long",
}
_EDGE_KEYS: Final = {"edge": "string", "count": "long"}

Value = str | int | bool


@dataclass(frozen=True, slots=True)
class _Node:
    name: str
    values: dict[str, Value]
    lines: tuple[str, ...]
    critical: float  # share of the critical path


@dataclass(frozen=True, slots=True)
class _Edge:
    source: str
    target: str
    kind: str  # "creates", "precedes"
    count: int
    critical: bool


def graphml_graph(content: GraphContent) -> str:
    """Returns the graph as GraphML text."""
    ElementTree.register_namespace("", _NAMESPACE)
    root = ElementTree.Element(f"{{{_NAMESPACE}}}graphml")
    for scope, keys in (("node", _NODE_KEYS), ("edge", _EDGE_KEYS)):
        for name, kind in keys.items():
            attributes = {"id": name, "for": scope, "attr.name": name, "attr.type": kind}
            ElementTree.SubElement(root, f"{{{_NAMESPACE}}}key", attributes)
    graph = ElementTree.SubElement(root, f"{{{_NAMESPACE}}}graph", {"id": "tasks", "edgedefault": "directed"})
    for node in _nodes(content):
        element = ElementTree.SubElement(graph, f"{{{_NAMESPACE}}}node", {"id": node.name})
        _add_values(element, node.values)
    for edge in _edges(content):
        ends = {"source": edge.source, "target": edge.target}
        element = ElementTree.SubElement(graph, f"{{{_NAMESPACE}}}edge", ends)
        _add_values(element, {"edge": edge.kind, "count": edge.count})
    ElementTree.indent(root)
    out = io.BytesIO()
    ElementTree.ElementTree(root).write(out, encoding="utf-8", xml_declaration=True)
    return out.getvalue().decode("utf-8") + "\n"


def _add_values(element: ElementTree.Element, values: dict[str, Value]) -> None:
    for name, value in values.items():
        text = str(value).lower() if isinstance(value, bool) else visible(str(value))
        ElementTree.SubElement(element, f"{{{_NAMESPACE}}}data", {"key": name}).text = text


def dot_graph(content: GraphContent) -> str:
    """Returns the graph as DOT text: solid creations, dashed dependences, and a red critical path."""
    lines = [
        "digraph tasks {",
        '  node [shape=box, style="rounded,filled", fillcolor=white, fontname="DejaVu Sans", fontsize=10];',
        '  edge [fontname="DejaVu Sans", fontsize=9];',
    ]
    for node in _nodes(content):
        style = ', color="#c00000", penwidth=2' if node.critical > 0 else ""
        fill = f', fillcolor="0.02 {min(node.critical, 1.0) * 0.45:.3f} 1.0"' if node.critical > 0 else ""
        label = "\\n".join(map(dot_text, node.lines))
        lines.append(f'  {node.name} [label="{label}"{style}{fill}];')
    for edge in _edges(content):
        style = ", style=dashed, constraint=false" if edge.kind == "precedes" else ""
        colour = ', color="#c00000"' if edge.critical else ""
        lines.append(f'  {edge.source} -> {edge.target} [label="{edge.count:,}"{style}{colour}];')
    return "\n".join([*lines, "}", ""])


def _nodes(content: GraphContent) -> Iterator[_Node]:
    span_ns = content.graph.span_ns or 1
    for group in content.graph.groups:
        if group.number in content.expanded and _is_listed(content, group):
            continue
        folded = " and below" if group.folded else ""
        yield _Node(
            f"g{group.number}",
            {
                "label": content.label_of(group),
                "kind": group.kind,
                "tasks": group.n_tasks,
                "undeferred": group.n_undeferred,
                "folded": group.folded,
                "work_ns": group.work_ns,
                "create_ns": group.create_ns,
                "max_ns": group.max_ns,
                "critical_ns": group.critical_ns,
            },
            (
                content.label_of(group),
                plural(group.n_tasks, "task") + folded
                if not group.n_undeferred
                else f"{plural(group.n_tasks, 'task')}, {group.n_undeferred:,} undeferred{folded}",
                f"work {duration(group.work_ns)}, longest {duration(group.max_ns)}",
                *([f"critical {percent(group.critical_ns / span_ns)}"] if group.critical_ns else []),
            ),
            group.critical_ns / span_ns,
        )
    for task in content.graph.tasks:
        label = f"task {task_name(task.task)}"
        yield _Node(
            f"t{task.task}",
            {
                "label": label,
                "kind": "task",
                "tasks": 1,
                "undeferred": 0,
                "folded": False,
                "work_ns": task.work_ns,
                "create_ns": 0,
                "max_ns": task.work_ns,
                "critical_ns": task.critical_ns,
                "thread": task.thread,
                "start_ns": task.start_ns,
            },
            (label, f"thread {task.thread}, work {duration(task.work_ns)}"),
            task.critical_ns / span_ns,
        )


def _edges(content: GraphContent) -> Iterator[_Edge]:
    """Yields the creations between groups and listed tasks, then the dependences between groups."""
    groups = content.graph.groups
    listed = {
        group.number for group in groups if group.number in content.expanded and _is_listed(content, group)
    }
    known = {task.task for task in content.graph.tasks}
    for group in groups[1:]:
        if group.number not in listed:
            count = group.n_tasks + group.n_undeferred
            for source in _node_of(group.parent, listed):
                yield _Edge(source, f"g{group.number}", "creates", count, group.critical_ns > 0)
    for task in content.graph.tasks:
        parent = groups[groups[task.group].parent]
        source = f"t{task.parent}" if task.parent in known else f"g{parent.number}"
        if task.parent in known or parent.number not in listed:
            yield _Edge(source, f"t{task.task}", "creates", 1, task.critical_ns > 0)
    for dependence in content.graph.dependences:
        if dependence.from_group not in listed and dependence.to_group not in listed:
            ends = f"g{dependence.from_group}", f"g{dependence.to_group}"
            yield _Edge(*ends, "precedes", dependence.n, False)


def _node_of(group: int, listed: set[int]) -> list[str]:
    """Returns a group's node, or nothing if the group is expanded: then the creating task is unknown."""
    return [] if group in listed else [f"g{group}"]


def _is_listed(content: GraphContent, group: GraphGroup) -> bool:
    return any(task.group == group.number for task in content.graph.tasks)
