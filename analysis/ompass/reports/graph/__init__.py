# SPDX-License-Identifier: Apache-2.0
"""The report on a task graph, and its exports (GraphML, DOT). They compute no figures."""

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
