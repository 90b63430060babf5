# SPDX-License-Identifier: Apache-2.0
"""The doctor: one line for each thing that matters, advice wherever something is missing."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ompass.commands.main import application
from ompass.doctor import Check, Verdict, checks, examine_machine, probes
from ompass.launch import Runtime

NAMES = {
    "tool", "reader", "libomp", "clang", "gcc", "fortran", "hwloc", "papi", "perf", "symbols", "clock",
    "topology", "directory",
}  # fmt: skip


def test_every_check_is_made_and_every_lack_has_advice(tmp_path: Path) -> None:
    found = examine_machine({"OMPASS_LIBRARY": "/no/such/library"}, tmp_path)
    assert {check.name for check in found} == NAMES
    for check in found:
        assert check.found
        assert check.verdict is Verdict.OK or check.advice or check.name == "clock", check


def test_tool_that_does_not_load_is_missing(tmp_path: Path) -> None:
    broken = tmp_path / "libompass.so"
    broken.write_bytes(b"not a library")
    (first, *_) = examine_machine({"OMPASS_LIBRARY": str(broken)}, tmp_path)
    assert first.verdict is Verdict.MISSING
    assert "does not load" in first.found


@pytest.mark.parametrize(
    ("answer", "verdicts"),
    [
        (probes.RuntimeAnswer(True, "OpenMP 201611", ""), [Verdict.OK]),
        (probes.RuntimeAnswer(False, "", "it was built without OMPT"), [Verdict.LIMITED, Verdict.MISSING]),
    ],
)
def test_only_a_runtime_that_speaks_ompt_counts(
    monkeypatch: pytest.MonkeyPatch, answer: probes.RuntimeAnswer, verdicts: list[Verdict]
) -> None:
    monkeypatch.setattr(
        checks, "find_runtimes", lambda _: (Runtime("libomp", Path("/l/libomp.so.5"), True, True),)
    )
    monkeypatch.setattr(probes, "ask_runtime", lambda _: answer)
    assert [check.verdict for check in checks._runtimes({})] == verdicts


def test_library_without_an_openmp_runtime_does_not_start() -> None:
    answer = probes.ask_runtime(Path("/no/such/libomp.so"))
    assert not answer.has_ompt
    assert answer.problem


def test_exit_code_tells_whether_recording_works(monkeypatch: pytest.MonkeyPatch) -> None:
    for verdict, code in ((Verdict.OK, 0), (Verdict.LIMITED, 0), (Verdict.MISSING, 6)):
        monkeypatch.setattr(
            "ompass.commands.doctor.examine_machine", lambda *_, v=verdict: [Check("tool", v, "a", "b")]
        )
        result = CliRunner().invoke(application(), ["doctor"])
        assert result.exit_code == code
        assert result.stdout.split() == [verdict.value, "tool", "a", "->", "b"]


def test_doctor_as_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ompass.commands.doctor.examine_machine", lambda *_: [Check("a", Verdict.OK, "b")])
    values = json.loads(CliRunner().invoke(application(), ["doctor", "--json"]).stdout)
    assert values == [{"name": "a", "verdict": "ok", "found": "b", "advice": ""}]


def test_doctor_of_a_program_says_how_it_can_be_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMPASS_LIBRARY", sys.executable)
    result = CliRunner().invoke(application(), ["doctor", sys.executable, "--json"])
    value = json.loads(result.stdout)
    assert result.exit_code == 0
    assert value["recordable"]
    assert value["variables"]["LD_PRELOAD"].startswith(sys.executable)
    text = CliRunner().invoke(application(), ["doctor", sys.executable]).stdout
    assert "can be recorded" in text
    assert f"ompass run -- {sys.executable}" in text.replace("\n", "")
