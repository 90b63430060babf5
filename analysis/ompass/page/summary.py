# SPDX-License-Identifier: Apache-2.0
"""The head of a run or sweep on the page: a verdict in a sentence, and figures with small pictures.

Also the findings of a run as cards. The rest of the report explains the head.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from ompass.graph.content import GraphContent
from ompass.metrics.breakdown import program_ns
from ompass.metrics.findings import OF_PROGRAM
from ompass.model import share
from ompass.page.excerpts import Excerpts, numbered_lines, source_lines
from ompass.page.markup import Markup, element, join, prose, state_bar
from ompass.page.pictures import area, bars, curve, part
from ompass.page.timeline import construct_label
from ompass.plain_text import visible
from ompass.readers.schedule import Schedule
from ompass.reports.content import ReportContent
from ompass.reports.findings import Cause, causes
from ompass.reports.findings import verdict as verdict_words
from ompass.reports.model import sentence
from ompass.scaling.content import ScalingContent
from ompass.symbols.location import Location
from ompass.units import count, duration, percent, plural

_MOST_CARDS: Final = 12


def verdict(content: ReportContent, found: Sequence[Cause] | None = None) -> Markup:
    """Returns the verdict of the report as a sentence; `found`: the causes, if they are known."""
    if not content.breakdown.thread_time_ns:
        return element("p", "Nothing was recorded.", class_="verdict")
    said = verdict_words(content, causes(content) if found is None else found)
    return element("p", f"{said[:1].upper()}{said[1:]}", class_="verdict")


def verdicts(contents: Sequence[ReportContent], job: str = "") -> Markup:
    """Returns the verdict of each run, with a link to its report, below the verdict on their `job`."""
    rows = [
        element("li", element("a", content.run.path.name, href=f"#run-{k}"), " ", verdict(content))
        for k, content in enumerate(contents, 1)
    ]
    of_job = element("p", f"{job[:1].upper()}{job[1:]}", class_="verdict") if job else ""
    return join((of_job, element("ul", *rows, class_="verdicts")))


def sweep_head(content: ScalingContent) -> Markup:
    """Returns the verdict and the figures of a sweep, on the judged number of threads."""
    judged = content.judged or content.columns[-1]
    point, points = judged.point, [column.point for column in content.columns]
    on = f"on {plural(point.threads, 'thread')}"
    said = [f"Speed-up {point.speedup:.2f} {on}. "]
    if judged.verdict is not None:
        said = [f"{judged.verdict.title}. ", element("span", *said, class_="rest")]
    tiles = (
        tile(
            "Speed-up",
            f"{point.speedup:.2f}",
            on,
            curve([(float(p.threads), p.speedup) for p in points], "speed-up by number of threads"),
        ),
        tile(
            "Efficiency",
            percent(point.efficiency),
            "speed-up / threads",
            bars([p.efficiency for p in points], "efficiency by number of threads", 1.0),
        ),
        tile(
            "Time",
            duration(point.time_ns),
            f"{duration(point.one_time_ns)} on one thread",
            bars([float(p.time_ns) for p in points], "time by number of threads"),
        ),
        tile(
            "Work",
            f"{share(point.states.work_ns, point.one.work_ns):.2f}x",
            "the work on one thread",
            bars([float(p.states.work_ns) for p in points], "work by number of threads"),
        ),
        tile(
            "Idle",
            percent(share(point.states.idle_ns, point.thread_time_ns)),
            "of the thread-time",
            bars([share(p.states.idle_ns, p.thread_time_ns) for p in points], "idle by threads", 1.0),
        ),
        tile(
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

    `is_later`: True if client/server.js adds the figures that need the task graph.
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
    yield tile(
        "Parallelism",
        f"{parallelism:.3g}",
        "work / span of the regions",
        curve(points, said),
        "The work of the regions divided by their longest chain of work: more threads than this help little.",
    )
    said = f"{percent(share(1.0, whole))} of the work must run one after another."
    yield tile(
        "Speed-up at most",
        f"{whole:.3g}x",
        "whole program, any threads",
        part(share(1.0, whole), said),
        "All work divided by the longest chain of work, with the parts outside of parallel regions. " + said,
    )


def _tiles(content: ReportContent, schedule: Schedule | None) -> Iterator[Markup]:
    run, breakdown = content.run, content.breakdown
    states = breakdown.states
    inside = min(share(sum(region.wall_ns for region in breakdown.regions), run.wall_ns), 1.0)
    said = f"{percent(inside)} in parallel regions"
    yield tile("Wall time", duration(run.wall_ns), said, part(inside, said))
    at_work = share(states.work_ns, breakdown.wall_ns)
    said = f"{at_work:.2f} at work on average"
    yield tile("Threads", count(breakdown.n_threads), said, _threads(content, schedule, said))
    efficiency = percent(breakdown.share(states.work_ns))
    yield tile("Efficiency", efficiency, "of the thread-time is work", state_bar(states))
    if content.n_tasks:
        n_timed = sum(task.n_timed for task in content.tasks)
        ns = sum(task.work_ns for task in content.tasks)
        mean = f"{duration(ns / content.n_tasks)} of work each" if n_timed else "explicit tasks"
        histogram = bars([b.n_tasks for b in content.bins], "tasks by duration, shortest first")
        yield tile("Tasks", count(content.n_tasks), mean, histogram)


def _threads(content: ReportContent, schedule: Schedule | None, said: str) -> Markup:
    """Returns the number of threads at work over time or, without a trace, the work of each thread."""
    if schedule is not None and len(schedule.bins):
        lengths = (schedule.edges_ns[1:] - schedule.edges_ns[:-1]).tolist()
        values = [
            share(ns, length) for ns, length in zip(schedule.bins[:, 0].tolist(), lengths, strict=False)
        ]
        return area(values, f"threads at work over time; {said}", content.breakdown.n_threads)
    threads = content.breakdown.threads
    most = max((each.states.total_ns for each in threads), default=0)
    return bars([each.states.work_ns for each in threads], f"work of each thread; {said}", most)


def tile(name: str, value: str, said: str, picture: Markup, hint: str = "") -> Markup:
    """Returns a figure of the head: its name, value and picture, and a remark."""
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
    """Returns a card per cause; None without causes. `trace`: number of the run in the timeline."""
    found = causes(content)
    shown = [_card(content, cause, trace, excerpts) for cause in found[:_MOST_CARDS]]
    if not shown:
        return None
    more = len(found) - len(shown)
    rest = (
        [element("p", prose(f"and {plural(more, 'more finding')}: see `ompass report`"), class_="note")]
        if more
        else []
    )
    return join((element("ol", *shown, class_="findings"), *rest))


def _card(content: ReportContent, cause: Cause, trace: int | None, excerpts: Excerpts | None) -> Markup:
    advice = cause.advice()
    # If a change cures the cause, `share` may be the gain of the change; the card shows the cost.
    cost_ns = cause.finding.cost_ns if cause.finding else 0
    cost, whole = min(cause.cost if cause.change else cause.share, 1.0), "thread-time"
    if cause.kind in OF_PROGRAM:
        of_program = share(cost_ns, content.breakdown.n_threads * program_ns(content.run))
        numbers = dict(cause.finding.numbers) if cause.finding else {}
        cost = min(numbers.get("mpi_share", of_program), 1.0)
        whole = "thread-time of the program"
    head = [element("strong", advice.title)]
    if cost_ns:
        width = element("span", class_="fill", style=f"width:{100 * cost:.1f}%")
        said = f"costs {percent(cost)} of the {whole}"
        head.append(element("span", percent(cost), class_="cost", title=said))
        head.append(element("span", width, class_="scale", role="img", aria_label=said))
    constructs = _constructs(content, cause)
    files = {place.file for place in cause.places if place.file}
    return element(
        "li",
        element("div", *head, class_="what"),
        element("code", visible(advice.place), class_="place", title=visible(", ".join(files)) or None)
        if advice.place
        else "",
        element("p", prose(sentence(advice.because))) if advice.because else "",
        element("p", prose(sentence(advice.cure)), class_="cure") if advice.cure else "",
        element("p", advice.gain, class_="gain") if advice.gain else "",
        _show(content, advice.title, constructs, trace),
        _source(cause.places, excerpts),
        class_="card",
    )


def _constructs(content: ReportContent, cause: Cause) -> list[int]:
    """Returns the constructs at the lines of a cause, the finding's own first."""
    own = [cause.finding.construct] if cause.finding and cause.finding.construct is not None else []
    kinds = {content.run.kind_of(construct) for construct in own}
    labels = {construct_label(construct, content) for construct in own}
    lines = {(place.file, place.line) for place in cause.places if place.line}
    for definition in content.run.definitions:
        location = content.location(definition.id)
        is_named = definition.kind in kinds and construct_label(definition.id, content) in labels
        if is_named or (location.file, location.line) in lines:
            own.append(definition.id)
    return list(dict.fromkeys(own))


def _source(places: Sequence[Location], excerpts: Excerpts | None) -> Markup:
    """Returns the lines around the first place, folded; nothing if they are unknown."""
    excerpt = excerpts.around(places[0]) if excerpts and places else None
    if excerpt is None or excerpts is None:
        return Markup("")
    lines = numbered_lines(excerpt, excerpts.heat_of(places[0].file, excerpt))
    return element("details", element("summary", "Source"), source_lines(lines))


def _show(content: ReportContent, title: str, constructs: Sequence[int], trace: int | None) -> Markup:
    """Returns the button that shows a cause in the timeline, for client/layers.js."""
    if trace is None or not constructs:
        return Markup("")
    return element(
        "button",
        "Show in the timeline",
        type="button",
        class_="show",
        data_show=json.dumps({"run": trace, "constructs": constructs}, separators=(",", ":")),
        aria_label=f"Show in the timeline: {title}",
    )


def notes(lines: Iterable[str]) -> Markup:
    """Returns remarks on the figures, folded."""
    said = [element("li", prose(line.removeprefix("Note: "))) for line in lines]
    if not said:
        return Markup("")
    summary = element("summary", plural(len(said), "note"))
    return element("details", summary, element("ul", *said), class_="notes")
