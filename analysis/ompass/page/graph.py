# SPDX-License-Identifier: Apache-2.0
"""The section of a task graph: its tables, its bounds, and the data that page/client/graph.js draws."""

from __future__ import annotations

import json

from ompass.figures.graph import bounds_figure
from ompass.figures.style import CATEGORIES
from ompass.metrics.samples import SampleNode, samples_tree
from ompass.model_graph import GraphGroup
from ompass.page.markup import element
from ompass.page.sections import Part
from ompass.page.timeline import construct_label
from ompass.plain_text import visible
from ompass.reports.content import ReportContent
from ompass.reports.graph import GraphContent, graph_report
from ompass.reports.model import Section


def graph_part(content: GraphContent, of_run: ReportContent) -> Part:
    """Returns the part for one run; `of_run` names constructs as the timeline does."""
    report = graph_report(content)
    parts = [part for section in report.sections if not section.drawn for part in section.parts]
    notes = [f"Note: {note}" for note in report.notes]
    drawn = element("div", class_="graph", data_graph=json.dumps(_groups(content, of_run)))
    return Part(
        Section("graph", "Task graph", (*parts, *notes)),
        {"bounds": bounds_figure(content)},
        drawn=drawn,
    )


def _groups(content: GraphContent, of_run: ReportContent) -> object:
    constructs = sorted({group.construct for group in content.graph.groups})

    def shown(group: GraphGroup) -> dict[str, object]:
        return {
            "number": group.number,
            "parent": group.parent,
            "label": visible(content.label_of(group)),
            "construct": construct_label(max(group.construct, 0), of_run),
            "colour": CATEGORIES[constructs.index(group.construct) % len(CATEGORIES)],
            "folded": group.folded,
            "tasks": group.n_tasks + group.n_undeferred,
            "work": group.work_ns,
            "create": group.create_ns,
            "dispatch": group.dispatch_ns,
            "critical": group.critical_ns,
        }

    def sampled(node: SampleNode, colour: str) -> dict[str, object]:
        of_run = content_of_samples
        label = node.what if isinstance(node.what, str) else of_run.label(node.what) if of_run else ""
        return {
            "label": visible(label),
            "n": node.n,
            "colour": colour,
            "parts": [sampled(part, colour) for part in node.parts],
        }

    content_of_samples = of_run.samples
    owners = samples_tree(content_of_samples.samples) if content_of_samples else ()
    return {
        "samples": [sampled(node, CATEGORIES[k % len(CATEGORIES)]) for k, node in enumerate(owners)],
        "groups": [shown(group) for group in content.graph.groups],
        "dependences": [
            {"from": d.from_group, "to": d.to_group, "n": d.n} for d in content.graph.dependences
        ],
    }
