# SPDX-License-Identifier: Apache-2.0
"""The HTML report as text: complete without scripts, no external resources, no name becomes markup."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

from made_jobs import rank_content
from made_runs import MS, construct, definition, made_run, team
from ompass.figures.schedule import who_ran_whose
from ompass.jobs.content import job_of_reports
from ompass.metrics.facts import Finding
from ompass.model import OUTSIDE, Run
from ompass.page.assemble import RunPart, html_report
from ompass.page.excerpts import Excerpts, Sources
from ompass.page.markup import Markup, element, prose, table
from ompass.page.pictures import MOST_BARS, area, bars
from ompass.reports.content import collect
from ompass.reports.job import printed_job_report
from ompass.reports.model import Column, Figure, Kind, Table
from ompass.samples.content import SampleContent
from ompass.samples.metrics import Line, LocatedSample, Owner
from ompass.simulation.stored import StoredAdvice, StoredChange
from ompass.symbols.resolver import Location
from ompass.units import percent

HOSTILE = '</script><img src=x onerror="alert(1)">'


def run(name: str = "solve", **fields: object) -> Run:
    return made_run(
        regions=team(0, [{"work_ns": 60 * MS, "idle_ns": 40 * MS}, {"work_ns": 100 * MS}]),
        constructs=[construct(1, 0, [MS, 2 * MS]), construct(2, 0, [MS])],
        definitions=[definition(0, "parallel"), definition(1), definition(2, "kernel", name=name)],
        **fields,
    )


class Tags(HTMLParser):
    """Collects the start tags of a page outside of scripts, with their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def test_the_page_has_every_section() -> None:
    page = html_report([RunPart(collect(run()))])
    for title in ("Findings", "Where the thread-time went", "Parallel regions", "Task constructs by cost"):
        assert f"<h3>{title}</h3>" in page


def test_the_page_states_the_part_of_the_run_in_regions() -> None:
    assert "100% in parallel regions" in html_report([RunPart(collect(run()))])
    without = made_run(team(OUTSIDE, [{"work_ns": 100 * MS}]), wall_ns=100 * MS)
    assert "0.0% in parallel regions" in html_report([RunPart(collect(without))])


def test_figures_in_words_are_sorted_by_their_numbers() -> None:
    shown = Table.of("t", (Column("", "change", Kind.FIGURE),), [])
    rows = tuple((Figure(text, order),) for text, order in (("+3.0%", 0.03), ("12 times", 11.0)))
    page = str(table(replace(shown, rows=rows)))
    assert 'data-key="0.03"' in page and 'data-key="11.0"' in page


def test_the_page_has_no_external_resources() -> None:
    page = html_report([RunPart(collect(run()))])
    for tag, attributes in Tags(page).found:
        for name in ("src", "href"):
            value = attributes.get(name)
            assert value is None or value.startswith(("#", "data:")), (tag, value)


def test_a_run_without_findings_has_no_empty_section() -> None:
    healthy = made_run(
        regions=team(0, [{"work_ns": 100 * MS}] * 2),
        constructs=[construct(1, thread, [MS] * 90) for thread in range(2)],
        definitions=[definition(0, "parallel"), definition(1)],
    )
    page = html_report([RunPart(collect(healthy))])
    assert "No problem found" in page
    assert "<h3>Findings</h3>" not in page
    assert 'href="#findings' not in page


def test_bars_of_shares_are_as_long_as_the_share() -> None:
    page = html_report([RunPart(collect(run()))])
    assert re.search(r'class="bar state work" style="width:80.00%"', page)


def test_names_never_become_markup() -> None:
    page = html_report([RunPart(collect(run(HOSTILE)))])
    assert not [tag for tag, _ in Tags(page).found if tag == "img"]
    figures = re.search(r'<script type="application/json" id="figures">(.*?)</script>', page)
    assert figures is not None
    json.loads(figures.group(1))


def test_several_runs_are_compared() -> None:
    page = html_report([RunPart(collect(run())), RunPart(collect(run()))])
    assert "<h3>All runs</h3>" in page
    assert page.count("<article") == 2


def test_a_run_that_was_cut_short_is_marked() -> None:
    page = html_report([RunPart(collect(run(complete=False, incomplete_reasons=["It was killed."])))])
    assert "The run was cut short. It was killed." in page


def test_text_is_escaped_once() -> None:
    assert element("p", "a < b", title='"') == '<p title="&quot;">a &lt; b</p>'
    assert element("p", Markup("<b>x</b>")) == "<p><b>x</b></p>"


def test_sentences_mark_code_and_keep_options_whole() -> None:
    assert prose("a < b: set `--mca yield 1` (--repeat), --from") == (
        'a &lt; b: set <code>--mca yield 1</code> (<span class="option">--repeat</span>), '
        '<span class="option">--from</span>'
    )
    assert prose("well-known -- but") == "well-known -- but"


def test_an_excerpt_surrounds_its_line(tmp_path: Path) -> None:
    path = tmp_path / "a.c"
    path.write_text("".join(f"line {k}\n" for k in range(1, 30)))
    excerpt = Sources().around(Location("f", str(path), 10))
    assert excerpt is not None
    assert (excerpt.first, excerpt.lines[0], excerpt.lines[10 - excerpt.first]) == (6, "line 6", "line 10")


def test_source_is_on_the_page_only_on_request(tmp_path: Path) -> None:
    path = tmp_path / "a.c"
    path.write_text("".join(f"line {k}\n" for k in range(1, 60)))
    content = collect(run())
    where = Location("f", str(path), 10)
    line = Line("f", str(path), 12, "a", "a.c:12")
    samples = SampleContent(
        content.run,
        (LocatedSample(0, Owner("task", 1), (line,), "", 30),),
        {},
        100,
        ("task clock",),
        1,
        0,
        0,
        0,
        0,
    )
    content = replace(content, locations=dict.fromkeys(content.locations, where), samples=samples)
    assert "line 11" not in html_report([RunPart(content)])
    page = html_report([RunPart(content)], sources=True)
    assert "<h3>Source</h3>" in page
    assert 'title="30 samples"' in page
    # Both constructs have this line.
    n_tasks = sum(task.n_created for task in content.tasks)
    work = percent(sum(task.work_ns for task in content.tasks) / content.breakdown.states.total_ns)
    assert f'<span class="cost tasks">{n_tasks}</span><span class="cost work"' in page
    assert re.search(rf'<span class="cost work"[^>]*>{work}</span>', page)
    excerpt = Excerpts(content).of(1)
    assert excerpt is not None
    assert (excerpt["line"], excerpt["heat"]) == (10, {12: 30})
    assert excerpt["first"] + len(excerpt["lines"]) - 1 == 16  # includes lines after the sampled one


def test_a_missing_file_or_line_has_no_excerpt(tmp_path: Path) -> None:
    (tmp_path / "short.c").write_text("one line\n")
    sources = Sources()
    assert sources.around(Location("f", str(tmp_path / "absent.c"), 10)) is None
    assert sources.around(Location("f", str(tmp_path / "short.c"), 10)) is None
    assert sources.around(Location("f", "", 0)) is None


def head_of(*found: Finding) -> str:
    content = replace(collect(run()), findings=found)
    return html_report([RunPart(content)])


def test_the_verdict_names_the_work_and_the_most_expensive_problem() -> None:
    page = head_of(
        Finding("a", "problem", "Tasks are too fine", "they are", "cut off", 50 * MS, 1),
        Finding("b", "note", "A remark", "it is", ""),
    )
    verdict = re.search(r'<p class="verdict">(.*?)</p>', page)
    assert verdict is not None
    assert verdict.group(1).startswith("80.0% of the time of 2 threads is work")
    assert verdict.group(1).endswith("tasks are too fine.")
    assert 'class="verdict">No problem found: 80.0% of the time of 2 threads is work.' in head_of()


def test_a_card_states_the_predicted_gain_of_the_change_that_cures_it() -> None:
    finding = Finding("too_fine", "problem", "Tasks are too fine", "they are", "cut off", 50 * MS, 1)
    place = Location("f", "/src/a.c", 10)
    change = StoredChange("depth", "Cut off below depth 8", "", "call f instead", place, 30 * MS, 0.8, False)
    content = replace(collect(run()), findings=(finding,), advice=StoredAdvice({}, (change,)))
    page = html_report([RunPart(content)])
    gain = re.search(r'<p class="gain">(.*?)</p>', page)
    assert gain is not None
    assert gain.group(1) == "Cut off below depth 8: 80% less time predicted (30 ms instead of 150 ms)"
    assert '<p class="cure">Call f instead.</p>' in page
    assert "gain" not in head_of(finding).split("<body")[1].split("<script")[0]


def test_a_problem_is_a_card_with_its_line_and_cost_and_a_note_is_not() -> None:
    page = head_of(
        Finding("a", "problem", HOSTILE, "it is", "cut off", 50 * MS, 1),
        Finding("b", "note", "A remark", "it is", ""),
    )
    cards = [attributes for tag, attributes in Tags(page).found if attributes.get("class") == "card"]
    assert len(cards) == 1
    assert not [tag for tag, _ in Tags(page).found if tag == "img"]
    assert 'style="width:25.0%"' in page
    assert "data-show" not in page.split("<script")[0]  # a profile has no timeline


def test_a_cost_outside_of_regions_is_a_share_of_the_program() -> None:
    # The region takes half of the program's time. One thread works in the other half.
    finding = Finding("serial_fraction", "problem", "A serial part limits", "it does", "", 100 * MS)
    content = replace(collect(run(wall_ns=200 * MS)), findings=(finding,))
    page = html_report([RunPart(content)])
    assert 'style="width:25.0%"' in page
    assert "costs 25.0% of the thread-time of the program" in page


def test_the_page_of_a_job_begins_with_its_verdict(tmp_path: Path) -> None:
    contents = [rank_content(tmp_path, k, work_ms=10 * (k + 1), mpi_ms=40 - 10 * k) for k in range(3)]
    job = job_of_reports(contents)
    assert job is not None
    verdict = printed_job_report(job, contents).verdict
    body = html_report([RunPart(contents[0]), RunPart(contents[2])], compared=contents).split("<body", 1)[1]
    assert body.index(f"{verdict[:1].upper()}{verdict[1:]}") < body.index('class="verdicts"')


def test_the_head_of_a_profile_has_no_figures_that_need_a_trace() -> None:
    titles = re.findall(r"<dt>([^<]+)</dt>", html_report([RunPart(collect(run()))]).split("<h3>Findings")[0])
    assert titles == ["Wall time", "Threads", "Efficiency", "Tasks"]


def test_small_pictures_have_at_most_a_bar_per_two_pixels() -> None:
    picture = bars([1.0] * 1000, "work of each thread")
    assert picture.count("<rect") <= MOST_BARS
    assert bars([], "nothing") == bars([0.0], "nothing") == ""
    assert area([1.0], "one value", 2) == ""
    assert 'aria-label="work of each thread"' in picture


def test_a_matrix_of_many_threads_is_folded_without_loss() -> None:
    ran = tuple(
        tuple(1 if thread % 7 == creator % 7 else 0 for thread in range(512)) for creator in range(512)
    )
    schedule = SimpleNamespace(ran=ran, n_tasks=sum(map(sum, ran)))
    spec = who_ran_whose(schedule)  # type: ignore[arg-type]
    assert spec is not None
    rows = spec["data"]["values"]
    assert len(rows) <= 64 * 64
    assert sum(row["tasks"] for row in rows) == schedule.n_tasks
    assert {row["creator"] for row in rows} == {f"{k} to {k + 7}" for k in range(0, 512, 8)}
    few = who_ran_whose(SimpleNamespace(ran=((0, 5), (2, 0))))  # type: ignore[arg-type]
    assert few is not None
    assert few["height"] <= 80  # not stretched over the page
    assert [row["tasks"] for row in few["data"]["values"]] == [5, 2]
