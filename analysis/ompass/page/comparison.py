# SPDX-License-Identifier: Apache-2.0
"""The page of a comparison: its verdict, the figures of both sides, paired constructs, and changed stacks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePath

from ompass.comparison.content import Compared, ComparisonContent
from ompass.comparison.figure import construct_times, thread_time
from ompass.comparison.metrics import Change
from ompass.comparison.pairing import SourceLines
from ompass.comparison.report import compared_sections, judgement, relative, times
from ompass.model import STATES
from ompass.page.excerpts import Sources, numbered_lines, source_lines
from ompass.page.markup import Markup, element, join
from ompass.page.pictures import difference, flame, pair
from ompass.page.sections import Part
from ompass.page.summary import tile
from ompass.plain_text import visible
from ompass.reports.model import Section, sentence, sentences
from ompass.samples.stacks import stack_tree
from ompass.scaling.content import Place
from ompass.units import duration, plural


def side_names(content: ComparisonContent) -> str:
    """Returns the names of both sides, without their folders if the names alone differ."""
    before, after = (PurePath(side).name for side in (content.before, content.after))
    return f"{before} to {after}" if before != after else f"{content.before} to {content.after}"


def comparison_head(content: ComparisonContent) -> Markup:
    """Returns the verdict at each number of threads, and the figures on the largest number."""
    verdicts = [_verdict(one) for one in content.compared]
    said = (
        verdicts[0]
        if len(verdicts) == 1
        else element("ul", *(element("li", each) for each in verdicts), class_="verdicts")
    )
    return join((said, element("dl", *_tiles(content.compared[-1]), class_="tiles")))


def _verdict(one: Compared) -> Markup:
    said = sentence(judgement(one))
    when = element("span", f" {sentence(times(one))}", class_="rest")
    return element("p", said, when, class_="verdict")


def _tiles(one: Compared) -> Iterator[Markup]:
    """Yields the time and the states before and after; bars of states are parts of the thread-time."""
    found = {change.figure: change for change in one.changes if change.key is None}
    whole = found["thread-time"]
    for name in ("time", *STATES):
        if name not in found:
            continue
        change = found[name]
        scale = change if name == "time" else whole
        most = max(scale.before_median, scale.after_median)
        yield _tile(name, change, most)


def _tile(name: str, change: Change[Place], most: float) -> Markup:
    before, after = change.before_median, change.after_median
    picture = pair(before, after, f"{name}: {duration(before)} before, {duration(after)} after", most)
    return tile(name.capitalize(), duration(after), f"{duration(before)} before, {relative(change)}", picture)


def comparison_parts(content: ComparisonContent, sources: bool) -> Iterator[Part]:
    """Yields the figures, constructs and stacks at each number of threads. `sources`: shows source lines."""
    for one in content.compared:
        on = f" on {plural(one.threads_after, 'thread')}" if len(content.compared) > 1 else ""
        yield from _parts(content, one, on, sources)
    if content.notes:
        yield Part(Section("notes", "Notes", sentences(content.notes)))


def _parts(content: ComparisonContent, one: Compared, on: str, sources: bool) -> Iterator[Part]:
    changes = [change for change in one.changes if change.key is not None]
    n = one.threads_after
    for section in compared_sections(one):
        kind = section.key.partition("-")[0]
        if kind == "time":
            titled = replace(section, title=f"Before and after{on}")
            yield Part(titled, {f"states-{n}": thread_time(one)})
            yield from _stacks(one, on)
        elif kind == "constructs":
            titled = replace(section, title=f"Constructs{on}")
            details = {k: _details(content, one, change, sources) for k, change in enumerate(changes)}
            yield Part(titled, {f"constructs-{n}": construct_times(changes)}, details)
        else:
            yield Part(replace(section, title=f"{section.title}{on}"))


def _stacks(one: Compared, on: str) -> Iterator[Part]:
    section = Section(f"stacks-{one.threads_after}", f"Stacks that changed{on}", ())
    if one.stacks is None:
        said = "One side has no samples of processor time; `ompass samples` states the reason."
        yield Part(replace(section, parts=(said,)))
        return
    before, after = one.stacks
    said = f"Sampled processor time of a run, both sides together. {difference('before')}"
    drawn = flame(stack_tree(after, before), unit="ms", before="before", after="after", grain=one.grain_ms)
    yield Part(replace(section, parts=(said,)), drawn=drawn)


def _details(content: ComparisonContent, one: Compared, change: Change[Place], sources: bool) -> Markup:
    """Returns the place of a construct on each side, with its source lines."""
    pair = next((each for each in one.pairs if each.after == change.key), None)
    before = pair.before if pair else None if change.after_median else change.key
    after = pair.after if pair else None if before else change.key
    sides = (
        _side(name, place, lines if sources else None)
        for name, place, lines in zip(("before", "after"), (before, after), content.lines, strict=True)
    )
    remark = [] if sources else [element("p", "--sources shows the source here.", class_="note")]
    return join((element("div", *sides, class_="sides"), *remark))


def _side(name: str, place: Place | None, lines: SourceLines | None) -> Markup:
    if place is None:
        return element("div", element("p", f"{name}: no such construct"))
    shown = [element("p", f"{name}: ", element("code", visible(place.label()), title=place.file or None))]
    if lines is not None:
        kept = lines.get(place.file)
        excerpt = Sources({place.file: kept}).around(place.location) if kept else None
        shown.append(
            source_lines(numbered_lines(excerpt, {}))
            if excerpt
            else element("p", "The run has no source lines.", class_="note")
        )
    return element("div", *shown)
