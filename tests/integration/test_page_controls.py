# SPDX-License-Identifier: Apache-2.0
"""The controls of the page in a real browser: cards of findings, search, layers, overview, keys, printing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from integration.test_html_report import Visit, browser
from integration.test_view import Viewed, click_on, end, recorded, start
from made_runs import MS, construct, definition, made_run, made_samples, team
from made_traces import Schedule, Spawn, Wait, Work, write_trace
from ompass import open
from ompass.graph.content import collect_graph
from ompass.metrics.facts import Finding
from ompass.page.assemble import RunPart, html_report
from ompass.page.pictures import flame
from ompass.page.sections import Part
from ompass.page.timeline import Timeline
from ompass.readers.schedule import open_pyramid, schedule_of
from ompass.reports.content import collect
from ompass.reports.model import Section
from ompass.samples.stacks import Stacks, stack_tree

__all__ = ["browser"]


@pytest.fixture(scope="module")
def dependent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a recording short enough for a page with every interval and dependence."""
    return recorded(tmp_path_factory.mktemp("dependent"), "lu-depend", "--size", "128", "--block", "16")


@pytest.fixture(scope="module")
def page(dependent: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the page of this recording, with findings on its costliest tasks and its longest wait."""
    run = open(dependent).run
    content = collect(run)
    findings = (
        Finding(
            "fine", "problem", "Tasks are too fine", "they are", "cut off", 10**6, content.tasks[0].construct
        ),
        Finding("wait", "problem", "Threads wait", "they do", "do not", 10**5, content.waits[0].construct),
        Finding("note", "note", "A remark", "it is", ""),
    )
    content = replace(content, findings=findings)
    pyramid = open_pyramid(dependent, keep=False)
    part = RunPart(content, schedule_of(pyramid), graph=collect_graph(run))
    path = tmp_path_factory.mktemp("page") / "page.html"
    text = html_report([part], timeline=Timeline([(content, pyramid)]), sources=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def shown(browser: Browser, page: Path) -> Iterator[Visit]:
    context = browser.new_context(viewport={"width": 1400, "height": 900}, color_scheme="light")
    visit = Visit(context.new_page())
    visit.page.goto(page.as_uri())
    visit.page.wait_for_function("window.ompassTimeline && ompassTimeline.drawn")
    yield visit
    context.close()
    assert visit.complaints == []


def zoom_to_tasks(visit: Visit) -> None:
    """Zooms to a median task of the construct with most tasks, until the timeline draws single intervals."""
    visit.page.evaluate(
        "() => { const rows = [...ompassTimeline.source.intervals(0).values()].flat().filter("
        "each => each.task !== '0' && !each.state);"
        " const counts = new Map(); for (const {construct} of rows)"
        " counts.set(construct, (counts.get(construct) ?? 0) + 1);"
        " const [most] = [...counts].reduce((a, b) => (b[1] > a[1] ? b : a));"
        " const begins = rows.filter(each => each.construct === most).map(each => each.begin)"
        ".sort((a, b) => a - b); const begin = begins[begins.length >> 1];"
        " ompassTimeline.show(begin - 30_000, begin + 70_000); }"
    )
    visit.page.wait_for_function("!ompassTimeline.due && ompassTimeline.shown.length > 3")


def zoom_to_dependence(visit: Visit) -> None:
    """Zooms to the predecessor and the successor that follow each other the fastest."""
    visit.page.evaluate(
        "async () => { await ompassTimeline.layers.load('dependences'); const tasks = new Map();"
        " for (const {task, begin, end} of [...ompassTimeline.source.intervals(0).values()].flat()"
        ".filter(each => each.task !== '0' && !each.state)) { const known = tasks.get(task) ?? {begin, end};"
        " tasks.set(task, {begin: Math.min(begin, known.begin), end: Math.max(end, known.end)}); }"
        " const [before, after] = ompassTimeline.layers.loaded.get('dependences')[0]"
        ".map(pair => pair.map(task => tasks.get(String(task))))"
        ".reduce((a, b) => (b[1].begin - b[0].end < a[1].begin - a[0].end ? b : a));"
        " ompassTimeline.show(before.begin - 1_000, after.end + 1_000); }"
    )
    visit.page.wait_for_function("!ompassTimeline.due && ompassTimeline.shown.length > 1")


def test_the_answer_is_above_the_fold(shown: Visit) -> None:
    for place in (".verdict", ".tiles", ".card .cure", "#timeline h2"):
        box = shown.page.locator(place).first.bounding_box()
        assert box is not None
        assert box["y"] + box["height"] < 900, place
    assert "tasks are too fine" in shown.page.locator(".verdict").inner_text()
    assert shown.page.locator(".tiles dt").all_inner_texts() == [
        "Wall time", "Threads", "Efficiency", "Tasks", "Parallelism", "Speed-up at most"
    ]  # fmt: skip
    assert shown.page.locator(".tiles svg.small, .tiles .states").count() == 6


def test_a_finding_is_shown_in_the_timeline_and_the_source(shown: Visit) -> None:
    page = shown.page
    card = page.locator(".card", has_text="Tasks are too fine")
    source = card.locator("details .source .marked")
    assert not source.is_visible()
    card.locator(".show").click()
    assert source.is_visible()
    state = page.evaluate(
        "[ompassTimeline.dimension, [...ompassTimeline.picked].map(k => ompassTimeline.entries()[k].label)]"
    )
    assert state[0] == "construct"
    assert len(state[1]) == 1
    assert state[1][0] in card.locator(".place").inner_text()
    zoom_to_tasks(shown)
    marked = page.evaluate(
        "ompassTimeline.shown.filter(({run, interval}) => ompassTimeline.layers.isMarked(run, interval))"
        ".map(({interval}) => ompassTimeline.about.runs[0].constructs[interval.construct])"
    )
    assert set(marked) == set(state[1])
    card.locator(".show").click()  # a second click shows everything again
    assert page.evaluate("ompassTimeline.picked.size") == 0
    assert not source.is_visible()
    page.locator(".card", has_text="Threads wait").locator(".show").press("Enter")
    assert page.evaluate("ompassTimeline.layers.marked[0].size") >= 1
    page.keyboard.press("Escape")
    assert page.evaluate("ompassTimeline.layers.marked") is None
    assert page.locator("[data-show][aria-pressed=true]").count() == 0


def test_notes_are_folded(shown: Visit) -> None:
    note = shown.page.locator("details.notes li").first
    assert not note.is_visible()
    shown.page.locator("details.notes summary").click()
    assert "A remark: it is" in note.inner_text()


def test_a_construct_is_found_by_its_line_and_shown(shown: Visit) -> None:
    page = shown.page
    labels = page.evaluate("Object.values(ompassTimeline.about.runs[0].constructs)")
    label = next(each for each in labels if ":" in each)
    line = label.split(" ")[0]
    page.locator(".threads canvas").focus()
    page.keyboard.press("/")
    page.keyboard.type(line)
    n_found = len({each for each in labels if line.lower() in each.lower()})
    found = page.locator(".finder .found")
    expect(found).to_have_text(f"{n_found} found")
    # Enter chooses the next task of the line, or zooms to most of them if they are too short to see.
    page.keyboard.press("Enter")
    page.wait_for_function(
        "() => { const {chosen, layers, view, end} = ompassTimeline;"
        " return chosen.hit ? layers.isMarked(0, chosen.hit.interval) : view.end - view.begin < end / 2; }"
    )
    page.locator("[aria-label='Find a construct or line']").fill("no such construct")
    expect(found).to_have_text("not found")
    page.keyboard.press("Escape")
    expect(found).to_have_text("")


def test_waits_dependences_and_the_critical_path_are_drawn_on_request(shown: Visit) -> None:
    page = shown.page
    zoom_to_tasks(shown)
    for name, found in (
        ("Waits", "ompassTimeline.layers.on.has('waits')"),
        ("Dependences", "ompassTimeline.layers.arrows > 0"),
        ("Critical path", "ompassTimeline.layers.loaded.get('critical')[0].length > 0"),
    ):
        if name == "Dependences":  # a window of other tasks may contain none
            zoom_to_dependence(shown)
        if name == "Critical path":  # the path may lie outside the window
            page.evaluate("ompassTimeline.fit()")
            page.wait_for_function("!ompassTimeline.due")
        before = page.evaluate("ompassTimeline.canvas.toDataURL()")
        button = page.locator(".tools button", has_text=name)
        button.click()
        expect(button).to_have_attribute("aria-pressed", "true")
        page.wait_for_function(f"!ompassTimeline.due && {found}")
        after = page.evaluate("ompassTimeline.canvas.toDataURL()")
        assert after != before, name
        button.click()
        page.wait_for_function("!ompassTimeline.due")
        assert page.evaluate("ompassTimeline.canvas.toDataURL()") == before, name


def test_the_critical_path_is_drawn_to_scale(shown: Visit) -> None:
    page = shown.page
    page.locator(".tools button", has_text="Critical path").click()
    page.wait_for_function("ompassTimeline.layers.loaded.get('critical') && !ompassTimeline.due")
    # One opaque pixel stands for one pixel's time, so short steps do not look longer than they are.
    ink, length = page.evaluate(
        "() => { const t = ompassTimeline; let sum = 0;"
        " const own = {globalAlpha: 1, fillRect(x, y, w) { sum += w * this.globalAlpha; }};"
        " t.layers.drawCritical(own); const per = (t.end - t.begin) / t.width;"
        " return [sum * per, t.layers.loaded.get('critical')[0].reduce((s, [, a, b]) => s + b - a, 0)]; }"
    )
    assert ink == pytest.approx(length, rel=0.25)


def test_a_tooltip_names_construct_depth_and_creator(shown: Visit) -> None:
    zoom_to_tasks(shown)
    interval = click_on(shown, "interval.task !== '0' && !interval.state && interval.depth")
    tip = shown.page.locator(".tip").inner_text()
    name = shown.page.evaluate(f"ompassTimeline.about.runs[0].constructs[{interval['construct']}]")
    assert name in tip
    assert f"depth {interval['depth']}" in tip
    assert f"by thread {int(interval['task']) >> 40}" in tip


def test_the_overview_appears_while_zoomed_and_moves_the_window(shown: Visit) -> None:
    page = shown.page
    strip = page.locator("canvas.strip")
    assert not strip.is_visible()
    page.locator(".threads canvas").focus()
    for _ in range(4):
        page.keyboard.press("w")
    page.wait_for_function("!ompassTimeline.due")
    strip.scroll_into_view_if_needed()
    assert strip.is_visible()
    box = strip.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] * 0.8, box["y"] + 10)
    middle, last = page.evaluate(
        "[(ompassTimeline.view.begin + ompassTimeline.view.end) / 2, ompassTimeline.end]"
    )
    assert middle == pytest.approx(0.8 * last, rel=0.02)


def test_lanes_are_high_if_they_are_few_and_the_axis_has_one_offset(shown: Visit) -> None:
    page = shown.page
    assert page.evaluate(
        "ompassTimeline.lines.filter(({row}) => !row.rows.length).every(({height}) => height >= 60)"
    )
    drawn = (
        "() => { const texts = [], measureText = text => ({width: text.length * 6});"
        " const write = name => text => name === 'fillText' && texts.push(text);"
        " ompassTimeline.drawAxis(new Proxy({measureText},"
        " {get: (own, name) => own[name] || write(name), set: () => true})); return texts; }"
    )
    texts = page.evaluate(drawn)
    assert not any("+" in text for text in texts)
    assert len({len(text.split()[0].partition(".")[2]) for text in texts}) == 1, f"unequal digits: {texts}"
    page.evaluate("ompassTimeline.show(ompassTimeline.end / 2, ompassTimeline.end / 2 + 400)")
    texts = page.evaluate(drawn)
    assert texts[0].endswith("+")
    assert all(len(text) < 12 for text in texts[1:])


def test_a_question_mark_shows_and_hides_the_keys(shown: Visit) -> None:
    keys = shown.page.locator(".keys")
    assert not keys.is_visible()
    shown.page.locator(".tools button", has_text="?").click()
    assert "next and previous interval" in keys.inner_text()
    shown.page.locator(".threads canvas").focus()
    shown.page.keyboard.press("?")
    assert not keys.is_visible()


def test_no_control_is_bright_in_the_dark_theme(browser: Browser, page: Path) -> None:
    context = browser.new_context(viewport={"width": 1400, "height": 900}, color_scheme="dark")
    visit = Visit(context.new_page())
    visit.page.goto(page.as_uri())
    visit.scroll_through()
    bright = visit.page.evaluate(
        "[...document.querySelectorAll("
        "'button, input, select, summary, .card, .tiles, .vega-actions')].filter(each => {"
        " const colour = getComputedStyle(each).backgroundColor;"
        " const [r, g, b, a = 1] = colour.match(/[\\d.]+/g).map(Number);"
        " return a > 0.1 && r + g + b > 300; }).map(each => each.outerHTML.slice(0, 80))"
    )
    assert bright == []
    context.close()


def test_figures_are_drawn_before_they_are_scrolled_to_and_for_print(
    browser: Browser, page: Path, tmp_path: Path
) -> None:
    context = browser.new_context(viewport={"width": 1400, "height": 900}, color_scheme="dark")
    visit = Visit(context.new_page())
    visit.page.goto(page.as_uri())
    visit.page.wait_for_function(
        "document.querySelectorAll('.plot').length === document.querySelectorAll('.plot svg.marks').length"
    )
    visit.page.emulate_media(media="print")
    title = visit.page.locator(".plot svg text").first
    assert title.evaluate("text => getComputedStyle(text).fill") == "rgb(0, 0, 0)"
    assert (
        visit.page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
        == "rgb(255, 255, 255)"
    )
    visit.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert visit.page.evaluate("document.documentElement.dataset.theme") == "light"
    assert visit.page.evaluate("ompassTimeline.paper()") == [255, 255, 255]
    visit.page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert visit.page.evaluate("document.documentElement.dataset.theme") == "dark"
    context.close()


NEVER_IN_SIGHT = (
    "window.requestIdleCallback = () => 0;"
    " window.IntersectionObserver = class { observe() {} unobserve() {} };"
    " addEventListener('afterprint', () => (window.printed = ['[data-later]', '.plot', '.plot svg.marks',"
    " '.graph svg'].map(each => document.querySelectorAll(each).length)));"
)


def test_printing_a_served_page_includes_sections_that_nobody_scrolled_to(
    browser: Browser, dependent: Path
) -> None:
    server, url = start(dependent)
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    context.add_init_script(NEVER_IN_SIGHT)
    visit = Viewed(context.new_page(), url)
    assert visit.page.locator("[data-later]").count() == 2  # schedule and graph
    visit.page.pdf()
    n_later, n_figures, n_drawn, n_graphs = visit.page.evaluate("printed")
    assert (n_later, n_drawn, n_graphs) == (0, n_figures, 2)
    assert n_figures >= 5
    assert visit.complaints == []
    context.close()
    end(server)


def test_every_control_and_picture_has_a_name(shown: Visit) -> None:
    unnamed = shown.page.evaluate(
        "[...document.querySelectorAll("
        "'button, select, input, canvas, svg.small, [role=img], summary')].filter("
        "each => !each.ariaHidden && !(each.ariaLabel || each.textContent.trim() || each.title))"
        ".map(each => each.outerHTML.slice(0, 80))"
    )
    assert unnamed == []


def page_with(browser: Browser, path: Path, text: str) -> Visit:
    path.write_text(text, encoding="utf-8")
    visit = Visit(browser.new_context(viewport={"width": 1400, "height": 900}).new_page())
    visit.page.goto(path.as_uri())
    return visit


def test_sampled_stacks_open_by_click_and_by_keys(browser: Browser, tmp_path: Path) -> None:
    run = made_run(
        regions=team(0, [{"work_ns": 60 * MS, "idle_ns": 40 * MS}, {"work_ns": 100 * MS}]),
        constructs=[construct(1, 0, [MS, 2 * MS]), construct(2, 0, [MS])],
        definitions=[definition(0, "parallel"), definition(1), definition(2)],
    )
    content = replace(collect(run), samples=made_samples(run))
    visit = page_with(browser, tmp_path / "page.html", html_report([RunPart(content)]))
    flame = visit.page.locator("section[id=stacks-1] .flame")
    titles = [title.text_content() for title in flame.locator("title").all()]
    assert titles[0] == "all samples: 100 samples (100.0%)"
    assert "inner: 30 samples (30.0%)" in titles and "outer: 40 samples (40.0%)" in titles
    width = "box => box.querySelector('rect').width.baseVal.value"
    outer = flame.locator(".group", has_text="outer").first
    whole = flame.locator(".group").first.evaluate(width)
    assert outer.evaluate(width) == pytest.approx(0.4 * whole, rel=0.02)
    outer.click()  # shows it alone, with its callers
    assert flame.locator(".group", has_text="outer").first.evaluate(width) == pytest.approx(whole, rel=0.01)
    assert "outer: 40" in flame.locator("[role=status]").inner_text()
    flame.locator("button", has_text="All").click()
    assert flame.locator(".group", has_text="main; x").count() == 1
    flame.locator(".group").first.focus()
    # Moves to the first owner, then to the second, and opens it.
    for key in ("ArrowDown", "ArrowRight", "Enter"):
        visit.page.keyboard.press(key)
    assert flame.locator(".group", has_text="main; x").count() == 0
    flame.locator("button", has_text="All").press("Enter")
    assert flame.locator(".group", has_text="main; x").count() == 1
    outer.click()
    visit.page.keyboard.press("Escape")
    assert flame.locator(".group", has_text="main; x").count() == 1
    with visit.page.expect_download() as download:
        flame.locator("button", has_text="SVG").click()
    assert download.value.suggested_filename == "stacks.svg"
    assert visit.complaints == []


def test_stacks_that_grew_differ_from_those_that_shrank(browser: Browser, tmp_path: Path) -> None:
    now: Stacks = {("task", "f"): 30.0, ("task", "g"): 10.0, ("task", "h"): 20.0, ("task", "few"): 5.0}
    one: Stacks = {("task", "f"): 10.0, ("task", "g"): 30.0, ("task", "h"): 20.0, ("task", "few"): 1.0}
    part = Part(
        Section("stacks", "Stacks", ()), drawn=flame(stack_tree(now, one), before="on one", after="on 4")
    )
    text = html_report([RunPart(collect(made_run(regions=team(0, [{"work_ns": MS}]))))])
    visit = page_with(browser, tmp_path / "page.html", text.replace("</main>", f"{part.drawn}</main>"))
    boxes = visit.page.locator(".flame .group")
    fills = dict(zip(boxes.locator("title").all_text_contents(),
                     boxes.locator("rect").evaluate_all("all => all.map(each => each.getAttribute('fill'))"),
                     strict=True))  # fmt: skip
    red = {
        name.split(":")[0]: int(fill[1:3], 16) - int(fill[5:7], 16)
        for name, fill in fills.items()
        if fill[0] == "#"
    }
    assert red["f"] > 100
    assert red["g"] < -100
    assert abs(red["h"]) < 20
    assert abs(red["few"]) < 20, "five samples against one may be chance"
    assert any(name.startswith("f: 30 samples on 4, 10 samples on one (+20 samples)") for name in fills)
    assert visit.complaints == []


def test_low_lanes_share_labels_that_do_not_overlap(browser: Browser, tmp_path: Path) -> None:
    body = tuple(Spawn((Work(500),), 2) for _ in range(500))
    made = write_trace(tmp_path / "wide.ompass", Schedule((*body, Wait()), 64, 1))
    content, pyramid = collect(open(made).run), open_pyramid(made, keep=False)
    text = html_report([RunPart(content)], timeline=Timeline([(content, pyramid)]))
    visit = page_with(browser, tmp_path / "page.html", text)
    visit.page.wait_for_function("ompassTimeline.drawn")
    assert visit.page.evaluate("ompassTimeline.lines.length") == 65
    tops = visit.page.locator(".gutter .label").evaluate_all(
        "all => all.map(each => each.getBoundingClientRect()).map(({top, bottom}) => [top, bottom])"
    )
    assert len(tops) > 30
    assert all(above[1] <= below[0] + 0.5 for above, below in pairwise(tops))
    assert visit.complaints == []


def test_names_of_runs_fit_or_end_in_dots(browser: Browser, tmp_path: Path) -> None:
    spawned = tuple(Spawn((Work(500),), 2) for _ in range(20))
    names = ("solver-r0-5032.ompass", "a-solver-with-a-very-long-name-r1-5033.ompass")
    traces = [write_trace(tmp_path / name, Schedule((*spawned, Wait()), 2, 1)) for name in names]
    contents = [collect(open(trace).run) for trace in traces]
    runs = [(content, open_pyramid(content.run.path, keep=False)) for content in contents]
    text = html_report([RunPart(content) for content in contents], timeline=Timeline(runs))
    visit = page_with(browser, tmp_path / "page.html", text)
    visit.page.wait_for_function("ompassTimeline.drawn")
    labels = visit.page.locator(".gutter button.label .name")
    assert labels.all_inner_texts() == [f"\u25b8 {name.removesuffix('.ompass')}" for name in names]
    cut = labels.evaluate_all("all => all.map(each => each.scrollWidth > each.clientWidth)")
    assert cut == [False, True]
    assert (
        visit.page.locator(".name").first.evaluate("each => getComputedStyle(each).textOverflow")
        == "ellipsis"
    )
    assert visit.complaints == []


def test_names_of_tasks_stand_out_from_the_patterns_behind_them(shown: Visit) -> None:
    zoom_to_tasks(shown)
    shown.page.evaluate(
        "() => { const {begin, end} = ompassTimeline.shown.map(each => each.interval)"
        ".find(each => each.task !== '0' && !each.state);"
        " ompassTimeline.show(begin - 100, end + 100); }"
    )
    shown.page.wait_for_function("!ompassTimeline.due")
    drawn = shown.page.evaluate(
        """() => {
            const calls = [], real = {};
            for (const name of ["strokeText", "fillText"]) {
                real[name] = CanvasRenderingContext2D.prototype[name];
                CanvasRenderingContext2D.prototype[name] = function (text) {
                    calls.push([name, text, name === "strokeText" ? this.strokeStyle : this.fillStyle]);
                    return real[name].apply(this, arguments);
                };
            }
            ompassTimeline.drawNow();
            Object.assign(CanvasRenderingContext2D.prototype, real);
            return calls;
        }"""
    )
    outlines = {text: colour for name, text, colour in drawn if name == "strokeText"}
    assert outlines
    for name, text, colour in drawn:
        if name == "fillText" and text in outlines:
            assert colour != outlines[text]


@pytest.mark.parametrize(
    ("n_threads", "n_tasks"), [(64, 5_000), pytest.param(512, 20_000, marks=pytest.mark.slow)]
)
def test_the_page_of_many_threads_stays_small(tmp_path: Path, n_threads: int, n_tasks: int) -> None:
    body = tuple(Spawn((Work(500),), 2) for _ in range(n_tasks))
    made = write_trace(tmp_path / "wide.ompass", Schedule((*body, Wait()), n_threads, 1))
    content, pyramid = collect(open(made).run), open_pyramid(made, keep=False)
    part = RunPart(content, schedule_of(pyramid), graph=collect_graph(content.run))
    text = html_report([part], timeline=Timeline([(content, pyramid)]))
    assert len(text.encode()) < 5_000_000


FAST = (
    "const real = setTimeout;"
    " window.setTimeout = (act, ms, ...more) => real(act, ms === 1000 ? 5 : ms, ...more);"
)


def test_the_page_reconnects_until_six_connections_in_a_row_deliver_nothing(
    browser: Browser, dependent: Path
) -> None:
    server, url = start(dependent)
    context = browser.new_context()
    page = context.new_page()
    page.add_init_script(FAST)
    requests: list[str] = []

    def answer(route) -> None:  # type: ignore[no-untyped-def]
        requests.append(route.request.url)
        route.fulfill(body="." if len(requests) < 12 else "")

    page.route("**/alive", answer)
    page.goto(url)
    page.wait_for_function("window.ompassTimeline")
    for _ in range(50):
        page.wait_for_timeout(100)
        if len(requests) > 16:
            break
    page.wait_for_timeout(300)
    # Eleven connections deliver data. After six more that deliver none, the page gives up.
    assert len(requests) == 11 + 6
    context.close()
    end(server)


def test_a_served_page_adds_the_bounds_and_every_layer(browser: Browser, dependent: Path) -> None:
    server, url = start(dependent)
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    visit = Viewed(context.new_page(), url)
    visit.page.locator(".tiles dt", has_text="Speed-up at most").wait_for()
    assert visit.page.locator(".tiles dt").count() == 6
    for name in ("Waits", "Dependences", "Critical path"):
        button = visit.page.locator(".tools button", has_text=name)
        button.click()
        expect(button).to_have_attribute("aria-pressed", "true")
        expect(button).to_be_enabled()
    visit.page.wait_for_function("ompassTimeline.layers.loaded.size === 2")
    assert visit.complaints == []
    context.close()
    end(server)
