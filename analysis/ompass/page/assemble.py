# SPDX-License-Identifier: Apache-2.0
"""The report as one HTML page: sections, their figures, style and script in a single file.

Owns the frame of the page. Nothing is fetched: the policy in the head forbids it, and what draws the figures
is inside.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib import resources

from ompass import __version__
from ompass.figures.render import browser_script
from ompass.figures.style import Spec
from ompass.page.excerpts import Sources
from ompass.page.markup import Markup, element, join
from ompass.page.sections import Section, comparison, run_sections
from ompass.readers.schedule import Schedule
from ompass.reports.content import ReportContent
from ompass.units import duration, plural

_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'unsafe-inline' 'unsafe-eval'",
        "style-src 'unsafe-inline'",
        "img-src data: blob:",
    )
)


def html_report(contents: Sequence[ReportContent], schedules: Sequence[Schedule | None] = ()) -> str:
    """The page of one or more runs, as text. `schedules`: those of the runs that have a trace, else None."""
    sources = Sources()
    schedules = schedules or [None] * len(contents)
    shared = [comparison(contents)] if len(contents) > 1 else []
    parts = [_section(section) for section in shared]
    links = [_link(section) for section in shared]
    figures: dict[str, Spec] = {}
    for number, (content, schedule) in enumerate(zip(contents, schedules, strict=True), 1):
        sections = run_sections(content, number, sources, schedule)
        parts.append(_run(content, number, sections))
        inner = element("ul", *(element("li", _link(section)) for section in sections))
        links.append(join((element("a", content.run.path.name, href=f"#run-{number}"), inner)))
        for section in sections:
            figures |= section.figures
    for section in shared:
        figures |= section.figures
    names = ", ".join(content.run.path.name for content in contents)
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


def _run(content: ReportContent, number: int, sections: Sequence[Section]) -> Markup:
    run = content.run
    facts = [
        f"{run.mode} mode" + (", recomputed from events" if run.source == "events" else ""),
        f"pid {run.pid}",
        f"{duration(run.wall_ns)} wall time",
        plural(content.breakdown.n_threads, "thread"),
        plural(content.n_tasks, "task"),
    ]
    cut = ""
    if not run.complete:
        reasons = " ".join(run.incomplete_reasons) or f"It ended as: {run.end_reason}."
        cut = element("p", f"The run was cut short. {reasons}", class_="warning", role="alert")
    return element(
        "article",
        element("h2", run.path.name),
        element("p", " · ".join(facts), class_="facts"),
        cut,
        *(_section(section) for section in sections),
        id=f"run-{number}",
    )


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
