# SPDX-License-Identifier: Apache-2.0
"""Builds the libraries and native tests with one change in the C++ sources, and runs the tests of that part.

Runs the native tests first, then test files in Python, with the changed libraries and the package with the
changed core. Programs run on the newest toolchains only.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import nanobind

from mutants.changes import Change
from mutants.python_tests import FAILED, digest, fresh_copy

ROOT: Final = Path(__file__).resolve().parents[2]
BUILD_S: Final = 900
LIMIT_S: Final = 600
_FAILED_CASE: Final = re.compile(r"^\s*\d+ - (\S+) \(|^\[  FAILED  \] (\S+)", re.MULTILINE)
_OF_RECORDINGS: Final = (
    "ctest", "--preset", "release", "--stop-on-failure",
    "-R", "Recording|GoldenTraces|Events|Loops|MadeAccount|TaskPool|OmpassHeader|Simulation",
    "-E", "logs_can_be_read_while_their_threads_end",  # needs a quiet machine
)  # fmt: skip
_OTHER_TOOLCHAINS: Final = "not clang-14 and not clang-16 and not gcc and not libiomp5 and not libomp-15"


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the sources, the targets to build after a change in it, and the tests that may notice it."""

    folder: str
    targets: tuple[str, ...]
    native: tuple[str, ...]
    files: tuple[str, ...]  # of tests, in Python


PARTS: Final = (
    Part(
        "analysis/core/events",
        ("ompass-native-tests", "_core", "ompass"),
        _OF_RECORDINGS,
        (
            "unit/test_golden_traces.py",
            "unit/test_inner_trace.py",
            "unit/test_one_walker.py",
            "integration/test_task_kinds.py",
            "integration/test_waits_and_loops.py",
        ),
    ),
    Part(
        "ompt_tool/src/accounting",
        ("ompass-native-tests", "_core", "ompass"),
        _OF_RECORDINGS,
        (
            "integration/test_waits_and_loops.py",
            "integration/test_known_answers.py",
            "integration/test_task_kinds.py",
            "integration/test_detached_tasks.py",
            "integration/test_unreported_waits.py",
        ),
    ),
    Part(
        "omp_ext/src/scheduler",
        ("omp-ext-native-tests", "omp_ext", "omp_ext_injected", "_core", "ompass"),
        ("build/release/bin/omp-ext-native-tests", "--gtest_fail_fast"),
        (
            "integration/test_ext_api.py",
            "integration/test_ext_constructs.py",
            "integration/test_ext_strict_programs.py",
            "integration/test_ext_seen_by_tools.py",
        ),
    ),
)


class CppTests:
    """Judges changes of the C++ sources, one at a time."""

    def __init__(self, folder: Path) -> None:
        self._source = folder / "source"
        self._package = folder / "package"

    def prepare(self, jobs: int, changes: Collection[Change]) -> None:
        """Copies and builds the sources. Raises SystemExit if a test fails without a change."""
        if jobs != 1:
            sys.exit("changes of C++ are judged one at a time: --jobs 1")
        names = subprocess.run(
            ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.splitlines()
        for name in names:
            target, content = self._source / name, (ROOT / name).read_bytes()
            if not target.exists() or target.read_bytes() != content:
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, target)  # with a new time, so that it is rebuilt
        fresh_copy(self._package)
        options = ["-DOMPASS_BUILD_BOTS=OFF", "-DOMPASS_BUILD_TESTS=ON", "-DOMPASS_BUILD_PYTHON=ON"]
        options += [f"-DPython_EXECUTABLE={sys.executable}", f"-Dnanobind_DIR={nanobind.cmake_dir()}"]
        subprocess.run(["cmake", "--preset", "release", *options], cwd=self._source, check=True)
        for part in {_part_of(change) for change in changes}:
            result, by = self._test(part)
            if result != "survived":
                sys.exit(f"without a change, {result}: {by}")

    def digest(self) -> str:
        """Returns a digest of the tests. If it differs, the campaign judges survivors again."""
        native = sorted((ROOT / "tests" / "native").iterdir())
        return digest(*native, *(ROOT / "tests" / name for part in PARTS for name in part.files))

    def judge(self, change: Change, job: int) -> tuple[str, str]:
        """Returns noticed, survived, timeout or not built, and the test that failed."""
        del job
        target = self._source / change.file
        original = (ROOT / change.file).read_bytes()
        target.write_bytes(change.apply(original))
        try:
            return self._test(_part_of(change))
        finally:
            target.write_bytes(original)

    def _test(self, part: Part) -> tuple[str, str]:
        build = ["cmake", "--build", "--preset", "release", "--target", *part.targets]
        built, _ = _run(build, os.environ, self._source, BUILD_S)
        if built != "survived":
            return ("not built" if built == "noticed" else built), ""
        result = _run(part.native, os.environ, self._source, LIMIT_S)
        if result[0] != "survived":
            return result
        for core in (self._source / "build" / "release").rglob("_core*.so"):
            shutil.copy2(core, self._package / "ompass" / core.name)
        library = self._source / "build" / "release" / "lib"
        environment = os.environ | {
            "OMPASS_LIBRARY": str(library / "libompass.so"),
            "OMP_EXT_LIBRARY": str(library / "libomp_ext.so"),
            "PYTHONPATH": str(self._package),
        }
        command = [sys.executable, "-m", "pytest", "-q", "-x", "--tb=no", "-p", "no:cacheprovider"]
        command += ["--reruns", "1", "-m", "not slow", "-k", _OTHER_TOOLCHAINS]
        for name in part.files:
            result = _run([*command, f"tests/{name}"], environment, ROOT, LIMIT_S)
            if result[0] != "survived":
                break
        return result


def _part_of(change: Change) -> Part:
    return next(part for part in PARTS if change.file.startswith(part.folder))


def _run(command: Sequence[str], environment: Mapping[str, str], cwd: Path, limit_s: int) -> tuple[str, str]:
    try:
        done = subprocess.run(
            command, env=environment, cwd=cwd, capture_output=True, text=True, timeout=limit_s, check=False
        )
    except subprocess.TimeoutExpired:
        return "timeout", command[0]
    failed = FAILED.search(done.stdout) or _FAILED_CASE.search(done.stdout + done.stderr)
    name = next((part for part in failed.groups() if part), "") if failed else ""
    return ("noticed" if done.returncode else "survived"), name
