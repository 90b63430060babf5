# SPDX-License-Identifier: Apache-2.0
"""A pytest plugin that records the functions of the package that each test enters, or runs only chosen tests.

The environment variable OMPASS_MUTANTS_ENTERED names a folder, where each process writes the functions that
its tests enter. OMPASS_MUTANTS_CHOSEN names a file with the ids of the tests to run, in this order.
"""

from __future__ import annotations

import ast
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

ENTERED: Final = "OMPASS_MUTANTS_ENTERED"
CHOSEN: Final = "OMPASS_MUTANTS_CHOSEN"

_entered: dict[str, dict[str, Any]] = {}
_failed: set[str] = set()
_current: set[str] | None = None


def enter(function: str) -> None:
    """Records that the current test enters a function.

    The functions of instrumented modules call this.
    """
    if _current is not None:
        _current.add(function)


def instrumented(name: str, text: str) -> str:
    """Returns the source of a module with a call of `enter` in each function."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            _insert(node, f"_note_entry({f'{name}:{node.name}'!r})")
    _insert(tree, "from mutants.entered import enter as _note_entry")
    return ast.unparse(tree)


def _insert(node: ast.Module | ast.FunctionDef | ast.AsyncFunctionDef, statement: str) -> None:
    """Inserts a statement after the docstring and the imports from __future__."""
    first = 1 if ast.get_docstring(node, clean=False) is not None else 0
    while first < len(node.body) and getattr(node.body[first], "module", "") == "__future__":
        first += 1
    node.body.insert(first, *ast.parse(statement).body)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Records the functions that the test and its fixtures enter."""
    global _current
    if ENTERED not in os.environ:
        yield
        return
    _current, begin = set(), time.monotonic()
    yield
    seconds = time.monotonic() - begin
    _entered[item.nodeid] = {"seconds": seconds, "functions": sorted(_current)}
    _current = None


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Remembers failed tests, whose entries are not written."""
    if report.failed and ENTERED in os.environ:
        _failed.add(report.nodeid)


def pytest_sessionfinish() -> None:
    for name in _failed & set(_entered):
        del _entered[name]
    if _entered:
        path = Path(os.environ[ENTERED], f"{os.getpid()}.json")
        path.write_text(json.dumps(_entered), encoding="utf-8")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keeps only the chosen tests, in the order of the file."""
    if CHOSEN in os.environ:
        chosen = Path(os.environ[CHOSEN]).read_text(encoding="utf-8").splitlines()
        order = {name: k for k, name in enumerate(chosen)}
        items[:] = sorted(
            (item for item in items if item.nodeid in order), key=lambda item: order[item.nodeid]
        )
