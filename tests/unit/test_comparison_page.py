# SPDX-License-Identifier: Apache-2.0
"""The page of a comparison: verdict, figures of both sides, paired constructs with lines, changed stacks."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html import unescape
from typing import Any

from made_runs import MS, construct, definition, made_run, team
from ompass.comparison.content import ComparisonContent, compare_sides, side_of
from ompass.metrics.breakdown import Scope
from ompass.page.assemble import html_report
from ompass.reports.content import ReportContent, collect
from ompass.samples.content import SampleContent
from ompass.samples.metrics import Line, LocatedSample, Owner
from ompass.symbols.resolver import Location

HOSTILE = "<img src=x>"


def side(function: str, line: int, work_ms: int, hertz: int, n_samples: int) -> ReportContent:
    """Makes the report of a run with one task construct, one region, and samples of the task."""
    run = made_run(
        regions=team(0, [{"work_ns": work_ms * MS}] * 2),
        constructs=[construct(1, 0, [work_ms * MS])],
        definitions=[definition(0, "parallel"), definition(1)],
    )
    file = "/src/a.c"
    content = replace(
        collect(run),
        locations={0: Location("main", file, line + 20), 1: Location(function, file, line)},
        source_lines={file: {line + k: f"line {k} of {function}" for k in range(-4, 25)}},
    )
    calls = (Line("kernel", file, line + 1, "a", f"a.c:{line + 1}"), Line(function, file, line, "a", "a.c:0"))
    sample = LocatedSample(0, Owner("task", 1), calls, "", n_samples)
    samples = SampleContent(run, (sample,), content.locations, hertz, ("task clock",), 2, 0, 0, 0, 0)
    return replace(content, samples=samples)


def compared(*, function: str = "tiles", threads: tuple[int, ...] = (2,)) -> ComparisonContent:
    contents = side("blocks", 10, 100, 1000, 100), side(function, 13, 300, 100, 30)
    sides = [
        side_of(name, {n: [([content], content.breakdown.wall_ns)] for n in threads}, len(threads) > 1)
        for name, content in zip(("old", "new"), contents, strict=True)
    ]
    return compare_sides(sides[0], sides[1], Scope.REGIONS)


def page(content: ComparisonContent, sources: bool = False) -> str:
    return html_report((), comparison=content, sources=sources)


def test_a_renamed_function_at_another_sampling_rate_keeps_one_stack() -> None:
    (one,) = compared().compared
    assert one.stacks is not None
    before, after = one.stacks
    stack = ("a.c:13 (tiles)", "tiles", "kernel")
    assert before == {stack: 100.0}, "100 samples at 1000 Hz are 100 ms"
    assert after == {stack: 300.0}


def test_stacks_of_a_removed_construct_stay_apart_from_its_successors() -> None:
    before = side_of("old", {2: [([side("blocks", 13, 100, 100, 10)], 1)]}, False)
    after = side("other", 13, 100, 100, 10)
    unlike = {"/src/a.c": {k: f"{k} {k * k} {k * k * k}" for k in range(9, 40)}}
    after_side = side_of("new", {2: [([replace(after, source_lines=unlike)], 1)]}, False)
    (one,) = compare_sides(before, after_side, Scope.REGIONS).compared
    assert [pair for pair in one.pairs if pair.before.kind == "task"] == []
    assert one.stacks is not None
    assert [stack[0] for stack in one.stacks[0]] == ["a.c:13 (blocks), gone"]
    assert [stack[0] for stack in one.stacks[1]] == ["a.c:13 (other)"]


def flame_of(text: str) -> Any:
    found = re.search(r'data-flame="([^"]*)"', text)
    assert found
    return json.loads(unescape(found[1]))


def test_the_page_begins_with_the_verdict_and_the_figures_of_both_sides() -> None:
    text = page(compared())
    assert 'class="verdict">200% more time' in text
    tiles = re.findall(r"<dt>(\w+)</dt><dd class=\"value\">([^<]*)</dd><dd class=\"said\">([^<]*)", text)
    assert [name for name, _, _ in tiles] == ["Time", "Work", "Create", "Schedule", "Sync", "Idle"]
    assert tiles[1] == ("Work", "600 ms", "200 ms before, +200%")
    assert 'id="figure-states-2"' in text
    assert 'id="figure-constructs-2"' in text
    flame = flame_of(text)
    assert flame["tree"][1:3] == [300, 100]
    assert (flame["before"], flame["after"], flame["unit"]) == ("before", "after", "ms")


def test_the_page_states_that_a_side_has_no_samples() -> None:
    content = compared()
    without = replace(content, compared=tuple(replace(one, stacks=None) for one in content.compared))
    assert "no samples of processor time" in page(without)
    assert "data-flame=" not in page(without).partition("<script")[0]


def test_the_page_is_named_after_its_sides() -> None:
    content = replace(compared(), before="/tmp/x/old.ompass", after="/tmp/x/new.ompass")
    assert "<h2>old.ompass to new.ompass</h2>" in page(content)
    alike = replace(content, after="/tmp/y/old.ompass")
    assert "<h2>/tmp/x/old.ompass to /tmp/y/old.ompass</h2>" in page(alike)


def test_paired_constructs_show_both_places_and_their_lines_on_request() -> None:
    text = page(compared())
    assert "a.c:10 (blocks)" in text
    assert "a.c:13 (tiles)" in text
    assert "line 0 of" not in text
    text = page(compared(), sources=True)
    marked = re.findall(r'<span class="line marked">.*?(line 0 of \w+)</span>', text)
    assert marked[:2] == ["line 0 of blocks", "line 0 of tiles"]


def test_each_number_of_threads_of_a_sweep_has_its_verdict_and_figures() -> None:
    text = page(compared(threads=(2, 4)))
    assert text.count('class="verdict"') == 2
    for n in (2, 4):
        assert f"<h3>Before and after on {n} threads</h3>" in text
        assert text.count(f'id="constructs-{n}"') == 1


def test_names_never_become_markup() -> None:
    assert HOSTILE not in page(compared(function=HOSTILE), sources=True)
