# SPDX-License-Identifier: Apache-2.0
"""The sections of the page that every run has: heading, findings, thread-time, regions, tasks, kernels.

A section is a title with markup and figures; assemble.py puts them together. Nothing is computed
here but shares.
"""

from __future__ import annotations

from collections.abc import Sequence

from ompass.figures.run import RUN_FIGURES
from ompass.figures.schedule import gantt, over_time, who_ran_whose
from ompass.figures.style import Spec
from ompass.metrics import Bin, ConstructTotals, Finding
from ompass.metrics.granularity import trim_bins
from ompass.model import StateTimes
from ompass.page.excerpts import Excerpt, Sources
from ompass.page.markup import Cell, Column, Markup, Row, element, join, table
from ompass.page.reuse_section import reuse_section
from ompass.page.section import MOST_ROWS, Section, hidden_rows, place_figure
from ompass.readers.schedule import Schedule
from ompass.reports.bars import STATES, state_values
from ompass.reports.content import ReportContent
from ompass.reports.ranks import job_of_reports, job_sentence
from ompass.reports.reuse import ReuseContent
from ompass.reports.terminal import locality_sentences, scope_sentence
from ompass.symbols.names import compact_name
from ompass.symbols.resolver import Location
from ompass.units import count, duration, percent, plural, size

_LONG_NAME = 48


def run_sections(
    content: ReportContent,
    number: int,
    sources: Sources,
    schedule: Schedule | None = None,
    reuse: ReuseContent | None = None,
) -> list[Section]:
    """All sections of one run. `number` keeps the anchors of several runs apart.

    A trace has a schedule, and reuse distances when its program declared the data of its kernels.
    """
    made = [
        _findings(content, number),
        _thread_time(content, number),
        _regions(content, number),
        _tasks(content, number, sources),
        _granularity(content, number),
        _kernels(content, number),
        _locality(content, number),
        reuse_section(reuse, number) if reuse else None,
        _schedule(content, number, schedule) if schedule else None,
    ]
    return [section for section in made if section is not None]


def _of_runs(name: str, anchor: str, contents: Sequence[ReportContent]) -> tuple[Markup, dict[str, Spec]]:
    return place_figure(anchor, RUN_FIGURES[name].make(contents))


def comparison(contents: Sequence[ReportContent]) -> Section:
    """The thread-time of several runs, one beside the other; of the ranks of a job, how even it is."""
    markup, figures = _of_runs("breakdown", "runs", contents)
    job = job_of_reports(contents)
    if job is None:
        return Section("runs", "All runs", markup, figures)
    columns = (
        Column("rank", True),
        Column("host"),
        Column("threads", True),
        Column("time", True),
        Column("thread-time", True),
        Column("work", True),
        Column("work / mean", True, "1 on every rank is perfect balance"),
        Column("tasks", True),
        Column("states"),
    )
    rows = [
        Row(
            (
                Cell(rank.rank, rank.rank),
                Cell(rank.host, rank.host),
                Cell(rank.n_threads, rank.n_threads),
                Cell(duration(rank.wall_ns), rank.wall_ns),
                Cell(duration(rank.states.total_ns), rank.states.total_ns),
                Cell(duration(rank.states.work_ns), rank.states.work_ns),
                Cell(f"{job.relative_work(rank):.2f}", job.relative_work(rank)),
                Cell(count(rank.n_tasks), rank.n_tasks),
                Cell(state_bar(rank.states), rank.states.work_ns),
            )
        )
        for rank in job.ranks[:MOST_ROWS]
    ]
    body = join(
        (
            element("p", f"{job_sentence(job)}."),
            table("Ranks", columns, rows),
            hidden_rows(len(job.ranks), "rank"),
            markup,
        )
    )
    return Section("runs", f"The job: {plural(len(job.ranks), 'rank')}", body, figures)


def state_bar(states: StateTimes) -> Markup:
    """A stacked bar of the five states, in pure HTML, with its figures as a tooltip."""
    total = states.total_ns
    if not total:
        return Markup("")
    parts = [
        element("span", class_=f"state {state}", style=f"width:{100 * value / total:.3f}%")
        for state, value in zip(STATES, state_values(states), strict=True)
        if value
    ]
    shares = ", ".join(
        f"{state} {percent(value / total)}" for state, value in zip(STATES, state_values(states), strict=True)
    )
    return element("span", *parts, class_="states", title=shares, role="img", aria_label=shares)


def _findings(content: ReportContent, number: int) -> Section:
    problems = [f for f in content.findings if f.severity == "problem"]
    notes = [f for f in content.findings if f.severity == "note" and f.kind != "cut_short"]
    parts: list[Markup] = []
    if problems:
        parts.append(element("ol", *(_finding(content, f) for f in problems), class_="findings"))
    else:
        share = content.breakdown.share(content.breakdown.states.work_ns)
        parts.append(element("p", f"Nothing stands out: {percent(share)} of the thread-time is work."))
    told = [f"{f.title}: {f.because}" + (f"; {f.cure}" if f.cure else "") for f in notes]
    parts += [element("p", f"Note: {text}.", class_="note") for text in (*told, *content.problems)]
    return Section(f"findings-{number}", "Findings", join(parts))


def _finding(content: ReportContent, finding: Finding) -> Markup:
    place = content.location(finding.construct).label() if finding.construct is not None else ""
    return element(
        "li",
        element("strong", finding.title),
        element("code", place) if place else "",
        element("p", _sentence(finding.because)),
        element("p", _sentence(finding.cure), class_="cure") if finding.cure else "",
    )


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + "."


def _thread_time(content: ReportContent, number: int) -> Section:
    breakdown = content.breakdown
    values = state_values(breakdown.states)
    rows = [
        element(
            "tr",
            element("th", element("span", class_=f"swatch {state}"), f" {state}", scope="row"),
            element("td", duration(value), class_="number"),
            element("td", percent(breakdown.share(value)), class_="number"),
        )
        for state, value in zip(STATES, values, strict=True)
    ]
    summary = element("table", element("tbody", *rows), class_="states-summary")
    markup, figures = _of_runs("threads", f"threads-{number}", [content])
    return Section(
        f"thread-time-{number}",
        "Where the thread-time went",
        join(
            (
                element("p", scope_sentence(breakdown) + ".", class_="scope"),
                element("p", state_bar(breakdown.states)),
                summary,
                markup,
            )
        ),
        figures,
    )


def _place(location: Location) -> Markup:
    name = compact_name(location.function, _LONG_NAME) if location.function else ""
    return join((element("code", location.place, title=location.file or None), f" {name}"))


def _regions(content: ReportContent, number: int) -> Section | None:
    if not content.regions:
        return None
    columns = (
        Column("region"),
        Column("runs", True, "how often the region was executed"),
        Column("team", True, "threads of the largest team"),
        Column("wall", True),
        Column("thread-time", True),
        Column("work", True, "share of the region's thread-time"),
        Column("idle", True, "share of the region's thread-time"),
        Column("max/mean", True, "largest work of a thread over the mean: 1 is perfect balance"),
        Column("states"),
    )
    rows = []
    for region in content.regions[:MOST_ROWS]:
        total = region.states.total_ns
        work = region.states.work_ns / total if total else 0.0
        idle = region.states.idle_ns / total if total else 0.0
        location = content.location(region.construct)
        rows.append(
            Row(
                (
                    Cell(_place(location), location.label()),
                    Cell(count(region.n_instances), region.n_instances),
                    Cell(region.max_team_size, region.max_team_size),
                    Cell(duration(region.wall_ns), region.wall_ns),
                    Cell(duration(total), total),
                    Cell(percent(work), work),
                    Cell(percent(idle), idle),
                    Cell(f"{region.imbalance:.2f}", region.imbalance),
                    Cell(state_bar(region.states), work),
                )
            )
        )
    body = join((table("Parallel regions", columns, rows), hidden_rows(len(content.regions), "region")))
    return Section(f"regions-{number}", "Parallel regions", body)


def _tasks(content: ReportContent, number: int, sources: Sources) -> Section | None:
    if not content.tasks:
        return None
    columns = (
        Column("task"),
        Column("tasks", True, "completed"),
        Column("work", True, "time of all of them in user code"),
        Column("share", True, "of all thread-time: work and creation"),
        Column("create", True, "time to create all of them"),
        Column("mean work", True),
        Column("mean create", True),
        Column("mean wait", True, "from ready to start"),
        Column("longest", True),
        Column("moved", True, "ran on another thread than the one that created them"),
    )
    rows = []
    for task in content.tasks[:MOST_ROWS]:
        location = content.location(task.construct)
        share = content.breakdown.share(task.cost_ns)
        moved = task.n_other_thread / task.n_ready if task.n_ready else 0.0
        rows.append(
            Row(
                (
                    Cell(_place(location), location.label()),
                    Cell(count(task.n_completed), task.n_completed),
                    Cell(duration(task.work_ns), task.work_ns),
                    Cell(percent(share), share),
                    Cell(duration(task.create_ns), task.create_ns),
                    Cell(duration(task.mean_work_ns), task.mean_work_ns),
                    Cell(duration(task.mean_create_ns), task.mean_create_ns),
                    Cell(duration(task.mean_ready_ns), task.mean_ready_ns),
                    Cell(duration(task.max_ns) if task.n_timed else "-", task.max_ns),
                    Cell(percent(moved) if task.n_ready else "-", moved),
                ),
                details=_task_details(content, task, location, sources),
            )
        )
    markup, figures = _of_runs("constructs", f"constructs-{number}", [content])
    body = join(
        (
            table("Task constructs by cost", columns, rows),
            hidden_rows(len(content.tasks), "construct"),
            markup,
        )
    )
    return Section(f"tasks-{number}", "Task constructs by cost", body, figures)


def _task_details(
    content: ReportContent, task: ConstructTotals, location: Location, sources: Sources
) -> Markup:
    excerpt = sources.around(location)
    parts = [source_lines(excerpt) if excerpt else element("p", "The source is not at hand.", class_="note")]
    if location.inlined_into:
        parts.append(element("p", "Inlined into ", element("code", " < ".join(location.inlined_into[:3]))))
    facts = [
        f"{count(task.n_created)} created, {count(task.n_cancelled)} cancelled, "
        f"{count(task.n_undeferred)} undeferred",
        f"longest wait from ready to start {duration(task.ready_max_ns)}",
        f"{count(task.n_other_thread)} ran on another thread than created them, "
        f"{count(task.n_other_core)} on another core, {count(task.n_other_domain)} in another domain",
    ]
    if task.sampled and task.n_timed:
        facts.append(f"durations of {count(task.n_timed)} sampled tasks")
    facts += [
        f"{name}: {count(value)}" for name, value in zip(content.run.counters, task.counters, strict=False)
    ]
    parts.append(element("ul", *(element("li", fact) for fact in facts)))
    parts.append(_mini_histogram(trim_bins(task.histogram)))
    return join(parts)


def _mini_histogram(bins: Sequence[Bin]) -> Markup:
    """Durations of one construct's tasks as a list of bars: readable without any script."""
    most = max((b.n_tasks for b in bins), default=0)
    if not most:
        return Markup("")
    return element(
        "dl",
        *(
            join(
                (
                    element("dt", f"from {duration(b.low_ns)}"),
                    element(
                        "dd",
                        element("span", class_="bar", style=f"width:{60 * b.n_tasks / most:.2f}%"),
                        f" {count(b.n_tasks)}",
                    ),
                )
            )
            for b in bins
        ),
        class_="histogram",
    )


def source_lines(excerpt: Excerpt) -> Markup:
    """The excerpt with line numbers, its construct's line marked."""
    rows = [
        element(
            "span",
            element("span", f"{excerpt.first + k:5d}  ", class_="number"),
            text or " ",
            class_="line marked" if excerpt.first + k == excerpt.line else "line",
        )
        for k, text in enumerate(excerpt.lines)
    ]
    return element("pre", *rows, class_="source", tabindex="0")


def _granularity(content: ReportContent, number: int) -> Section | None:
    markup, figures = _of_runs("granularity", f"granularity-{number}", [content])
    return Section(f"granularity-{number}", "Granularity", markup, figures) if figures else None


def _kernels(content: ReportContent, number: int) -> Section | None:
    if not content.kernels:
        return None
    columns = (
        Column("kernel"),
        Column("executions", True),
        Column("work", True),
        Column("mean", True),
        Column("read", True, "declared bytes"),
        Column("written", True, "declared bytes"),
    )
    rows = []
    for kernel in content.kernels[:MOST_ROWS]:
        name = content.location(kernel.construct).function
        rows.append(
            Row(
                (
                    Cell(element("code", name), name),
                    Cell(count(kernel.n_completed), kernel.n_completed),
                    Cell(duration(kernel.work_ns), kernel.work_ns),
                    Cell(duration(kernel.mean_work_ns), kernel.mean_work_ns),
                    Cell(size(kernel.read_bytes), kernel.read_bytes),
                    Cell(size(kernel.write_bytes), kernel.write_bytes),
                )
            )
        )
    body = join((table("Kernels", columns, rows), hidden_rows(len(content.kernels), "kernel")))
    return Section(f"kernels-{number}", "Kernels", body)


def _locality(content: ReportContent, number: int) -> Section | None:
    locality = content.locality
    if locality is None:
        return None
    said = [element("p", sentence + ".") for sentence in locality_sentences(locality)]
    domains = range(len(locality.matrix))
    if len(domains) > 1:
        columns = (
            Column("placed in", True, "the locality domain where the task was placed"),
            *(Column(f"ran in {domain}", True, "tasks") for domain in domains),
        )
        rows = [
            Row((Cell(str(placed), placed), *(Cell(count(n), n) for n in locality.matrix[placed])))
            for placed in domains
        ]
        said.append(table("Tasks by domain", columns, rows))
    return Section(f"locality-{number}", "Locality domains", join(said))


def _schedule(content: ReportContent, number: int, schedule: Schedule) -> Section | None:
    if not schedule.bins:
        return None
    window = f"From {duration(schedule.start_ns)} to {duration(schedule.end_ns)} of the run"
    tasks = plural(schedule.n_tasks, "deferred task")
    coarse = (
        f" Stretches shorter than {duration(schedule.shortest_ns)} are drawn together, as what they mostly "
        "were: --window FROM:TO shows a part of the run as it was."
        if schedule.is_pooled
        else ""
    )
    parts: list[Markup] = [element("p", f"{window}, in which {tasks} started.{coarse}", class_="scope")]
    figures: dict[str, Spec] = {}
    for name, spec in (
        ("over-time", over_time(schedule)),
        ("schedule", gantt(content, schedule)),
        ("matrix", who_ran_whose(schedule)),
    ):
        markup, made = place_figure(f"{name}-{number}", spec)
        parts.append(markup)
        figures |= made
    return Section(f"schedule-{number}", "Schedule", join(parts), figures)
