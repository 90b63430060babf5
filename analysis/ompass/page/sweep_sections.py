# SPDX-License-Identifier: Apache-2.0
"""The sections of the page that a sweep has: verdict, scaling, factored speed-up, inflation by line."""

from __future__ import annotations

from ompass.figures.scaling import factored, thread_time
from ompass.page.markup import Cell, Column, Markup, Row, element, join, table
from ompass.page.section import MOST_ROWS, Section, hidden_rows, place_figure
from ompass.reports.scaling import ScalingContent, notes_on_scaling
from ompass.units import duration, percent


def sweep_sections(content: ScalingContent, number: int) -> list[Section]:
    """All sections of one sweep. `number` keeps the anchors of several apart."""
    made = [
        _verdict(content, number),
        _scaling(content, number),
        _curves(content, number),
        _inflation(content, number),
    ]
    return [section for section in made if section is not None]


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _verdict(content: ScalingContent, number: int) -> Section | None:
    judged = content.judged
    if judged is None or judged.verdict is None:
        return None
    verdict = judged.verdict
    parts = [
        element("strong", f"{verdict.title} (on {judged.point.threads} threads)"),
        element("code", judged.finding_place) if judged.finding_place else "",
        element("p", _sentence(verdict.because)),
        element("p", _sentence(verdict.cure), class_="cure") if verdict.cure else "",
        element("p", f"Besides: {'; '.join(verdict.also).lower()}.") if verdict.also else "",
    ]
    return Section(f"verdict-{number}", "Verdict", element("div", *parts, class_="verdict"))


def _scaling(content: ScalingContent, number: int) -> Section:
    columns = (
        Column("threads", True),
        Column("time", True, "mean of the rounds"),
        Column("from", True, "shortest of the rounds"),
        Column("to", True, "longest of the rounds"),
        Column("speed-up", True),
        Column("efficiency", True, "speed-up over the number of threads"),
        Column("OVR", True, "thread-time over work: what is not work"),
        Column("WTI", True, "work over the serial program's time: inflation of the work"),
        Column("work", True, "share of the thread-time"),
        Column("idle", True, "share of the thread-time"),
    )
    rows = []
    for column in content.columns:
        point = column.point
        low, high = column.spreads["time_ns"]
        total = point.thread_time_ns
        work = point.states.work_ns / total if total else 0.0
        idle = point.states.idle_ns / total if total else 0.0
        rows.append(
            Row(
                (
                    Cell(point.threads, point.threads),
                    Cell(duration(point.time_ns), point.time_ns),
                    Cell(duration(low), low),
                    Cell(duration(high), high),
                    Cell(f"{point.speedup:.2f}", point.speedup),
                    Cell(percent(point.efficiency), point.efficiency),
                    Cell(f"{point.ovr:.3f}", point.ovr),
                    Cell(f"{point.wti:.3f}", point.wti),
                    Cell(percent(work), work),
                    Cell(percent(idle), idle),
                )
            )
        )
    markup, figures = place_figure(f"sweep-time-{number}", thread_time(content))
    return Section(f"scaling-{number}", "Scaling", join((table("Scaling", columns, rows), markup)), figures)


def _curves(content: ScalingContent, number: int) -> Section:
    markup, figures = place_figure(f"speedup-{number}", factored(content))
    parts: list[Markup] = [markup]
    if content.judged is not None:
        parts.append(element("p", f"The gaps on {content.judged.point.threads} threads:"))
        parts.append(
            element(
                "dl",
                *(
                    join(
                        (
                            element("dt", f"{gap.name}, {gap.upper} to {gap.lower}: {gap.size:.2f}"),
                            element("dd", _sentence(gap.meaning)),
                        )
                    )
                    for gap in content.gaps
                ),
                class_="gaps",
            )
        )
    parts += [element("p", sentence) for sentence in content.bends]
    parts += [element("p", f"Note: {note}", class_="note") for note in notes_on_scaling(content)]
    return Section(f"speedup-of-{number}", "Factored speed-up", join(parts), figures)


def _inflation(content: ScalingContent, number: int) -> Section | None:
    judged = content.judged
    if judged is None or not judged.inflation:
        return None
    columns = (
        Column("construct"),
        Column("on one", True, "work on one thread"),
        Column(f"on {judged.point.threads}", True, "work on that many threads"),
        Column("factor", True),
        Column("from", True, "smallest of the rounds"),
        Column("to", True, "largest of the rounds"),
        Column("excess", True, "work beyond that on one thread"),
    )
    rows = [
        Row(
            (
                Cell(element("code", row.key.label() + ("" if row.same_work else " *")), row.key.label()),
                Cell(duration(row.one_work_ns), row.one_work_ns),
                Cell(duration(row.work_ns), row.work_ns),
                Cell(f"{row.factor:.3f}" if row.one_work_ns else "-", row.factor),
                Cell(f"{row.low:.3f}", row.low),
                Cell(f"{row.high:.3f}", row.high),
                Cell(duration(row.excess_ns), row.excess_ns),
            )
        )
        for row in judged.inflation[:MOST_ROWS]
    ]
    parts = [table("Inflation by construct", columns, rows), hidden_rows(len(judged.inflation), "construct")]
    if any(not row.same_work for row in judged.inflation):
        parts.append(
            element(
                "p", "* ran a different number of times: the factor compares unequal work.", class_="note"
            )
        )
    return Section(f"inflation-{number}", "Inflation by construct", join(parts))
