# SPDX-License-Identifier: Apache-2.0
"""The documentation site builds without a warning, and a reader finds answers within three clicks."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

from checked_site import linked_pages
from needs import require
from toolchains import REPOSITORY

PATHS = {
    "Where do I begin?": (("first-result.html",), "./run demo"),
    "What does schedule mean?": (("metrics.html#thread-time",), "schedule"),
    "My tasks are too fine, what now?": (
        ("granularity.html", "granularity.html#cures-for-fine-tasks"),
        "cut-off",
    ),
    "My tasks wait for each other, what now?": (
        ("dependences.html", "dependences.html#false-dependences"),
        "inout",
    ),
    "My data are on another node, what now?": (("locality.html", "locality.html#five-lines"), "omp_ext.h"),
    "How do I record an MPI job?": (("ranks.html",), "mpirun"),
    "Can a program built with gcc be recorded?": (("gcc-programs.html",), "libgomp"),
    "What does the finding critical_contention mean?": (
        ("findings.html", "findings.html#critical-contention"),
        "critical",
    ),
    "How do I fail a pull request that is slower?": (("check.html",), "ompass check"),
    "Which options does ompass scale have?": (("commands.html", "commands.html#ompass-scale"), "--threads"),
    "Which fields does the JSON of a report have?": (("report-schema.html",), "constructs"),
    "Which exit code means a damaged run?": (("usage.html", "usage.html#exit-codes"), "damaged"),
    "What may change in the next version?": (("versions.html", "versions.html#what-is-stable"), "JSON"),
}
"""Users' questions: the links to click, from the start page on, and a part of the answer at the last one."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Builds the site as `./run docs` does."""
    missing = [name for name in ("sphinx", "furo", "myst_parser") if importlib.util.find_spec(name) is None]
    require("this Python", missing)
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, str(REPOSITORY / "docs/site/build_site.py"), str(out)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=170, check=False)
    assert done.returncode == 0, done.stderr
    return out


def pages_reached(site: Path) -> set[str]:
    """Returns the pages to which links lead from the start page."""
    reached = {"index.html"}
    waiting = list(reached)
    while waiting:
        targets = {target for target in linked_pages(site, waiting.pop()) if "#" not in target}
        waiting += targets - reached
        reached |= targets
    return reached


def text_from(site: Path, place: str) -> str:
    """Returns the text of a page, from the anchor on if the place has one."""
    name, _, anchor = place.partition("#")
    page = (site / name).read_text(encoding="utf-8")
    if anchor:
        page = page[page.index(f'id="{anchor}"') :]
    return re.sub("<[^>]*>", "", page)


@pytest.mark.parametrize("question", PATHS)
def test_answers_are_three_clicks_from_the_start_page(question: str, site: Path) -> None:
    path, answer = PATHS[question]
    assert len(path) <= 3
    page = "index.html"
    for place in path:
        assert place in set(linked_pages(site, page))
        page = place.partition("#")[0]
    assert answer in text_from(site, path[-1])


def test_links_lead_from_the_start_page_to_every_page(site: Path) -> None:
    pages = {path.relative_to(site).as_posix() for path in site.rglob("*.html")}
    assert pages - pages_reached(site) == {"search.html"}  # the search field opens it


def test_generated_pages_have_their_contents(site: Path) -> None:
    expected = {
        "commands.html": ["--min-difference", "ompass check", "Other options"],
        "python-reference.html": ["ompass.open", "Recording", "sql"],
        "c-marks.html": ["ompass_kernel_begin"],
        "c-domains.html": ["omp_ext_", "OMP_EXT_VERSION"],
        "fortran-marks.html": ["module"],
        "fortran-domains.html": ["module"],
    }
    for name, words in expected.items():
        text = (site / name).read_text(encoding="utf-8")
        assert [word for word in words if word not in text] == []
