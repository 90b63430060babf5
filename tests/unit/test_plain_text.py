# SPDX-License-Identifier: Apache-2.0
"""A program's names reach every kind of output as text: no markup, escape sequence or formula."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from made_runs import MS, construct, definition, made_run, team
from ompass.figures.render import render
from ompass.figures.run import RUN_FIGURES
from ompass.graph.content import GraphContent
from ompass.graph.exports import dot_graph, graphml_graph
from ompass.graph.metrics import critical_constructs, fold
from ompass.graph.report import graph_report
from ompass.model import GraphGroup, Run, TaskGraph
from ompass.page.assemble import RunPart, html_report
from ompass.plain_text import HARMFUL_PATTERN, csv_cell, dot_text, json_text, visible, visible_lines
from ompass.reports.content import ReportContent, collect
from ompass.reports.model import csv_report, plain
from ompass.reports.run import CSV_TABLES, run_report
from ompass.reports.terminal import TerminalConsole, print_report, svg_report
from ompass.symbols.resolver import Location
from unit.conftest import FakeCore

ESC, CSI, BIDI = "\x1b", "\x9b", "\u202e"
NASTY = f"op[/]x[i][red]:bug: {ESC}[31m{CSI}2J{BIDI}\x00\udc80=1"
SHOWN = visible(NASTY)
STEERING = {*map(chr, range(0x20)), *map(chr, range(0x7F, 0xA0)), BIDI} - {"\n"}


def run_of(name: str) -> Run:
    return made_run(
        team(0, [{"work_ns": 60 * MS, "idle_ns": 40 * MS}, {"work_ns": 100 * MS}]),
        [construct(1, 0, [MS, 2 * MS]), construct(2, 0, [MS], counters=[3])],
        [definition(0, "parallel"), definition(1, name=name), definition(2, "kernel", name=name)],
        counters=["PAPI_TOT_INS"],
    )


def content_of(name: str) -> ReportContent:
    return collect(run_of(name))


def printed(report: Any, **options: Any) -> str:
    out = io.StringIO()
    print_report(TerminalConsole(file=out, width=200, **options), report)
    return out.getvalue()


def harmless(text: str) -> bool:
    return not STEERING & set(text)


@given(st.text())
def test_visible_text_is_one_line_that_xml_and_utf_8_can_hold(text: str) -> None:
    shown = visible(text)
    assert len(shown) == len(text)
    assert "\n" not in shown and harmless(shown)
    assert (
        ElementTree.fromstring(f"<a>{shown.replace('&', '').replace('<', '').replace(']]>', '')}</a>").tag
        == "a"
    )
    shown.encode()
    assert visible(shown) == shown


@given(st.text())
def test_json_keeps_its_meaning_without_control_characters(text: str) -> None:
    written = json_text(json.dumps({"name": text}, ensure_ascii=False))
    assert json.loads(written) == {"name": text}
    assert harmless(written)
    written.encode()


def test_formulas_become_text_for_spreadsheets() -> None:
    assert [csv_cell(value) for value in ("=1+1", "-x", "@a", "+b", "f(x)", -3, None)] == [
        *("'=1+1", "'-x", "'@a", "'+b"), "f(x)", -3, None,
    ]  # fmt: skip


def test_a_report_shows_names_literally() -> None:
    text = printed(run_report(content_of(NASTY)))
    assert SHOWN in text
    assert harmless(text)


def test_colours_of_the_report_remain() -> None:
    text = printed(run_report(content_of("axpy")), force_terminal=True, color_system="standard")
    assert f"{ESC}[" in text


def test_csv_and_json_have_no_control_characters() -> None:
    report = run_report(content_of(NASTY))
    for table in CSV_TABLES.values():
        text = csv_report([report], table)
        assert harmless(text)
    rows = list(csv.DictReader(io.StringIO(csv_report([report], "kernels"))))
    assert rows[0]["name"] == SHOWN
    assert plain(report)["kernels"][0]["name"] == NASTY


def test_pages_and_pictures_are_well_formed(tmp_path: Path) -> None:
    content = content_of(NASTY)
    page = html_report([RunPart(content)])
    assert harmless(page.partition("<script>")[0].replace("\t", ""))
    assert SHOWN in page
    ElementTree.fromstring(svg_report([run_report(content)]))
    figure = RUN_FIGURES["constructs"].make([content])
    assert figure is not None
    for kind in ("svg", "pdf"):
        render(figure, tmp_path / f"c.{kind}")
    ElementTree.parse(tmp_path / "c.svg")


def graph_of(name: str) -> GraphContent:
    shared: dict[str, Any] = {"work_ns": 9, "max_ns": 9, "critical_ns": 9, "n_critical": 1}
    groups = (
        GraphGroup(number=0, kind="program", n_tasks=1, **shared),
        GraphGroup(number=1, kind="task", construct=1, depth=1, n_tasks=3, **shared),
    )
    graph = TaskGraph(work_ns=9, span_ns=9, burdened_ns=9, n_deferred=3, n_steps=1, groups=groups)
    folded, _ = fold(graph, 2)
    location = Location(name, f"/src/{name}.c", 3)
    return GraphContent(made_run(), folded, (), critical_constructs(folded), {1: location}, frozenset(), ())


def test_graphs_are_well_formed() -> None:
    content = graph_of(NASTY + '"\\')
    ElementTree.fromstring(graphml_graph(content))
    text = dot_graph(content)
    assert harmless(text)
    assert dot_text(NASTY + '"\\') in text
    assert visible(NASTY) in printed(graph_report(content))


def test_polars_finds_the_same_harmful_characters() -> None:
    import polars as pl

    text = "".join(map(chr, [*range(0x300), *range(0x2000, 0x2100), 0xFEFF, 0xFFFD, 0xFFFF]))
    replaced = pl.Series(list(text)).str.contains(HARMFUL_PATTERN).to_list()
    assert replaced == [visible(c) != c for c in text]


@pytest.mark.parametrize("command", ["report", "info", "doctor"])
def test_commands_print_names_literally(
    command: str, fake_core: Callable[..., FakeCore], run_directory: Callable[[str], Path]
) -> None:
    from unit.test_commands import call

    fake_core(a=run_of(NASTY.replace("\udc80", "")))
    directory = run_directory("a")
    (directory / "meta.json").write_text(json.dumps({"command": [NASTY], "program": NASTY}))
    if command == "doctor":
        program = directory / "[red]x[i]"
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
        assert "[red]x[i]" in call("doctor", program).stdout
        return
    text = call(command, directory).stdout
    assert harmless(text)
    assert visible_lines("op[/]x[i][red]:bug: ␛[31m") in text


def test_errors_of_the_command_have_no_control_characters() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "ompass", "report", f"no-{ESC}[31m-such"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 3
    assert "no-␛[31m-such" in done.stderr
