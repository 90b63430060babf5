# SPDX-License-Identifier: Apache-2.0
"""Rules of includes and imports: modules form no cycle, and parts and layers use only permitted ones.

A C++ module is a header with its source; it depends on all files that either includes.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
TOOL = REPOSITORY / "ompt_tool" / "src"
CORE = REPOSITORY / "analysis" / "core"
FORMAT = REPOSITORY / "ompt_tool" / "format"
HOOKS = REPOSITORY / "ompt_tool" / "mpi" / "hooks.h"
EXTENSION = REPOSITORY / "omp_ext"
SEARCHED = (TOOL, CORE, FORMAT.parent, FORMAT.parent / "include", EXTENSION / "include", EXTENSION / "src")

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


def cycle_in(graph: dict[str, set[str]]) -> list[str]:
    """Returns the modules of a dependence cycle; empty if there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


@pytest.mark.parametrize("folder", [TOOL, FORMAT], ids=["tool", "format"])
def test_cpp_modules_form_no_cycle(folder: Path) -> None:
    assert cycle_in(dependences(folder)) == []


def test_a_cycle_through_a_source_is_found(tmp_path: Path) -> None:
    (tmp_path / "log.h").write_text("#pragma once\n")
    (tmp_path / "log.cpp").write_text('#include "log.h"\n  # include "recorder.h"\n')
    (tmp_path / "recorder.h").write_text('#include "log.h"\n#include <vector>\n')
    assert sorted(set(cycle_in(dependences(tmp_path)))) == ["log", "recorder"]


ALLOWED = [
    pytest.param(FORMAT, (FORMAT,), id="format"),
    pytest.param(TOOL, (TOOL, FORMAT, FORMAT.parent / "include", HOOKS, EXTENSION / "include"), id="tool"),
    pytest.param(CORE, (CORE, FORMAT, EXTENSION / "src/scheduler/steal_policies.h"), id="core"),
]


@pytest.mark.parametrize(("part", "allowed"), ALLOWED)
def test_parts_include_only_what_they_may_depend_on(part: Path, allowed: tuple[Path, ...]) -> None:
    foreign = {
        f"{source.name} includes {path}"
        for source in sources(part)
        for path in included(source)
        if not any(path.is_relative_to(place) for place in allowed)
    }
    assert foreign == set()


# ---------------------------------------------------------------- Python

PACKAGE = REPOSITORY / "analysis" / "ompass"
MODULES = {path.relative_to(PACKAGE).with_suffix("").as_posix(): path for path in PACKAGE.rglob("*.py")}


class Layer(NamedTuple):
    places: set[str]  # folders and modules
    files: set[str]  # names of files in features
    uses: set[str]


def layers() -> dict[str, Layer]:
    """Returns the layers of docs/architecture.md by name."""
    text = (REPOSITORY / "docs" / "architecture.md").read_text().partition("## The package")[2]
    table = text.partition("| layer |")[2].partition("\n\n")[0].splitlines()[2:]
    found = {}
    for row in table:
        name, places, files, uses = (cell.strip() for cell in row.strip("|").split("|"))
        found[name] = Layer(
            set(re.findall(r"`([\w/]+)`", places)),
            set(re.findall(r"`(\w+)\.py`", files)),
            {name, "base", *filter(None, uses.split(", "))},
        )
    return found


LAYERS = layers()


def layer_of(module: str) -> str:
    """Returns the layer of a module such as `scaling/report`."""
    folder, _, file = module.partition("/")
    for key, part in ((module, "places"), (folder, "places"), (file, "files")):
        for name, layer in LAYERS.items():
            if key in getattr(layer, part):
                return name
    return "content" if file else "core" if module == "_core" else "base"


def imports(tree: ast.AST) -> Iterator[str]:
    """Yields the modules of this package that the nodes of a tree import."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "ompass":
            for alias in node.names:
                path = "/".join([*node.module.split(".")[1:], alias.name])
                above = path.rpartition("/")[0]
                if path == "_core" or path in MODULES:
                    yield path
                elif f"{path}/__init__" in MODULES:
                    yield f"{path}/__init__"
                elif above:
                    yield f"{above}/__init__" if f"{above}/__init__" in MODULES else above
        elif isinstance(node, ast.Import):
            yield from (alias.name.replace(".", "/")[7:] for alias in node.names if "ompass." in alias.name)


def imports_at_start(path: Path) -> Iterator[str]:
    """Yields the modules of this package that a module imports at its top level."""
    for statement in ast.parse(path.read_text()).body:
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            yield from imports(statement)


def test_python_modules_use_only_lower_layers() -> None:
    wrong = {
        f"{module} ({layer_of(module)}) imports {used} ({layer_of(used)})"
        for module, path in MODULES.items()
        for used in imports(ast.parse(path.read_text()))
        if module != "__init__" and layer_of(used) not in LAYERS[layer_of(module)].uses
    }
    assert wrong == set()


def test_each_layer_is_found() -> None:
    assert {layer_of(module) for module in MODULES} == set(LAYERS)
    assert layer_of("_core") == "core"
    assert layer_of("simulation/advice") == layer_of("reports/content") == "content"
    readers = {module for module, path in MODULES.items() if "_core" in imports(ast.parse(path.read_text()))}
    assert {"model", "readers/run", "reuse/reader"} <= readers


def test_layers_have_one_direction() -> None:
    assert cycle_in({name: layer.uses - {name} for name, layer in LAYERS.items()}) == []


def test_python_modules_form_no_cycle() -> None:
    assert cycle_in({module: set(imports_at_start(path)) for module, path in MODULES.items()}) == []
