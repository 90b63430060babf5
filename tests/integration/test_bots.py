# SPDX-License-Identifier: Apache-2.0
"""Every benchmark program verifies its result with all options, checks its command line and counts its tasks.

A program compares its result with the serial version's, or checks a property that only correct results have.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import bots_programs
from bots_programs import Kind
from toolchains import REPOSITORY

THREADS = (1, 2, 4, 8)
VERSIONS = bots_programs.versions()
OF_GCC = ("fib",)  # programs that the quick tests build with gcc and run


@pytest.fixture(scope="session")
def bots_of_gcc() -> Path:
    """Returns the directory of the benchmark programs that gcc built."""
    return bots_programs.built_by_gcc(*OF_GCC)


BRANCH_AND_BOUND = ("floorplan", "knapsack")  # their work depends on when they find good solutions


def check_version(
    directory: Path,
    version: str,
    threads: Sequence[int] = THREADS,
    *options: str,
    input_class: str = "test",
    timeout_s: float = 170,
) -> None:
    """Checks that all runs verify and do the serial version's work.

    Runs with the same cut-off and tiedness must create equally many tasks.
    """
    program = version.partition("-")[0]
    [serial] = bots_programs.verify(
        directory / f"{program}-serial", (1,), *options, input_class=input_class, timeout_s=timeout_s
    )
    assert serial["tasks"] == 0
    n_tasks: dict[Kind, Any] = {}
    for answer in bots_programs.verify(
        directory / version, threads, *options, input_class=input_class, timeout_s=timeout_s
    ):
        assert (answer["inputs"], answer["unit"]) == (serial["inputs"], serial["unit"])
        if program in BRANCH_AND_BOUND:
            continue
        assert answer["units"] == serial["units"]
        kind = Kind(answer["cutoff"], answer["tied"])
        assert answer["tasks"] == n_tasks.setdefault(kind, answer["tasks"]), f"{version}, {kind}"


@pytest.mark.parametrize("threads", [(1, 4), (2, 8)], ids=str)
@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_verifies_at_every_cutoff_kind_and_number_of_threads(
    bots_dir: Path, version: str, threads: tuple[int, int]
) -> None:
    # One team size is enough for marked versions: without the tool, a mark only jumps over a call.
    check_version(bots_dir, version, threads[1:] if version.endswith("-marked") else threads)


@pytest.mark.parametrize("version", [version for version in VERSIONS if version.partition("-")[0] in OF_GCC])
def test_programs_that_gcc_built_verify_on_libgomp(bots_of_gcc: Path, version: str) -> None:
    check_version(bots_of_gcc, version)


@pytest.mark.parametrize("schedule", ["0", "1"])
@pytest.mark.parametrize("version", [version for version in VERSIONS if version.endswith("-locality")])
def test_placed_tasks_and_memory_verify_on_several_domains(
    bots_dir: Path, version: str, schedule: str
) -> None:
    environment = {"OMP_EXT_DOMAINS": "3", "OMP_EXT_SCHEDULE": schedule}
    bots_programs.verify(bots_dir / version, (1, 2, 4), environment=environment)


def test_halved_waves_of_lu_verify(bots_dir: Path) -> None:
    check_version(bots_dir, "lu-tasks", (1, 4), "--waves", "halved")


# Inputs for programs that create too many tasks without a cut-off: class small then takes minutes to hours.
# With the manual cut-off, these programs run class small itself too.
SMALLER = {
    "cilksort": ("--size", "400000"),
    "concom": ("--size", "200000"),
    "fib": ("--size", "27"),
    "floorplan": ("--size", "14"),
    "fmm": ("--size", "12000"),
    "health": ("--steps", "100"),
    "heat": ("--steps", "40"),
    "knapsack": ("--size", "52"),
    "nqueens": ("--size", "11"),
    "treeadd": ("--size", "14"),
}


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("n_threads", THREADS)
@pytest.mark.parametrize("version", [version for version in VERSIONS if not version.endswith("-serial")])
def test_every_version_verifies_on_small_inputs(bots_dir: Path, version: str, n_threads: int) -> None:
    options = SMALLER.get(version.partition("-")[0], ())
    check_version(bots_dir, version, (n_threads,), *options, input_class="small", timeout_s=500)
    for kind in bots_programs.kinds(bots_dir / version):
        if options and kind.cutoff == "manual":
            bots_programs.run(bots_dir / version, threads=n_threads, kind=kind, input_class="small")


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("version", [version for version in VERSIONS if "-locality" not in version])
def test_every_version_that_gcc_built_verifies(version: str) -> None:
    check_version(bots_programs.built_by_gcc(), version)


def libraries(path: Path) -> str:
    """Returns the output of ldd, which lists the libraries of a program."""
    return subprocess.run(["ldd", path], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("version", VERSIONS)
def test_serial_versions_have_no_openmp_and_the_others_have_it(bots_dir: Path, version: str) -> None:
    if re.search("-serial|-tbb", version):
        assert "omp" not in libraries(bots_dir / version)
    else:
        assert "libomp.so" in libraries(bots_dir / version)


def test_vector_instructions_can_be_turned_off(bots_dir: Path) -> None:
    command = [str(bots_dir / "matmul-serial"), "--class", "test"]
    environment = {**os.environ, "BOTS_VECTORS": "0"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert "for the baseline" in done.stdout


def test_gcc_builds_for_libgomp(bots_of_gcc: Path) -> None:
    assert "libgomp.so" in libraries(bots_of_gcc / "fib-tasks")
    assert "omp" not in libraries(bots_of_gcc / "fib-serial")


@pytest.mark.parametrize("version", VERSIONS)
def test_help_names_every_option(bots_dir: Path, version: str) -> None:
    program = bots_dir / version
    described = bots_programs.described(program)
    text = subprocess.run([program, "--help"], capture_output=True, text=True, check=True).stdout
    options = [*described["inputs"], *(() if described["serial"] else described["cuts"]), "class", "json"]
    for option in options:
        assert f"--{option} " in text
    assert ("--cutoff" in text) != described["serial"]
    assert ("--untied" in text) == described["untied"]


def test_the_document_has_every_version_and_option(bots_dir: Path) -> None:
    document = (REPOSITORY / "docs" / "bots.md").read_text(encoding="utf-8")
    for version in VERSIONS:
        described = bots_programs.described(bots_dir / version)
        name = described["program"]
        [row] = re.findall(rf"^\| `{name}` \| {described['unit']} \| .*$", document, re.MULTILINE)
        options = [*described["inputs"], *(() if described["serial"] else described["cuts"])]
        for word in (described["version"], *(f"--{option}" for option in options)):
            assert f"`{word}`" in row, f"{name}: {word} is missing in docs/bots.md"
        assert len(re.findall(rf"^\| `{name}`(?: \*)? \|", document, re.MULTILINE)) == 2


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["fib-tasks", "--size"], "--size needs a value"),
        (["fib-tasks", "--size", "61"], "'61' is not a whole number from 0 to 60"),
        (["fib-tasks", "--size", "1e3"], "'1e3' is not a whole number"),
        (["fib-tasks", "--threads", "0"], "not a whole number from 1"),
        (
            ["fib-tasks", "--class", "huge"],
            "--class: 'huge' is not one of test, small, medium, large",
        ),
        (["fib-tasks", "--cutoff", "depth"], "one of none, if, final, manual"),
        (["fib-tasks", "--cutoff", "if", "--untied"], "undeferred untied tasks abort LLVM's OpenMP runtime"),
        (["fib-tasks", "--json=yes"], "--json takes no value"),
        (["fib-tasks", "12"], "unknown option '12'"),
        (["fib-serial", "--untied"], "the serial version creates no tasks"),
        (["fib-serial", "--depth", "3"], "the serial version creates no tasks"),
        (["fib-serial", "--threads", "2"], "not a whole number from 1 to 1"),
        (["fib-serial", "--verify", "1"], "the serial version creates no tasks"),
        (["fib-tasks", "--verify", "1,,2"], "--verify: '' is not a whole number from 1"),
        (["fib-tasks", "--verify", "2,"], "--verify: '' is not a whole number from 1"),
        (["fib-tasks", "--size=-3"], "'-3' is not a whole number from 0 to 60"),
        (["sort-tasks", "--size", "99999999999999999999"], "is not a whole number from 0 to 4294967296"),
        (["matmul-tbb", "--cutoff", "final"], "has only none, manual"),
        (["matmul-tbb", "--untied"], "neither tied nor untied"),
        (["uts-tasks", "--tree", "oak"], "'oak' is not one of"),
    ],
)
def test_wrong_arguments_are_reported_in_one_line(
    bots_dir: Path, arguments: list[str], complaint: str
) -> None:
    name, *options = arguments
    ended = subprocess.run([bots_dir / name, *options], capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert complaint in ended.stderr
    assert ended.stderr.startswith(f"{name}: ")
    assert ended.stderr.count("\n") == 1


def test_an_input_number_makes_the_class_custom(bots_dir: Path) -> None:
    text = subprocess.run(
        [bots_dir / "fib-tasks", "--class", "test", "--size=10", "--repeat", "3", "--json"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    answer = json.loads(text)
    assert answer["class"] == "custom"
    assert answer["inputs"] == {"size": 10}
    assert answer["cuts"] == {"depth": 6}  # the class's value
    assert len(answer["repeats"]) == 3
    assert answer["seconds"] == sorted(answer["repeats"])[1]
