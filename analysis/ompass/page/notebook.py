# SPDX-License-Identifier: Apache-2.0
"""Reports as HTML for notebooks: self-contained, without scripts, with a style for the report only."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Final

from ompass.figures.render import svg_of
from ompass.figures.style import STATE_COLOURS, Spec
from ompass.page.markup import Markup, element, join, table
from ompass.reports.model import Advice, Report, Section, Table, sentence

_STYLE: Final = """
.ompass { font: 13px/1.45 system-ui, 'DejaVu Sans', sans-serif; max-width: 72em; }
.ompass h3, .ompass h4 { margin: 0.8em 0 0.3em; }
.ompass p { margin: 0.3em 0; }
.ompass .cure::before { content: '→ '; }
.ompass table { border-collapse: collapse; margin: 0.3em 0; font: inherit; }
.ompass th button { all: unset; font-weight: 600; }
.ompass th, .ompass td { padding: 0.15em 0.7em 0.15em 0; text-align: left; white-space: nowrap; }
.ompass .number { text-align: right; font-variant-numeric: tabular-nums; }
.ompass .unseen { display: none; }
.ompass .states { display: inline-flex; width: 14em; height: 0.8em; }
.ompass .bar { display: block; min-width: 1px; }
.ompass td:has(> .bar) { width: 14em; }
.ompass .state { height: 0.8em; background: #0072b2; }
.ompass .swatch { display: inline-block; width: 0.7em; height: 0.7em; }
.ompass img { max-width: 100%; background: white; }
"""


def report_html(report: Report, figures: Iterable[Spec | None] = (), sections: Iterable[str] = ()) -> str:
    """Returns a report with figures below its title. `sections`: keys of sections to show (empty: all)."""
    wanted = set(sections)
    shown = [section for section in report.sections if not wanted or section.key in wanted]
    facts = " · ".join(report.facts)
    parts = [
        element("style", Markup(_STYLE + _colours())),
        element("h3", report.title),
        element("p", facts) if facts else "",
        element("p", element("strong", report.warning)) if report.warning else "",
        *(_picture(spec) for spec in figures if spec is not None),
        *(_section(section) for section in shown),
        *(element("p", note) for note in report.notes),
    ]
    return element("div", *parts, class_="ompass")


def _colours() -> str:
    return "".join(
        f".ompass .{state}.swatch, .ompass .{state}.state {{ background: {colour}; }}\n"
        for state, colour in STATE_COLOURS.items()
    )


def _section(section: Section) -> Markup:
    return join((element("h4", section.title), *(_part(part, section.title) for part in section.parts)))


def _part(part: str | Advice | Table, title: str) -> Markup:
    if isinstance(part, Table):
        heading = element("p", element("strong", part.title)) if part.title not in ("", title) else ""
        return join((heading, table(part)))
    if isinstance(part, str):
        return element("p", part)
    place = element("code", part.place) if part.place else ""
    return join(
        (
            element("p", element("strong", part.title), " ", place),
            element("p", sentence(part.because)),
            element("p", sentence(part.cure), class_="cure") if part.cure else "",
            element("p", sentence(part.gain)) if part.gain else "",
            element("p", part.also) if part.also else "",
        )
    )


def _picture(spec: Spec) -> Markup:
    """Returns a figure as an image, so its identifiers cannot collide with other figures."""
    data = base64.b64encode(svg_of(spec)).decode()
    title = str(spec.get("description", ""))
    image = element("img", src=f"data:image/svg+xml;base64,{data}", alt=title)
    return element("p", Markup(image.removesuffix("</img>")))
