# SPDX-License-Identifier: Apache-2.0
"""Several OpenMP runtimes in one process: neither the tool nor the extension mixes them up."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from command import call
from ext_programs import ext_library, ways_to_load
from ompass.readers.run import open_run
from recorded_run import check_sound, counted, facts_in
from toolchains import toolchain_named
from two_runtimes import (
    CLANG,
    GCC,
    INTEL,
    LAYOUTS,
    WHEEL,
    Layout,
    command_of,
    environment_of_two,
)

PATIENCE_S = 60
TASKS_OF_LOOP = 10  # tasks of the one taskloop in each call


def run(command: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs the program to its end."""
    return subprocess.run(
        command,
        env=environment_of_two(**environment),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


@pytest.mark.parametrize("loading", ["tool", "preload", "extension", "extension-tool", "tool-extension"])
@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
def test_every_runtime_runs_its_own_tasks(
    layout: Layout, loading: str, libompass: Path, tmp_path: Path
) -> None:
    recorded = {"OMPASS_DIR": str(tmp_path / "run.ompass"), "OMPASS_SUMMARY": "off"}
    ran = run(command_of(layout, tmp_path), **recorded, **ways_to_load(libompass)[loading])
    assert ran.returncode == 0, ran.stderr
    assert facts_in(ran.stdout) == {"tasks": layout.tasks, "library_tasks": layout.library_tasks}


@pytest.mark.parametrize(
    "layout",
    [Layout(GCC, (CLANG,), is_linked=True), Layout(GCC, (CLANG,), is_first=True), Layout("", (WHEEL, CLANG))],
    ids=lambda layout: layout.name,
)
def test_extension_schedules_the_tasks_of_its_own_runtime_alone(layout: Layout, tmp_path: Path) -> None:
    preloaded = {"LD_PRELOAD": str(ext_library()), "OMP_EXT_SCHEDULE": "1", "OMP_EXT_STATISTICS": "1"}
    ran = run(command_of(layout, tmp_path), **preloaded)
    created = re.search(r"(\d+) created", ran.stderr)
    assert created, ran.stderr
    n_calls = layout.library_tasks // len(layout.libraries) // 200
    assert int(created[1]) == n_calls * (200 + TASKS_OF_LOOP)


@pytest.mark.parametrize("preload", [False, True], ids=["tool", "preload"])
def test_tool_records_the_tasks_of_one_runtime(preload: bool, libompass: Path, tmp_path: Path) -> None:
    layout = Layout(GCC, (CLANG,), is_linked=True)
    run_dir = tmp_path / "run.ompass"
    recorded = {"OMPASS_DIR": str(run_dir), "OMPASS_SUMMARY": "off"}
    ran = run(
        command_of(layout, tmp_path), **recorded, **ways_to_load(libompass)["preload" if preload else "tool"]
    )
    assert ran.returncode == 0, ran.stderr
    facts = counted(check_sound(run_dir))
    n_calls = layout.library_tasks // 200
    assert facts["tasks"] == facts["created"] == n_calls * (200 + TASKS_OF_LOOP)


def library_of(toolchain: str) -> str:
    """Returns the path of a toolchain's runtime, without symbolic links."""
    return str(toolchain_named(toolchain).runtime_library.resolve())


@pytest.mark.parametrize("preload", [False, True], ids=["tool", "preload"])
@pytest.mark.parametrize(
    ("layout", "second"),
    [
        (Layout(GCC, (CLANG,), is_linked=True), "libgomp.so.1"),
        (Layout(GCC, (CLANG,), is_first=True), "libgomp.so.1"),
        (Layout("", (CLANG, WHEEL)), "libgomp-1.so"),
        (Layout("", (INTEL, CLANG)), "libomp.so.5"),
        (Layout("", (CLANG, INTEL)), "libiomp5.so"),
        (Layout(CLANG, (GCC,), is_first=True), ""),  # libomp also has gcc's functions, so all tasks run on it
        (Layout(CLANG, (CLANG,)), ""),
    ],
    ids=lambda value: value.name if isinstance(value, Layout) else value or "none",
)
def test_record_names_the_runtime_that_is_not_recorded(
    layout: Layout, second: str, preload: bool, libompass: Path, tmp_path: Path
) -> None:
    recorded = {"OMPASS_DIR": str(tmp_path / "run.ompass"), "OMPASS_SUMMARY": "off"}
    ran = run(
        command_of(layout, tmp_path), **recorded, **ways_to_load(libompass)["preload" if preload else "tool"]
    )
    assert ran.returncode == 0, ran.stderr
    assert Path(open_run(tmp_path / "run.ompass").other_runtime).name == second


def test_killed_run_names_the_runtime_too(libompass: Path, tmp_path: Path) -> None:
    command = command_of(Layout(GCC, (CLANG,), is_linked=True), tmp_path)
    recorded = {"OMPASS_DIR": str(tmp_path / "run.ompass"), "LD_PRELOAD": str(libompass)}
    with subprocess.Popen(
        [*command, "wait"], env=environment_of_two(**recorded), stdout=subprocess.PIPE, text=True
    ) as program:
        assert program.stdout is not None
        program.stdout.readline()
        program.kill()
    cut_short = open_run(tmp_path / "run.ompass")
    assert not cut_short.complete
    assert Path(cut_short.other_runtime).name == "libgomp.so.1"


@pytest.mark.parametrize("libomp", [False, True], ids=["alone", "libomp"])
def test_report_leads_with_the_second_runtime_and_its_cure_works(
    libomp: bool, libompass: Path, tmp_path: Path
) -> None:
    layout = Layout(GCC, (CLANG,), is_linked=True)
    environment = environment_of_two(OMPASS_LIBRARY=str(libompass), MORE_ROUNDS="400")
    options = ["--libomp", library_of(CLANG)] if libomp else []
    call(
        environment, tmp_path, "run", "-q", "-o", "run.ompass", *options, "--", *command_of(layout, tmp_path)
    )
    recorded = open_run(tmp_path / "run.ompass")
    n_calls = sum(row.n_completed for row in recorded.constructs) // (200 + TASKS_OF_LOOP)
    report = json.loads(call(environment, tmp_path, "report", "run.ompass", "--json").stdout)
    kinds = [finding["kind"] for finding in report["findings"]]
    if libomp:
        assert recorded.other_runtime == ""
        assert n_calls == 2 * 400 + 2
        assert "second_runtime" not in kinds
    else:
        assert n_calls == 400 + 2
        assert "second_runtime" in kinds
        assert kinds[0] == "second_runtime" or "serial_fraction" not in kinds


def test_replaced_libgomp_is_not_a_second_runtime(libompass: Path, tmp_path: Path) -> None:
    environment = environment_of_two(OMPASS_LIBRARY=str(libompass))
    command = command_of(Layout(GCC, ()), tmp_path)
    call(environment, tmp_path, "run", "-q", "-o", "run.ompass", "--", *command)
    recorded = open_run(tmp_path / "run.ompass")
    assert recorded.other_runtime == ""
    assert sum(row.n_completed for row in recorded.constructs) == 20 * (200 + TASKS_OF_LOOP)
