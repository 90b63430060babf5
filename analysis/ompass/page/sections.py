# SPDX-License-Identifier: Apache-2.0
"""The sections of a report as HTML: sentences, findings and tables, with their figures.

Adds parts that only a page shows: source lines below each task construct, the schedule of a trace, and the
data of the task graph for page/client/graph.js.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ompass.figures.run import RUN_FIGURES
from ompass.figures.schedule import over_time, who_ran_whose
from ompass.figures.style import CATEGORIES, Spec
from ompass.graph.content import GraphContent
from ompass.graph.figure import bounds_figure
from ompass.graph.report import graph_report
from ompass.jobs.content import job_of_reports
from ompass.metrics.constructs import Bin, ConstructTotals, trim_bins
from ompass.model import GraphGroup
from ompass.page.excerpts import Excerpts, numbered_lines, source_lines
from ompass.page.markup import Markup, element, join, prose, table
from ompass.page.pictures import difference, flame
from ompass.page.summary import cards, notes
from ompass.page.timeline import construct_label
from ompass.plain_text import visible, visible_values
from ompass.readers.schedule import Schedule
from ompass.reports.constructs import counters_of
from ompass.reports.content import ReportContent
from ompass.reports.job import job_report
from ompass.reports.model import Advice, Section, Table, sentence, sentences
from ompass.reports.run import run_report
from ompass.reuse.figure import reuse_beyond, reuse_histogram
from ompass.reuse.report import ReuseContent, reuse_report
from ompass.samples.stacks import stack_tree, stacks_of
from ompass.scaling.content import ScalingContent
from ompass.scaling.figure import factored, thread_time
from ompass.scaling.report import scaling_report
from ompass.units import count, duration, plural


@dataclass(frozen=True, slots=True)
class Part:
    """A section with the page's additions: figures by name, and details below rows of its first table."""

    section: Section
    figures: Mapping[str, Spec | None] = field(default_factory=dict)
    details: Mapping[int, Markup] = field(default_factory=dict)
    drawn: Markup | None = None  # other content, such as an element into which the client draws


def overview_parts(contents: Sequence[ReportContent]) -> Iterator[Part]:
    """Yields the overview of several runs, or of the job that they form, with a figure of thread-times."""
    job = job_of_reports(contents)
    first, *others = job_report(job, contents).sections if job else (Section("runs", "All runs", ()),)
    yield Part(first, {"runs": RUN_FIGURES["breakdown"].make(contents)})
    yield from map(Part, others)


def run_parts(
    content: ReportContent,
    excerpts: Excerpts | None,
    schedule: Schedule | None,
    reuse: ReuseContent | None,
    trace: int | None = None,
) -> Iterator[Part]:
    """Yields the parts of one run, findings first. Shows source lines if `excerpts` is given.

    `trace`: the number of the run in the timeline, if it has one.
    """
    figures = {
        "threads": "threads",
        "granularity": "granularity",
        "tasks": "constructs",
        "targets": "devices",
    }
    sections = run_report(content).sections
    empty = Section("findings", "Findings", ())
    findings = next((each for each in sections if each.key == "findings"), empty)
    remarks = next((each.parts for each in sections if each.key == "notes"), ())
    findings_part = _findings_part(
        replace(findings, parts=(*findings.parts, *remarks)), content, trace, excerpts
    )
    if findings_part.drawn:
        yield findings_part
    for section in sections:
        if section.key in ("findings", "notes"):
            continue
        name = figures.get(section.key)
        yield Part(
            section,
            {name: RUN_FIGURES[name].make([content])} if name else {},
            {k: _task_details(content, task, excerpts) for k, task in enumerate(content.tasks)}
            if section.key == "tasks"
            else {},
        )
    yield from _stacks_parts(content)
    if excerpts is not None and (source := source_part(excerpts)):
        yield source
    if reuse is not None:
        yield reuse_part(reuse)
    if schedule is not None and len(schedule.bins):
        yield schedule_part(schedule)


def _stacks_parts(content: ReportContent) -> Iterator[Part]:
    stacks = stacks_of(content.samples)
    if not stacks:
        return
    said = (
        "Samples of processor time by construct, then by call: each function is below its caller and as wide "
        "as its samples. A click shows one function alone."
    )
    yield Part(Section("stacks", "Sampled stacks", (said,)), drawn=flame(stack_tree(stacks)))


def _findings_part(
    section: Section, content: ReportContent, trace: int | None, excerpts: Excerpts | None
) -> Part:
    """Returns the findings as cards, then the other sentences of their section, with notes folded."""
    said = [part for part in section.parts if isinstance(part, str)]
    remarks = [line for line in said if line.startswith("Note: ")]
    calm = [element("p", prose(line)) for line in said if line not in remarks]
    drawn = join((cards(content, trace, excerpts) or "", *calm, notes(remarks)))
    return Part(Section(section.key, section.title, ()), drawn=drawn)


def sweep_parts(content: ScalingContent) -> Iterator[Part]:
    """Yields the parts of one sweep: verdict, curves, stacks that grew, causes, then the other tables."""
    report = scaling_report(content)
    figures = {"sweep-time": thread_time, "speedup": factored}
    order = ("verdict", "speedup", "sweep-time", "causes")
    sections = sorted(report.sections, key=lambda each: order.index(each.key) if each.key in order else 9)
    for section in sections:
        make = figures.get(section.key)
        yield Part(section, {section.key: make(content)} if make else {})
        if section.key == "sweep-time":
            yield from _grown_stacks(content)
    if report.notes:
        yield Part(Section("notes", "Notes", sentences(report.notes)))


def _grown_stacks(content: ScalingContent) -> Iterator[Part]:
    """Yields the stacks on the judged number of threads, compared with one thread."""
    judged = content.judged
    if judged is None or judged.stacks is None:
        return
    now, one = judged.stacks
    threads = plural(judged.point.threads, "thread")
    said = f"Samples of processor time per run, on {threads} together. {difference('on one thread')}"
    grain = 1 / max(judged.n_rounds, 1)
    drawn = flame(stack_tree(now, one), before="on one", after=f"on {threads}", grain=grain)
    yield Part(Section("stacks", "Stacks that grew", (said,)), drawn=drawn)


def reuse_part(content: ReuseContent) -> Part:
    report = reuse_report(content)
    said = (
        f"{report.facts[0]}, on the {content.machine}. Close reuse fits in the L2, near reuse in the "
        "last-level cache, far reuse in neither."
    )
    parts = [part for section in report.sections if not section.drawn for part in section.parts]
    notes = [f"Note: {note}" for note in report.notes]
    section = Section("reuse", "Reuse distance of the kernels", (said, *parts, *notes))
    return Part(section, {"reuse": reuse_histogram([content]), "reuse-beyond": reuse_beyond([content])})


def schedule_part(schedule: Schedule) -> Part:
    window = f"From {duration(schedule.start_ns)} to {duration(schedule.end_ns)}"
    tasks = plural(schedule.n_tasks, "deferred task")
    section = Section("schedule", "Schedule", (f"{window} of the run. {tasks} started in the whole run.",))
    return Part(section, {"over-time": over_time(schedule), "matrix": who_ran_whose(schedule)})


def section_later(key: str, title: str, number: str) -> Markup:
    """Returns a section that client/server.js fills when it becomes visible."""
    waiting = element("p", "…", class_="note")
    return element("section", element("h3", title), waiting, id=f"{key}{number}", data_later=key)


def part_markup(part: Part, number: str) -> tuple[Markup, dict[str, Spec]]:
    """Returns a part as HTML, and the figures that page.js draws in it; `number` distinguishes runs."""
    section = part.section
    figures = {f"figure-{name}{number}": visible_values(spec) for name, spec in part.figures.items() if spec}
    blocks = [element("h3", section.title)]
    captioned = sum(isinstance(block, Table) for block in section.parts) > 1
    advices = [_advice(block) for block in section.parts if isinstance(block, Advice)]
    blocks += [element("ol", *advices, class_="findings")] if advices else []
    # Pictures follow the sentences that introduce them; tables come last.
    first_table = next((k for k, block in enumerate(section.parts) if isinstance(block, Table)), None)
    pictures = ([part.drawn] if part.drawn else []) + [_figure(name, spec) for name, spec in figures.items()]
    for k, block in enumerate(section.parts):
        if k == first_table:
            blocks += pictures
        if isinstance(block, str):
            note = block.startswith("Note: ")
            blocks.append(element("p", prose(block), class_="note" if note else None))
        elif isinstance(block, Table) and not (section.drawn and figures):
            blocks += [element("h4", block.title)] if captioned else []
            blocks.append(table(block, part.details))
    blocks += pictures if first_table is None else []
    return element("section", *blocks, id=f"{section.key}{number}"), figures


def _figure(name: str, spec: Spec) -> Markup:
    """Returns the element in which page.js draws a figure, with a description for screen readers."""
    # Reserves the height, so that links below the figure do not move while a user clicks them.
    height = spec["height"] if isinstance(spec["height"], int) else 0
    plot = element(
        "div",
        class_="plot",
        id=name,
        role="img",
        aria_label=spec["description"],
        style=f"--height:{height}px",
    )
    return element("figure", element("figcaption", spec["description"]), plot)


def _advice(advice: Advice) -> Markup:
    return element(
        "li",
        element("div", element("strong", advice.title), class_="what"),
        element("code", advice.place, class_="place") if advice.place else "",
        element("p", prose(sentence(advice.because))),
        element("p", prose(sentence(advice.cure)), class_="cure") if advice.cure else "",
        element("p", advice.also) if advice.also else "",
        class_="card good" if advice.good else "card",
    )


def _task_details(content: ReportContent, task: ConstructTotals, excerpts: Excerpts | None) -> Markup:
    location = content.location(task.construct)
    excerpt = excerpts and excerpts.around(location)
    absent = "The source file was not found." if excerpts else "--sources shows the source here."
    parts = [
        source_lines(numbered_lines(excerpt, excerpts.heat_of(location.file, excerpt)))
        if excerpts and excerpt
        else element("p", absent, class_="note")
    ]
    if location.inlined_into:
        parts.append(element("p", "Inlined into ", element("code", " < ".join(location.inlined_into[:3]))))
    facts = [
        f"{count(task.n_created)} created, {count(task.n_cancelled)} cancelled, "
        f"{count(task.n_undeferred)} undeferred",
        f"longest wait from ready to start {duration(task.ready_max_ns)}",
        f"{count(task.n_other_thread)} did not run on the creating thread, "
        f"{count(task.n_other_core)} on another core, {count(task.n_other_domain)} in another domain",
    ]
    if task.sampled and task.n_timed:
        facts.append(f"durations of {count(task.n_timed)} sampled tasks")
    facts += [f"{name}: {count(value)}" for name, value in counters_of(content, task).items()]
    parts.append(element("ul", *(element("li", fact) for fact in facts)))
    parts.append(_mini_histogram(trim_bins(task.histogram)))
    return join(parts)


def _mini_histogram(bins: Sequence[Bin]) -> Markup:
    """Returns durations of one construct's tasks as a list of bars, readable without scripts."""
    most = max((b.n_tasks for b in bins), default=0)
    return element("dl", *_histogram_bars(bins, most), class_="histogram") if most else Markup("")


def _histogram_bars(bins: Iterable[Bin], most: int) -> Iterator[Markup]:
    for b in bins:
        yield element("dt", f"from {duration(b.low_ns)}")
        bar = element("span", class_="bar state work", style=f"width:{60 * b.n_tasks / most:.2f}%")
        yield element("dd", bar, f" {count(b.n_tasks)}")


def source_part(excerpts: Excerpts) -> Part | None:
    """Returns the hottest lines of the program and their neighbours; None if no source file was found."""
    blocks = []
    for file, ranges in excerpts.hottest():
        blocks.append(element("h4", element("code", file.rsplit("/", 1)[-1], title=file)))
        blocks += [source_lines(lines) for lines in ranges]
    if not blocks:
        return None
    said = (
        "A bar shows the line's share of the samples. Work, creation and waits are shares of the thread-time."
    )
    return Part(Section("source", "Source", (said,)), drawn=join(blocks))


def graph_part(content: GraphContent, of_run: ReportContent) -> Part:
    """Returns the task graph of one run; `of_run` provides the names that constructs have in the timeline."""
    report = graph_report(content)
    parts = [part for section in report.sections if not section.drawn for part in section.parts]
    notes = [f"Note: {note}" for note in report.notes]
    drawn = element("div", class_="graph", data_graph=json.dumps(_groups(content, of_run)))
    return Part(
        Section("graph", "Task graph", (*parts, *notes)),
        {"bounds": bounds_figure(content)},
        drawn=drawn,
    )


def _groups(content: GraphContent, of_run: ReportContent) -> object:
    constructs = sorted({group.construct for group in content.graph.groups})

    def shown(group: GraphGroup) -> dict[str, object]:
        return {
            "number": group.number,
            "parent": group.parent,
            "label": visible(content.label_of(group)),
            "construct": construct_label(max(group.construct, 0), of_run),
            "colour": CATEGORIES[constructs.index(group.construct) % len(CATEGORIES)],
            "folded": group.folded,
            "tasks": group.n_tasks + group.n_undeferred,
            "work": group.work_ns,
            "create": group.create_ns,
            "dispatch": group.dispatch_ns,
            "critical": group.critical_ns,
        }

    return {
        "groups": [shown(group) for group in content.graph.groups],
        "dependences": [
            {"from": d.from_group, "to": d.to_group, "n": d.n} for d in content.graph.dependences
        ],
    }
