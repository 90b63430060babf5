# SPDX-License-Identifier: Apache-2.0
"""The report as one HTML page: sections, their figures, style and script in a single file.

Owns the frame of the page. Nothing is fetched: the policy in the head forbids it, and what draws the figures
is inside.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from ompass import __version__
from ompass.figures.render import browser_script
from ompass.figures.style import Spec
from ompass.page.excerpts import Sources
from ompass.page.markup import Markup, element, join
from ompass.page.section import Section
from ompass.page.sections import comparison, run_sections
from ompass.page.sweep_sections import sweep_sections
from ompass.readers.schedule import Schedule
from ompass.reports.content import ReportContent
from ompass.reports.reuse import ReuseContent
from ompass.reports.scaling import ScalingContent
from ompass.units import duration, plural

_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'unsafe-inline' 'unsafe-eval'",
        "style-src 'unsafe-inline'",
        "img-src data: blob:",
    )
)


@dataclass(frozen=True, slots=True)
class RunPart:
    """One run on the page, and what only a trace has."""

    content: ReportContent
    schedule: Schedule | None = None
    reuse: ReuseContent | None = None


def html_report(
    runs: Sequence[RunPart], sweeps: Sequence[ScalingContent] = (), compared: Sequence[ReportContent] = ()
) -> str:
    """The page of one or more runs and sweeps, as text.

    `compared`: the runs that are set side by side, where these are more than those shown one by one.
    """
    sources = Sources()
    compared = compared or [run.content for run in runs]
    shared = [comparison(compared)] if len(compared) > 1 else []
    parts = [_section(section) for section in shared]
    links = [_link(section) for section in shared]
    figures: dict[str, Spec] = {}
    articles = [
        (f"sweep-{k}", _sweep_head(sweep), _sweep_name(sweep), sweep_sections(sweep, k))
        for k, sweep in enumerate(sweeps, 1)
    ]
    articles += [
        (
            f"run-{k}",
            _run_head(run.content),
            run.content.run.path.name,
            run_sections(run.content, k, sources, run.schedule, run.reuse),
        )
        for k, run in enumerate(runs, 1)
    ]
    for anchor, head, name, sections in articles:
        parts.append(element("article", head, *(_section(section) for section in sections), id=anchor))
        inner = element("ul", *(element("li", _link(section)) for section in sections))
        links.append(join((element("a", name, href=f"#{anchor}"), inner)))
        for section in sections:
            figures |= section.figures
    for section in shared:
        figures |= section.figures
    names = ", ".join(name for _, _, name, _ in articles)
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
            element("footer", f"Made by ompass {__version__}. Nothing on this page comes from a network."),
            Markup(f'<script type="application/json" id="figures">{_as_json(figures)}</script>'),
            Markup(f"<script>{_as_script(browser_script())}</script>") if figures else "",
            Markup(f"<script>{_as_script(_file('page.js'))}</script>"),
        )
    )
    head = join(
        (
            Markup('<meta charset="utf-8">'),
            Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
            Markup(f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'),
            Markup('<meta name="color-scheme" content="light dark">'),
            Markup('<link rel="icon" href="data:,">'),
            element("title", f"Ompass report: {names}"),
            Markup(f"<style>{_file('page.css')}</style>"),
        )
    )
    return f"<!doctype html>\n{element('html', element('head', head), element('body', body), lang='en')}\n"


def _run_head(content: ReportContent) -> Markup:
    run = content.run
    facts = [
        f"{run.mode} mode" + (", recomputed from events" if run.source == "events" else ""),
        f"pid {run.pid}",
        f"{duration(run.wall_ns)} wall time",
        plural(content.breakdown.n_threads, "thread"),
        plural(content.n_tasks, "task"),
    ]
    cut = Markup("")
    if not run.complete:
        reasons = " ".join(run.incomplete_reasons) or f"It ended as: {run.end_reason}."
        cut = element("p", f"The run was cut short. {reasons}", class_="warning", role="alert")
    return join((element("h2", run.path.name), element("p", " · ".join(facts), class_="facts"), cut))


def _sweep_name(content: ScalingContent) -> str:
    return Path(content.directory).name


def _sweep_head(content: ScalingContent) -> Markup:
    rounds = max(column.n_rounds for column in content.columns)
    facts = (" ".join(content.spec.command), plural(rounds, "round"))
    return join((element("h2", _sweep_name(content)), element("p", " · ".join(facts), class_="facts")))


def _section(section: Section) -> Markup:
    return element("section", element("h3", section.title), section.body, id=section.anchor)


def _link(section: Section) -> Markup:
    return element("a", section.title, href=f"#{section.anchor}")


def _file(name: str) -> str:
    return resources.files("ompass.page").joinpath(name).read_text(encoding="utf-8")


def _as_json(value: object) -> str:
    # "<" begins no tag inside a script then, whatever the names in the data are
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def _as_script(text: str) -> str:
    return text.replace("</script", "<\\/script").replace("<!--", "<\\!--")
