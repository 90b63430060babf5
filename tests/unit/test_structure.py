# SPDX-License-Identifier: Apache-2.0
"""Include rules: no cycle among the modules of the tool; which parts each part may include.

A module is a header with its source; it depends on all files that either includes.
"""

from __future__ import annotations

import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
TOOL = REPOSITORY / "ompt_tool" / "src"
CORE = REPOSITORY / "analysis" / "core"
FORMAT = REPOSITORY / "ompt_tool" / "format"
SEARCHED = (TOOL, CORE, FORMAT.parent, FORMAT.parent / "include", REPOSITORY / "omp_ext" / "include")

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


def sources(folder: Path) -> list[Path]:
    found = [path for path in sorted(folder.rglob("*")) if path.suffix in {".h", ".cpp"}]
    assert found, f"{folder} holds no source"
    return found


def included(source: Path) -> list[Path]:
    """Returns the files of this project that `source` includes, in any notation."""
    found = []
    for quote, name in INCLUDE.findall(source.read_text()):
        places = ([source.parent] if quote == '"' else []) + list(SEARCHED)
        path = next((place / name for place in places if (place / name).is_file()), None)
        assert path or quote == "<", f"{source}: {name} is not a file of this project"
        if path:
            found.append(path.resolve())
    return found


def dependences(folder: Path) -> dict[str, set[str]]:
    """Returns the modules below a directory, each with its dependences there."""

    def module(path: Path) -> str:
        return path.relative_to(folder).with_suffix("").as_posix()

    graph: dict[str, set[str]] = {}
    for source in sources(folder):
        needs = graph.setdefault(module(source), set())
        needs |= {module(path) for path in included(source) if folder in path.parents} - {module(source)}
    return graph


def a_ring_in(graph: dict[str, set[str]]) -> list[str]:
    """Returns modules that form a dependence cycle, or nothing."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


@pytest.mark.parametrize("folder", [TOOL, FORMAT], ids=["tool", "format"])
def test_modules_depend_on_each_other_in_one_direction(folder: Path) -> None:
    assert a_ring_in(dependences(folder)) == []


def test_a_cycle_through_a_source_is_found(tmp_path: Path) -> None:
    (tmp_path / "log.h").write_text("#pragma once\n")
    (tmp_path / "log.cpp").write_text('#include "log.h"\n  # include "recorder.h"\n')
    (tmp_path / "recorder.h").write_text('#include "log.h"\n#include <vector>\n')
    assert sorted(set(a_ring_in(dependences(tmp_path)))) == ["log", "recorder"]


ALLOWED = [
    pytest.param(FORMAT, (FORMAT,), id="format"),
    pytest.param(TOOL, (TOOL, FORMAT, FORMAT.parent / "include", REPOSITORY / "omp_ext/include"), id="tool"),
    pytest.param(CORE, (CORE, FORMAT), id="core"),
]


@pytest.mark.parametrize(("part", "allowed"), ALLOWED)
def test_parts_include_only_what_they_may_depend_on(part: Path, allowed: tuple[Path, ...]) -> None:
    foreign = {
        f"{source.name} includes {path}"
        for source in sources(part)
        for path in included(source)
        if not any(folder in path.parents for folder in allowed)
    }
    assert foreign == set()
