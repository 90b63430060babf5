# SPDX-License-Identifier: Apache-2.0
"""`./run papers`: repeats the measurements of a paper, and writes its page and figures."""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

import toolchains
from ompass.errors import OmpassError
from papers.campaign import (
    read_results,
    results_file,
    run_steps,
    settings_of,
    write_results,
)
from papers.collection import PAPERS
from papers.model import SIZES
from papers.page import page_file, write_page

WORK = toolchains.REPOSITORY / "build" / "papers"
_EXAMPLES = """examples:
  ./run papers tbb --quick      all measurements in less than ten minutes; writes docs/papers/tbb.md
  ./run papers tbb              larger inputs and more rounds
  ./run papers tbb --page       the page and its figures again, from the kept measurements"""


def main() -> int:
    arguments = parsed()
    paper = PAPERS[arguments.paper]
    if arguments.needs:
        print(" ".join(paper.builds))
        print(" ".join(paper.programs))
        return 0
    if arguments.page:
        write_page(paper, read_results(paper.name))
        return 0
    size = SIZES[0] if arguments.quick else SIZES[1]
    settings = settings_of(paper, size)
    steps = paper.steps(size)
    begin = time.monotonic()

    def progress(number: int, what: str) -> None:
        at = time.monotonic() - begin
        print(f"{number} of {len(steps)}, {at:.0f} s: {what}", file=sys.stderr, flush=True)

    folder = arguments.work or WORK / f"{paper.name}-{size}"
    try:
        values = run_steps(steps, settings, folder, progress)
    except OmpassError as error:
        print(f"./run papers: {error}", file=sys.stderr)
        return error.exit_code
    except subprocess.CalledProcessError as error:
        print(f"./run papers: {' '.join(error.cmd)} failed: {error.stderr}", file=sys.stderr)
        return 1
    write_results(settings, values)
    write_page(paper, read_results(paper.name))
    print(f"wrote {page_file(paper.name)} and {results_file(paper.name)}")
    return 0


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="./run papers",
        description="Repeat the measurements of a paper, and write a page that compares each of its claims "
        "with our numbers. The same command resumes measurements that were stopped.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("paper", choices=sorted(PAPERS), help="name of the paper")
    parser.add_argument("--quick", action="store_true", help="smaller inputs and fewer rounds")
    parser.add_argument("--page", action="store_true", help="measure nothing; write the page and its figures")
    parser.add_argument(
        "--needs",
        action="store_true",
        help="measure nothing; print the names of its builds and of its programs",
    )
    parser.add_argument(
        "--work", type=Path, metavar="DIR", help="folder for recordings (build/papers/NAME-SIZE)"
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
