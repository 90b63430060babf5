# SPDX-License-Identifier: Apache-2.0
"""Checks that `ompass PROGRAM` alone leads to the change that makes a program faster, on one screen.

The tests run programs as a newcomer does, most of them without options.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import IO, Any

import pytest

from command import command_line
from toolchains import PROGRAMS, REPOSITORY, CompileProgram, Toolchain

PATIENCE_S = 300
N = "40000"


class Newcomer:
    """Runs the command with an output width of 80 columns."""

    def __init__(self, directory: Path, library: Path, toolchain: Toolchain) -> None:
        self.directory = directory
        self.environment = toolchain.run_environment(
            {"OMPASS_LIBRARY": str(library), "OMP_NUM_THREADS": "2", "COLUMNS": "80"}
        )

    def __call__(self, *arguments: object, stdin: int | IO[str] = subprocess.DEVNULL) -> str:
        """Runs the command; returns its stderr and stdout."""
        done = subprocess.run(
            command_line(*arguments), cwd=self.directory, env=self.environment, stdin=stdin,
            capture_output=True, text=True, timeout=PATIENCE_S, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stderr + done.stdout

    def seconds(self, program: Path) -> float:
        """Runs quicksort without Ompass; returns the time that it prints."""
        done = subprocess.run(
            [program, N], env=self.environment, capture_output=True, text=True, timeout=PATIENCE_S, check=True
        )
        return float(done.stdout)

    @property
    def run_directory(self) -> Path:
        (found,) = self.directory.glob("*.ompass")
        return found


@pytest.fixture
def ompass(tmp_path: Path, libompass: Path, default_toolchain: Toolchain) -> Newcomer:
    return Newcomer(tmp_path, libompass, default_toolchain)


@pytest.fixture(scope="module")
def quicksort(compile_program: CompileProgram) -> Path:
    return compile_program("first_steps/quicksort.c", opt_level="-O2")


def advice_of(text: str) -> list[dict[str, Any]]:
    return list(json.loads(text)["advice"]["advice"])


def test_the_first_report_leads_to_the_depth_of_a_cut_off(
    ompass: Newcomer, quicksort: Path, compile_program: CompileProgram
) -> None:
    lines = ompass(quicksort, N).splitlines()
    (notice,) = [line for line in lines if "running it again" in line]
    assert len(notice) <= 80 and "--once" in notice
    report = lines[next(k for k, line in enumerate(lines) if line.startswith("──")) :]
    # On a busy machine, advice on the program's long start may come before this one.
    found = re.search(r"Cut off below depth (\d+): (\d+)% less time predicted \(\d", "\n".join(report))
    assert found, "\n".join(lines)
    assert "quicksort.c:" in "\n".join(report[:10])
    depth, gain = int(found[1]), int(found[2]) / 100
    assert any(line.lstrip().startswith("Next: ompass view") for line in report)

    improved = compile_program("first_steps/quicksort.c", opt_level="-O2", flags=[f"-DCUT_OFF={depth}"])
    times = [(ompass.seconds(quicksort), ompass.seconds(improved)) for _ in range(7)]
    before, after = (min(column) for column in zip(*times, strict=True))
    assert 1 - after / before > gain / 3, "loose, because the machine of the tests is busy"


@pytest.mark.parametrize(
    ("source", "change"),
    [
        ("critical_tasks.c", "Do less while this lock is held"),
        ("chain_inout.c", "Remove the dependence between these tasks"),
    ],
)
def test_the_first_report_leads_to_a_lock_or_a_false_dependence(
    ompass: Newcomer, compile_program: CompileProgram, source: str, change: str
) -> None:
    path = REPOSITORY / "tests" / "diseases" / "programs" / source
    lines = ompass(compile_program(path)).splitlines()
    report = lines[next(k for k, line in enumerate(lines) if line.startswith("──")) :]
    first = " ".join(" ".join(report).split())
    assert re.search(change + r"[^:]*: (up to about )?\d+% less time (or more )?predicted \(\d", first), (
        "\n".join(lines)
    )
    marked = path.read_text(encoding="utf-8").splitlines()
    (line,) = [number for number, text in enumerate(marked, 1) if "// DISEASE" in text]
    assert f"{source}:{line}" in first


def test_a_serial_part_before_the_first_region_is_named_by_its_line(
    ompass: Newcomer, compile_program: CompileProgram
) -> None:
    program = compile_program("first_steps/setup.c", opt_level="-O2", flags=["-lm"])
    text = " ".join(ompass("--once", program).split())
    source = (PROGRAMS / "first_steps" / "setup.c").read_text(encoding="utf-8").splitlines()
    (line,) = [number for number, text in enumerate(source, 1) if "// HOT" in text]
    assert re.search(rf"\d% of its samples are in set_up, most of them at setup\.c:{line}\b", text), text
    ompass("validate", ompass.run_directory)


def test_the_run_of_a_forked_child_has_no_samples_of_its_parent(
    ompass: Newcomer, compile_program: CompileProgram
) -> None:
    program = compile_program("first_steps/forked.c", opt_level="-O2", flags=["-lm"])
    ompass("--once", "--no-report", program)
    for directory in ompass.directory.glob("*.ompass"):
        report = json.loads(ompass("report", directory, "--json"))
        assert report["samples"]["threads_refused"] == 0
        lines = {line["function"] for line in report["samples"]["lines"]}
        assert "before_fork" not in lines


def test_later_reports_show_the_advice_again(ompass: Newcomer, quicksort: Path) -> None:
    ompass("run", "--report-json", "first.json", "--", quicksort, N)
    directory = ompass.run_directory
    advice = advice_of((ompass.directory / "first.json").read_text(encoding="utf-8"))
    assert {"depth", "time"} <= {change["kind"] for change in advice}
    assert advice_of(ompass("report", directory.name, "--json")) == advice
    assert "less time predicted" in ompass("report", directory.name)
    for command in ("advise", "graph"):
        assert "quicksort.c:" in ompass(command, directory.name), "it finds the trace of the second run"
    ompass("validate", directory.name)


@pytest.mark.parametrize(
    "options", [["--once"], ["--within", "1us"], ["--limit", "1k"], ["--mode", "profile"]]
)
def test_a_second_run_can_be_refused(ompass: Newcomer, quicksort: Path, options: list[str]) -> None:
    printed = ompass(*options, quicksort, "4000")
    assert "running it again" not in printed
    assert "predicted" not in printed
    assert "--full" in printed
    refused = options[0] in ("--within", "--limit")
    assert ("no second run" in printed) == refused
    assert ("Next: ompass run --twice -- " in printed) == refused


def test_a_program_with_more_threads_than_processors_runs_once(
    ompass: Newcomer, compile_program: CompileProgram
) -> None:
    n_threads = 8 * len(os.sched_getaffinity(0))
    path = REPOSITORY / "tests" / "diseases" / "programs" / "oversubscribed_barriers.c"
    ompass.environment["OMP_NUM_THREADS"] = str(n_threads)
    program = compile_program(path)
    printed = ompass(program)
    assert "1. More threads than processors" in printed
    assert "no second run" not in printed
    asked = ompass("--twice", program)
    assert "no second run: no finding that a change of the program may cure" in asked
    for text in (printed, asked):
        assert "running it again" not in text
        assert "less time" not in text


def test_a_trace_that_outgrows_its_limit_is_reported_in_one_line(ompass: Newcomer, quicksort: Path) -> None:
    printed = ompass("--twice", "--limit", "100k", quicksort, N)
    (line,) = [line for line in printed.splitlines() if "no prediction" in line]
    assert line == "ompass: no prediction: the trace became too large (--limit SIZE allows more)"
    assert "less time predicted" not in printed


def test_a_program_that_writes_a_file_or_reads_a_pipe_runs_once(
    ompass: Newcomer, compile_program: CompileProgram
) -> None:
    """A second run would append its results again, or read an empty input."""
    program = shutil.copy(compile_program("first_steps/sum.c", opt_level="-O2"), ompass.directory / "sum")
    with (ompass.directory / "numbers").open("w+", encoding="utf-8") as numbers:
        numbers.write("1 2 3 " * 500)
        numbers.seek(0)
        assert "it wrote results.csv (--twice" in ompass("./sum", "results.csv", stdin=numbers)
        assert (ompass.directory / "results.csv").read_text(encoding="utf-8") == "60000\n"
        numbers.seek(0)
        with subprocess.Popen(["cat"], stdin=numbers, stdout=subprocess.PIPE, text=True) as source:
            assert source.stdout
            assert "its standard input cannot be read twice" in ompass(program, stdin=source.stdout)


def test_a_script_runs_once(ompass: Newcomer, quicksort: Path) -> None:
    script = ompass.directory / "script"
    script.write_text(f'#!/bin/sh\n"{quicksort}" 4000\n', encoding="utf-8")
    script.chmod(0o755)
    assert "not linked with OpenMP" in ompass("./script")


def test_input_from_a_file_is_read_by_both_runs(ompass: Newcomer, compile_program: CompileProgram) -> None:
    program = compile_program("first_steps/sum.c", opt_level="-O2")
    numbers = ompass.directory / "numbers"
    numbers.write_text("\n".join(map(str, range(2000))), encoding="utf-8")
    with numbers.open(encoding="utf-8") as stream:
        printed = ompass("run", "--", program, stdin=stream)
    assert "running it again" in printed
    assert "no prediction" not in printed, "the program fails without input"


@pytest.mark.parametrize("source", ["quicksort.c", "cholesky.c", "triangle.c"])
def test_the_default_report_fits_one_screen(
    ompass: Newcomer, compile_program: CompileProgram, source: str
) -> None:
    program = compile_program(f"first_steps/{source}", opt_level="-O2", flags=["-lm"])
    shutil.copy(program, ompass.directory / "program")
    ompass("-o", "a.ompass", "./program")
    lines = ompass("report", "a.ompass").rstrip().splitlines()
    assert len(lines) <= 40, "\n".join(lines)
    assert max(map(len, lines)) <= 80
    head = "\n".join(lines[:3])
    assert "of the time of 2 threads is work" in head
    assert "No problem found" in head or any(line.startswith("Findings") for line in lines[:10])
    assert lines[-1].strip().startswith("ompass report a.ompass --full")
    assert len(ompass("report", "a.ompass", "--full").splitlines()) > len(lines)
