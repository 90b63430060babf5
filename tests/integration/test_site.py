# SPDX-License-Identifier: Apache-2.0
"""The documentation site builds without a warning, and a reader finds answers within three clicks."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections import deque
from pathlib import Path

import pytest

from checked_site import linked_pages
from needs import require
from toolchains import REPOSITORY

ANSWERS = {
    "Where do I begin?": "first-result.html",
    "What does schedule mean?": "metrics.html#thread-time",
    "My tasks are too fine, what now?": "granularity.html#cures-for-fine-tasks",
    "My tasks wait for each other, what now?": "dependences.html#false-dependences",
    "My data are on another node, what now?": "locality.html#five-lines",
    "How do I record an MPI job?": "ranks.html",
    "Can a program built with gcc be recorded?": "gcc-programs.html",
    "What does the finding critical_contention mean?": "findings.html#critical-contention",
    "How do I fail a pull request that is slower?": "check.html",
    "Which options does ompass scale have?": "commands.html#ompass-scale",
    "Which fields has the JSON of a report?": "report-schema.html",
    "Which exit code means a damaged run?": "usage.html",
    "What may change in the next version?": "versions.html#what-is-stable",
}
"""Users' questions, and the places that answer them."""


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


def clicks_to_every_page(site: Path) -> dict[str, int]:
    """Returns the least number of clicks from the start page to each page and each linked anchor."""
    clicks = {"index.html": 0}
    waiting = deque(clicks)
    while waiting:
        name = waiting.popleft()
        for target in linked_pages(site, name):
            if target not in clicks:
                clicks[target] = clicks[name] + 1
                if "#" not in target:
                    waiting.append(target)
    return clicks


def test_answers_are_three_clicks_from_the_start_page(site: Path) -> None:
    clicks = clicks_to_every_page(site)
    assert {question: place for question, place in ANSWERS.items() if clicks.get(place, 99) > 3} == {}
    pages = {path.relative_to(site).as_posix() for path in site.rglob("*.html")}
    assert pages - set(clicks) == {"search.html"}  # the search field opens it


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
