# SPDX-License-Identifier: Apache-2.0
"""The report as one HTML page: sections, their figures, style and script in a single file.

Owns the frame of the page. The page fetches nothing from a network: the policy in its head forbids it, and
the page contains the script that draws the figures. A served page may request data from its own server.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Final

import ompass
from ompass.comparison.content import ComparisonContent
from ompass.comparison.report import comparison_report
from ompass.figures.render import BrowserScript
from ompass.figures.style import STATE_COLOURS, Spec
from ompass.graph.content import GraphContent
from ompass.jobs.content import job_of_reports
from ompass.page.comparison import comparison_head, comparison_parts, side_names
from ompass.page.excerpts import Excerpts
from ompass.page.markup import Markup, element, join
from ompass.page.sections import (
    Part,
    graph_part,
    overview_parts,
    part_markup,
    run_parts,
    section_later,
    sweep_parts,
)
from ompass.page.summary import figures, sweep_head, verdict, verdicts
from ompass.page.timeline import Timeline
from ompass.readers.schedule import Schedule
from ompass.reports.content import ReportContent
from ompass.reports.job import printed_job_report
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
"""The file of the script for figures. page.js requests it late, because it is large and slow to build."""

_READY: Final = "document.documentElement.dataset.ready = '';"
"""The last statement of the scripts: marks the page as ready for clicks and keys."""
_CLIENT: Final = ("bins", "picture", "chosen", "layers", "timeline", "graph", "flame")
"""The files of page/client, in loading order."""


@dataclass(frozen=True, slots=True)
class RunPart:
    """One run on the page, with the parts that only a trace has.

    `later`: titles, by key, of sections that the page requests from its server when they become visible.
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
    comparison: ComparisonContent | None = None,
) -> str:
    """Returns the page of runs and sweeps, or of a comparison, as text.

    `compared`: the runs to compare (default: `runs`). `sources`: shows source lines, if the files are found.
    `served`: a local server delivers the data of the timeline; otherwise the page contains the data.
    `script`: the script for figures, if its build has begun.
    """
    compared = compared or [run.content for run in runs]
    content = _Content()
    # The timeline follows the findings of a single run. Several runs share one timeline, which precedes them.
    is_single = len(runs) == 1 and not sweeps
    drawn = _timeline_section() if timeline is not None else None
    if len(runs) > 1:
        job = job_of_reports(compared)
        verdict_of_job = printed_job_report(job, compared).verdict if job else ""
        content.parts.append(verdicts([run.content for run in runs], verdict_of_job))
    if len(compared) > 1:
        for part in overview_parts(compared):
            content.parts.append(content.drawn(part, ""))
            content.links.append(_link(part, ""))
    if drawn is not None and not is_single:
        content.parts.append(drawn)
        content.links.append(element("a", "Timeline", href="#timeline"))
    if comparison is not None:
        name = side_names(comparison)
        parts = comparison_parts(comparison, sources)
        report, head = comparison_report(comparison), comparison_head(comparison)
        content.add_article(name, "comparison", "", report, parts, head=head)
    for k, sweep in enumerate(sweeps, 1):
        name = Path(sweep.directory).name
        report, head = scaling_report(sweep), sweep_head(sweep)
        content.add_article(name, f"sweep-{k}", f"-of-sweep-{k}", report, sweep_parts(sweep), head=head)
    for k, run in enumerate(runs, 1):
        name = run.content.run.path.name
        trace = timeline.number_of(run.content) if timeline else None
        head = join(
            (verdict(run.content), figures(run.content, run.schedule, run.graph, "graph" in run.later))
        )
        parts = _parts_of_run(run, trace, with_sources=sources or served)
        content.add_article(
            name,
            f"run-{k}",
            f"-{k}",
            run_report(run.content),
            parts,
            run.later,
            head=head,
            after_first=drawn if is_single else None,
        )
    drawing = (script or BrowserScript()).text if content.figures and not served else ""
    scripts = (
        Markup(f'<script type="application/json" id="figures">{_as_json(content.figures)}</script>'),
        _data(timeline, served, sources, runs) if timeline else "",
        Markup(f"<script>{_as_script(drawing)}</script>") if drawing else "",
        Markup(f"<script>{_as_script(_program(served))}</script>"),
    )
    names = ", ".join(content.names)
    head = _page_head(names, _POLICY + (_TO_SERVER if served else ""))
    body = element("body", join((*content.frame(names), *scripts)))
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


@dataclass(slots=True)
class _Content:
    """The visible parts of the page in order, the links to them, and their figures by id."""

    names: list[str] = field(default_factory=list)
    parts: list[Markup] = field(default_factory=list)
    links: list[Markup] = field(default_factory=list)
    figures: dict[str, Spec] = field(default_factory=dict)

    def drawn(self, part: Part, number: str) -> Markup:
        """Returns a part as HTML, and keeps its figures."""
        markup, figures = part_markup(part, number)
        self.figures |= figures
        return markup

    def add_article(
        self,
        name: str,
        anchor: str,
        number: str,
        report: Report,
        parts: Iterable[Part],
        later: Mapping[str, str] = MappingProxyType({}),
        *,
        head: Markup | None = None,
        after_first: Markup | None = None,
    ) -> None:
        """Adds a run, sweep or comparison; `number` makes the ids of its sections unique.

        `head` follows the title, and the timeline `after_first` follows the first part.
        """
        bodies, inner = [_head(name, report, head)], []
        for k, part in enumerate(parts):
            bodies.append(self.drawn(part, number))
            inner.append(element("li", _link(part, number)))
            if k == 0 and after_first is not None:
                bodies.append(after_first)
                inner.append(element("li", element("a", "Timeline", href="#timeline")))
        for key, title in later.items():
            bodies.append(section_later(key, title, number))
            inner.append(element("li", element("a", title, href=f"#{key}{number}")))
        self.names.append(name)
        self.parts.append(element("article", *bodies, id=anchor))
        self.links.append(join((element("a", name, href=f"#{anchor}"), element("ul", *inner))))

    def frame(self, names: str) -> tuple[Markup, ...]:
        """Returns the visible elements of the page."""
        links = (element("li", link) for link in self.links)
        return (
            element("a", "To the report", href="#report", class_="skip"),
            element(
                "header",
                element("h1", "Ompass report"),
                element("p", names),
                element("button", "Dark", type="button", id="theme", aria_pressed="false"),
            ),
            element("nav", element("ul", *links), aria_label="Sections"),
            element("main", *self.parts, id="report", tabindex="-1"),
            element(
                "footer", f"Made by ompass {ompass.__version__}. This page loads nothing from a network."
            ),
        )


def _page_head(names: str, policy: str) -> Markup:
    return element(
        "head",
        Markup('<meta charset="utf-8">'),
        Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{policy}">'),
        Markup('<meta name="color-scheme" content="light dark">'),
        Markup('<link rel="icon" href="data:,">'),
        element("title", f"Ompass report: {names}"),
        Markup(f"<style>{_state_colours()}{_file('page.css')}</style>"),
    )


def _timeline_section() -> Markup:
    plot = element("div", id="timeline-plot", class_="plotted")
    return element("section", element("h2", "Timeline"), plot, id="timeline")


def _parts_of_run(run: RunPart, trace: int | None, *, with_sources: bool) -> Iterator[Part]:
    excerpts = Excerpts(run.content) if with_sources else None
    yield from run_parts(run.content, excerpts, run.schedule, run.reuse, trace)
    if run.graph is not None:
        yield graph_part(run.graph, run.content)


def _head(name: str, report: Report, more: Markup | None) -> Markup:
    warning = element("p", report.warning, class_="warning", role="alert") if report.warning else ""
    facts = element("p", " · ".join(report.facts), class_="facts") if report.facts else ""
    return element("div", element("h2", name), facts, warning, more or "", class_="head")


def _link(part: Part, number: str) -> Markup:
    return element("a", part.section.title, href=f"#{part.section.key}{number}")


def _data(timeline: Timeline, served: bool, sources: bool, runs: Sequence[RunPart]) -> Markup:
    graphs = {id(run.content): run.graph.graph for run in runs if run.graph}
    of_traces = [graphs.get(id(content)) for content in timeline.contents]
    baked = None if served else timeline.baked(sources, of_traces)
    data = {"description": timeline.describe(), "baked": baked}
    return Markup(f'<script type="application/json" id="timeline-data">{_as_json(data)}</script>')


def _program(served: bool) -> str:
    """Returns the scripts of the page. One function contains the client's files, so their names are local."""
    files = [*(f"client/{name}.js" for name in _CLIENT), *(["client/server.js"] if served else [])]
    parts = "\n".join(_file(name) for name in files)
    return f"{_file('page.js')}\n(() => {{\n'use strict';\n{parts}\n}})();\n{_READY}"


def _state_colours() -> str:
    """Returns the colours of the states as variables; figures/style.py owns them."""
    return f":root{{{';'.join(f'--{state}:{colour}' for state, colour in STATE_COLOURS.items())}}}\n"


def _file(name: str) -> str:
    return (Path(__file__).parent / name).read_text(encoding="utf-8")


def _as_json(value: object) -> str:
    # Without "<", names in the data cannot begin a tag inside the script
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def _as_script(text: str) -> str:
    return text.replace("</script", "<\\/script").replace("<!--", "<\\!--")
