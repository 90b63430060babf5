# SPDX-License-Identifier: Apache-2.0
"""Reports of a task graph: terminal page, JSON, GraphML and DOT. They compute no figure."""

from ompass.reports.graph.as_json import json_graph, json_graphs
from ompass.reports.graph.content import GraphContent, collect_graph
from ompass.reports.graph.exports import dot_graph, graphml_graph
from ompass.reports.graph.terminal import print_graph, print_ranks

__all__ = [
    "GraphContent",
    "collect_graph",
    "dot_graph",
    "graphml_graph",
    "json_graph",
    "json_graphs",
    "print_graph",
    "print_ranks",
]
