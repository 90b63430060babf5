# SPDX-License-Identifier: Apache-2.0
"""Several OpenMP runtimes in one process: neither the tool nor the extension mixes them up."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from ext_programs import ext_library
from recorded_run import check_sound, counted, facts_in
from two_runtimes import CLANG, GCC, LAYOUTS, WHEEL, Layout, command_of, environment_of_two

PATIENCE_S = 60
TASKS_OF_LOOP = 10  # of each taskloop, one in each call


def settings(loading: str, tool: Path) -> dict[str, str]:
    """Return how the tool, the extension or both are loaded; the extension schedules."""
    extension = str(ext_library())
    return {
        "tool": {"OMP_TOOL_LIBRARIES": str(tool)},
        "preload": {"LD_PRELOAD": str(tool)},
        "extension": {"LD_PRELOAD": extension, "OMP_EXT_SCHEDULE": "1"},
        "extension-tool": {"LD_PRELOAD": f"{extension} {tool}", "OMP_EXT_SCHEDULE": "1"},
        "tool-extension": {"LD_PRELOAD": f"{tool} {extension}", "OMP_EXT_SCHEDULE": "1"},
    }[loading]


def run(command: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the program to its end."""
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
    ran = run(command_of(layout, tmp_path), **recorded, **settings(loading, libompass))
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
        command_of(layout, tmp_path), **recorded, **settings("preload" if preload else "tool", libompass)
    )
    assert ran.returncode == 0, ran.stderr
    facts = counted(check_sound(run_dir))
    n_calls = layout.library_tasks // 200
    assert facts["tasks"] == facts["created"] == n_calls * (200 + TASKS_OF_LOOP)
