# SPDX-License-Identifier: Apache-2.0
"""Measures `ompass view` in a browser: the first picture with and without a stored pyramid, zooms and moves.

Records fib without a cut-off (--size 35: about 30 million tasks), opens the trace in Chromium, and times the
start of the command up to a complete picture, and each step of a random walk of zooms and moves up to the
complete picture. Prints the figures and writes JSON. Needs the build (release preset), the package, Chromium,
100 bytes of disk per task in --scratch, and an otherwise idle machine.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

from ompass.readers.run import open_run

REPOSITORY = Path(__file__).resolve().parents[2]
OMPASS = [sys.executable, "-m", "ompass"]
SETTLED = (
    "() => { const t = window.ompassTimeline, s = t && t.source; return Boolean(t && t.drawn && !t.due &&"
    " !s.loading.size && !s.missing.size && [...s.windows.values()].every(each => each.end)); }"
)
STEP = f"""async ([begin, end]) => {{
    const started = performance.now(), settled = {SETTLED};
    ompassTimeline.show(begin, end);
    do await new Promise(requestAnimationFrame); while (!settled());
    return performance.now() - started;
}}"""


def first_picture(page: Page, path: Path) -> tuple[float, subprocess.Popen[str]]:
    """Returns the seconds from the start of the command to the picture, and the server."""
    started = time.perf_counter()
    server = subprocess.Popen([*OMPASS, "view", "--no-browser", str(path)], stderr=subprocess.PIPE, text=True)
    assert server.stderr is not None
    found = re.search(r"http://\S+", server.stderr.readline())
    assert found
    page.goto(found[0])
    page.wait_for_function(SETTLED, timeout=600_000)
    return time.perf_counter() - started, server


def memory_bytes(process: int) -> dict[str, int]:
    """Returns the resident memory of the server: private, and mapped files."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    values = dict(line.split(":", 1) for line in lines)
    return {
        "own": int(values["RssAnon"].split()[0]) * 1024,
        "mapped": int(values["RssFile"].split()[0]) * 1024,
    }


def steps(page: Page, n: int, seed: int) -> list[float]:
    """Returns the milliseconds of each step of a walk: zoom in or out by four, or move by half a picture."""
    chosen = random.Random(seed)
    end = page.evaluate("ompassTimeline.end")
    begin, span, taken = 0.0, float(end), []
    for _ in range(n):
        way = chosen.choice(("in", "in", "out", "aside")) if span > 2000 else "out"
        if way == "aside":
            begin += chosen.choice((-0.5, 0.5)) * span
        else:
            factor = 0.25 if way == "in" else 4.0
            begin += chosen.random() * span * (1 - factor)
            span = min(span * factor, end)
        begin = min(max(begin, 0.0), end - span)
        taken.append(page.evaluate(STEP, [begin, begin + span]))
    return taken


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", default="35", help="of fib")
    parser.add_argument("--threads", default="2")
    parser.add_argument("--build", type=Path, default=REPOSITORY / "build/release")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--scratch", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("-o", "--output", type=Path, default=Path("zooming.json"))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.scratch) as folder, sync_playwright() as playwright:
        path = Path(folder) / "fib.ompass"
        command = [*OMPASS, "run", "-q", "--no-report", "--mode", "trace", "-o", str(path), "--"]
        command += [str(arguments.build / "bots/fib-tasks"), "--cutoff", "none", "--size", arguments.size]
        subprocess.run([*command, "--threads", arguments.threads], check=True, capture_output=True)
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_context(viewport={"width": 1400, "height": 900}).new_page()
        without_s, server = first_picture(page, path)
        page.goto("about:blank")
        server.terminate()
        server.wait()
        kept_s, server = first_picture(page, path)
        taken = steps(page, arguments.steps, arguments.seed)
        result: dict[str, Any] = {
            "tasks": sum(row.n_completed for row in open_run(path).constructs),
            "log_bytes": sum(log.stat().st_size for log in path.glob("*.log")),
            "first_without_pyramid_s": without_s,
            "first_with_pyramid_s": kept_s,
            "step_median_ms": statistics.median(taken),
            "step_95_ms": statistics.quantiles(taken, n=20)[-1],
            "step_longest_ms": max(taken),
            "memory_bytes": memory_bytes(server.pid),
            "steps_ms": taken,
        }
        server.terminate()
        server.wait()
        browser.close()
    arguments.output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    for name, value in result.items():
        if name != "steps_ms":
            print(f"{name:26} {value if not isinstance(value, float) else round(value, 2)}")


if __name__ == "__main__":
    main()
