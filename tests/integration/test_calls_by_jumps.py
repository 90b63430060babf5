# SPDX-License-Identifier: Apache-2.0
"""Constructs that call the runtime by a jump (a tail call) get the place of the enclosing construct.

Such a call returns into the runtime, so its return address does not show the construct's own line.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import pytest

from ext_programs import ext_library
from marked_programs import lines_of
from needs import require_toolchain
from ompass.model import LOOPS, WAIT_KINDS, Definition, Run
from ompass.readers.run import open_run
from ompass.reports.content import collect
from ompass.reports.findings import note_parts
from ompass.reports.model import plain
from ompass.reports.run import run_report
from ompass.runtime_names import runtime_kind
from ompass.symbols.resolver import Resolver
from toolchains import Record, Toolchain, toolchain_named

SOURCE = "waits/jumps.c"
LINES = lines_of(SOURCE)
GCC_LINES = 4  # largest error of a line: gcc attributes its calls to nearby lines
Marked = set[tuple[str, int]]


def kind_of(definition: Definition) -> str:
    names = {"wait": WAIT_KINDS, "loop": LOOPS}.get(definition.kind, {})
    return names.get(definition.flags, definition.kind)


def in_runtime(run: Run, definition: Definition) -> bool:
    name = PurePosixPath(run.modules[definition.module].path).name if definition.module >= 0 else ""
    return bool(runtime_kind(name)) or name in ("libompass.so", "libomp_ext.so")


def shown_around(run: Run) -> Marked:
    """Returns the kind and line of each construct that is located at the task or region around it."""
    resolver = Resolver.of_run(run)
    return {(kind_of(d), resolver.locate(d).line) for d in run.definitions if d.is_place_around}


def is_near(line: int, name: str, toolchain: Toolchain) -> bool:
    return abs(line - LINES[name]) <= (GCC_LINES if toolchain.name.startswith("gcc") else 0)


@pytest.mark.parametrize("preload", [True, False])
@pytest.mark.parametrize("mode", ["profile", "trace"])
def test_no_construct_is_in_the_runtime(
    record: Record, toolchain: Toolchain, mode: str, preload: bool
) -> None:
    run = open_run(record(SOURCE, toolchain=toolchain, mode=mode, preload=preload).run_dir)
    assert [kind_of(d) for d in run.definitions if in_runtime(run, d)] == []
    is_gcc = toolchain.name.startswith("gcc")
    around = shown_around(run)
    expected = {"parallel": "outer_region", "region barrier": "outer_region"}
    expected["implementation barrier" if is_gcc else "explicit barrier"] = "region_of_barrier"
    if is_gcc:  # the functions of clang's tasks return a value, so their last calls are not jumps
        expected["taskwait"] = "task_of_taskwait"
    assert {kind for kind, _ in around} == expected.keys()
    assert all(is_near(line, expected[kind], toolchain) for kind, line in around), around


def test_the_barrier_of_a_single_is_located_at_the_single(record: Record, toolchain: Toolchain) -> None:
    """The tool records the single that ends the region, so the place of its barrier is known."""
    run = open_run(record(SOURCE, toolchain=toolchain, preload=True).run_dir)
    resolver = Resolver.of_run(run)
    kinds = ("worksharing barrier", "implicit barrier", "implementation barrier")  # of old and new runtimes
    at_single = [
        d
        for d in run.definitions
        if kind_of(d) in kinds and is_near(resolver.locate(d).line, "single", toolchain)
    ]
    assert at_single or toolchain.name.startswith("gcc")  # gcc's single ends at the barrier of the region
    assert not any(d.is_place_around for d in at_single)


@pytest.mark.parametrize("preload", [True, False])
def test_the_note_names_the_constructs_and_the_cure(record: Record, preload: bool) -> None:
    run = open_run(record(SOURCE, preload=preload).run_dir)
    content = collect(run)
    (note,) = (text for text in note_parts(content) if "returns into the OpenMP runtime" in text)
    assert "1 explicit barrier and 1 parallel region have" in note
    assert f"jumps.c:{LINES['region_of_barrier']}" in note
    assert f"jumps.c:{LINES['outer_region']}" in note
    assert "-fno-optimize-sibling-calls" in note
    assert ("ompass run" in note) == (not preload)
    assert "libomp" not in str(plain(run_report(content))["waits"])


def test_without_jumps_there_is_no_note(record: Record) -> None:
    run = open_run(record(SOURCE, flags=("-fno-optimize-sibling-calls",), preload=True).run_dir)
    assert not shown_around(run)
    assert not any("returns into" in text for text in note_parts(collect(run)))


def test_without_wrappers_tasks_of_a_taskloop_are_located_at_its_region(
    record: Record, toolchain: Toolchain
) -> None:
    run = open_run(record("kinds/taskloop_many.c", toolchain=toolchain, preload=False).run_dir)
    assert not any(in_runtime(run, d) for d in run.definitions)
    assert any(kind == "task" and line for kind, line in shown_around(run))


def test_regions_of_gcc_keep_their_places_under_the_extension(record: Record, libompass: Path) -> None:
    toolchain = require_toolchain(toolchain_named("gcc-12-libomp-19"))
    preloaded = {"LD_PRELOAD": f"{ext_library()} {libompass}", "OMP_EXT_SCHEDULE": "1"}
    run = open_run(record(SOURCE, toolchain=toolchain, environment=preloaded).run_dir)
    assert [kind_of(d) for d in run.definitions if in_runtime(run, d)] == []
    plain_run = open_run(record(SOURCE, toolchain=toolchain).run_dir)
    n_regions = len({d.offset for d in plain_run.definitions if d.kind == "parallel"})
    assert len({d.offset for d in run.definitions if d.kind == "parallel"}) == n_regions
