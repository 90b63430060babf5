# SPDX-License-Identifier: Apache-2.0
"""The report on a task graph, and the graph for other programs (GraphML, DOT). They compute no figure."""

from ompass.reports.graph.content import GraphContent, TimeKind, collect_graph
from ompass.reports.graph.exports import dot_graph, graphml_graph
from ompass.reports.graph.report import graph_report, graphs_report

__all__ = [
    "GraphContent",
    "TimeKind",
    "collect_graph",
    "dot_graph",
    "graph_report",
    "graphml_graph",
    "graphs_report",
]
