# SPDX-License-Identifier: Apache-2.0
"""The default report: verdict first, next command last; findings with the predicted gain of their cure."""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from made_runs import MS, construct, definition, made_run, made_samples, region, team, thread, wait
from ompass.commands import second_run
from ompass.commands.second_run import has_something_to_change, sample_hz
from ompass.jobs.content import job_of_reports
from ompass.launch.child import Ending
from ompass.launch.second_run import MOST_BYTES, MOST_NS, TASK_BYTES, Limits, trace_bytes, why_not_traced
from ompass.metrics.facts import Finding
from ompass.metrics.findings import KINDS
from ompass.model import OUTSIDE, Run, StateTimes
from ompass.packed import TRACE
from ompass.readers.meta import traced_run
from ompass.reports.content import ReportContent, collect
from ompass.reports.findings import (
    CURED_BY,
    causes,
    gain_text,
    note_parts,
    problem_parts,
    verdict,
    verdict_of,
)
from ompass.reports.job import printed_job_report
from ompass.reports.model import Bar, Column, Kind, Report, Table, column_words, plain
from ompass.reports.remarks import remarks_of
from ompass.reports.run import brief_report, run_report
from ompass.reports.terminal import TerminalConsole, print_report
from ompass.sampled import COMPUTE, FIXED, MEMORY_USE, OWN
from ompass.samples.metrics import Line, LocatedSample, Owner
from ompass.samples.report import samples_report
from ompass.simulation.stored import StoredAdvice, StoredChange, read_advice, store_advice
from ompass.simulation.words import TITLES
from ompass.symbols.kept import NAMES_FILE
from ompass.symbols.location import Location
from ompass.units import durations_alike
from toolchains import REPOSITORY

US = 1_000


def fine_run(**fields: Any) -> Run:
    """Makes a run with two constructs whose tasks are too fine."""
    rows = team(
        0, [{"work_ns": 40 * MS, "create_ns": 30 * MS, "schedule_ns": 30 * MS, "n_tasks": 80_000}] * 2
    )
    tasks = [
        construct(number, thread, [500] * 40_000, create_ns=15 * MS) for number in (1, 2) for thread in (0, 1)
    ]
    definitions = [definition(0, "parallel"), definition(1), definition(2), definition(3, "wait", flags=8)]
    waits = [wait(3, 0, n_waits=7, schedule_ns=30 * MS), wait(3, 1, n_waits=7, schedule_ns=30 * MS)]
    return made_run(rows, tasks, definitions, wall_ns=110 * MS, waits=waits, **fields)


def content_of(run: Run) -> ReportContent:
    """Returns the content of a run whose constructs are in `sort`, in lines 10, 11, ... of `/src/sort.c`."""
    content = collect(run)
    places = {number: Location("sort", "/src/sort.c", 10 + number) for number in content.locations}
    return replace(content, locations=places)


def change(kind: str, gain: float, line: int = 11, title: str = "", function: str = "sort") -> StoredChange:
    place = Location(function, "/src/sort.c", line)
    return StoredChange(kind, title or f"Do {kind}", "", f"write {kind}", place, 20 * MS, gain, at_most=False)


def with_changes(content: ReportContent, *changes: StoredChange) -> ReportContent:
    return replace(content, advice=StoredAdvice({"advice": []}, changes))


def printed(report: Report, width: int = 80) -> list[str]:
    out = io.StringIO()
    print_report(TerminalConsole(file=out, width=width), report)
    return out.getvalue().rstrip().splitlines()


CUT_OFF = change("depth", 0.8, title="Cut off below depth 8")


def test_verdict_place_and_gain_come_first_and_the_next_command_last() -> None:
    content = with_changes(content_of(fine_run()), CUT_OFF)
    for width in (60, 80, 120):
        lines = printed(brief_report(content), width)
        first = " ".join(" ".join(lines[:10]).split())
        assert "40.0% of the time of 2 threads is work" in first
        assert "tasks are too fine (sort.c:11)" in first
        assert "-> Cut off below depth 8: 80% less time predicted (20 ms instead of 100 ms)" in first
        assert lines[-1].removeprefix("Next:").strip().startswith("ompass report made.ompass --full")
        assert len(lines) <= 40
        assert not any("Granularity" in line for line in lines)
    assert any("Granularity" in line for line in printed(run_report(content)))


def test_shares_of_one_place_and_of_all_places_are_distinguished() -> None:
    text = " ".join(" ".join(printed(brief_report(content_of(fine_run())), 120)).split())
    assert "Tasks are too fine sort.c:11 and sort.c:12 (sort)" in text
    one, both = map(
        float, re.findall(r"([\d.]+)% of the thread-time \(sort.c:11\); both places: ([\d.]+)%", text)[0]
    )
    assert both == pytest.approx(2 * one, abs=0.2)


def test_predictions_without_other_programs_say_so() -> None:
    content = with_changes(content_of(fine_run()), CUT_OFF)
    times = "20 ms instead of 100 ms"
    assert f"({times})" in " ".join(printed(brief_report(content), 200))
    others = Finding("disturbed", "problem", "Others used the processors", "threads waited", "measure again")
    disturbed = replace(content, findings=(*content.findings, others))
    assert f"({times}, without other programs)" in " ".join(printed(brief_report(disturbed), 200))


@pytest.mark.parametrize(("seconds", "hz"), [(0.01, 1000), (0.8, 500), (3, 133), (30, 100)])
def test_a_short_second_run_takes_samples_more_often(seconds: float, hz: int) -> None:
    assert sample_hz(int(seconds * 1e9)) == hz


def test_a_run_without_problems_says_so_in_one_sentence() -> None:
    run = made_run(team(0, [{"work_ns": 99 * MS, "sync_ns": MS, "n_tasks": 1}] * 2), [construct(1, 0, [MS])])
    report = brief_report(content_of(run))
    assert report.verdict == "No problem found: 99.0% of the time of 2 threads is work."
    assert "\n".join(printed(report)).count("No problem found") == 1
    assert "\n".join(printed(run_report(content_of(run)))).count("No problem found") == 1


@pytest.mark.parametrize(("by_clock_ms", "is_doubtful"), [(51, True), (49, False)])
def test_a_run_without_problems_says_that_most_of_its_time_has_no_samples(
    by_clock_ms: int, is_doubtful: bool
) -> None:
    threads = [thread(k, last_ns=100 * MS, by_clock_ns=by_clock_ms * MS) for k in range(2)]
    rows = team(0, [{"work_ns": 99 * MS, "sync_ns": MS, "n_tasks": 1}] * 2)
    run = made_run(rows, [construct(1, 0, [MS])], threads=threads)
    samples = made_samples(run)
    words = brief_report(replace(content_of(run), samples=samples)).verdict
    assert words.startswith("No problem found")
    assert (f"{by_clock_ms:.1f}% of the time has no samples" in words) == is_doubtful


def test_a_run_without_problems_says_that_samples_were_refused() -> None:
    run = made_run(team(0, [{"work_ns": 99 * MS, "sync_ns": MS, "n_tasks": 1}] * 2), [construct(1, 0, [MS])])
    for n_threads, is_doubtful in ((0, True), (1, False)):
        samples = replace(made_samples(run), n_threads=n_threads, n_refused=1, error=13)
        words = brief_report(replace(content_of(run), samples=samples)).verdict
        assert ("100% of the time has no samples" in words) == is_doubtful


def test_the_verdict_names_the_line_that_samples_blame() -> None:
    content = content_of(fine_run())
    line = Line("spin", "/src/sort.c", 99, "sort", "sort.c:99", "sort.c:99 (spin)")
    waits = Finding("busy_waiting", "problem", "Threads wait in a loop", "they do", "sleep", MS, 0, line=line)
    report = brief_report(replace(content, findings=(waits,)))
    assert report.verdict.endswith("threads wait in a loop (sort.c:99).")
    assert "Threads wait in a loop sort.c:99 (spin)" in " ".join(" ".join(printed(report, 120)).split())


def test_the_head_states_the_time_to_which_shares_refer() -> None:
    content = content_of(fine_run())
    for report in (brief_report(content), run_report(content)):
        lines = printed(report)
        (scope,) = [line.strip() for line in lines if "shares are of" in line]
        assert scope == "All parallel regions: 2 threads x 100 ms = 200 ms; shares are of this time."
    (section,) = [each for each in brief_report(content).sections if each.key == "tasks"]
    (table,) = [part for part in section.parts if isinstance(part, Table)]
    titles = [column.title for column in table.columns]
    assert titles[-1] == "share"
    for row in table.rows:
        value = dict(zip(titles, row, strict=True))
        assert value["share"] == pytest.approx((value["work"] + value["create"]) / (200 * MS))
        assert value["mean work"] == pytest.approx(value["work"] / value["tasks"])


def test_findings_and_tables_show_the_same_mean_work_of_tasks() -> None:
    busy = {"preempted_ns": 8 * MS, "work_preempted_ns": 8 * MS}
    rows = team(
        0, [{"work_ns": 40 * MS, "create_ns": 30 * MS, "schedule_ns": 30 * MS, "n_tasks": 40_000, **busy}] * 2
    )
    for preempted_ns, work_text in (
        (0, "1 µs of work each, "),
        (8 * MS, "1 µs of work each (800 ns on a processor)"),
    ):
        tasks = [
            construct(1, k, [1000] * 40_000, create_ns=15 * MS, preempted_ns=preempted_ns) for k in (0, 1)
        ]
        content = content_of(made_run(rows, tasks, wall_ns=110 * MS))
        (fine,) = [finding for finding in content.findings if finding.kind == "too_fine"]
        assert f"80,000 tasks did {work_text}" in fine.because
        assert any(
            re.search(r"sort.c:11 sort .* 1(\.00)? µs ", line) for line in printed(brief_report(content))
        )


def test_the_granularity_says_how_many_tasks_were_timed() -> None:
    run = fine_run()
    timed = "\n".join(printed(run_report(content_of(run))))
    assert "were timed" not in timed
    part = run.replace(constructs=tuple(row.replace(n_completed=50_000) for row in run.constructs))
    assert "160,000 of 200,000 tasks were timed one by one" in " ".join(
        printed(run_report(content_of(part)), 120)
    )


def test_findings_on_sibling_tasks_are_merged() -> None:
    content = content_of(fine_run())
    fine = [finding for finding in content.findings if finding.kind == "too_fine"]
    assert len(fine) == 2
    (cause,) = [cause for cause in causes(content) if cause.kind == "too_fine"]
    assert cause.advice().place == "sort.c:11 and sort.c:12 (sort)"
    assert cause.share == pytest.approx(sum(content.breakdown.share(f.cost_ns) for f in fine))
    assert len([f for f in plain(run_report(content))["findings"] if f["kind"] == "too_fine"]) == 2
    elsewhere = dict(content.locations) | {2: Location("merge", "/src/sort.c", 12)}
    assert sum(one.kind == "too_fine" for one in causes(replace(content, locations=elsewhere))) == 2


def test_a_finding_has_the_change_that_cures_it() -> None:
    content = content_of(fine_run())
    found = causes(
        with_changes(content, change("untied", 0.5, 99, function="f"), CUT_OFF, change("time", 0.82))
    )
    assert [(one.kind, one.change and one.change.kind) for one in found] == [
        ("too_fine", "depth"),  # as good as a cut-off by time, and easier to write
        ("", "untied"),
    ]
    assert found[1].title == "Do untied"
    better = causes(with_changes(content, CUT_OFF, change("time", 0.9)))
    assert [one.change and one.change.kind for one in better] == ["time"]


@pytest.mark.parametrize("gain", [0.2, 0.6])
def test_a_change_without_a_finding_follows_findings_that_cost_more(gain: float) -> None:
    content = content_of(fine_run())  # its tasks cost 30%
    found = causes(with_changes(content, change("of_a_later_version", gain)))
    assert [one.kind for one in found] == (["", "too_fine"] if gain > 0.5 else ["too_fine", ""])


def test_a_finding_that_no_change_cures_keeps_its_own_cure() -> None:
    content = content_of(fine_run())
    asleep = Finding("blocked", "problem", "Threads sleep", "they do", "move the input", MS, construct=1)
    found = causes(with_changes(replace(content, findings=(asleep,)), change("split", 0.2)))
    assert [(one.kind, one.change and one.change.kind) for one in found] == [("", "split"), ("blocked", None)]
    assert found[1].advice().cure == "move the input"


@pytest.mark.parametrize(("gain", "is_shown"), [(0.149, False), (0.15, True)])
def test_with_other_programs_a_change_without_a_finding_must_gain_more(gain: float, is_shown: bool) -> None:
    busy = Finding("disturbed", "problem", "Others used the processors", "they took 40%", "be alone", MS)
    alone = replace(content_of(fine_run()), findings=())
    found = causes(with_changes(replace(alone, findings=(busy,)), change("schedule", gain)))
    assert [one.kind for one in found] == (["", "disturbed"] if is_shown else ["disturbed"])
    assert len(causes(with_changes(alone, change("schedule", gain)))) == 1


def test_the_verdict_omits_states_that_other_programs_lengthened() -> None:
    content = content_of(fine_run())
    busy = Finding("disturbed", "problem", "Others used the processors", "they took 40%", "be alone", MS)
    disturbed = replace(content, findings=(*content.findings, busy))
    worked = "40.0% of the time of 2 threads is work"
    fine = "tasks are too fine (sort.c:11)"
    assert verdict(content, causes(content)) == f"{worked}, 30.0% is spent creating tasks: {fine}."
    assert verdict(disturbed, causes(disturbed)) == f"{worked}: {fine}, and others used the processors."


def test_a_finding_that_distorts_all_figures_precedes_a_predicted_gain() -> None:
    content = content_of(fine_run())
    crowd = Finding("oversubscribed", "problem", "Too many threads", "they wait", "use fewer", MS, leads=True)
    found = causes(with_changes(replace(content, findings=(*content.findings, crowd)), CUT_OFF))
    assert [one.kind for one in found] == ["oversubscribed", "too_fine"]


def test_findings_on_other_programs_come_after_those_on_the_program() -> None:
    content = content_of(fine_run())
    busy = Finding("disturbed", "problem", "Others used the processors", "they took it", "be alone", 10**12)
    found = causes(replace(content, findings=(busy, *content.findings)))
    assert [one.kind for one in found] == ["too_fine", "disturbed"]


def test_the_gain_of_a_bound_is_shown_as_a_bound() -> None:
    bound = replace(CUT_OFF, at_most=True)
    assert gain_text(bound) == (
        "Cut off below depth 8: up to about 80% less time predicted (20 ms instead of 100 ms)"
    )
    assert ": 80% less time or more predicted (" in gain_text(replace(bound, at_least=True))


def test_doubtful_gains_are_not_shown_and_one_line_says_why() -> None:
    content = content_of(fine_run())
    changes = tuple(replace(one, is_doubtful=True) for one in (CUT_OFF, change("lock", 0.9, 99)))
    doubted = replace(content, advice=StoredAdvice({"advice": []}, changes, "4 threads shared 2 processors"))
    assert [one.kind for one in causes(doubted)] == ["too_fine"]
    text = "\n".join(printed(brief_report(doubted)))
    assert "-> Cut off below depth 8\n" in re.sub(" +\n", "\n", text)
    assert "less time" not in text
    assert "No gains are predicted, because 4 threads shared 2 processors." in text


def test_a_damaged_names_file_is_reported_in_one_line() -> None:
    problem = f"{NAMES_FILE} is damaged, so names are looked up in the files of the program"
    content = replace(content_of(fine_run()), problems=("something else", problem))
    lines = printed(brief_report(content))
    assert sum(NAMES_FILE in line for line in lines) == 1
    assert not any("something else" in line for line in lines)


def test_damaged_samples_are_reported_in_one_line() -> None:
    problem = "a.ompass cannot be read: a.ompass/thread-00001.samples: is damaged"
    content = replace(content_of(fine_run()), problems=("something else", problem))
    lines = printed(brief_report(content))
    assert sum("thread-00001.samples" in line for line in lines) == 1
    assert not any("something else" in line for line in lines)


def test_the_verdict_only_suggests_a_change_without_a_finding() -> None:
    content = with_changes(replace(content_of(fine_run()), findings=()), CUT_OFF)
    assert verdict(content, causes(content)) == (
        "40.0% of the time of 2 threads is work: a change may help: cut off below depth 8 (sort.c:11)."
    )


def test_remarks_for_editors_have_the_predicted_gain() -> None:
    content = content_of(fine_run())
    first, second = remarks_of([with_changes(content, CUT_OFF)])[:2]
    gain = "Cut off below depth 8: 80% less time predicted (20 ms instead of 100 ms)"
    assert first.cure == f"{gain}. Write depth"
    assert "predicted" not in second.cure, "the sibling keeps its own cure"
    assert all("predicted" not in remark.cure for remark in remarks_of([content]))


def test_every_kind_of_advice_that_cures_a_finding_exists() -> None:
    assert {kind for kinds in CURED_BY.values() for kind in kinds} <= set(TITLES)
    assert set(CURED_BY) <= {kind.name for kind in KINDS} | {"critical_contention", "copied_data"}


@pytest.mark.parametrize(
    ("kind", "cure"),
    [("critical_contention", "lock"), ("iteration_order", "ordered"), ("iteration_order", "order")],
)
def test_findings_on_waits_for_other_threads_have_the_gain_of_shorter_waits(kind: str, cure: str) -> None:
    waits = Finding(kind, "problem", "Threads wait", "they do", "hold it for less time", MS, construct=1)
    content = replace(content_of(fine_run()), findings=(waits,))
    (cause,) = causes(with_changes(content, change(cure, 0.4)))
    assert (cause.kind, cause.change and cause.change.kind) == (kind, cure)


@pytest.mark.parametrize(("by_time", "kind"), [(0.829, "depth"), (0.831, "time")])
def test_a_cut_off_by_depth_is_shown_if_it_gains_about_as_much_as_by_time(by_time: float, kind: str) -> None:
    content = content_of(fine_run())
    changes = change("time", by_time), CUT_OFF
    for found in (content, replace(content, findings=())):
        shown = [one.change.kind for one in causes(with_changes(found, *changes)) if one.change]
        assert shown == [kind], "with and without a finding"


@pytest.mark.parametrize(("gain", "is_predicted"), [(0.049, False), (0.05, True)])
def test_gains_below_5_percent_are_not_predicted(gain: float, is_predicted: bool) -> None:
    (cause,) = causes(with_changes(content_of(fine_run()), change("depth", gain)))
    assert cause.is_predicted == is_predicted


@pytest.mark.parametrize(("idle", "spent"), [(49, ""), (50, ", 5.0% is spent without a task")])
def test_a_verdict_names_states_that_take_at_least_5_percent_of_the_time(idle: int, spent: str) -> None:
    states = StateTimes(work_ns=1000 - idle, idle_ns=idle)
    assert verdict_of(states, 2, (), ["A serial part"]) == (
        f"{(1000 - idle) / 10:.1f}% of the time of 2 threads is work{spent}: a serial part."
    )


def test_notes_are_sentences_of_the_chosen_kinds() -> None:
    findings = (
        Finding("too_fine", "problem", "Problem", "one", "cure"),
        Finding("first", "note", "First", "two", "cure"),
        Finding("cut_short", "note", "Cut short", "three", ""),
        Finding("second", "note", "Second", "four", ""),
    )
    content = replace(content_of(fine_run()), findings=findings)
    first, second = "Note: First: two; cure.", "Note: Second: four."
    assert [note for note in note_parts(content) if "problem" not in note] == [first, second]
    assert list(note_parts(content, ("second", "cut_short", "too_fine"))) == [second]


def test_small_gains_and_more_threads_are_not_findings() -> None:
    content = content_of(fine_run())
    changes = (
        change("untied", 0.04, 99, function="f"),
        change("threads", 0.5, 0, function=""),
        change("taskgraph", 0.5, 99, function="f"),
    )
    assert [one.kind for one in causes(with_changes(content, *changes))] == ["too_fine"]


def test_many_findings_are_shortened_and_counted() -> None:
    content = with_changes(
        content_of(fine_run()), *(change(f"kind {k}", 0.5, 90 + k, function=f"f{k}") for k in range(30))
    )
    lines = printed(brief_report(content))
    assert len(lines) <= 40
    (more,) = [line for line in lines if "more findings: ompass report made.ompass --full" in line]
    numbers = [int(found[1]) for line in lines if (found := re.match(r" +(\d+)\. ", line))]
    assert numbers == list(range(1, 32 - int(more.split()[1])))


def test_advice_is_kept_with_the_trace_of_a_run(tmp_path: Path) -> None:
    run = made_run(path=tmp_path)
    assert read_advice(run) is None
    trace = tmp_path / TRACE
    trace.mkdir()
    assert traced_run(tmp_path) == tmp_path
    (trace / "meta.json").write_text("{}")
    assert traced_run(tmp_path) == trace
    record = {
        "kind": "depth", "change": "Cut off below depth 8", "write": "w", "wall_ns": 5, "gain": 0.5,
        "at_most": False, "file": "/a.c", "line": 3, "function": "f", "module": None,
        "offset": None, "new": 1,
    }  # fmt: skip
    store_advice(tmp_path, {"advice": [record]})
    advice = read_advice(run)
    assert advice and advice.changes[0].place == Location("f", "/a.c", 3)
    content = replace(collect(run), advice=advice)
    assert json.loads(json.dumps(plain(run_report(content))))["advice"]["advice"] == [record]
    for broken in ("", "[]", "{}", '{"advice": [{}]}', '{"advice": [1]}'):
        (tmp_path / "advice.json").write_text(broken)
        assert read_advice(run) is None


def test_a_program_runs_again_if_a_trace_may_show_a_change() -> None:
    outside = region(OUTSIDE, 0, work_ns=300 * MS)
    rows = team(0, [{"work_ns": 100 * MS}] * 2)
    serial = content_of(made_run([*rows, outside], wall_ns=400 * MS))
    assert [f.kind for f in serial.findings if f.severity == "problem"] == ["serial_fraction"]
    assert has_something_to_change(serial), "a gcc program with a static loop has regions only"
    healthy = content_of(made_run(rows, wall_ns=100 * MS))
    assert not has_something_to_change(healthy)
    crowd = Finding("oversubscribed", "problem", "More threads than processors", "16 on 2", "run fewer", MS)
    assert not has_something_to_change(replace(serial, findings=(crowd, *serial.findings)))


@pytest.mark.parametrize("terminal", [True, False])
def test_a_second_run_does_not_wait_for_answers_on_a_terminal(
    terminal: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hidden: set[int] = set()

    def run_child(_: str, __: object, ___: object, streams: Mapping[int, int]) -> Ending:
        hidden.update(streams)
        return Ending(1, 1, 0, 0, 0, False)  # fails

    monkeypatch.setattr(second_run, "run_child", run_child)
    monkeypatch.setattr(os, "isatty", lambda _: terminal)
    program: Any = SimpleNamespace(path="/bin/true")
    first: Any = SimpleNamespace(wall_ns=MS, environment={}, program=program, command=["true"])
    assert second_run._record_again(tmp_path, first, Limits()) is None
    assert hidden == ({0, 1, 2} if terminal else {1, 2})


def test_long_programs_and_large_traces_are_not_traced_for_advice() -> None:
    run = fine_run()
    assert why_not_traced(run, MOST_NS, MOST_NS, MOST_BYTES) == ""
    assert "took 60 s, limit 30 s" in why_not_traced(run, 2 * MOST_NS, MOST_NS, MOST_BYTES)
    large = why_not_traced(run, 0, MOST_NS, 1 << 20)
    assert large.startswith("its trace would take ")
    assert len(f"ompass: no second run: {large} (--twice)") <= 80


def test_the_manual_states_the_number_of_tasks_in_the_largest_trace_for_advice() -> None:
    usage = (REPOSITORY / "docs" / "usage.md").read_text(encoding="utf-8")
    assert (
        f"(`--limit SIZE`): {MOST_BYTES / TASK_BYTES / 1e6:.0f} million tasks at {TASK_BYTES} bytes" in usage
    )
    n_tasks = 10_000
    tasks = [construct(1, 0, [500] * n_tasks)]
    assert trace_bytes(made_run(constructs=tasks)) == TASK_BYTES * n_tasks


def test_the_size_of_a_trace_includes_the_marks_of_kernels() -> None:
    marks = made_run(
        constructs=[construct(0, 0, n_completed=10), construct(1, 0, n_completed=10)],
        definitions=[definition(0, "kernel"), definition(1, "task")],
    )
    assert trace_bytes(marks) == 10 * (8 + 8)


def test_times_of_a_column_have_one_unit_if_that_unit_can_show_all_of_them() -> None:
    def column(*values: float, parts: bool = False) -> list[str]:
        return column_words(Column("", "time", Kind.TIME, parts=parts), values)

    assert column(492 * MS, 44.9 * MS, 300 * US) == ["492 ms", "44.9 ms", "0.30 ms"]
    assert column(492 * MS, 2 * US) == ["492 ms", "2 µs"]
    assert column(492 * MS, 2 * US, 0, parts=True) == ["492 ms", "<0.01 ms", "0 ms"]
    assert column(999_600 * US, 500 * MS) == ["1.00 s", "0.50 s"]
    assert durations_alike([])(5.0) == "5 ns"
    assert column_words(Column("", "n", Kind.COUNT), [1000, None]) == ["1,000", "-"]


def test_bars_of_shares_end_at_the_whole() -> None:
    columns = (Column("", "share", Kind.SHARE, "value"), Column("", "", Kind.BAR, lambda bar: bar))
    table = Table.of("", columns, [Bar(0.25, whole=1.0), Bar(0.5, whole=1.0)])
    report = run_report(content_of(fine_run()))
    section = replace(report.sections[0], parts=(table,))
    lines = printed(replace(report, sections=(section,), verdict="", commands=()), 60)
    scale = next(line for line in lines if "0%" in line and "100%" in line)
    widest = len(scale.rstrip()) - scale.index("0%")
    bars = [line.count("█") for line in lines if "█" in line]
    assert bars == [pytest.approx(widest / 4, abs=1), pytest.approx(widest / 2, abs=1)]


@pytest.mark.parametrize("width", [60, 80])
def test_waits_and_tasks_keep_their_figures_on_a_narrow_terminal(width: int) -> None:
    lines = printed(run_report(content_of(fine_run())), width)
    assert max(map(len, lines)) <= width
    for first, kept in (("wait ", ("waited", "share")), ("task ", ("tasks", "share"))):
        heading = next(k for k, line in enumerate(lines) if line.strip().startswith(first))
        titles = " ".join(lines[heading - 1 : heading + 1])
        assert all(title in titles for title in kept), titles


def test_a_report_does_not_advise_what_the_run_already_has() -> None:
    content = collect(fine_run())
    assert all("ompass run)" not in problem for problem in content.problems)
    samples = made_samples(content.run)
    assert "ompass samples" not in "".join(
        part.more
        for section in samples_report(samples).sections
        for part in section.parts
        if isinstance(part, Table)
    )


def test_the_default_report_on_a_job_has_verdict_findings_and_ranks(tmp_path: Path) -> None:
    contents = []
    for rank, factor in ((0, 1), (1, 3)):
        path = tmp_path / f"solver-r{rank}-{90 + rank}.ompass"
        path.mkdir()
        (path / "meta.json").write_text(json.dumps({"rank": rank, "host": "n"}), encoding="utf-8")
        rows = team(0, [{"work_ns": 60 * factor * MS, "idle_ns": 40 * factor * MS, "n_tasks": 2}] * 2)
        run = made_run(rows, [construct(1, 0, [60 * MS] * 2)], path=path, wall_ns=100 * factor * MS)
        contents.append(content_of(run))
    job = job_of_reports(contents)
    assert job
    report = printed_job_report(job, contents)
    assert "60.0% of the time of 4 threads is work" in report.verdict
    assert "ranks have unequal work" in report.verdict
    lines = printed(report)
    assert len(lines) <= 40
    assert any("1. Ranks have unequal work  rank 1" in line for line in lines[:10])
    assert report.commands[-1][0] == f"ompass report {tmp_path}/solver-r*.ompass --each"
    full = printed_job_report(job, contents, full=True)
    assert (full.verdict, [one.key for one in full.sections]) == (
        report.verdict,
        [one.key for one in report.sections],
    )
    assert not any(one.most_lines for one in full.sections)
    assert any("even distribution would save" in line for line in printed(full))


def working_run(behaviour: str, at_line: int, of: int = 100, *, work_ms: int = 90) -> ReportContent:
    """Makes a run with `of` samples of work in `f`.

    `at_line` of them are in line 7 and have the behaviour. The others are in line 9.
    """
    run = made_run(team(0, [{"work_ns": work_ms * MS, "idle_ns": (100 - work_ms) * MS}] * 2))
    hot, other = (Line("f", "/src/a.c", number, "prog", f"a.c:{number}") for number in (7, 9))
    samples = (
        LocatedSample(0, Owner("implicit", 0), (hot,), OWN, at_line, behaviour),
        LocatedSample(1, Owner("implicit", 0), (other,), OWN, of - at_line, COMPUTE),
    )
    content = replace(collect(run), findings=())
    return replace(content, samples=replace(made_samples(run), samples=samples))


@pytest.mark.parametrize(
    ("behaviour", "enough", "too_few", "advice"),
    [
        (FIXED, 31, 29, "write to the same cache line"),
        (MEMORY_USE, 81, 79, "in the order of their addresses"),
        (COMPUTE, 100, 0, ""),
    ],
)
def test_a_run_without_findings_says_what_to_check_if_memory_dominates(
    behaviour: str, enough: int, too_few: int, advice: str
) -> None:
    def sentence_of(content: ReportContent) -> str:
        return " ".join(part for part in problem_parts(content) if isinstance(part, str))

    found = sentence_of(working_run(behaviour, enough))
    assert (advice in found) if advice else not found
    assert not advice or "100% of the work is in f, most at a.c:" in found
    assert not sentence_of(working_run(behaviour, too_few))
    assert not sentence_of(working_run(behaviour, 9, of=9)), "too few samples"
    assert not sentence_of(working_run(behaviour, enough, work_ms=40)), "the work takes little of the time"
    explained = Finding("too_fine", "problem", "Tasks are too fine", "they are", "cut off", 50 * MS, 0)
    assert not sentence_of(replace(working_run(behaviour, enough), findings=(explained,)))
