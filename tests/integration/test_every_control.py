# SPDX-License-Identifier: Apache-2.0
"""Uses every control of each kind of page in a real browser, and checks that it has an effect.

The lists of controls and keys come from the pages: all elements that a reader can press, fill or focus, all
elements with listeners, and the keys that the timeline handles. A control without an entry in USES fails.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from playwright.sync_api import Browser, ElementHandle, Page, TimeoutError

from integration.test_html_report import browser
from integration.test_page_controls import dependent, page
from integration.test_view import end, start
from made_runs import MS, construct, definition, made_run, made_samples, team
from ompass.metrics.breakdown import Scope
from ompass.page.assemble import RunPart, html_report
from ompass.reports.content import ReportContent, collect
from ompass.scaling.content import collect_scaling
from ompass.scaling.plan import SweepSpec
from recorded_sweeps import recorded_sweep
from unit.test_comparison_page import compared

__all__ = ["browser", "dependent", "page"]

pytestmark = pytest.mark.timeout(600)


class Use(NamedTuple):
    """The use of a control.

    `act` uses the control, and so changes the value of `effect`, a JavaScript expression. If `effect` is
    empty, `act` itself checks the effect. `first` brings the page into a state in which the control can have
    an effect.
    """

    act: Callable[[Page, ElementHandle], None]
    effect: str = ""
    first: Callable[[Page], None] | None = None
    spoils: bool = False  # the page must be loaded again before other controls are used


def click(_: Page, it: ElementHandle) -> None:
    it.click()


def click_on_group(page: Page, _: ElementHandle) -> None:
    """Opens the second group, which then still has the focus, and presses Enter on it."""
    page.click(ON_GROUP)
    page.keyboard.press("Enter")


def focus(_: Page, it: ElementHandle) -> None:
    it.focus()


def press(key: str) -> Callable[[Page, ElementHandle], None]:
    return lambda _, it: it.press(key)


def fill(text: str) -> Callable[[Page, ElementHandle], None]:
    return lambda _, it: it.fill(text)


def save(page: Page, it: ElementHandle) -> None:
    with page.expect_download() as download:
        it.click()
    assert download.value.suggested_filename.rpartition(".")[2] in ("svg", "png")


def do(script: str) -> Callable[[Page], None]:
    return lambda page: page.evaluate(script)


SETTLED = (
    "() => { const t = ompassTimeline, s = t.source; return !t.due && (!s.isServed ||"
    " (!s.loading.size && !s.missing.size && [...s.windows.values()].every(each => each.end))); }"
)


# The intervals drawn on the uppermost line that has any.
ON_FIRST_LINE = (
    "ompassTimeline.shown.filter(({line}, _, shown) =>"
    " line.top === Math.min(...shown.map(each => each.line.top)))"
)


_LAST: dict[str, int] = {}  # by expression, the number of the window that zoom_until found last


def zoom_until(page: Page, found: str) -> None:
    """Shows a window of 100 µs for which an expression is true."""
    for k in (_LAST.get(found, 0), *range(200)):
        page.evaluate(
            "k => { const {begin, end} = ompassTimeline, at = begin + (end - begin) * ((k * 0.618) % 1);"
            " ompassTimeline.show(at, at + 100_000); }",
            k,
        )
        page.wait_for_timeout(20)
        page.wait_for_function(SETTLED)
        if page.evaluate(found):
            _LAST[found] = k
            return
    raise TimeoutError(f"there is no window with {found}")


def zoom(page: Page) -> None:
    """Shows a window in which the intervals of several lines, two on the first, are drawn individually."""
    several = "new Set(ompassTimeline.shown.map(each => each.line)).size > 1"
    zoom_until(page, f"ompassTimeline.shown.length > 6 && {several} && {ON_FIRST_LINE}.length > 1")


def choose_dependent(page: Page) -> None:
    """Chooses a task that waited for others, so its dependences are listed."""
    found = "ompassTimeline.shown.find(({interval}) => !interval.state && interval.ready > interval.created)"
    zoom_until(page, f"Boolean({found})")
    page.evaluate(f"ompassTimeline.chosen.choose({found})")
    page.locator(".links button").first.wait_for()


def fill_window(page: Page) -> None:
    page.locator("[aria-label='Begin of the selection']").fill("1us")
    page.locator("[aria-label='End of the selection']").fill("200us")


def fill_and_enter(page: Page, it: ElementHandle) -> None:
    fill_window(page)
    it.press("Enter")


def to_stack(page: Page) -> None:
    page.focus(ON_STACK)


def submit(page: Page, _: ElementHandle) -> None:
    page.press("[aria-label='End of the selection']", "Enter")


def search(page: Page, it: ElementHandle) -> None:
    it.fill(page.evaluate("Object.values(ompassTimeline.about.runs[0].constructs)[0].slice(0, 4)"))
    it.press("Enter")


def handle_canvas(page: Page, it: ElementHandle) -> None:
    """Points at the canvas, turns the wheel, drags, double-clicks, leaves the canvas and presses a key."""
    it.scroll_into_view_if_needed()
    box = it.bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.locator(".tip").wait_for()
    page.mouse.wheel(0, -300)
    page.mouse.down()
    page.mouse.move(x + 40, y)
    page.mouse.up()
    page.mouse.dblclick(x, y)
    page.mouse.move(x, box["y"] - 20)
    it.press("a")


def drag(page: Page, it: ElementHandle) -> None:
    it.scroll_into_view_if_needed()
    box = it.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 10, box["y"] + 10)
    page.mouse.down()
    page.mouse.move(box["x"] + 60, box["y"] + 10)
    page.mouse.up()


OPEN_ALL = do(
    "document.querySelectorAll('details').forEach(each => (each.open = true)),"
    " document.querySelectorAll('tr.details').forEach(each => (each.hidden = false))"
)
HASH = "location.hash"
FOCUS = "[document.activeElement.tagName, document.activeElement.className, document.activeElement.ariaLabel]"
N_OPEN = "document.querySelectorAll('details[open]').length"
VIEW, SELECTION = "ompassTimeline.view", "ompassTimeline.selection"
PICKED, LAYERS = "ompassTimeline.picked.size", "[...ompassTimeline.layers.on]"
OPEN_STACK = "document.querySelector('.flame [role=status]').textContent"
ON_STACK = ".flame .group >> nth=1"
ON_GROUP = ".graph .group >> nth=1"
TREE = "document.querySelector('.graph').innerHTML"
ROWS = "document.querySelector('.at').textContent"


def layer(page: Page, it: ElementHandle) -> None:
    it.click()
    page.wait_for_function("ompassTimeline.layers.on.size && !ompassTimeline.due")


# The use of each control. A key is a selector if many controls are of one kind, else area, element and name.
USES = {
    "#theme": Use(click, "document.documentElement.dataset.theme"),
    ".skip": Use(press("Enter"), HASH),
    "nav a": Use(click, HASH),
    ".verdicts a": Use(click, HASH),
    "th button": Use(click, "[...document.querySelectorAll('[aria-sort]')].map(each => each.ariaSort)"),
    ".unfold": Use(click, "document.querySelectorAll('.unfold[aria-expanded=true]').length"),
    ".of-table input": Use(fill("no such row"), "document.querySelectorAll('tr.row').length"),
    ".copy": Use(click, "window.ompassCopied"),
    '.of-table button "next rows ▸"': Use(click, ROWS),
    '.of-table button "◂ rows before"': Use(click, ROWS, lambda page: page.click("text=next rows")),
    ".table": Use(focus, FOCUS),
    ".source": Use(focus, FOCUS, OPEN_ALL),
    ".boxes": Use(focus, FOCUS),
    "details:not(.vega-embed) > summary": Use(click, N_OPEN),
    ".show": Use(click, PICKED),
    ".vega-embed summary": Use(click, N_OPEN),
    ".vega-actions a": Use(save, "", OPEN_ALL),
    "#timeline select": Use(press("ArrowDown"), "ompassTimeline.dimension"),
    '#timeline button "The whole run (f)"': Use(click, VIEW, zoom),
    '#timeline button "Zoom in (w, +)"': Use(click, VIEW),
    '#timeline button "Zoom out (s, -)"': Use(click, VIEW, zoom),
    '#timeline button "Drag selects a window, instead of moving the picture"': Use(
        click, "ompassTimeline.selecting.ariaPressed"
    ),
    '#timeline button "Show where each wait begins and ends"': Use(layer, LAYERS),
    '#timeline button "Draw the dependences between the visible tasks"': Use(layer, LAYERS),
    '#timeline button "Mark the tasks of the critical path"': Use(layer, LAYERS),
    '#timeline input "Find a construct or line"': Use(search, PICKED),
    '#timeline input "Begin of the selection"': Use(fill_and_enter, SELECTION),
    '#timeline input "End of the selection"': Use(fill_and_enter, SELECTION),
    ".typed": Use(submit, SELECTION, fill_window),
    '#timeline button "Select the window between these times"': Use(click, SELECTION, fill_window),
    '#timeline button "Save the picture as SVG"': Use(save),
    '#timeline button "Save the picture as PNG"': Use(save),
    '#timeline button "Keys (?)"': Use(click, "ompassTimeline.keysList.hidden"),
    ".legend button": Use(click, PICKED),
    "button.label": Use(click, "[...ompassTimeline.open]", spoils=True),
    ".threads canvas": Use(handle_canvas, VIEW),
    "canvas.strip": Use(drag, VIEW, zoom),
    ".links button": Use(click, VIEW, choose_dependent),
    ".flame .group": Use(lambda page, _: page.click(ON_STACK), OPEN_STACK, to_stack),
    ".flame": Use(
        lambda page, _: page.keyboard.press("Enter"), OPEN_STACK, to_stack
    ),
    '.flame button "Show all stacks (Escape)"': Use(
        click, OPEN_STACK, lambda page: page.click(ON_STACK)
    ),
    '.flame button "Save the picture as SVG"': Use(save),
    ".graph select": Use(press("ArrowDown"), TREE),
    ".graph .group": Use(click_on_group, TREE),
    '.graph button "Whole tree"': Use(click, TREE, lambda page: page.click(ON_GROUP)),
    '.graph button "SVG"': Use(save),
    '.graph button "PNG"': Use(save),
}  # fmt: skip

UNUSUAL = {"pointercancel"}  # events that a reader does not cause

WATCH = Path(__file__).with_name("every_control.js").read_text()


def watched(browser: Browser) -> Page:
    context = browser.new_context(viewport={"width": 1400, "height": 900}, color_scheme="light")
    page = context.new_page()
    selectors = [name for name in USES if '"' not in name]
    page.add_init_script(WATCH.replace("SELECTORS", json.dumps(selectors)))
    return page


def load(page: Page, url: str) -> None:
    page.set_default_timeout(30_000)
    page.goto("about:blank")
    page.goto(url)
    page.wait_for_function("document.documentElement.dataset.ready === ''")
    # These events make a served page load all its sections, as for printing.
    page.evaluate("dispatchEvent(new Event('beforeprint')), dispatchEvent(new Event('afterprint'))")
    page.wait_for_function(
        "(!window.ompassTimeline || ompassTimeline.drawn) && !document.querySelector('[data-later]')"
        " && [...document.querySelectorAll('.plot')].every(each => each.querySelector('svg.marks'))"
    )


def merge(found: dict[str, set[str]], more: Any) -> None:
    for kind, types in more.items():
        found.setdefault(kind, set()).update(types)


def use_all(page: Page, url: str) -> None:
    """Uses every control of a page, including those that appear when others are used.

    First uses a control on the page as the earlier controls have left it. If the control is not visible there
    or has no effect, it must have an effect on the reloaded page.
    """
    found: dict[str, set[str]] = {}
    used: dict[str, set[str]] = {}
    load(page, url)
    merge(found, page.evaluate("ompassControls.all()"))
    done: set[str] = set()
    while left := found.keys() - done:
        assert left <= USES.keys(), f"no use of {sorted(left - USES.keys())}"
        for kind in sorted(left):
            page.set_default_timeout(1000)  # short, because earlier controls may have hidden this one
            if problem_of_use(page, kind, USES[kind]):
                load(page, url)
                problem = problem_of_use(page, kind, USES[kind])
                assert not problem, problem
            merge(found, page.evaluate("ompassControls.all()"))
            merge(used, page.evaluate("ompassControls.used"))
            if USES[kind].spoils:
                load(page, url)
        done |= left
    for kind, types in found.items():
        assert kind in used, f"{kind} was not reached"
        assert types - UNUSUAL <= used[kind], f"{kind}: its use does not cause {types - UNUSUAL - used[kind]}"


def problem_of_use(page: Page, kind: str, use: Use) -> str:
    """Uses a control once. Returns the problem if it has no effect, else an empty string."""
    try:
        if use.first:
            use.first(page)
            page.wait_for_timeout(50)
        it = page.evaluate_handle("name => ompassControls.first(name)", kind).as_element()
        if it is None:
            return f"{kind} is never visible"
        state = f"JSON.stringify({use.effect or 0})"
        before = page.evaluate(state)
        use.act(page, it)
        if use.effect:
            page.wait_for_function(f"before => {state} !== before", arg=before)
    except TimeoutError as error:
        return f"{kind} has no effect: {error}"
    return ""


def many(n: int) -> ReportContent:
    """Makes a run with samples and n task constructs."""
    run = made_run(
        regions=team(0, [{"work_ns": 60 * MS}] * 2),
        constructs=[construct(k, 0, [k * 1000]) for k in range(1, n + 1)],
        definitions=[definition(0, "parallel"), *(definition(k) for k in range(1, n + 1))],
    )
    return replace(collect(run), samples=made_samples(run))


def test_every_control_of_a_saved_page_is_used(browser: Browser, page: Path) -> None:
    use_all(watched(browser), page.as_uri())


@pytest.mark.slow  # takes a minute
def test_every_control_of_a_served_page_is_used(browser: Browser, dependent: Path) -> None:
    server, url = start(dependent)
    keeping = browser.new_page()  # keeps the server running while the other page is loaded again
    keeping.goto(url)
    use_all(watched(browser), url)
    keeping.context.close()
    end(server)


def pages(kind: str) -> str:
    if kind == "runs":
        return html_report([RunPart(many(1200)), RunPart(many(3))])
    if kind == "sweep":
        runs = recorded_sweep("cilksort-fine").runs()
        return html_report(
            (), [collect_scaling([runs], SweepSpec(("program",)), Scope.REGIONS, "made.sweep")]
        )
    return html_report((), comparison=compared(), sources=True)


@pytest.mark.parametrize("kind", ["runs", "sweep", "comparison"])
def test_every_control_of_other_pages_is_used(browser: Browser, kind: str, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(pages(kind), encoding="utf-8")
    use_all(watched(browser), path.as_uri())


@pytest.mark.parametrize("new", ["<button>new</button>", "<span tabindex='0'>new</span>"])
def test_a_new_control_without_a_use_is_found(browser: Browser, new: str, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(pages("comparison").replace("</main>", f"{new}</main>"), encoding="utf-8")
    with pytest.raises(AssertionError, match="no use of"):
        use_all(watched(browser), path.as_uri())


# ---------------------------------------------------------------- keys

ON_KEYBOARD = {"↑": "ArrowUp", "↓": "ArrowDown", "Esc": "Escape"}
OPPOSITE = {"p": "n", "ArrowUp": "ArrowDown"}  # pressed first, so that the key has an effect
STATE = (
    "JSON.stringify([ompassTimeline.view, ompassTimeline.selection, ompassTimeline.keysList.hidden,"
    " ompassTimeline.chosen.hit && ompassTimeline.chosen.place(), document.activeElement.localName])"
)


@pytest.fixture(scope="module")
def keyboard(browser: Browser, page: Path) -> Iterator[Page]:
    opened = watched(browser)
    load(opened, page.as_uri())
    yield opened
    opened.context.close()


def test_every_key_is_listed_and_has_an_effect(keyboard: Page) -> None:
    texts = keyboard.locator(".keys kbd").all_text_contents()
    listed = {ON_KEYBOARD.get(key, key) for text in texts for key in text.split()}
    handled = set(keyboard.evaluate("Object.keys(ompassTimeline.keys())"))
    assert listed <= handled
    described = " ".join(keyboard.locator(".keys dd").all_text_contents())
    synonyms = {"+", "=", "-", "0", "ArrowLeft", "ArrowRight"}
    assert handled - listed == synonyms
    assert "+ and -" in described
    assert "arrows left and right" in described
    for key in sorted(handled):
        keyboard.evaluate("ompassTimeline.fit()")
        zoom(keyboard)
        keyboard.locator(".threads canvas").focus()
        keyboard.evaluate(
            "() => { const t = ompassTimeline, {begin, end} = t.view, room = (end - begin) / 8;"
            " t.select(begin + room, end - room);"
            f" t.chosen.choose({ON_FIRST_LINE}[0]); }}"
        )
        if key in OPPOSITE:
            keyboard.keyboard.press(OPPOSITE[key])
        before = keyboard.evaluate(STATE)
        keyboard.keyboard.press(key)
        assert keyboard.evaluate(STATE) != before, f"the key {key} does nothing"
