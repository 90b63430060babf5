# SPDX-License-Identifier: Apache-2.0
"""Python modules that bring their own copy of libgomp: `ompass run` names a runtime that replaces it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from command import call
from needs import require_commands
from ompass import _core
from ompass.launch.runtimes import find_runtimes
from toolchains import PROGRAMS, neutral_environment

COPY = "libgomp-a34b3233.so.1"


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """Returns a folder of packages with one wheel: a module built by gcc, and its own libgomp."""
    require_commands("gcc")
    if not any(r.has_ompt and r.has_gomp for r in find_runtimes({})):
        pytest.skip("needs an installed libomp")
    folder = tmp_path / "packages"
    for part in ("made", "made.libs", "made-1.0.dist-info"):
        (folder / part).mkdir(parents=True)
    build(folder)
    record = folder / "made-1.0.dist-info" / "RECORD"
    record.write_text(
        f"made/module.so,sha256=x,1\nmade.libs/{COPY},sha256=x,1\nmade-1.0.dist-info/RECORD,,\n"
    )
    (tmp_path / "program.py").write_text(
        f"import ctypes\nprint('team', ctypes.CDLL('{folder}/made/module.so').team_size())\n"
    )
    return folder


def build(folder: Path, *flags: str) -> None:
    copy = folder / "made.libs" / COPY
    source = PROGRAMS / "loading"
    options = ("-shared", "-fPIC", "-O1")
    lines: list[list[str | Path]] = [
        ["gcc", *options, f"-Wl,-soname,{COPY}", "-o", copy, source / "bundled_libgomp.c"],
        ["gcc", *options, "-fopenmp", *flags, "-c", "-o", folder / "module.o", source / "bundled_module.c"],
        ["gcc", "-shared", "-o", folder / "made" / "module.so", folder / "module.o", copy,
         "-Wl,-rpath,$ORIGIN/../made.libs", "-Wl,--unresolved-symbols=ignore-all", "-Wl,-z,lazy"],
    ]  # fmt: skip
    for line in lines:
        subprocess.run(line, check=True)


def record(packages: Path, *options: object) -> subprocess.CompletedProcess[str]:
    environment = neutral_environment() | {"PYTHONPATH": str(packages), "OMP_NUM_THREADS": "2"}
    program = packages.parent / "program.py"
    return call(environment, packages.parent, "run", *options, "--", sys.executable, program)


def test_runtime_that_replaces_the_copies_is_offered_and_records(packages: Path) -> None:
    ended = record(packages)
    assert "team 1" in ended.stdout
    assert "nothing was recorded" in ended.stderr and COPY in ended.stderr
    offered = re.search(r"--libomp (\S+),", ended.stderr)
    assert offered, ended.stderr
    again = record(packages, "--libomp", offered[1], "-o", "r.ompass")
    assert "team 2" in again.stdout
    regions = _core.read_profile(str(packages.parent / "r.ompass")).regions
    assert sum(row.n_primary for row in regions if row.construct >= 0) == 1


def test_runtime_that_lacks_a_function_is_not_offered(packages: Path) -> None:
    build(packages, "-DOTHER_FUNCTION")
    ended = record(packages)
    assert "GOMP_target_update_ext" in ended.stderr
    assert "record it with --libomp" not in ended.stderr


def test_environment_without_a_copy_gets_the_general_advice(packages: Path) -> None:
    for part in ("made", "made.libs"):
        shutil.rmtree(packages / part)
    (packages.parent / "program.py").write_text("print('team 0')\n")
    assert COPY not in record(packages).stderr
