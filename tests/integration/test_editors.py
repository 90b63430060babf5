# SPDX-License-Identifier: Apache-2.0
"""Tests `ompass report --format`, which writes findings with their source lines in formats for editors."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest

from command import call, ompass
from toolchains import REPOSITORY, CompileProgram, RunRecorded, neutral_environment

SCHEMA = json.loads((REPOSITORY / "tests" / "schemas" / "sarif-2.1.0.json").read_text("utf-8"))
PROGRAM = REPOSITORY / "tests" / "diseases" / "programs" / "fine_tree.c"
CONSTRUCT_LINES = {
    n
    for n, line in enumerate(PROGRAM.read_text().splitlines(), 1)
    if "omp task" in line and "wait" not in line
}


@pytest.fixture
def run(compile_program: CompileProgram, run_recorded: RunRecorded) -> Path:
    return run_recorded(compile_program(PROGRAM)).run_dir


def test_the_finding_is_at_the_line_of_its_construct(run: Path, tmp_path: Path) -> None:
    messages = call(neutral_environment(), REPOSITORY, "report", run, "--format", "gcc").stdout.splitlines()
    assert all(re.match(r"[^:]+:\d+: (warning|note): \S", line) for line in messages)
    (found,) = (line for line in messages if line.endswith("[too_fine]"))
    file, line, level = re.match(r"(.*?):(\d+): (\w+)", found).groups()  # type: ignore[union-attr]
    assert (REPOSITORY / file).samefile(PROGRAM)
    assert not Path(file).is_absolute()
    assert int(line) in CONSTRUCT_LINES | {n + 1 for n in CONSTRUCT_LINES}
    assert level == "warning"

    call(neutral_environment(), REPOSITORY, "report", run, "--format", "sarif", "-o", tmp_path / "a.sarif")
    log = json.loads((tmp_path / "a.sarif").read_text("utf-8"))
    jsonschema.Draft4Validator(SCHEMA).validate(log)
    (result,) = (r for r in log["runs"][0]["results"] if r["ruleId"] == "too_fine")
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": file, "uriBaseId": "SRCROOT"}
    assert place["region"]["startLine"] == int(line)


def test_findings_without_lines_ask_for_debug_information(
    compile_program: CompileProgram, run_recorded: RunRecorded
) -> None:
    bare = run_recorded(compile_program(PROGRAM, flags=["-g0"])).run_dir
    ended = ompass("report", bare, "--format", "gcc")
    assert ended.stdout == ""
    assert "compile with -g" in ended.stderr
