# SPDX-License-Identifier: Apache-2.0
"""`ompass view` in a real browser and by HTTP: all zoom levels of a large trace; access control."""

from __future__ import annotations

import http.client
import json
import random
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from command import ompass
from integration.test_html_report import REPOSITORY, Visit, browser
from made_traces import Schedule, Spawn, Wait, Work, write_trace
from ompass import _core

__all__ = ["browser"]

OMPASS = [sys.executable, "-m", "ompass"]
HOSTILE = '<img src=x onerror="alert(1)">'


# Runs the command. The first argument is how long the server waits after its page is closed, in seconds.
IMPATIENT = (
    "import sys; import ompass.serving.server as server; server._PATIENCE_S = float(sys.argv.pop(1));"
    " from ompass.__main__ import main; main()"
)


def start(*directories: Path, patience_s: float | None = None) -> tuple[subprocess.Popen[str], str]:
    """Starts the server. Returns its process and the address of its page."""
    command = OMPASS if patience_s is None else [sys.executable, "-c", IMPATIENT, str(patience_s)]
    server = subprocess.Popen(
        [*command, "view", "--no-browser", *map(str, directories)], stderr=subprocess.PIPE, text=True
    )
    assert server.stderr is not None
    line = server.stderr.readline()
    found = re.search(r"http://127\.0\.0\.1:\d+/[\w-]+/", line)
    assert found, line
    return server, found[0]


def end(server: subprocess.Popen[str]) -> None:
    server.send_signal(signal.SIGINT)
    assert server.wait(20) == 0
    assert server.stderr is not None
    with server.stderr:
        assert "Traceback" not in server.stderr.read()


def recorded(folder: Path, program: str, *words: str, threads: int = 2) -> Path:
    path = folder / f"{program}.ompass"
    bot = REPOSITORY / "build" / "release" / "bots" / program
    command = [*OMPASS, "run", "-q", "--mode", "trace", "-o", str(path), "--", str(bot), *words]
    subprocess.run([*command, "--threads", str(threads)], check=True, capture_output=True)
    return path


N_TASKS = {"25": 242_000, "28": 1_028_000}  # a lower bound, by the size of fib


@pytest.fixture(scope="module", params=["25", pytest.param("28", marks=pytest.mark.slow)])
def size(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def large(size: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a trace of many tasks; of more than a million in the slow tests."""
    folder = tmp_path_factory.mktemp("large")
    return recorded(folder, "fib-tasks", "--size", size, "--cutoff", "none")


@pytest.fixture(scope="module")
def marked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recorded(tmp_path_factory.mktemp("marked"), "sort-tasks-marked", "--class", "test")


@pytest.fixture(scope="module")
def served(large: Path, browser: Browser) -> Iterator[str]:
    server, url = start(large)
    context = browser.new_context()
    context.new_page().goto(url)  # keeps the server running while this page is open
    yield url
    end(server)
    context.close()


class Viewed(Visit):
    """A page of `ompass view`."""

    def __init__(self, page: Page, url: str) -> None:
        super().__init__(page)
        self.url = url
        page.goto(url)
        self.settle()
        page.evaluate("ompassTimeline.place.scrollIntoView()")  # below a long list of findings

    def settle(self) -> None:
        """Waits until the page has loaded and drawn all data of the timeline."""
        self.page.wait_for_function(
            "() => { const t = window.ompassTimeline, s = t.source;"
            " return t.drawn && !t.due && (!s.isServed || (!s.loading.size && !s.missing.size)); }"
        )

    def show(self, begin_ns: float, end_ns: float) -> None:
        self.page.evaluate("([begin, end]) => ompassTimeline.show(begin, end)", [begin_ns, end_ns])
        self.page.wait_for_timeout(50)
        self.settle()

    def view(self) -> tuple[float, float]:
        view = self.page.evaluate("ompassTimeline.view")
        return view["begin"], view["end"]

    def sums(self) -> dict[str, list[float]]:
        """Returns the nanoseconds of each legend entry on each drawn line, summed over all columns."""
        found: dict[str, list[float]] = self.page.evaluate(
            "() => Object.fromEntries(ompassTimeline.values(ompassTimeline.canvas.width)"
            ".map(({line, values}) => [line.row.id, ompassTimeline.entries().map((_, k, all) =>"
            " values.reduce((sum, value, i) => i % all.length === k ? sum + value : sum, 0))]))"
        )
        return found

    def keys(self, *names: str) -> None:
        self.page.locator(".threads canvas").focus()
        for name in names:
            self.page.keyboard.press(name)
        self.page.wait_for_timeout(50)
        self.settle()


@pytest.fixture
def viewed(browser: Browser, served: str) -> Iterator[Viewed]:
    context = browser.new_context(viewport={"width": 1400, "height": 900}, color_scheme="light")
    visit = Viewed(context.new_page(), served)
    yield visit
    context.close()
    assert visit.complaints == []
    assert all(url.startswith((served, "blob:", "data:")) for url in visit.requests)


def sql(path: Path, query: str) -> list[Any]:
    return [json.loads(line) for line in ompass("query", path, query, "--json").stdout.splitlines()]


def test_the_timeline_zooms_to_a_single_task(viewed: Viewed, large: Path, size: str) -> None:
    assert sql(large, "SELECT count(*) AS n FROM tasks")[0]["n"] > N_TASKS[size]
    # Shows the shortest stolen task, or the beginning of a long one: if threads share processors, all stolen
    # tasks may be long. In a window of a whole long task, its intervals would be too narrow to draw.
    task = sql(
        large,
        "SELECT task, thread, created_ns, start_ns, end_ns FROM tasks WHERE deferred AND creator <> thread "
        "AND end_ns - start_ns > 1000 ORDER BY end_ns - start_ns LIMIT 1",
    )[0]
    begin, last = task["start_ns"], task["end_ns"]
    viewed.show(begin - 200, min(last, begin + 20_000) + 200)
    viewed.page.wait_for_function("ompassTimeline.shown && ompassTimeline.shown.length > 0")
    shown = viewed.page.evaluate("ompassTimeline.shown.map(({interval}) => interval)")
    mine = [each for each in shown if each["task"] == str(task["task"]) and each["thread"] == task["thread"]]
    assert mine
    assert min(each["begin"] for each in mine) >= begin
    assert max(each["end"] for each in mine) <= last
    assert {each["created"] for each in mine} == {task["created_ns"]}
    assert {each["start"] for each in mine} == {begin}
    # Hovering shows the task and its creation.
    box = viewed.page.locator(".threads canvas").bounding_box()
    assert box is not None
    hit = viewed.page.evaluate(
        "task => { const {left, right, line} = ompassTimeline.shown.find(s => s.interval.task === task);"
        " return [(left + right) / 2, line.top + line.height / 2]; }",
        str(task["task"]),
    )
    viewed.page.mouse.move(box["x"] + hit[0], box["y"] + hit[1])
    tip = viewed.page.locator(".tip")
    tip.wait_for()
    assert f"by thread {task['task'] >> 40}" in tip.inner_text()


def test_a_saved_page_of_many_tasks_is_small_and_soon_interactive(
    browser: Browser, large: Path, tmp_path: Path
) -> None:
    path = tmp_path / "page.html"
    subprocess.run([*OMPASS, "report", str(large), "--html", str(path)], check=True)
    assert path.stat().st_size < 5_000_000
    # Takes the least of three processor times of the page's thread: other programs hardly lengthen it.
    seconds = []
    for _ in range(3):
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable", {"timeDomain": "threadTicks"})
        page.goto(path.as_uri())
        page.wait_for_function("window.ompassTimeline && ompassTimeline.drawn")
        metrics = {each["name"]: each["value"] for each in session.send("Performance.getMetrics")["metrics"]}
        seconds.append(metrics["TaskDuration"])
        page.close()
    assert min(seconds) < 1


def recorded_ns(run: Path, windows: Sequence[tuple[int, int]]) -> list[dict[tuple[str, str], int]]:
    """Returns, for each window, the time by timeline row and state, from SQL."""
    parts = [
        f"SELECT {number} AS part, thread, state, "
        f"sum(least(end_ns, {high}) - greatest(start_ns, {low})) AS ns FROM stretches "
        f"WHERE start_ns < {high} AND end_ns > {low} GROUP BY thread, state"
        for number, (low, high) in enumerate(windows)
    ]
    found: list[dict[tuple[str, str], int]] = [{} for _ in windows]
    for row in sql(run, " UNION ALL ".join(parts)):
        found[row["part"]][f"0.{row['thread']}", row["state"]] = row["ns"]
    return found


def test_proportions_match_the_recorded_states(viewed: Viewed, large: Path) -> None:
    last = viewed.view()[1]
    parts = ((0, last), (last * 0.3, last / 10), (last * 0.7, last / 3000), (last * 0.5, 40_000))
    windows = [(int(begin), int(min(begin + span, last))) for begin, span in parts]
    for (low, high), known in zip(windows, recorded_ns(large, windows), strict=True):
        viewed.show(low, high)
        states = viewed.page.evaluate("ompassTimeline.about.states.map(state => state.label)")
        for line, sums in viewed.sums().items():
            if line == "0":
                continue
            for state, shown in zip(states, sums, strict=True):
                # The page divides a bin at the window's edge proportionally. A bin is shorter than a pixel.
                assert shown == pytest.approx(known.get((line, state), 0), abs=2 * (high - low) / 1000)


def test_proportions_of_random_windows_match_the_records(viewed: Viewed, large: Path) -> None:
    chosen, last = random.Random(11), viewed.view()[1]
    spans = [last / 10 ** chosen.uniform(0, 4.5) for _ in range(6)]
    begins = [chosen.uniform(0, last - span) for span in spans]
    windows = [(int(begin), int(begin + span)) for begin, span in zip(begins, spans, strict=True)]
    for (low, high), known in zip(windows, recorded_ns(large, windows), strict=True):
        viewed.show(low, high)
        states = viewed.page.evaluate("ompassTimeline.about.states.map(state => state.label)")
        for line, sums in viewed.sums().items():
            for state, shown in zip(states, sums, strict=True):
                of_line = known.get((line, state), 0) if line != "0" else sum(
                    ns for (_, each), ns in known.items() if each == state
                )  # fmt: skip
                assert shown == pytest.approx(of_line, abs=4 * (high - low) / 1000)


@pytest.fixture(scope="module")
def dependent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recorded(tmp_path_factory.mktemp("dependent"), "lu-depend", "--class", "test")


@pytest.fixture
def of_dependent(browser: Browser, dependent: Path) -> Iterator[Viewed]:
    server, url = start(dependent)
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    visit = Viewed(context.new_page(), url)
    yield visit
    context.close()
    end(server)
    assert visit.complaints == []


def click_on(visit: Visit, found: str) -> Any:
    """Clicks the first drawn interval for which the JavaScript `found` is true. Returns this interval."""
    find = f"ompassTimeline.shown.find(({{interval, left, right}}) => right - left > 3 && ({found}))"
    visit.page.wait_for_function(find)
    visit.page.locator(".threads canvas").scroll_into_view_if_needed()
    left, right, line, interval = visit.page.evaluate(
        f"() => {{ const {{left, right, line, interval}} = {find}; return [left, right, line, interval]; }}"
    )
    box = visit.page.locator(".threads canvas").bounding_box()
    assert box is not None
    visit.page.mouse.click(
        box["x"] + (left + right) / 2, box["y"] + line["top"] + min(line["height"] / 2, 10)
    )
    visit.page.wait_for_function("ompassTimeline.chosen.hit")
    return interval


def test_a_chosen_task_shows_its_dependences_in_both_directions(
    of_dependent: Viewed, dependent: Path
) -> None:
    rows = sql(
        dependent,
        "SELECT task, thread, start_ns, end_ns FROM tasks WHERE ready_ns > created_ns "
        "ORDER BY end_ns - start_ns",
    )
    by_task = {str(row["task"]): row for row in rows}
    task = rows[-1]
    length = task["end_ns"] - task["start_ns"]
    of_dependent.show(task["start_ns"] - length, task["end_ns"] + length)
    interval = click_on(of_dependent, f"interval.task === '{task['task']}' && !interval.state")
    of_dependent.page.locator(".chosen .links li").first.wait_for()
    links = of_dependent.page.evaluate(
        "ompassTimeline.chosen.links.get(`0 ${ompassTimeline.chosen.hit.interval.task}`)"
    )
    assert links[0]["task"] == interval["task"]
    assert (links[0]["start_ns"], links[0]["end_ns"]) == (task["start_ns"], task["end_ns"])
    before = [each for each in links if each["role"] == 1]
    assert before
    assert all(each["end_ns"] <= task["start_ns"] for each in before if each["end_ns"])
    for each in links[1:]:
        if each["task"] in by_task and each["start_ns"]:
            assert each["start_ns"] == by_task[each["task"]]["start_ns"]
    of_dependent.page.locator(".chosen .source .marked").wait_for()
    # The URL contains the chosen task. Escape drops the choice.
    of_dependent.page.wait_for_function("location.hash.includes('x=')")
    of_dependent.page.locator(".threads canvas").focus()
    of_dependent.page.keyboard.press("Escape")
    assert of_dependent.page.evaluate("ompassTimeline.chosen.hit") is None


def test_a_chosen_wait_shows_its_place_and_the_other_threads(viewed: Viewed, large: Path) -> None:
    last = viewed.view()[1]
    viewed.show(last * 0.4, last * 0.4 + 40_000)
    interval = click_on(viewed, "interval.waitKind && interval.state > 1")
    table = viewed.page.locator(".chosen .moment tr.row")
    table.first.wait_for()
    assert table.count() == 2
    waits = sql(
        large,
        f"SELECT thread, kind, start_ns, end_ns FROM waits WHERE thread = {interval['thread']} "
        f"AND start_ns = {interval['waitBegin']}",
    )
    assert "taskwait" in viewed.page.locator(".chosen p").first.inner_text()
    assert [wait["kind"] for wait in waits] == ["taskwait"]


def test_off_cpu_time_is_hatched_to_scale(browser: Browser, marked: Path) -> None:
    rows = sql(
        marked,
        "SELECT state, sum(preempted_ns) AS preempted, sum(blocked_ns) AS blocked FROM stretches "
        "GROUP BY state",
    )
    server, url = start(marked)
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    visit = Viewed(context.new_page(), url)
    about = visit.page.evaluate("ompassTimeline.about")
    known = {row["state"]: (row["preempted"] or 0, row["blocked"] or 0) for row in rows}
    assert about["offCpu"] == any(map(any, known.values()))
    if about["offCpu"]:
        parts = visit.page.evaluate(
            "() => { const t = ompassTimeline, n = t.canvas.width, sums = {};"
            " const {row} = t.lines[0], {begin, end} = t.view;"
            " const values = t.source.fill(row, 'absent', begin, end, n);"
            " t.about.states.forEach(({label}, k) => (sums[label] = [0, 1].map(blocked =>"
            " values.reduce((sum, v, i) => i % 10 === 2 * k + blocked ? sum + v : sum, 0)))); return sums; }"
        )
        for state, (preempted, blocked) in known.items():
            assert parts[state] == pytest.approx([preempted, blocked], rel=1e-3, abs=100)
        assert visit.page.locator(".legend .swatch.preempted").count() == 1
    assert visit.complaints == []
    context.close()
    end(server)


def test_a_selected_window_has_the_breakdown_of_the_report(viewed: Viewed, large: Path) -> None:
    last = viewed.view()[1]
    begin, stop = int(last * 0.31), int(last * 0.42)
    viewed.page.fill("[aria-label='Begin of the selection']", f"{begin}ns")
    viewed.page.fill("[aria-label='End of the selection']", f"{stop}ns")
    viewed.page.keyboard.press("Enter")
    viewed.page.locator(f".window[data-window='{begin}:{stop}']").wait_for(timeout=60_000)
    rows = viewed.page.locator("[id^=thread-time-of-window] tr.row").all()
    shown = {}
    for row in rows:
        cells = row.locator("td").evaluate_all("cells => cells.map(cell => cell.dataset.key)")
        shown[cells[0]] = int(cells[1])
    command = [*OMPASS, "report", str(large), "--from", "events", "--window", f"{begin}ns:{stop}ns"]
    report = subprocess.run([*command, "--json"], check=True, capture_output=True, text=True)
    values = json.loads(report.stdout)
    assert shown == {state: values[f"{state}_ns"] for state in shown}
    assert len(shown) == 5
    assert sum(shown.values()) == pytest.approx(2 * (stop - begin), abs=4)  # the borders are rounded to ticks


def test_a_dragged_window_is_selected_and_a_link_brings_it_back(viewed: Viewed, browser: Browser) -> None:
    page = viewed.page
    viewed.keys("w", "w", "d")
    box = page.locator(".threads canvas").bounding_box()
    assert box is not None
    page.keyboard.down("Shift")
    page.mouse.move(box["x"] + 200, box["y"] + 40)
    page.mouse.down()
    page.mouse.move(box["x"] + 500, box["y"] + 40, steps=4)
    page.mouse.up()
    page.keyboard.up("Shift")
    selection = page.evaluate("ompassTimeline.selection")
    begin, stop = viewed.view()
    per_pixel = (stop - begin) / page.evaluate("ompassTimeline.width")
    assert selection["begin"] == pytest.approx(begin + 200 * per_pixel, abs=2 * per_pixel)
    assert selection["end"] == pytest.approx(begin + 500 * per_pixel, abs=2 * per_pixel)
    page.locator("[aria-label='Colour by']").select_option("construct")
    page.wait_for_timeout(400)
    context = browser.new_context()
    other = Viewed(context.new_page(), page.url)
    assert other.page.evaluate("ompassTimeline.selection") == selection
    assert other.page.evaluate("ompassTimeline.dimension") == "construct"
    assert other.view() == pytest.approx(viewed.view(), abs=2)
    context.close()


def test_one_construct_alone_keeps_its_colour(viewed: Viewed) -> None:
    page = viewed.page
    page.locator("[aria-label='Colour by']").select_option("construct")
    viewed.settle()
    before = page.evaluate("ompassTimeline.colours()")
    page.locator(".legend button").first.click()
    after = page.evaluate("ompassTimeline.colours()")
    assert after[0] == before[0]
    assert all(one != other for one, other in zip(before[1:], after[1:], strict=True))
    assert page.locator(".legend button").first.get_attribute("aria-pressed") == "true"


def test_everything_can_be_done_by_the_keyboard(viewed: Viewed) -> None:
    page = viewed.page
    whole = viewed.view()
    for _ in range(80):  # moves to the timeline with Tab only
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.tagName") == "CANVAS":
            break
    assert page.evaluate("document.activeElement.tagName") == "CANVAS"
    page.keyboard.press("w")
    page.keyboard.press("w")
    zoomed = viewed.view()
    assert zoomed[1] - zoomed[0] == pytest.approx(0.36 * (whole[1] - whole[0]))
    page.keyboard.press("d")
    assert viewed.view()[0] > zoomed[0]
    page.keyboard.press("[")
    selection = page.evaluate("ompassTimeline.selection")
    assert selection["end"] == pytest.approx(viewed.view()[1], abs=1)
    page.keyboard.press("z")
    assert viewed.view() == pytest.approx((selection["begin"], selection["end"]), abs=1)
    page.keyboard.press("Escape")
    assert page.evaluate("ompassTimeline.selection") is None
    page.keyboard.press("f")
    assert viewed.view() == whole
    page.keyboard.press("Shift+Tab")
    assert page.evaluate("document.activeElement.getAttribute('aria-expanded')") == "true"
    page.keyboard.press("Enter")  # folds the threads
    assert page.evaluate("ompassTimeline.lines.length") == 1
    assert page.evaluate("document.activeElement.getAttribute('aria-expanded')") == "false"


def test_the_dark_and_the_light_theme_have_their_own_background(viewed: Viewed) -> None:
    corner = (
        "() => { const copy = document.createElement('canvas');"
        " const context = copy.getContext('2d', {willReadFrequently: true});"
        " const c = document.querySelector('.threads canvas');"
        " context.drawImage(c, 2 - c.width, -2);"
        " return [...context.getImageData(0, 0, 1, 1).data]; }"
    )
    light = viewed.page.evaluate(corner)
    viewed.page.locator("#theme").click()
    viewed.page.wait_for_timeout(200)
    viewed.settle()
    assert sum(viewed.page.evaluate(corner)[:3]) < 200 < sum(light[:3])


@pytest.mark.parametrize("width", [420, 1000, 2560])
def test_the_page_fits_every_window(browser: Browser, served: str, width: int) -> None:
    context = browser.new_context(viewport={"width": width, "height": 900})
    visit = Viewed(context.new_page(), served)
    assert visit.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert visit.page.evaluate("ompassTimeline.width") > 0.55 * min(width, 1500) - 240
    assert visit.complaints == []
    context.close()


def test_pictures_are_saved(viewed: Viewed, tmp_path: Path) -> None:
    for kind, head in (("SVG", b"<svg"), ("PNG", b"\x89PNG")):
        with viewed.page.expect_download() as download:
            viewed.page.locator("#timeline .tools button", has_text=kind).click()
        path = tmp_path / download.value.suggested_filename
        download.value.save_as(path)
        assert path.read_bytes().startswith(head)
        assert path.suffix == f".{kind.lower()}"


def test_kernels_and_slow_sections_are_loaded_when_shown(browser: Browser, marked: Path) -> None:
    server, url = start(marked)
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    visit = Viewed(context.new_page(), url)
    visit.page.locator("[aria-label='Colour by']").select_option("kernel")
    visit.settle()
    assert "quicksort" in visit.page.locator(".legend").inner_text()
    for section in ("schedule-1", "graph-1", "reuse-1"):
        place = visit.page.locator(f"section[id={section}]")
        place.scroll_into_view_if_needed()
        plot = visit.page.locator(f"section[id={section}]:not([data-later]) .plot").first
        plot.wait_for(state="attached")
        plot.scroll_into_view_if_needed()
        plot.locator("svg.marks").wait_for()
    # Enter on a group of the task graph shows only the group's construct.
    group = (
        visit.page.locator("section[id=graph-1] svg").first.locator(".group", has_text="merge_tasks").first
    )
    group.focus()
    visit.page.keyboard.press("Enter")
    assert visit.page.evaluate("ompassTimeline.dimension") == "construct"
    entry = visit.page.locator("#timeline .legend [aria-pressed=true]")
    assert "merge_tasks" in entry.inner_text()
    assert visit.complaints == []
    context.close()
    end(server)


def test_hundreds_of_threads_are_shown_in_groups_that_open(browser: Browser, tmp_path: Path) -> None:
    body = tuple(Spawn((Work(500),), 2) for _ in range(1000))
    made = write_trace(tmp_path / "wide.ompass", Schedule((*body, Wait()), 256, 1))
    server, url = start(made)
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    visit = Viewed(context.new_page(), url)
    labels = visit.page.locator(".gutter .label").all_inner_texts()
    assert len(labels) == 1 + 256 // 16  # one line for all threads, and one per group of 16
    sums = visit.sums()
    whole = sums.pop("0")
    assert len(sums) == 256 // 16
    groups = [sum(of) for of in zip(*sums.values(), strict=True)]
    assert groups == pytest.approx(whole, rel=1e-6, abs=1)
    assert whole[0] == pytest.approx(1000 * 500, rel=0.01)
    visit.page.locator(".gutter button.label", has_text="240 to 255").click()
    visit.settle()
    opened = visit.sums()
    assert len(opened) == 1 + 256 // 16 + 16
    threads = [sum(of) for of in zip(*(opened[f"0.{k}"] for k in range(240, 256)), strict=True)]
    assert threads == pytest.approx(opened["0.240 to 255"], rel=1e-6, abs=1)
    assert visit.complaints == []
    context.close()
    end(server)


def test_more_than_a_hundred_ranks_are_shown_in_groups_that_open(browser: Browser, tmp_path: Path) -> None:
    body = tuple(Spawn((Work(500),), 2) for _ in range(30))
    first = write_trace(tmp_path / "first.ompass", Schedule((*body, Wait()), 2, 1))
    ranks = [tmp_path / f"solver-r{k:03}.ompass" for k in range(128)]
    for k, path in enumerate(ranks):
        shutil.copytree(first, path)
        meta = json.loads((path / "meta.json").read_text()) if (path / "meta.json").exists() else {}
        (path / "meta.json").write_text(json.dumps(meta | {"rank": k, "host": f"node{k // 64}"}))
    server, url = start(*ranks)
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    visit = Viewed(context.new_page(), url)
    assert visit.page.locator("article").count() == 2  # the reports of two of the ranks
    before = len(visit.page.evaluate("ompassTimeline.lines"))
    assert before < 40
    sums = visit.sums()
    visit.page.locator(".gutter button.label[aria-expanded=false]").first.click()
    visit.settle()
    assert len(visit.page.evaluate("ompassTimeline.lines")) > before
    assert {line: each for line, each in visit.sums().items() if line in sums} == sums
    assert visit.complaints == []
    context.close()
    end(server)
    page = tmp_path / "job.html"
    subprocess.run([*OMPASS, "report", *map(str, ranks), "--html", str(page)], check=True)
    assert page.stat().st_size < 5 << 20


def test_a_saved_page_contains_the_dependences(browser: Browser, tmp_path: Path) -> None:
    # The run is so short that the page contains every interval.
    short = recorded(tmp_path, "lu-depend", "--size", "128", "--block", "16")
    pairs = Counter(
        tuple(pair) for pair in _core.Pyramid(str(short), keep=False).read_dependences(1 << 20) or ()
    )
    path = tmp_path / "page.html"
    subprocess.run([*OMPASS, "report", str(short), "--html", str(path)], check=True)
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    visit = Visit(context.new_page())
    visit.page.goto(path.as_uri())
    visit.page.wait_for_function("window.ompassTimeline && ompassTimeline.drawn")
    baked = visit.page.evaluate("ompassTimeline.source.runs[0].dependences")
    assert pairs
    assert Counter((int(before), int(after)) for before, after in baked) == pairs
    after = max(pairs, key=lambda pair: pair[1])[1]
    links = visit.page.evaluate("task => ompassTimeline.source.links(0, task)", str(after))
    assert links[0]["task"] == str(after)
    assert {int(each["task"]) for each in links[1:] if each["role"] == 1} == {
        one for one, other in pairs if other == after
    }
    known = {str(row["task"]): row for row in sql(short, "SELECT task, start_ns, end_ns FROM tasks")}
    for each in links:
        row = known[each["task"]]
        assert (each["start_ns"], each["end_ns"]) == (row["start_ns"], row["end_ns"])
    # A click on a task lists its dependences.
    row = known[str(after)]
    span = row["end_ns"] - row["start_ns"]
    visit.page.evaluate(
        "([begin, end]) => ompassTimeline.show(begin, end)", [row["start_ns"] - span, row["end_ns"] + span]
    )
    visit.page.wait_for_timeout(200)
    click_on(visit, f"interval.task === '{after}' && !interval.state")
    visit.page.locator(".chosen .links li").first.wait_for()
    assert visit.complaints == []
    context.close()


def test_no_name_becomes_markup(browser: Browser, tmp_path: Path) -> None:
    body = tuple(Spawn((Work(500),), 2) for _ in range(50))
    made = write_trace(tmp_path / f"{HOSTILE.replace('/', '')}.ompass", Schedule(body, 2, 0))
    server, url = start(made)
    context = browser.new_context()
    visit = Viewed(context.new_page(), url)
    visit.page.evaluate("ompassTimeline.select(0, 5000)")
    visit.page.locator(".window[data-window]").wait_for()
    assert visit.page.locator("img").count() == 0
    assert "onerror" in visit.page.locator("h1 + p").inner_text()  # shown as text
    assert visit.complaints == []
    assert "<img" not in visit.page.evaluate("ompassTimeline.svg()")
    context.close()
    end(server)


def request(
    url: str, method: str = "GET", path: str = "", body: str = "", **headers: str
) -> tuple[int, bytes]:
    host, _, token = url.removeprefix("http://").partition("/")
    connection = http.client.HTTPConnection(host, timeout=20)
    head = {"Host": host, **{name.replace("_", "-"): value for name, value in headers.items()}}
    connection.request(method, path or f"/{token}", body=body or None, headers=head)
    reply = connection.getresponse()
    result = (reply.status, reply.read())
    assert not reply.headers.get("Access-Control-Allow-Origin")
    connection.close()
    return result


def test_only_requests_with_the_token_are_answered(served: str) -> None:
    token = "/" + served.split("/", 3)[3]
    question = json.dumps(
        {
            "dimension": "state",
            "shift": 20,
            "first": 0,
            "n": 4,
            "rows": [{"run": 0, "threads": [0]}, {"run": 0, "threads": [0, 1]}],
        }
    )
    json_kind = "application/json"
    assert request(served)[0] == 200
    status, tile = request(served, "POST", f"{token}tiles", question, Content_Type=json_kind)
    assert (status, len(tile)) == (200, 2 * 4 * 5 * 4)
    for path in ("/", "/favicon.ico", "/x/", token[:-2] + "/", f"{token}../etc/passwd"):
        assert request(served, path=path)[0] == 404
    assert request(served, Host="evil.example")[0] == 404  # DNS rebinding
    assert request(served, Host=served.split("/")[2].replace("127.0.0.1", "localhost"))[0] == 404
    foreign = {"Origin": "https://evil.example"}
    assert request(served, "POST", f"{token}tiles", question, Content_Type=json_kind, **foreign)[0] == 404
    assert request(served, "POST", f"{token}tiles", question, Content_Type="text/plain")[0] == 415
    for wrong in ("{", "[]", "{}", question.replace('"n": 4', '"n": -1'), question.replace("20", '"x"')):
        assert request(served, "POST", f"{token}tiles", wrong, Content_Type=json_kind)[0] == 400
    assert request(served, "POST", f"{token}nothing", question, Content_Type=json_kind)[0] == 404


def test_the_server_ends_when_the_page_is_closed(browser: Browser, marked: Path) -> None:
    server, url = start(marked, patience_s=2)
    context = browser.new_context()
    visit = Viewed(context.new_page(), url)
    visit.page.reload()  # does not end the server
    visit.page.wait_for_timeout(3500)
    assert server.poll() is None
    context.close()
    assert server.wait(20) == 0
    assert server.stderr is not None
    with server.stderr:
        assert "closed" in server.stderr.read()
