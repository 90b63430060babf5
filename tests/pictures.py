# SPDX-License-Identifier: Apache-2.0
"""Makes the pictures of docs/pictures.md: records programs of bots/, opens `ompass view`, takes screenshots.

python tests/pictures.py [NAME...]       # writes all pictures, or these, to docs/pictures
python tests/pictures.py --pages FOLDER [NAME...]

The second form writes pictures of whole pages: of programs, of a job, of a sweep and of a comparison, each in
two widths, light and dark. Look at them after a change of the page.

Needs the build (release preset), the package and Chromium; --pages needs Open MPI too. Look at each picture
before you commit it.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, Page, sync_playwright

REPOSITORY = Path(__file__).resolve().parents[1]
PICTURES = REPOSITORY / "docs" / "pictures"
OMPASS = [sys.executable, "-m", "ompass"]
# Shows the widest visible task, from its creation to its end; prefers tasks that another thread created.
SHOW_A_TASK = """() => {
    const tasks = ompassTimeline.shown.filter(({interval}) => !interval.state && interval.task !== "0");
    const foreign = tasks.filter(({interval}) => Number(BigInt(interval.task) >> 40n) !== interval.thread);
    const width = ({left, right}) => right - left;
    const {interval} = (foreign.length ? foreign : tasks).sort((a, b) => width(b) - width(a))[0];
    const first = Math.min(interval.created || interval.begin, interval.begin);
    const room = (interval.end - first) / 4;
    window.chosen = interval.task;
    ompassTimeline.show(first - room, interval.end + room);
}"""
ITS_MIDDLE = """() => {
    const {line, left, right} = ompassTimeline.shown.find(
        ({interval}) => interval.task === chosen && !interval.state);
    return [(left + right) / 2, line.top + line.height / 2];
}"""
N_RANKS, N_RECORDED = 256, 1


def record(folder: Path, name: str, program: str, threads: int = 2) -> Path:
    """Records a trace of a benchmark program."""
    path = folder / f"{name}.ompass"
    words = program.split()
    command = [*OMPASS, "run", "-q", "--no-report", "--mode", "trace", "-o", str(path), "--"]
    command += [str(REPOSITORY / "build/release/bots" / words[0]), *words[1:], "--threads", str(threads)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return path


def ranks(folder: Path, name: str) -> list[Path]:
    """Makes the run directories of a job of N_RANKS ranks, as copies of N_RECORDED recordings."""
    recorded = [record(folder, f"{name}-{k}", "sort-tasks --class test") for k in range(N_RECORDED)]
    paths = [folder / f"solver-r{k:03}.ompass" for k in range(N_RANKS)]
    for k, path in enumerate(paths):
        shutil.copytree(recorded[k % N_RECORDED], path)
    return paths


@contextmanager
def served(*directories: Path) -> Iterator[str]:
    command = [*OMPASS, "view", "--no-browser", *map(str, directories)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        found = re.search(r"http://\S+", server.stderr.readline())
        assert found
        try:
            yield found[0]
        finally:
            server.terminate()


def settle(page: Page) -> None:
    page.wait_for_function(
        "() => { const t = window.ompassTimeline, s = t && t.source;"
        " return t && t.drawn && !t.due && !s.loading.size && !s.missing.size"
        " && [...s.windows.values()].every(each => each.end); }",
        timeout=120_000,
    )
    page.wait_for_timeout(600)
    page.evaluate("ompassTimeline.place.scrollIntoView()")  # below the findings


def show(page: Page, first: float, last: float) -> None:
    """Shows a part of the run, given as fractions of its length."""
    page.evaluate(
        "([a, b]) => ompassTimeline.show(a * ompassTimeline.end, b * ompassTimeline.end)", [first, last]
    )
    settle(page)


def whole(page: Page) -> None:
    settle(page)


def construct(page: Page) -> None:
    page.evaluate("ompassTimeline.setDimension('construct')")
    show(page, 0.3, 0.5)


def depth(page: Page) -> None:
    page.evaluate("ompassTimeline.setDimension('depth')")
    show(page, 0.2, 0.8)


def single(page: Page) -> None:
    """Shows a task that another thread created, with the arrow from its creator."""
    page.evaluate("ompassTimeline.setDimension('construct')")
    for k in range(100):  # until there are tasks: a thread may have lost its processor
        show(page, 0.5 + k / 250, 0.5 + k / 250 + 3e-5)
        if page.evaluate(
            "ompassTimeline.shown.some(({interval}) => !interval.state && interval.task !== '0')"
        ):
            break
    page.evaluate(SHOW_A_TASK)
    settle(page)
    hit = page.evaluate(ITS_MIDDLE)
    box = page.locator(".threads canvas").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + hit[0], box["y"] + hit[1])
    page.wait_for_timeout(600)


def click_on(page: Page, found: str, part: float) -> None:
    """Finds intervals for which `found` is true, from the middle of the run on, and clicks the widest one."""
    all_found = f"ompassTimeline.shown.filter(({{interval, left, right}}) => right - left > 3 && ({found}))"
    for k in range(int(0.5 / part)):
        show(page, 0.5 + k * part, 0.5 + (k + 1) * part)
        if page.evaluate(f"{all_found}.length"):
            break
    x, y = page.evaluate(
        f"""() => {{
        const width = ({{left, right}}) => right - left;
        const {{left, right, line}} = {all_found}.reduce((a, b) => (width(b) > width(a) ? b : a));
        return [(left + right) / 2, line.top + line.height / 2];
    }}"""
    )
    box = page.locator(".threads canvas").bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + x, box["y"] + y)
    page.mouse.move(0, 0)
    page.wait_for_timeout(1000)


def dependences(page: Page) -> None:
    page.evaluate("ompassTimeline.setDimension('construct')")
    click_on(page, "!interval.state && interval.task !== '0' && interval.ready > interval.created", 0.005)
    page.locator(".chosen .links button").first.click()
    settle(page)


def waiting(page: Page) -> None:
    click_on(page, "interval.state > 1 && interval.waitKind", 0.005)


def window(page: Page) -> None:
    show(page, 0.2, 0.9)
    page.evaluate("ompassTimeline.select(0.45 * ompassTimeline.end, 0.6 * ompassTimeline.end)")
    page.locator(".window[data-window]").wait_for(timeout=60_000)
    page.wait_for_timeout(300)


def critical(page: Page) -> None:
    page.locator("button", has_text="Critical path").click()
    page.wait_for_function("ompassTimeline.layers.loaded.get('critical')", timeout=60_000)
    settle(page)


def graph(page: Page) -> None:
    page.locator("section[id=graph-1]").scroll_into_view_if_needed()
    page.locator("section[id=graph-1] .boxes svg").wait_for(timeout=60_000)
    page.locator("section[id=graph-1] .graph").scroll_into_view_if_needed()
    page.wait_for_timeout(800)


@dataclass(frozen=True)
class Picture:
    """A picture of a page; `part`: a CSS selector, or empty for the whole window."""

    runs: Callable[[Path, str], list[Path]]
    pose: Callable[[Page], None]
    part: str = "#timeline"
    width: int = 1200
    scheme: Literal["light", "dark"] = "light"


def program(words: str, threads: int = 2) -> Callable[[Path, str], list[Path]]:
    return lambda folder, name: [record(folder, name, words, threads)]


FIB, SORT, LU = (
    "fib-tasks --size 27 --cutoff none",
    "sort-tasks-marked --class small",
    "lu-depend --class test",
)
VIEWS = {
    "states": Picture(program(SORT), whole),
    "construct": Picture(program(SORT), construct),
    "depth": Picture(program(FIB), depth),
    "task": Picture(program(FIB), single),
    "dependences": Picture(program(LU), dependences),
    "waiting": Picture(program(SORT), waiting),
    "window": Picture(program(SORT), window, part=""),
    "critical": Picture(program(LU), critical, scheme="dark"),
    "graph": Picture(program(LU), graph, part="section[id=graph-1] .graph"),
    "threads": Picture(program("sort-tasks --class test", 512), whole),
    "ranks": Picture(ranks, whole),
    "phone": Picture(program(SORT), whole, part="", width=420, scheme="dark"),
}


# ---------------------------------------------------------------- whole pages


def ompass(*words: object) -> None:
    subprocess.run(
        [*OMPASS, *map(str, words)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


def page_of(words: str, threads: int = 2) -> Callable[[Path, Path], None]:
    """Returns a function that records a program in a folder and writes its page to a path."""
    return lambda folder, path: ompass(
        "report", record(folder, "run", words, threads), "--html", path, "--sources"
    )


def page_of_job(folder: Path, path: Path) -> None:
    source = REPOSITORY / "tests" / "programs" / "ranks" / "uneven.c"
    include = REPOSITORY / "ompt_tool" / "include"
    program = folder / "uneven"
    environment = os.environ | {
        "OMPI_CC": "clang-19", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMP_NUM_THREADS": "2",
    }  # fmt: skip
    build = ["mpicc", "-O2", "-g", "-fopenmp", f"-I{include}", str(source), "-o", str(program)]
    subprocess.run(build, check=True, env=environment)
    run = ["mpirun", "-n", "4", *OMPASS, "run", "-q", "--no-report", "--mode", "trace", "--", str(program)]
    subprocess.run(run, check=True, env=environment, cwd=folder)
    ompass("report", *sorted(folder.glob("*.ompass")), "--html", path, "--sources")


def page_of_sweep(folder: Path, path: Path) -> None:
    bot = REPOSITORY / "build/release/bots/cilksort-tasks"
    options = ("-q", "--threads", "1,2,4", "--repeat", 3, "-o", folder / "cilksort.sweep", "--html", path)
    ompass("scale", *options, "--", bot, "--class", "small")


def page_of_comparison(folder: Path, path: Path) -> None:
    runs = [
        record(folder, side, f"fib-tasks --size 27 --cutoff {cutoff}")
        for side, cutoff in (("before", "none"), ("after", "final"))
    ]
    ompass("compare", *runs, "--html", path, "--sources")


PAGES: dict[str, Callable[[Path, Path], None]] = {
    "fine": page_of("fib-tasks --size 24 --cutoff none"),
    "factorisation": page_of("lu-depend --class test"),
    "loops": page_of("sparselu-for --class test"),
    "threads": page_of("sort-tasks --class test", 64),
    "job": page_of_job,
    "healthy": page_of("alignment-tasks --class test"),
    "sweep": page_of_sweep,
    "comparison": page_of_comparison,
}
WIDTHS = (1400, 2560)
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
DRAWN = (
    "(!window.ompassTimeline || ompassTimeline.drawn)"
    " && [...document.querySelectorAll('.plot')].every(each => each.querySelector('svg.marks'))"
)


def photograph_pages(target: Path, names: list[str]) -> None:
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch, chromium() as browser:
        for name in names:
            folder = Path(scratch) / name
            folder.mkdir()
            path = folder / f"{name}.html"
            PAGES[name](folder, path)
            for width in WIDTHS:
                for scheme in SCHEMES:
                    context = browser.new_context(
                        viewport={"width": width, "height": width * 5 // 8}, color_scheme=scheme
                    )
                    page = context.new_page()
                    page.goto(path.as_uri())
                    page.wait_for_function(DRAWN, timeout=120_000)
                    page.screenshot(path=target / f"{name}-{width}-{scheme}.png", full_page=True)
                    context.close()
            print(f"{name}: {path.stat().st_size:,} bytes", flush=True)


@contextmanager
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        yield browser
        browser.close()


def photograph(names: list[str]) -> None:
    with tempfile.TemporaryDirectory() as scratch, chromium() as browser:
        for name in names:
            picture = VIEWS[name]
            folder = Path(scratch) / name
            folder.mkdir()
            with served(*picture.runs(folder, name)) as url:
                context = browser.new_context(
                    viewport={"width": picture.width, "height": 800}, color_scheme=picture.scheme
                )
                page = context.new_page()
                page.goto(url)
                settle(page)
                picture.pose(page)
                path = PICTURES / f"{name}.png"
                if picture.part:
                    page.locator(picture.part).first.screenshot(path=path)
                else:
                    page.screenshot(path=path)
                context.close()
            print(f"docs/pictures/{name}.png", flush=True)


def screen() -> None:
    """Writes a picture of the screen of `ompass top`, exported by Textual."""
    from ompass.live.screen import Top
    from ompass.live.watch import Watch

    async def look(path: Path) -> None:
        app = Top(Watch([path]), period_s=0.5)
        async with app.run_test(size=(110, 26)) as pilot:
            await pilot.pause(2)
            drawn = app.export_screenshot(title="ompass top")
        fetched = re.compile(r"@font-face \{.*?\}", re.DOTALL)  # pictures must not download fonts
        (PICTURES / "top.svg").write_text(fetched.sub("", drawn), encoding="utf-8")

    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "fib.ompass"
        bot = REPOSITORY / "build/release/bots/fib-tasks"
        command = [*OMPASS, "run", "-q", "--no-report", "-o", str(path), "--", str(bot), "--size", "34"]
        with subprocess.Popen(
            [*command, "--cutoff", "none", "--threads", "2"], stdout=subprocess.DEVNULL
        ) as run:
            while not (path / "process.log").exists():
                pass
            asyncio.run(look(path))
            run.terminate()
    print("docs/pictures/top.svg")


def main(words: list[str]) -> None:
    if words[:1] == ["--pages"]:
        return photograph_pages(Path(words[1]), words[2:] or [*PAGES])
    chosen = words or [*VIEWS, "top"]
    PICTURES.mkdir(exist_ok=True)
    photograph([name for name in chosen if name in VIEWS])
    if "top" in chosen:
        screen()
    return None


if __name__ == "__main__":
    main(sys.argv[1:])
