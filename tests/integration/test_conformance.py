# SPDX-License-Identifier: Apache-2.0
"""Runs the conformance campaign on a small suite of right, flaky, differing and endless programs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import toolchains
from conformance import __main__ as command
from conformance.judge import Campaign, Case, Entry
from conformance.programs import Program, build, programs_in
from conformance.reference import Ended
from conformance.ways import WAYS
from ext_programs import ext_library
from needs import require_toolchain

_HEAD = "#include <omp.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\n"
_MAIN = """
int main(void) {
    int sum = 0;
#pragma omp parallel
#pragma omp single
    for (int i = 1; i < 10; ++i) {
#pragma omp task shared(sum)
#pragma omp atomic
        sum += i;
    }
    %s
    return 0;
}
"""
_PROGRAMS = {
    "right": 'printf("sum %d, process %d\\n", sum, (int)getpid());',
    # `flip` is 0 or 1 at random
    "flaky": 'char flip; FILE* f = fopen("/dev/urandom", "r"); flip = fgetc(f) & 1; fclose(f); '
    'puts(flip ? "heads" : "tails");',
    "different": 'puts(getenv("OMP_TOOL_LIBRARIES") ? "watched" : "alone");',
    "endless": 'if (getenv("OMP_EXT_SCHEDULE")) for (;;) sleep(1);',
}

# Runs the command with another folder for its journal.
_COMMAND = """
import sys, campaigns
from pathlib import Path
from conformance import __main__ as command
command.FOLDER = Path(sys.argv.pop(1))
campaigns.run_command(command.main)
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    folder = tmp_path / "made"
    folder.mkdir()
    for name, last in _PROGRAMS.items():
        (folder / f"{name}.c").write_text(_HEAD + _MAIN % last)
    (folder / "broken.c").write_text(_HEAD + _MAIN % "no_such_function_at_all()")
    (folder / "part.c").write_text("void part(void) {\n#pragma omp parallel\n}\n")
    return folder


@pytest.fixture
def campaign(libompass: Path) -> Campaign:
    toolchain = require_toolchain(toolchains.toolchain_named(toolchains.DEFAULT_TOOLCHAIN))
    return Campaign(libompass, ext_library(), toolchain, WAYS, limit_s=30, repeats=3)


def case_of(campaign: Campaign, suite: Path, name: str) -> Case:
    (program,) = programs_in(suite, f"made/{name}.c")
    executable = build(program, campaign.toolchain).executable
    assert executable
    return Case(program, executable, 2)


def differing(entry: Entry) -> set[str]:
    assert not entry["skipped"]
    return {difference["way"] for difference in entry["differences"]}


def test_programs_of_the_suite_are_found(suite: Path) -> None:
    assert {program.source.stem for program in programs_in(suite)} == {*_PROGRAMS, "broken"}


@pytest.mark.parametrize("name", ["right", "flaky"])
def test_right_and_flaky_programs_do_not_differ(campaign: Campaign, suite: Path, name: str) -> None:
    assert differing(campaign.entry(case_of(campaign, suite, name))) == set()


def test_a_program_that_reads_the_tools_variable_differs(campaign: Campaign, suite: Path) -> None:
    entry = campaign.entry(case_of(campaign, suite, "different"))
    assert differing(entry) == {way.name for way in WAYS if way.loading == "OMP_TOOL_LIBRARIES"}
    first = entry["differences"][0]
    assert first["difference"] == "stdout: 1 → 0 lines 'alone'"
    assert (first["n_different"], first["n_runs"]) == (4, 4)


def test_a_program_that_does_not_end_differs(campaign: Campaign, suite: Path) -> None:
    short = replace(campaign, limit_s=3, repeats=0, ways=[way for way in WAYS if way.name == "1 domain"])
    (difference,) = short.entry(case_of(short, suite, "endless"))["differences"]
    assert difference["difference"] == "does not end"


def test_a_program_that_hangs_in_some_stock_runs_is_flaky(
    campaign: Campaign, suite: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stock = iter([Ended(0), Ended(0), Ended(0), Ended(0), Ended(None)])

    def run(
        self: Campaign, case: Case, settings: object, limit_s: float, *, on_one_cpu: bool = False
    ) -> Ended:
        return next(stock) if limit_s < self.limit_s else Ended(None)

    monkeypatch.setattr(Campaign, "run", run)
    assert differing(campaign.entry(case_of(campaign, suite, "right"))) == set()
    assert next(stock, None) is None


def test_a_program_that_does_not_build_is_named(campaign: Campaign, suite: Path) -> None:
    (program,) = programs_in(suite, "*broken*")
    built = build(program, campaign.toolchain)
    assert built.executable is None
    assert "no_such_function_at_all" in built.message


def test_finished_cases_are_skipped(
    campaign: Campaign, suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "FOLDER", tmp_path / "campaign")
    few = replace(campaign, ways=WAYS[:1])
    cases = [case_of(few, suite, "right"), case_of(few, suite, "different")]
    ran: list[str] = []

    def counted(self: Campaign, chosen: list[Case], at_once: int) -> Iterator[Entry]:
        for case in chosen:
            ran.append(case.program.source.stem)
            yield self.entry(case)

    monkeypatch.setattr(Campaign, "run_all", counted)
    first = command.run(few, cases[:1], 1)
    assert command.run(few, cases, 1)[:1] == first
    assert ran == ["right", "different"]
    command.run(few, cases, 1, again=True)
    assert ran == ["right", "different", "different"]
    command.run(replace(few, limit_s=31), cases[:1], 1)  # another limit may change the outcome
    assert ran[3:] == ["right"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_interrupted_campaign_ends_its_programs(number: signal.Signals, tmp_path: Path) -> None:
    folder = tmp_path / "made"
    folder.mkdir()
    note = 'FILE* f = fopen(getenv("NOTE"), "w"); fprintf(f, "%d\\n", (int)getpid()); fclose(f); sleep(100);'
    (folder / "sleeper.c").write_text(_HEAD + _MAIN % note)
    paths = os.pathsep.join([str(toolchains.REPOSITORY / "tests"), str(Path(toolchains.__file__).parent)])
    with subprocess.Popen(
        [sys.executable, "-c", _COMMAND, str(tmp_path / "campaign"), str(folder), "--limit", "300"],
        env={**os.environ, "PYTHONPATH": paths, "NOTE": str(tmp_path / "note")},
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        wait_until(lambda: process.poll() is not None or content_of(tmp_path / "note").endswith("\n"))
        process.send_signal(number)
        _, stderr = process.communicate()
    assert stderr.splitlines()[-1] == "interrupted; the same command resumes"
    assert process.returncode == 1
    pid = int((tmp_path / "note").read_text())
    wait_until(lambda: not Path(f"/proc/{pid}/exe").exists())


def content_of(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def wait_until(condition: Callable[[], bool]) -> None:
    end_s = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end_s, "it takes too long"
        time.sleep(0.02)


def test_report_and_json_name_the_differences(campaign: Campaign, suite: Path, tmp_path: Path) -> None:
    few = replace(campaign, ways=WAYS[:2])
    entry = few.entry(case_of(few, suite, "different"))
    broken: Program = programs_in(suite, "*broken*")[0]
    built = build(broken, campaign.toolchain)
    text = command.report([entry], [built])
    assert "made/different.c, 2 threads, profile by OMP_TOOL_LIBRARIES: stdout: " in text
    assert "1 programs in 1 cases: 1 cases differ from stock" in text
    command.write_json(tmp_path / "all.json", [entry], [built])
    written = json.loads((tmp_path / "all.json").read_text())
    assert [case["program"] for case in written["cases"]] == ["made/different.c"]
    assert list(written["not_built"]) == ["made/broken.c"]
