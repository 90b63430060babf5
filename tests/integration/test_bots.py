# SPDX-License-Identifier: Apache-2.0
"""Every benchmark program verifies, whatever it is asked; its command line; and its own counts are right.

The programs verify themselves: against their serial version, or a property that only right results have.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import bots_programs
import pytest
from bots_programs import Kind

from toolchains import BUILD

THREADS = (1, 2, 4, 8)
VERSIONS = bots_programs.versions()
WITH_TASKS = [name for name in VERSIONS if not name.endswith("-serial")]

BUILDS = {"libomp": BUILD / "bots", "libgomp": BUILD / "bots-gcc"}


@pytest.fixture(params=sorted(BUILDS))
def build(request: pytest.FixtureRequest) -> Path:
    """Each folder of benchmark programs: as built by clang, and by gcc."""
    directory: Path = BUILDS[request.param]
    if not directory.is_dir():
        pytest.fail(f"{directory} is not built: ./run test builds it")
    return directory


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_verifies_at_every_cutoff_kind_and_number_of_threads(build: Path, version: str) -> None:
    program = build / version
    for kind in bots_programs.kinds(program):
        for threads in THREADS if kind.cutoff else (1,):
            bots_programs.run(program, threads=threads, kind=kind)


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_verifies_on_small_inputs(bots_dir: Path, version: str) -> None:
    program = bots_dir / version
    for kind in bots_programs.kinds(program):
        for threads in THREADS if kind.cutoff else (1,):
            bots_programs.run(program, threads=threads, kind=kind, input_class="small", timeout_s=1800)


@pytest.mark.parametrize(
    "version", [name for name in WITH_TASKS if not name.endswith(("-tbb", "-tbb-marked"))]
)
def test_serial_versions_have_no_openmp_and_the_others_have_it(build: Path, version: str) -> None:
    program = build / version
    serial = build / f"{version.partition('-')[0]}-serial"

    def libraries(path: Path) -> str:
        return subprocess.run(["ldd", path], capture_output=True, text=True, check=True).stdout

    assert "omp" not in libraries(serial)
    assert ("libgomp.so" if build.name.endswith("gcc") else "libomp.so") in libraries(program)


@pytest.mark.parametrize("version", WITH_TASKS)
def test_equal_requests_give_equal_work(bots_dir: Path, version: str) -> None:
    """What does not depend on the schedule is the same twice, and the same as the serial version's."""
    program = bots_dir / version
    serial = bots_dir / f"{version.partition('-')[0]}-serial"
    by_serial = bots_programs.run(serial, threads=1, kind=Kind(None, None))
    first = next(bots_programs.kinds(program))
    one, two = (bots_programs.run(program, threads=threads, kind=first) for threads in (1, 4))
    assert one["inputs"] == two["inputs"] == by_serial["inputs"]
    assert one["unit"] == by_serial["unit"]
    assert one["units"] == two["units"] == by_serial["units"]
    assert by_serial["tasks"] == 0


@pytest.mark.parametrize("version", VERSIONS)
def test_help_names_every_option_and_its_examples_run(bots_dir: Path, version: str) -> None:
    program = bots_dir / version
    described = bots_programs.described(program)
    text = subprocess.run([program, "--help"], capture_output=True, text=True, check=True).stdout
    options = [*described["inputs"], *(() if described["serial"] else described["cuts"]), "class", "json"]
    for option in options:
        assert f"--{option} " in text
    assert ("--cutoff" in text) != described["serial"]
    assert ("--untied" in text) == described["untied"]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["fib-tasks", "--size"], "--size needs a value"),
        (["fib-tasks", "--size", "61"], "'61' is not a whole number from 0 to 60"),
        (["fib-tasks", "--size", "1e3"], "'1e3' is not a whole number"),
        (["fib-tasks", "--threads", "0"], "not a whole number from 1"),
        (
            ["fib-tasks", "--class", "huge"],
            "--class: no such value 'huge'; one of test, small, medium, large",
        ),
        (["fib-tasks", "--cutoff", "depth"], "one of none, if, final, manual"),
        (["fib-tasks", "--cutoff", "if", "--untied"], "undeferred untied tasks abort LLVM's OpenMP runtime"),
        (["fib-tasks", "--json=yes"], "--json takes no value"),
        (["fib-tasks", "12"], "unknown option '12'"),
        (["fib-serial", "--untied"], "the serial version creates no tasks"),
        (["fib-serial", "--depth", "3"], "the serial version creates no tasks"),
        (["fib-serial", "--threads", "2"], "not a whole number from 1 to 1"),
        (["matmul-tbb", "--cutoff", "final"], "has only none, manual"),
        (["matmul-tbb", "--untied"], "neither tied nor untied"),
        (["uts-tasks", "--tree", "oak"], "no such value 'oak'; one of"),
    ],
)
def test_wrong_arguments_are_told_in_one_line(bots_dir: Path, arguments: list[str], complaint: str) -> None:
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
    assert answer["cuts"] == {"depth": 6}  # still the class's
    assert len(answer["repeats"]) == 3
    assert answer["seconds"] == sorted(answer["repeats"])[1]
