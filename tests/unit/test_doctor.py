# SPDX-License-Identifier: Apache-2.0
"""The doctor: one line per check, with advice if something is missing."""

from __future__ import annotations

import errno
import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ompass.commands.main import application
from ompass.doctor import checks, probes, trial
from ompass.doctor.checks import Check, Verdict, examine_machine
from ompass.launch.runtimes import Runtime

NAMES = {
    "tool", "reader", "libomp", "extension", "clang", "gcc", "fortran", "hwloc", "papi", "perf", "symbols",
    "clock", "topology", "quota", "directory",
}  # fmt: skip


def test_every_check_is_made_and_everything_missing_has_advice(tmp_path: Path) -> None:
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
def test_only_a_runtime_with_ompt_is_accepted(
    monkeypatch: pytest.MonkeyPatch, answer: probes.RuntimeAnswer, verdicts: list[Verdict]
) -> None:
    monkeypatch.setattr(
        checks, "find_runtimes", lambda _: (Runtime("libomp", Path("/l/libomp.so.5"), True, True),)
    )
    monkeypatch.setattr(probes, "ask_runtime", lambda _: answer)
    monkeypatch.setattr(trial, "problem_of_tool", lambda *_: "")
    monkeypatch.setattr(trial, "problem_of_extension", lambda *_: "")
    found = [check.verdict for check in checks._runtimes({}) if check.name == "libomp"]
    assert found == verdicts


@pytest.mark.parametrize("tool", ["", "it crashed"])
@pytest.mark.parametrize("extension", ["", "it hung"])
def test_tool_and_extension_are_tried_separately(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tool: str, extension: str
) -> None:
    runtime = Runtime("libomp", Path("/l/libomp.so.5"), True, True)
    monkeypatch.setattr(checks, "find_runtimes", lambda _: (runtime,))
    monkeypatch.setattr(probes, "ask_runtime", lambda _: probes.RuntimeAnswer(True, "OpenMP 201611", ""))
    monkeypatch.setattr(probes, "loading_problem", lambda _: "")
    monkeypatch.setattr(checks, "library_path", lambda _: tmp_path / "libomp_ext.so")
    monkeypatch.setattr(trial, "problem_of_tool", lambda *_: tool)
    monkeypatch.setattr(trial, "problem_of_extension", lambda *_: extension)
    (tmp_path / "libompass.so").touch()
    found = list(checks._runtimes({"OMPASS_LIBRARY": str(tmp_path / "libompass.so")}))
    runtimes = [check for check in found if check.name == "libomp" and check.verdict is not Verdict.MISSING]
    (of_extension,) = (check for check in found if check.name == "extension")
    assert [check.verdict for check in runtimes] == [Verdict.LIMITED if tool else Verdict.OK]
    assert tool in runtimes[0].found
    assert of_extension.verdict is (Verdict.LIMITED if extension else Verdict.OK)
    assert extension in of_extension.found


def test_a_missing_runtime_has_a_problem_and_no_ompt() -> None:
    answer = probes.ask_runtime(Path("/no/such/libomp.so"))
    assert not answer.has_ompt
    assert answer.problem


def test_exit_code_shows_whether_recording_works(monkeypatch: pytest.MonkeyPatch) -> None:
    for verdict, code in ((Verdict.OK, 0), (Verdict.LIMITED, 0), (Verdict.MISSING, 6)):
        monkeypatch.setattr(
            "ompass.commands.doctor.examine_machine", lambda *_, v=verdict: [Check("tool", v, "a", "b")]
        )
        result = CliRunner().invoke(application(), ["doctor"])
        assert result.exit_code == code
        assert result.stdout.split() == [verdict.value, "tool", "a", "->", "b"]


def test_doctor_prints_its_checks_as_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ompass.commands.doctor.examine_machine", lambda *_: [Check("a", Verdict.OK, "b")])
    values = json.loads(CliRunner().invoke(application(), ["doctor", "--json"]).stdout)
    assert values == [{"name": "a", "verdict": "ok", "found": "b", "advice": ""}]


def test_doctor_of_a_program_shows_how_to_record_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMPASS_LIBRARY", sys.executable)
    result = CliRunner().invoke(application(), ["doctor", sys.executable, "--json"])
    value = json.loads(result.stdout)
    assert result.exit_code == 0
    assert value["recordable"]
    assert value["variables"]["LD_PRELOAD"].startswith(sys.executable)
    text = CliRunner().invoke(application(), ["doctor", sys.executable]).stdout
    assert "can be recorded" in text
    assert f"ompass run -- {sys.executable}" in text.replace("\n", "")


def test_doctor_of_a_launcher_checks_the_program_that_it_starts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    launcher = tmp_path / "mpirun"
    launcher.write_text("#!/bin/sh\n", encoding="ascii")
    launcher.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("OMPASS_LIBRARY", sys.executable)
    command = ["mpirun", "-n", "2", sys.executable]
    result = CliRunner().invoke(application(), ["doctor", "--json", "--", *command])
    assert json.loads(result.stdout)["program"] == sys.executable
    text = CliRunner().invoke(application(), ["doctor", "--", *command]).stdout
    assert f"ompass run -- {' '.join(command)}" in text.replace("\n", "")


# Makes the kernel refuse perf_event_open, as the seccomp profile of a container does.
_REFUSE = """
import ctypes, os, platform, struct, sys
number = {"x86_64": 298, "aarch64": 241}[platform.machine()]
refusal = 0x00050000 | int(sys.argv[1])
rules = ((0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, refusal), (0x06, 0, 0, 0x7fff0000))
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *rule) for rule in rules))
program = struct.pack("HxxxxxxP", len(rules), ctypes.addressof(code))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program, 0, 0) == 0
from ompass.doctor import checks
(check,) = checks._perf()
print(check.verdict.value, "|", check.found, "|", check.advice)
"""


@pytest.mark.parametrize("error", [errno.EPERM, errno.ENOSYS])
def test_perf_events_that_a_container_refuses_are_found_by_trying(error: int) -> None:
    command = [sys.executable, "-c", _REFUSE, str(error)]
    answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    verdict, found, advice = answer.split(" | ")
    assert verdict == "limited"
    assert "switches of threads" in found
    assert "samples" in found
    assert ("seccomp" if error == errno.EPERM else "kernel with perf events") in advice


def test_attributes_of_perf_events_have_the_size_that_the_kernel_knows() -> None:
    assert len(probes._attributes(1, 1, 1)) == 112
    # The kernel answers E2BIG to unknown attributes, EINVAL to contradictory ones.
    assert probes.open_switches() not in (errno.E2BIG, errno.EINVAL)
    assert probes.open_samples() not in (errno.E2BIG, errno.EINVAL)


def test_quota_of_a_container_is_shown(tmp_path: Path) -> None:
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text("0::/\n", encoding="ascii")
    (tmp_path / "proc/self/mountinfo").write_text("1 0 0:1 / /cg rw - cgroup2 cgroup2 rw\n", encoding="ascii")
    (tmp_path / "cg").mkdir()
    (tmp_path / "cg/cpu.max").write_text("25000 100000\n", encoding="ascii")
    (tmp_path / "cg/cpu.stat").write_text("nr_throttled 7\nthrottled_usec 5\n", encoding="ascii")
    (check,) = checks._quota(str(tmp_path))
    assert check.verdict is Verdict.LIMITED
    assert check.found.startswith("0.25 of ")
    assert "7 times" in check.found
    (none,) = checks._quota(str(tmp_path / "nothing"))
    assert none.verdict is Verdict.OK
