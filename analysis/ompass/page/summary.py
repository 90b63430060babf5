# SPDX-License-Identifier: Apache-2.0
"""The head of a run's report on the page: a verdict in a sentence, six figures with small pictures, and the
findings as cards. Everything below explains what the head states.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from ompass.graph.content import GraphContent
from ompass.metrics.facts import Finding
from ompass.model import share
from ompass.page.excerpts import Excerpts, numbered_lines
from ompass.page.markup import Markup, element, escape, join, state_bar
from ompass.page.pictures import area, bars, curve, part
from ompass.page.source import source_lines
from ompass.page.timeline import construct_label
from ompass.plain_text import visible
from ompass.readers.schedule import Schedule
from ompass.reports.content import ReportContent
from ompass.reports.model import sentence
from ompass.scaling.content import ScalingContent
from ompass.units import count, duration, percent, plural

_MOST_CARDS: Final = 12


def problems_of(content: ReportContent) -> tuple[Finding, ...]:
    """Returns what a person can act on, most expensive first."""
    return tuple(finding for finding in content.findings if finding.severity == "problem")


def verdict(content: ReportContent) -> Markup:
    """Returns one sentence: how much of the thread-time is work, and what takes most of the rest."""
    breakdown = content.breakdown
    work = percent(breakdown.share(breakdown.states.work_ns))
    problems = problems_of(content)
    if not breakdown.thread_time_ns:
        return element("p", "Nothing was recorded.", class_="verdict")
    if not problems:
        said = [Markup(f"No problem found: {work} of the thread-time is work.")]
    else:
        first = problems[0]
        cost = breakdown.share(first.cost_ns)
        price = f" ({percent(min(cost, 1.0))} of the thread-time)" if cost >= 0.001 else ""
        rest = element("span", f" {work} of the thread-time is work.", class_="rest")
        said = [escape(f"{first.title}{price}."), rest]
    return element("p", *said, class_="verdict")


def verdicts(contents: Sequence[ReportContent]) -> Markup:
    """Returns the verdict of each run, with a link to its report."""
    rows = [
        element("li", element("a", content.run.path.name, href=f"#run-{k}"), " ", verdict(content))
        for k, content in enumerate(contents, 1)
    ]
    return element("ul", *rows, class_="verdicts")


def sweep_head(content: ScalingContent) -> Markup:
    """Returns the verdict and the figures of a sweep, on the judged number of threads."""
    judged = content.judged or content.columns[-1]
    point, points = judged.point, [column.point for column in content.columns]
    on = f"on {plural(point.threads, 'thread')}"
    said = [f"Speed-up {point.speedup:.2f} {on}. "]
    if judged.verdict is not None:
        said = [f"{judged.verdict.title}. ", element("span", *said, class_="rest")]
    tiles = (
        _tile(
            "Speed-up",
            f"{point.speedup:.2f}",
            on,
            curve([(float(p.threads), p.speedup) for p in points], "speed-up by number of threads"),
        ),
        _tile(
            "Efficiency",
            percent(point.efficiency),
            "speed-up / threads",
            bars([p.efficiency for p in points], "efficiency by number of threads", 1.0),
        ),
        _tile(
            "Time",
            duration(point.time_ns),
            f"{duration(point.one_time_ns)} on one thread",
            bars([float(p.time_ns) for p in points], "time by number of threads"),
        ),
        _tile(
            "Work",
            f"{share(point.states.work_ns, point.one.work_ns):.2f}x",
            "of that on one thread",
            bars([float(p.states.work_ns) for p in points], "work by number of threads"),
        ),
        _tile(
            "Idle",
            percent(share(point.states.idle_ns, point.thread_time_ns)),
            "of the thread-time",
            bars([share(p.states.idle_ns, p.thread_time_ns) for p in points], "idle by threads", 1.0),
        ),
        _tile(
            "States",
            percent(share(point.states.work_ns, point.thread_time_ns)),
            "of the thread-time is work",
            state_bar(point.states),
        ),
    )
    return join((element("p", *said, class_="verdict"), element("dl", *tiles, class_="tiles")))


# ---------------------------------------------------------------- figures


def figures(
    content: ReportContent, schedule: Schedule | None, graph: GraphContent | None, is_later: bool = False
) -> Markup:
    """Returns the figures of a run, each with a small picture.

    `is_later`: client/server.js adds the figures that need the task graph.
    """
    tiles = [*_tiles(content, schedule), *bound_tiles(graph)]
    return element("dl", *tiles, class_="tiles", data_bounds=is_later)


def bound_tiles(graph: GraphContent | None) -> Iterator[Markup]:
    """Yields the figures that need the task graph of a trace."""
    if graph is None or not graph.graph.region_span_ns:
        return
    parallelism, whole = graph.graph.parallelism, graph.graph.program_parallelism
    points = [(1.0, 1.0), *((float(bound.threads), bound.most) for bound in graph.bounds)]
    said = f"With more threads the speed-up of the parallel regions approaches {parallelism:.3g}."
    yield _tile(
        "Parallelism",
        f"{parallelism:.3g}",
        "work / span of the regions",
        curve(points, said),
        "The work of the regions over their longest chain of work: more threads than this help little.",
    )
    said = f"{percent(share(1.0, whole))} of the work must run one after another."
    yield _tile(
        "Speed-up at most",
        f"{whole:.3g}x",
        "whole program, any threads",
        part(share(1.0, whole), said),
        "All work over the longest chain of work, with the parts outside of parallel regions. " + said,
    )


def _tiles(content: ReportContent, schedule: Schedule | None) -> Iterator[Markup]:
    run, breakdown = content.run, content.breakdown
    states = breakdown.states
    inside = min(share(breakdown.wall_ns, run.wall_ns), 1.0)
    said = f"{percent(inside)} in parallel regions"
    yield _tile("Wall time", duration(run.wall_ns), said, part(inside, said))
    at_work = share(states.work_ns, breakdown.wall_ns)
    said = f"{at_work:.2f} at work on average"
    yield _tile("Threads", count(breakdown.n_threads), said, _threads(content, schedule, said))
    efficiency = percent(breakdown.share(states.work_ns))
    yield _tile("Efficiency", efficiency, "of the thread-time is work", state_bar(states))
    if content.n_tasks:
        n_timed = sum(task.n_timed for task in content.tasks)
        ns = sum(task.work_ns for task in content.tasks)
        mean = f"{duration(ns / content.n_tasks)} of work each" if n_timed else "explicit tasks"
        histogram = bars([b.n_tasks for b in content.bins], "tasks by duration, shortest first")
        yield _tile("Tasks", count(content.n_tasks), mean, histogram)


def _threads(content: ReportContent, schedule: Schedule | None, said: str) -> Markup:
    """Returns the number of threads at work over time, or without a trace, the work of each thread."""
    if schedule is not None and len(schedule.bins):
        lengths = (schedule.edges_ns[1:] - schedule.edges_ns[:-1]).tolist()
        values = [
            share(ns, length) for ns, length in zip(schedule.bins[:, 0].tolist(), lengths, strict=False)
        ]
        return area(values, f"threads at work over time; {said}", content.breakdown.n_threads)
    threads = content.breakdown.threads
    most = max((each.states.total_ns for each in threads), default=0)
    return bars([each.states.work_ns for each in threads], f"work of each thread; {said}", most)


def _tile(name: str, value: str, said: str, picture: Markup, hint: str = "") -> Markup:
    return element(
        "div",
        element("dt", name),
        element("dd", value, class_="value"),
        element("dd", said, class_="said"),
        element("dd", picture),
        title=hint or None,
    )


# ---------------------------------------------------------------- findings


def cards(content: ReportContent, trace: int | None, excerpts: Excerpts | None) -> Markup | None:
    """Returns a card per problem; None if there is none. `trace`: number of the run in the timeline."""
    problems = problems_of(content)
    shown = [_card(content, finding, trace, excerpts) for finding in problems[:_MOST_CARDS]]
    if not shown:
        return None
    more = len(problems) - len(shown)
    rest = (
        [element("p", f"and {plural(more, 'finding')} more, in `ompass report`", class_="note")]
        if more
        else []
    )
    return join((element("ol", *shown, class_="findings"), *rest))


def _card(content: ReportContent, finding: Finding, trace: int | None, excerpts: Excerpts | None) -> Markup:
    cost = min(content.breakdown.share(finding.cost_ns), 1.0)
    head = [element("strong", finding.title)]
    if finding.cost_ns:
        width = element("span", class_="fill", style=f"width:{100 * cost:.1f}%")
        said = f"costs {percent(cost)} of the thread-time"
        head.append(element("span", percent(cost), class_="cost", title=said))
        head.append(element("span", width, class_="scale", role="img", aria_label=said))
    excerpt = excerpts.around(finding.construct) if excerpts and finding.construct is not None else None
    lines = (
        excerpt and excerpts and numbered_lines(excerpt, excerpts.heat_of(finding.construct or 0, excerpt))
    )
    return element(
        "li",
        element("div", *head, class_="what"),
        _place(content, finding),
        element("p", sentence(finding.because)),
        element("p", sentence(finding.cure), class_="cure") if finding.cure else "",
        _show(content, finding, trace),
        element("details", element("summary", "Source"), source_lines(lines)) if lines else "",
        id=None,
        class_="card",
    )


def _place(content: ReportContent, finding: Finding) -> Markup:
    if finding.construct is None:
        return Markup("")
    location = content.location(finding.construct)
    return element("code", visible(location.label()), class_="place", title=visible(location.file) or None)


def _show(content: ReportContent, finding: Finding, trace: int | None) -> Markup:
    """Returns the button that shows a finding in the timeline, for client/findings.js."""
    if trace is None or finding.construct is None:
        return Markup("")
    numbers = _same_label(content, finding.construct)
    wanted = {"run": trace, "constructs": numbers, "kind": content.run.kind_of(finding.construct)}
    return element(
        "button",
        "Show in the timeline",
        type="button",
        class_="show",
        data_show=json.dumps(wanted, separators=(",", ":")),
        aria_label=f"Show in the timeline: {finding.title}",
    )


def _same_label(content: ReportContent, construct: int) -> list[int]:
    """Returns the constructs with the same name, which the reader sees as one."""
    label = construct_label(construct, content)
    kind = content.run.kind_of(construct)
    return [
        definition.id
        for definition in content.run.definitions
        if definition.kind == kind and construct_label(definition.id, content) == label
    ]


def notes(lines: Iterable[str]) -> Markup:
    """Returns remarks on the figures, folded."""
    said = [element("li", line.removeprefix("Note: ")) for line in lines]
    if not said:
        return Markup("")
    summary = element("summary", plural(len(said), "note"))
    return element("details", summary, element("ul", *said), class_="notes")
