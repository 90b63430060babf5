# SPDX-License-Identifier: Apache-2.0
"""Formats a check for CI services.

- Markdown, for a comment on a pull request or the summary of a job
- JUnit XML: one test case, for the verdict
- the custom JSON of github-action-benchmark (`customSmallerIsBetter`), which plots values over commits
- Bencher Metric Format, for the same purpose on bencher.dev
"""

from __future__ import annotations

import json
import re
from typing import Any
from xml.etree import ElementTree

from ompass.check.content import TIME, CheckContent
from ompass.check.report import TITLES, times_table
from ompass.comparison.report import counts_table
from ompass.plain_text import visible, visible_lines
from ompass.reports.model import Table, sentence, words
from ompass.units import duration, plural

_SIGNS = {0: "✅", 1: "❌", 2: "⚠️"}
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|~&])")


def markdown_check(content: CheckContent) -> str:
    """Returns the report in GitHub's Markdown."""
    verdict, evidence = content.verdict, content.evidence
    lines = [f"### {_SIGNS[verdict.status]} {_text(content.name)}: {TITLES[verdict.kind].lower()}", ""]
    cure = f" {sentence(verdict.cure)}" if verdict.cure else ""
    lines += [_text(sentence(verdict.because) + cure), ""]
    for table in (times_table((*evidence.figures, *evidence.traced)), counts_table(evidence.counts)):
        lines += _rows(table)
    if evidence.parallelism:
        before, after = evidence.parallelism
        lines += [f"Parallelism: {before:.2f} before, {after:.2f} after.", ""]
    lines += [f"- {_text(note)}" for note in content.notes]
    lines += [
        "",
        f"Before: {_code(content.before)}, after: {_code(content.after)}. Written by `ompass check`.",
    ]
    return "\n".join(lines) + "\n"


def _rows(table: Table) -> list[str]:
    if not table.rows:
        return []
    shown = [k for k, column in enumerate(table.columns) if column.title]
    columns = [table.columns[k] for k in shown]
    lines = [
        "| " + " | ".join(column.title for column in columns) + " |",
        "|" + "|".join("--:" if column.kind.is_number else "---" for column in columns) + "|",
    ]
    for row in table.rows:
        cells = [_text(words(table.columns[k].kind, row[k])) for k in shown]
        lines.append("| " + " | ".join(cells) + " |")
    return [*lines, ""]


def _text(text: str) -> str:
    """Returns text with Markdown's special characters escaped."""
    return _SPECIAL.sub(r"\\\1", visible(text))


def _code(text: str) -> str:
    """Returns text as Markdown code, fenced by more backticks than the text contains in a row."""
    shown = visible(text)
    fence = "`" * (1 + max((len(run) for run in re.findall(r"`+", shown)), default=0))
    blank = " " if "`" in shown else ""
    return f"{fence}{blank}{shown}{blank}{fence}"


def junit_check(content: CheckContent) -> str:
    """Returns a JUnit report of one test case: failed if the program is worse, skipped if that is unknown."""
    verdict = content.verdict
    suite = ElementTree.Element("testsuite", name="ompass check", tests="1", errors="0")
    suite.set("failures", str(int(verdict.status == 1)))
    suite.set("skipped", str(int(verdict.status == 2)))
    time = content.evidence.figure(TIME)
    seconds = sum((*time.before, *time.after)) / 1e9 if time else 0.0
    suite.set("time", f"{seconds:.3f}")
    case = ElementTree.SubElement(suite, "testcase", classname="ompass.check", name=_xml(content.name))
    case.set("time", f"{seconds:.3f}")
    message = _xml(f"{TITLES[verdict.kind]}: {verdict.because}")
    if verdict.status == 1:
        ElementTree.SubElement(case, "failure", message=message, type=verdict.kind)
    elif verdict.status == 2:
        ElementTree.SubElement(case, "skipped", message=message)
    ElementTree.SubElement(case, "system-out").text = _xml("\n".join([message, *_figures(content)]))
    ElementTree.indent(suite)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suite, encoding="unicode") + "\n"


def _xml(text: str) -> str:
    """Returns text without characters that XML forbids."""
    return "".join(c for c in visible_lines(text) if c in "\n\t" or " " <= c <= "\ud7ff" or c >= "\ue000")


def _figures(content: CheckContent) -> list[str]:
    figures = (*content.evidence.figures, *content.evidence.traced)
    times = [
        f"{figure.name}: {duration(figure.before_median)} before, {duration(figure.after_median)} after"
        for figure in figures
    ]
    return times + [
        f"{count.figure}: {count.before[0]:,} before, {count.after[0]:,} after"
        for count in content.evidence.counts
        if count.verdict != "varies"
    ]


def benchmark_check(content: CheckContent) -> str:
    """Returns the times of the `after` side for github-action-benchmark (customSmallerIsBetter)."""
    entries = [
        {
            "name": f"{content.name}: {figure.name}",
            "unit": "ms",
            "value": figure.after_median / 1e6,
            "range": f"{min(figure.after) / 1e6:.6g} to {max(figure.after) / 1e6:.6g}",
            "extra": f"{plural(len(figure.after), 'run')}; {TITLES[content.verdict.kind].lower()}",
        }
        for figure in (*content.evidence.figures, *content.evidence.traced)
    ]
    return json.dumps(entries, indent=2) + "\n"


def bencher_check(content: CheckContent) -> str:
    """Returns the times of the `after` side in Bencher Metric Format, in ns; `latency` is the wall time."""
    measures: dict[str, Any] = {
        "latency" if figure.name == TIME else figure.name.replace(" ", "-"): {
            "value": figure.after_median,
            "lower_value": min(figure.after),
            "upper_value": max(figure.after),
        }
        for figure in (*content.evidence.figures, *content.evidence.traced)
    }
    return json.dumps({content.name: measures}, indent=2) + "\n"
