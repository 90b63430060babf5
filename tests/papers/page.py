# SPDX-License-Identifier: Apache-2.0
"""Generates the page of a paper, docs/papers/NAME.md, and its figures from the measurements."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import toolchains
from ompass.figures.render import render
from papers.model import FIGURE_ONLY, Paper, Values, Verdict

PAGES: Final = toolchains.REPOSITORY / "docs" / "papers"
_WIDTH: Final = 150
_SIZE_TEXT: Final = {"quick": "the quick size", "full": "the full size"}


def page_file(name: str) -> Path:
    return PAGES / f"{name}.md"


def picture_file(paper: Paper, name: str) -> Path:
    return PAGES / f"{paper.name}-{name}.svg"


def write_page(paper: Paper, results: dict[str, Any]) -> None:
    """Writes the page and its figures."""
    PAGES.mkdir(parents=True, exist_ok=True)
    for picture in paper.pictures:
        render(picture.make(results["values"]), picture_file(paper, picture.name))
    page_file(paper.name).write_text(page(paper, results), encoding="utf-8")


def page(paper: Paper, results: dict[str, Any]) -> str:
    """Returns the text of the page."""
    values: Values = results["values"]
    parts = [
        f"# {paper.title}",
        f"<!-- written by ./run papers {paper.name}; do not edit -->",
        _wrapped(f"{paper.citation} {paper.introduction}"),
        _wrapped(_summary(paper, values)),
        "## Measurements",
        *_paragraphs(paper.method(values)),
        _wrapped(_command(paper, results)),
        "## Figures",
    ]
    for picture in paper.pictures:
        file = picture_file(paper, picture.name).name
        parts += [
            f"### {picture.place}: {picture.title}",
            f"![{picture.title}]({file})",
            _wrapped(f"*{picture.made}.* {picture.text}"),
        ]
    parts += ["## Claims", *_legend(paper), "\n".join(_table(paper, values))]
    parts += list(_reasons("## Differences", paper, values, Verdict.DIFFERS))
    parts += list(_reasons("## Claims that cannot be tested here", paper, values, Verdict.MISSING))
    return "\n\n".join(parts) + "\n"


def _summary(paper: Paper, values: Values) -> str:
    verdicts = [claim.verdict(values) for claim in paper.claims]
    n = {verdict: verdicts.count(verdict) for verdict in Verdict}
    return (
        f"{n[Verdict.AGREES]} of {len(verdicts)} claims agree, {n[Verdict.DIFFERS]} differ, and "
        f"{n[Verdict.MISSING]} cannot be tested here. [The table at the end](#claims) lists all."
    )


def _command(paper: Paper, results: dict[str, Any]) -> str:
    machine, size = results["machine"], results["size"]
    times = ", ".join(f"{_SIZE_TEXT[key]} takes {time}" for key, time in paper.duration.items())
    option = " --quick" if size == "quick" else ""
    return (
        f"`./run papers {paper.name}{option}` made this page, in {_SIZE_TEXT[size]}, on {machine['n_cpus']} "
        f"processors of {machine['cpu'] or 'an unknown kind'}. {_priority(results)}On two "
        f"processors {times}. All measurements are in "
        f"[tests/papers/results/{paper.name}.json](../../tests/papers/results/{paper.name}.json)."
    )


def _priority(results: dict[str, Any]) -> str:
    """Returns a sentence on the priority of the measured programs; nothing for older measurements."""
    found = results.get("priority")
    return f"All programs ran with {found}. " if found else ""


def _legend(paper: Paper) -> Iterator[str]:
    if any(claim.theirs == FIGURE_ONLY for claim in paper.claims):
        yield f"*{FIGURE_ONLY.capitalize()}*: a figure of the paper shows it, and the text gives no number."
    if paper.sources:
        yield _wrapped(paper.sources)


def _table(paper: Paper, values: Values) -> Iterator[str]:
    yield "| | claim | in the paper | paper | ours | verdict | figure |"
    yield "|--:|---|---|---|---|---|---|"
    for number, claim in enumerate(paper.claims, 1):
        place = paper.picture(claim.picture).place
        link = f"[{place}]({picture_file(paper, claim.picture).name})"
        verdict = claim.verdict(values).value
        yield (
            f"| {number} | {claim.sentence} | {claim.place} | {claim.theirs} | {claim.shown(values)} "
            f"| {verdict} | {link} |"
        )


def _reasons(heading: str, paper: Paper, values: Values, verdict: Verdict) -> Iterator[str]:
    """Yields a heading and the claims with this verdict, each with its cause; nothing without such claims."""
    numbered = [
        (number, claim) for number, claim in enumerate(paper.claims, 1) if claim.verdict(values) is verdict
    ]
    if numbered:
        yield heading
        yield "\n".join(
            _wrapped(f"- **{number}** *{claim.sentence}.* {claim.reason(values)}", "  ")
            for number, claim in numbered
        )


def _paragraphs(text: str) -> Iterator[str]:
    """Yields paragraphs, wrapped; tables and code stay as they are."""
    for paragraph in text.strip().split("\n\n"):
        yield paragraph if paragraph.startswith(("|", "    ")) else _wrapped(paragraph)


def _wrapped(text: str, indent: str = "") -> str:
    return textwrap.fill(
        " ".join(text.split()),
        _WIDTH,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
