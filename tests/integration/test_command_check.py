# SPDX-License-Identifier: Apache-2.0
"""Tests `ompass check` as a command: exit codes, formats of the report, and the workflow in the docs.

On a busy machine a verdict may stay open, but equal programs are never judged worse.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from command import call, command_line
from documents import blocks_of, page_path
from toolchains import REPOSITORY, CompileProgram, Toolchain, neutral_environment

PROGRAM = REPOSITORY / "tests" / "benchmarks" / "verdict_program.c"
PATIENCE_S = 150
_USAGE = "if (argc != 3) return 2;"


@pytest.fixture
def environment(libompass: Path, default_toolchain: Toolchain) -> dict[str, str]:
    return {
        **neutral_environment(),
        "OMPASS_LIBRARY": str(libompass),
        "LD_LIBRARY_PATH": str(default_toolchain.runtime_dir),
    }


@pytest.fixture
def programs(compile_program: CompileProgram, default_toolchain: Toolchain, tmp_path: Path) -> Path:
    """Makes a directory with two equal builds, `old` and `new`."""
    program = compile_program(PROGRAM, default_toolchain)
    for name in ("old", "new"):
        shutil.copy(program, tmp_path / name)
    return tmp_path


def check(environment: dict[str, str], folder: Path, *arguments: object) -> tuple[int, dict[str, Any], str]:
    """Runs a check; returns its exit status, JSON and stderr."""
    ended = subprocess.run(
        command_line("check", "--json", "-t", 2, *arguments), env=environment, cwd=folder,
        capture_output=True, text=True, timeout=PATIENCE_S, check=False,
    )  # fmt: skip
    return ended.returncode, json.loads(ended.stdout) if ended.stdout else {}, ended.stderr


def test_equal_builds_are_not_worse(environment: dict[str, str], programs: Path) -> None:
    status, report, _ = check(
        environment, programs, "-r", 10, "./old tasks 100", "-o", "runs",
        "--markdown", "c.md", "--junit", "c.xml", "--benchmark", "b.json", "--bencher", "m.json",
        "--name", "equal", "--", "./new", "tasks", 100,
    )  # fmt: skip
    assert status in (0, 2)
    assert report["status"] == status
    assert report["alternating"]
    assert {count["figure"]: count["verdict"] for count in report["counts"]} == dict.fromkeys(
        ("threads", "tasks", "regions", "loops"), "equal"
    )
    assert {time["figure"] for time in report["traced_times"]} == {"span", "simulated time"}
    assert report["parallelism"]["before"] > 1
    n_rounds = report["runs_before"]
    assert 7 <= n_rounds <= 10
    assert len(list((programs / "runs" / "before").glob("*.ompass"))) == n_rounds
    compared = json.loads(
        call(environment, programs, "compare", "runs/before", "runs/after", "--json").stdout
    )
    assert compared["compared"][0]["alternating"]
    assert (programs / "c.md").read_text(encoding="utf-8").startswith("### ")
    assert ElementTree.parse(programs / "c.xml").getroot().get("failures") == "0"
    assert json.loads((programs / "b.json").read_text())[0]["name"] == "equal: time"
    assert json.loads((programs / "m.json").read_text())["equal"]["latency"]["value"] > 0
    # Compares the same runs again, now as recorded runs.
    again, recorded, _ = check(environment, programs, "runs/before", "--", "runs/after")
    assert again in (0, 2)
    assert recorded["alternating"]
    # A single recorded run is enough for counts, but not for a verdict on times.
    first = sorted((programs / "runs" / "before").glob("*.ompass"))[0]
    single, one, _ = check(environment, programs, first, "--no-traces", "--", "./new", "tasks", 100)
    assert (single, one["verdict"]) == (2, "single")
    assert all(count["verdict"] == "equal" for count in one["counts"])


def test_three_times_the_work_is_worse(environment: dict[str, str], programs: Path) -> None:
    status, report, _ = check(
        environment, programs, "-r", 20, "--no-traces", "./old loop 100", "--", "./new", "loop", 300
    )
    assert (status, report["verdict"]) == (1, "worse")
    status, report, _ = check(
        environment, programs, "-r", 20, "--no-traces", "./old loop 300", "--", "./new", "loop", 100
    )
    assert status in (0, 2), "faster"


def test_failures_have_their_own_exit_codes(environment: dict[str, str], programs: Path) -> None:
    status, _, errors = check(environment, programs, "./old tasks", "--", "./new", "tasks", 1)
    assert status == 9
    assert "`./old tasks` exited with 2" in errors
    status, _, errors = check(environment, programs, "./old tasks 1", "--", "/bin/true")
    assert status == 6
    assert "nothing was recorded" in errors
    status, _, errors = check(environment, programs, "./old tasks 1", "--", "./missing")
    assert status == 127
    assert len(errors.splitlines()) == 1


def workflow() -> Any:
    """Returns the workflow that docs/check.md shows."""
    text = page_path("check.md").read_text(encoding="utf-8")
    (block,) = ("\n".join(lines) for _, lines in blocks_of(text) if lines[0].startswith("name: "))
    return yaml.safe_load(block)


@pytest.mark.slow  # records for half a minute
def test_the_workflow_of_the_docs_works(
    environment: dict[str, str], default_toolchain: Toolchain, tmp_path: Path
) -> None:
    """Runs the steps as GitHub does (`bash -e`), with stubs for checkout and package installation."""
    steps = workflow()["jobs"]["check"]["steps"]
    checked_out = [step["with"]["path"] for step in steps if "uses" in step]
    assert sorted(checked_out) == ["after", "before"]
    for path in checked_out:
        (tmp_path / path).mkdir()
        source = PROGRAM.read_text(encoding="utf-8")
        assert _USAGE in source
        # The workflow gives its program no arguments.
        source = source.replace(_USAGE, 'char *given[] = {"", "tasks", "50"};\n    argv = given;')
        (tmp_path / path / "program.c").write_text(source, encoding="utf-8")
    commands = tmp_path / "bin"
    commands.mkdir()
    python, compiler = shlex.quote(sys.executable), shlex.quote(default_toolchain.cc)
    for name, script in {
        "ompass": f'exec {python} -m ompass "$@"',
        "clang": f'exec {compiler} "$@"',
        "pip": 'test "$*" = "install ompass"',
        "sudo": 'test "$1" = apt-get',
    }.items():
        (commands / name).write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        (commands / name).chmod(0o755)
    environment = environment | {
        "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}",
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
    }
    for step in steps:
        if "run" in step:
            ended = subprocess.run(
                ["bash", "-e", "-c", step["run"]], cwd=tmp_path, env=environment,
                capture_output=True, text=True, timeout=PATIENCE_S, check=False,
            )  # fmt: skip
            assert ended.returncode == 0, f"{step['name']}: {ended.stdout}{ended.stderr}"
    assert "program: " in (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert json.loads((tmp_path / "check.json").read_text(encoding="utf-8"))
    assert ElementTree.parse(tmp_path / "check.xml").getroot().get("failures") == "0"
