# SPDX-License-Identifier: Apache-2.0
"""Tests the HTML report in a real browser: it draws figures, tables sort and unfold, keys work.

The page sends no requests and prints no errors on the console.
"""

import csv
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from made_runs import MS, construct, definition, made_run, team
from needs import require
from ompass.page.assemble import RunPart, html_report
from ompass.reports.content import collect

REPOSITORY = Path(__file__).resolve().parents[2]
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
WIDTHS = (400, 1600)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Makes the page of a traced run with kernels, a profiled run, and a sweep."""
    folder = tmp_path_factory.mktemp("html")
    bots = REPOSITORY / "build" / "release" / "bots"
    for name, mode, program in (
        ("sort", "trace", "sort-tasks-marked"),
        ("health", "profile", "health-tasks"),
    ):
        command = [sys.executable, "-m", "ompass", "run", "--mode", mode, "-o", f"{name}.ompass", "--"]
        command += [str(bots / program), "--class", "test", "--threads", "2"]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
    command = [
        sys.executable,
        "-m",
        "ompass",
        "scale",
        "-q",
        "-t",
        "1,2",
        "-r",
        "1",
        "-o",
        "sort.sweep",
        "--",
    ]
    subprocess.run(
        [*command, str(bots / "sort-tasks"), "--class", "test"], cwd=folder, check=True, capture_output=True
    )
    page = folder / "report.html"
    command = [sys.executable, "-m", "ompass", "report", "sort.ompass", "health.ompass", "sort.sweep"]
    command += ["--html", str(page), "--sources"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return page


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    require("this machine", [] if found else ["chromium"])
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield started
        started.close()


class Visit:
    """An open page, with its errors and requests."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.complaints: list[str] = []
        self.requests: list[str] = []
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))

    def scroll_through(self) -> None:
        for plot in self.page.locator(".plot").all():
            plot.scroll_into_view_if_needed()
        self.page.wait_for_function("document.querySelectorAll('.plot').length === "
                                    "document.querySelectorAll('.plot svg.marks').length")  # fmt: skip


def visit_of(browser: Browser, report: Path, width: int) -> Iterator[Visit]:
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme="light")
    visit = Visit(context.new_page())
    visit.page.goto(report.as_uri())
    yield visit
    context.close()


@pytest.fixture
def visit(browser: Browser, report: Path) -> Iterator[Visit]:
    yield from visit_of(browser, report, WIDTHS[-1])


@pytest.fixture(params=WIDTHS, ids=lambda width: f"{width}px")
def visit_in_each_width(request: pytest.FixtureRequest, browser: Browser, report: Path) -> Iterator[Visit]:
    yield from visit_of(browser, report, request.param)


def test_figures_are_drawn_without_a_complaint_or_a_request(visit_in_each_width: Visit, report: Path) -> None:
    """Also checks that all figures fit into the window."""
    visit = visit_in_each_width
    visit.scroll_through()
    assert visit.page.locator(".plot svg.marks").count() >= 11
    assert visit.complaints == []
    assert visit.requests == [report.as_uri()]
    assert visit.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_every_section_is_there(visit: Visit) -> None:
    titles = visit.page.locator("h3").all_text_contents()
    for title in (
        "Findings",
        "Where the thread-time went",
        "Parallel regions",
        "Task constructs by cost",
        "Granularity",
        "Kernels",
        "Reuse distance of the kernels",
        "Schedule",
        "Verdict",
        "Scaling",
        "Factored speed-up",
        "Inflation by construct",
    ):
        assert title in titles
    # Every entry of the contents links to a section.
    anchors = visit.page.locator("nav a").evaluate_all(
        "links => links.map(link => link.getAttribute('href'))"
    )
    assert len(anchors) > len(titles)
    for anchor in anchors:
        assert visit.page.locator(anchor).count() == 1


def test_the_schedule_of_a_trace_is_drawn_and_can_be_zoomed(visit: Visit, report: Path) -> None:
    section = visit.page.locator("section[id=schedule-1]")
    assert "deferred tasks started" in section.inner_text()
    assert section.locator(".plot").count() == 2
    canvas = visit.page.locator(".threads canvas")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    assert box is not None
    visit.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    visit.page.mouse.wheel(0, -500)
    visit.page.wait_for_function(
        "() => { const {view, begin, end, due} = ompassTimeline;"
        " return view.end - view.begin < 0.6 * (end - begin) && !due; }"
    )
    visit.page.wait_for_function("ompassTimeline.shown.length > 0")  # intervals drawn individually
    # The page's shares of the whole run equal the sums of the recorded intervals.
    visit.page.evaluate("ompassTimeline.fit(), ompassTimeline.select(0, ompassTimeline.end)")
    shares = visit.page.locator(".shares tr.row").evaluate_all(
        "rows => Object.fromEntries(rows.map(({children}) =>"
        " [children[0].textContent, Number(children[1].dataset.key)]))"
    )
    sql = "SELECT state, sum(end_ns - start_ns) AS ns FROM stretches GROUP BY state"
    command = [sys.executable, "-m", "ompass", "query", str(report.parent / "sort.ompass"), sql, "--json"]
    found = subprocess.run(command, check=True, capture_output=True).stdout.splitlines()
    for row in map(json.loads, found):  # the page rounds parts of a bin to 65,535ths
        assert shares[row["state"]] == pytest.approx(row["ns"], rel=1e-3, abs=1000)
    assert visit.page.locator("section[id=schedule-2]").count() == 0  # a profile has no schedule


def test_tables_sort_by_their_numbers(visit: Visit) -> None:
    # Uses the keyboard, because a click can miss when a newly drawn figure moves the table.
    header = visit.page.locator("section[id=tasks-1] th", has_text="mean work")
    header.locator("button").press("Enter")
    expect(header).to_have_attribute("aria-sort", "descending")
    column = "rows => rows.map(row => Number(row.children[5].dataset.key))"
    shown = visit.page.locator("section[id=tasks-1] tr.row").evaluate_all(column)
    assert len(shown) > 2
    assert shown == sorted(shown, reverse=True)
    header.locator("button").press("Enter")
    expect(header).to_have_attribute("aria-sort", "ascending")
    shown = visit.page.locator("section[id=tasks-1] tr.row").evaluate_all(column)
    assert shown == sorted(shown)


def test_tables_are_filtered_and_copied(visit: Visit, report: Path) -> None:
    section = visit.page.locator("section[id=tasks-1]")
    n_rows = section.locator("tr.row").count()
    section.locator("input[type=search]").fill("merge_tasks")
    rows = section.locator("tr.row:visible")
    n_shown = rows.count()
    assert 0 < n_shown < n_rows
    assert all("merge_tasks" in text for text in rows.all_text_contents())
    section.locator("button", has_text="Copy as CSV").click()
    copied = list(csv.reader(visit.page.evaluate("ompassCopied").splitlines()))
    assert len(copied) == 1 + n_shown
    assert {len(row) for row in copied} == {len(copied[0])}
    command = [sys.executable, "-m", "ompass", "report", str(report.parent / "sort.ompass"), "--json"]
    tasks = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["constructs"]
    works = {str(task["work_ns"]) for task in tasks}
    assert all(set(row) & works for row in copied[1:])


def test_drawing_figures_does_not_move_the_page(visit_in_each_width: Visit) -> None:
    visit = visit_in_each_width
    # A button that moves between press and release loses the click.
    visit.page.wait_for_function("document.documentElement.dataset.ready === '' && ompassTimeline.drawn")
    visit.page.wait_for_timeout(300)  # until the timeline no longer moves
    visit.page.evaluate(
        "() => { window.moved = 0; new PerformanceObserver(list => list.getEntries().forEach("
        "each => (window.moved += each.value))).observe({type: 'layout-shift'}); }"
    )
    visit.scroll_through()
    visit.page.wait_for_timeout(100)
    assert visit.page.evaluate("moved") < 0.001


def test_the_page_reports_when_it_is_ready(visit: Visit) -> None:
    assert visit.page.evaluate("document.documentElement.dataset.ready") == ""


def test_sources_have_costs_and_appear_only_on_request(visit: Visit, report: Path, tmp_path: Path) -> None:
    source = visit.page.locator("section[id=source-1]")
    files = source.locator("h4").all_inner_texts()  # the hottest line depends on the machine
    assert any("sort" in name for name in files), files
    assert source.locator(".line .cost.work", has_text="%").count() >= 1
    assert source.locator(".line .cost.sync", has_text="%").count() >= 1
    assert "tasks" in source.locator(".line.head").first.inner_text()
    page = tmp_path / "report.html"
    command = [
        sys.executable,
        "-m",
        "ompass",
        "report",
        str(report.parent / "sort.ompass"),
        "--html",
        str(page),
    ]
    subprocess.run(command, check=True, capture_output=True)
    assert "#pragma omp" not in page.read_text(encoding="utf-8")
    assert "#pragma omp" in report.read_text(encoding="utf-8")


def test_a_task_on_a_saved_page_is_chosen_by_keys_and_has_a_link(visit: Visit) -> None:
    visit.page.wait_for_function("ompassTimeline.shown && ompassTimeline.drawn")
    visit.page.evaluate(
        "() => { const rows = [...ompassTimeline.source.intervals(0).values()].flat().filter("
        "each => each.task !== '0' && !each.state); const {begin, end} = rows[rows.length >> 1];"
        " ompassTimeline.show(begin - 3 * (end - begin), end + 3 * (end - begin)); }"
    )
    visit.page.wait_for_function("ompassTimeline.shown.length > 0")
    visit.page.locator(".threads canvas").focus()
    visit.page.keyboard.press("n")
    visit.page.wait_for_function("ompassTimeline.chosen.hit")
    visit.page.locator(".chosen h4").wait_for()
    visit.page.wait_for_function("ompassTimeline.address && ompassTimeline.address.includes('x=')")
    assert visit.complaints == []


def test_a_long_table_has_pages_and_sorts_all_its_rows(browser: Browser, tmp_path: Path) -> None:
    n = 1234
    report = collect(
        made_run(
            regions=team(0, [{"work_ns": 60 * MS}]),
            constructs=[construct(k, 0, [k * 1000]) for k in range(1, n + 1)],
            definitions=[definition(0, "parallel"), *(definition(k) for k in range(1, n + 1))],
        )
    )
    path = tmp_path / "long.html"
    path.write_text(html_report([RunPart(report)]), encoding="utf-8")
    context = browser.new_context()
    visit = Visit(context.new_page())
    visit.page.goto(path.as_uri())
    section = visit.page.locator("section[id=tasks-1]")
    rows = section.locator("tr.row")
    assert rows.count() == 500
    assert f"rows 1 to 500 of {n}" in section.inner_text()
    header = section.locator("th", has_text="mean work")
    column = header.locator("button").get_attribute("data-column")
    work = f"rows => rows.map(row => Number(row.children[{column}].dataset.key))"
    header.locator("button").click()
    header.locator("button").click()  # smallest first
    shown = rows.evaluate_all(work)
    for _ in range(2):
        section.locator("button", has_text="next rows").click()
        shown += rows.evaluate_all(work)
    assert section.locator("button", has_text="next rows").is_disabled()
    assert shown == sorted(shown)
    assert len(shown) == n
    section.locator("button", has_text="Copy as CSV").click()
    assert len(visit.page.evaluate("ompassCopied").splitlines()) == n + 1
    assert visit.complaints == []
    context.close()


def test_a_row_unfolds_by_the_keyboard(visit_in_each_width: Visit) -> None:
    page = visit_in_each_width.page
    button = page.locator("section[id=tasks-1] .unfold").first
    details = page.locator("section[id=tasks-1] tr.details").first
    assert not details.is_visible()
    button.focus()
    page.keyboard.press("Enter")
    assert details.is_visible()
    assert details.locator(".source .marked").count() == 1
    assert button.get_attribute("aria-expanded") == "true"
    page.keyboard.press("Space")
    assert not details.is_visible()


def test_the_first_tab_stop_is_the_link_to_the_report(visit: Visit) -> None:
    visit.page.keyboard.press("Tab")
    assert visit.page.evaluate("document.activeElement.textContent") == "To the report"


def test_a_button_switches_between_dark_and_light(visit: Visit) -> None:
    paper = "getComputedStyle(document.documentElement).backgroundColor"
    light = visit.page.evaluate(paper)
    visit.page.locator("#theme").click()
    assert visit.page.evaluate(paper) != light
    visit.scroll_through()
    assert visit.complaints == []


def test_a_dark_system_gets_a_dark_page(browser: Browser, report: Path) -> None:
    context = browser.new_context(color_scheme="dark")
    page = context.new_page()
    page.goto(report.as_uri())
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    context.close()
