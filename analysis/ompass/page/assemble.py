# SPDX-License-Identifier: Apache-2.0
"""The report as one HTML page: sections, their figures, style and script in a single file.

Owns the frame of the page. It fetches nothing: the policy in the head forbids it, and the script that draws
the figures is inside.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from ompass import __version__
from ompass.figures.render import BrowserScript
from ompass.figures.style import Spec
from ompass.graph.content import GraphContent
from ompass.page.excerpts import Excerpts, Sources
from ompass.page.markup import Markup, element, join
from ompass.page.sections import (
    Part,
    comparison_part,
    graph_part,
    part_markup,
    run_parts,
    section_later,
    sweep_parts,
)
from ompass.page.timeline import Timeline
from ompass.readers.schedule import Schedule
from ompass.reports.content import ReportContent
from ompass.reports.model import Report
from ompass.reports.run import run_report
from ompass.reuse.report import ReuseContent
from ompass.scaling.content import ScalingContent
from ompass.scaling.report import scaling_report

_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'unsafe-inline' 'unsafe-eval'",
        "style-src 'unsafe-inline'",
        "img-src data: blob:",
    )
)


_TO_SERVER: Final = (
    "; script-src-elem 'unsafe-inline' 'self'; connect-src 'self'; form-action 'none'; base-uri 'none'"
)
FIGURE_SCRIPT: Final = "figures.js"
"""The file that page.js requests when the first figure becomes visible: it is large and slow to build."""

_READY: Final = "document.documentElement.dataset.ready = '';"
"""The last statement of the scripts: from here on, everything that can be pressed works."""
_CLIENT: Final = ("bins", "picture", "chosen", "timeline", "graph")
"""The files of page/client, in loading order."""


@dataclass(frozen=True, slots=True)
class RunPart:
    """One run on the page, with the parts that only a trace has.

    `later`: sections, by key and title, that the page requests from its server when they become visible.
    """

    content: ReportContent
    schedule: Schedule | None = None
    reuse: ReuseContent | None = None
    graph: GraphContent | None = None
    later: Mapping[str, str] = field(default_factory=dict)


def html_report(
    runs: Sequence[RunPart],
    sweeps: Sequence[ScalingContent] = (),
    compared: Sequence[ReportContent] = (),
    timeline: Timeline | None = None,
    served: bool = False,
    sources: bool = False,
    script: BrowserScript | None = None,
) -> str:
    """Returns the page of one or more runs and sweeps as text.

    `compared`: the runs to compare, if there are more than the runs shown in full. `sources`: show source
    lines, if the files are found. `served`: a local server delivers the data of the timeline; otherwise the
    page contains it. `script`: the script for figures, if it is being built already.
    """
    policy = _POLICY + (_TO_SERVER if served else "")
    files = Sources()
    compared = compared or [run.content for run in runs]
    links: list[Markup] = []
    parts: list[Markup] = []
    figures: dict[str, Spec] = {}
    if timeline is not None:
        plot = element("div", id="timeline-plot", class_="plotted")
        parts.append(element("section", element("h2", "Timeline"), plot, id="timeline"))
        links.append(element("a", "Timeline", href="#timeline"))
    if len(compared) > 1:
        part = comparison_part(compared)
        markup, figures = part_markup(part, "")
        parts.append(markup)
        links.append(_link(part, ""))
    articles: list[tuple[str, int, str, Report, Iterable[Part], Mapping[str, str]]] = [
        ("sweep", k, Path(sweep.directory).name, scaling_report(sweep), sweep_parts(sweep), {})
        for k, sweep in enumerate(sweeps, 1)
    ]
    articles += [
        (
            "run",
            k,
            run.content.run.path.name,
            run_report(run.content),
            [
                *run_parts(
                    run.content,
                    Excerpts(run.content, files) if sources or served else None,
                    run.schedule,
                    run.reuse,
                ),
                *_graph_parts(run),
            ],
            run.later,
        )
        for k, run in enumerate(runs, 1)
    ]
    for kind, k, name, report, made, later in articles:
        number = f"-{k}" if kind == "run" else f"-of-sweep-{k}"
        anchor = f"{kind}-{k}"
        bodies, inner = [_head(name, report)], []
        for part in made:
            markup, drawn = part_markup(part, number)
            bodies.append(markup)
            inner.append(element("li", _link(part, number)))
            figures |= drawn
        for key, title in later.items():
            bodies.append(section_later(key, title, number))
            inner.append(element("li", element("a", title, href=f"#{key}{number}")))
        parts.append(element("article", *bodies, id=anchor))
        links.append(join((element("a", name, href=f"#{anchor}"), element("ul", *inner))))
    names = ", ".join(name for _, _, name, *_ in articles)
    drawing = (script or BrowserScript()).text if figures and not served else ""
    body = join(
        (
            element("a", "To the report", href="#report", class_="skip"),
            element(
                "header",
                element("h1", "Ompass report"),
                element("p", names),
                element("button", "Dark or light", type="button", id="theme", aria_pressed="false"),
            ),
            element("nav", element("ul", *(element("li", link) for link in links)), aria_label="Sections"),
            element("main", *parts, id="report", tabindex="-1"),
            element("footer", f"Made by ompass {__version__}. This page loads nothing from a network."),
            Markup(f'<script type="application/json" id="figures">{_as_json(figures)}</script>'),
            _data(timeline, served, sources) if timeline else "",
            Markup(f"<script>{_as_script(drawing)}</script>") if drawing else "",
            Markup(f"<script>{_as_script(_program(served))}</script>"),
        )
    )
    head = join(
        (
            Markup('<meta charset="utf-8">'),
            Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
            Markup(f'<meta http-equiv="Content-Security-Policy" content="{policy}">'),
            Markup('<meta name="color-scheme" content="light dark">'),
            Markup('<link rel="icon" href="data:,">'),
            element("title", f"Ompass report: {names}"),
            Markup(f"<style>{_file('page.css')}</style>"),
        )
    )
    return f"<!doctype html>\n{element('html', element('head', head), element('body', body), lang='en')}\n"


def _graph_parts(run: RunPart) -> Iterator[Part]:
    if run.graph is not None:
        yield graph_part(run.graph, run.content)


def _head(name: str, report: Report) -> Markup:
    warning = element("p", report.warning, class_="warning", role="alert") if report.warning else ""
    return join((element("h2", name), element("p", " · ".join(report.facts), class_="facts"), warning))


def _link(part: Part, number: str) -> Markup:
    return element("a", part.section.title, href=f"#{part.section.key}{number}")


def _data(timeline: Timeline, served: bool, sources: bool) -> Markup:
    data = {"description": timeline.describe(), "baked": None if served else timeline.baked(sources)}
    return Markup(f'<script type="application/json" id="timeline-data">{_as_json(data)}</script>')


def _program(served: bool) -> str:
    """Returns the client: its files form one function, so their names are local."""
    files = [*(f"client/{name}.js" for name in _CLIENT), *(["client/server.js"] if served else [])]
    parts = "\n".join(_file(name) for name in files)
    return f"{_file('page.js')}\n(() => {{\n'use strict';\n{parts}\n}})();\n{_READY}"


def _file(name: str) -> str:
    return (Path(__file__).parent / name).read_text(encoding="utf-8")


def _as_json(value: object) -> str:
    # Without "<", no tag can begin inside the script, whatever names the data contain
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def _as_script(text: str) -> str:
    return text.replace("</script", "<\\/script").replace("<!--", "<\\!--")
