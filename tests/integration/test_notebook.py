# SPDX-License-Identifier: Apache-2.0
"""All cells of docs/notebook.ipynb run and show their results."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from command import call
from toolchains import REPOSITORY, CompileProgram, Toolchain

NOTEBOOK = json.loads((REPOSITORY / "docs" / "notebook.ipynb").read_text("utf-8"))
CELLS = ["".join(cell["source"]) for cell in NOTEBOOK["cells"] if cell["cell_type"] == "code"]
_VOID = {"img", "br", "input"}

# Runs the cells as a kernel does, and prints the form in which a notebook would show each result.
RUNNER = """\
import ast, json, sys
shared, shown = {}, []
for cell in json.load(sys.stdin):
    tree = ast.parse(cell)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), shared)
    result = eval(compile(ast.Expression(last.value), "cell", "eval"), shared) if last else None
    bundle = getattr(result, "_repr_mimebundle_", dict)()
    html = bundle.get("image/svg+xml") or getattr(result, "_repr_html_", lambda: "")()
    shown.append({"type": type(result).__name__, "text": repr(result), "html": html})
print(json.dumps(shown))
"""


@pytest.fixture(scope="module")
def results(
    tmp_path_factory: pytest.TempPathFactory,
    default_toolchain: Toolchain,
    compile_program: CompileProgram,
    libompass: Path,
) -> list[dict[str, str]]:
    """Makes the recordings that the notebook names, and returns the results of all its cells."""
    folder = tmp_path_factory.mktemp("notebook")
    source = REPOSITORY / "tests" / "diseases" / "programs" / "fine_tree.c"
    for name, flags in (("fib", ()), ("fib-changed", ("-DCURED",))):
        shutil.copy(compile_program(source, default_toolchain, flags=["-O2", "-g", *flags]), folder / name)
    environment = default_toolchain.run_environment(
        {"OMPASS_LIBRARY": str(libompass), "OMP_NUM_THREADS": "2", "PATH": os.environ["PATH"]}
    )
    call(environment, folder, "run", "--mode", "trace", "-q", "-o", "fib.ompass", "--", "./fib")
    call(environment, folder, "scale", "-q", "-t", "1,2", "-r", "1", "-o", "fib.sweep", "--", "./fib")
    call(environment, folder, "run", "-q", "-o", "changed.ompass", "--", "./fib-changed")
    words = [sys.executable, "-W", "error", "-c", RUNNER]
    ended = subprocess.run(
        words,
        input=json.dumps(CELLS),
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return list(json.loads(ended.stdout))


class Checker(HTMLParser):
    """Counts elements, and finds unclosed tags."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.count: dict[str, int] = {}

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.count[tag] = self.count.get(tag, 0) + 1
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def counted(html: str) -> dict[str, int]:
    checker = Checker()
    checker.feed(html)
    assert checker.open == []
    return checker.count


def of_type(results: list[dict[str, str]], name: str) -> dict[str, str]:
    return next(result for result in results if result["type"] == name)


def test_notebook_is_stored_without_results() -> None:
    assert NOTEBOOK["nbformat"] == 4
    assert len({cell["id"] for cell in NOTEBOOK["cells"]}) == len(NOTEBOOK["cells"])
    code: list[Any] = [cell for cell in NOTEBOOK["cells"] if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    assert all(isinstance(ast.parse(cell).body[-1], ast.Expr) for cell in CELLS), "each cell shows something"


@pytest.mark.slow  # the results take half a minute
def test_results_show_tables_and_figures(results: list[dict[str, str]]) -> None:
    tables = {"ThreadTime", "Constructs", "Simulated", "Advised", "Sweep", "Comparison", "Recording"}
    for name in tables:
        assert counted(of_type(results, name)["html"])["table"] > 0, name
    for name in ("Recording", "Sweep"):
        assert counted(of_type(results, name)["html"])["img"] > 0, name
    assert "<svg" in of_type(results, "Shown")["html"]
    assert "fine" in of_type(results, "Findings")["html"]
    assert of_type(results, "DataFrame")["html"]


@pytest.mark.slow
def test_results_need_no_network_and_no_script(results: list[dict[str, str]]) -> None:
    for result in results:
        assert "<script" not in result["html"]
        assert 'src="http' not in result["html"] and 'href="http' not in result["html"]


@pytest.mark.slow
def test_the_text_form_is_short(results: list[dict[str, str]]) -> None:
    """Notebooks store the text form of every result."""
    for name in ("Recording", "Simulated", "Advised", "Sweep", "Comparison"):
        assert len(of_type(results, name)["text"]) < 200, name


@pytest.mark.slow
def test_frames_convert_to_pandas(results: list[dict[str, str]]) -> None:
    described = results[next(k for k, cell in enumerate(CELLS) if "to_pandas" in cell)]
    assert described["type"] == "DataFrame"
    assert "work_ns" in described["text"] and "count" in described["text"]
