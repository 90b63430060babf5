# SPDX-License-Identifier: Apache-2.0
"""The version of a runtime: derived from its functions and its compiler, never from its path."""

from __future__ import annotations

from pathlib import Path

import pytest

import toolchains
from ompass.launch import runtime_versions
from ompass.launch.runtime_versions import TESTED, RuntimeVersion, runtime_version

FUNCTIONS = list(runtime_versions._ADDED.values())


@pytest.fixture
def runtime_with(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> object:
    """Returns a function that makes a runtime with some functions and text, and returns its version."""

    def make(functions: list[str], text: str = "") -> RuntimeVersion:
        path = tmp_path / "libomp.so"
        path.write_text(text)
        defined = frozenset({"__kmpc_omp_task_alloc", *functions})
        monkeypatch.setattr(runtime_versions, "dynamic_symbols", lambda *_: (defined, frozenset()))
        return runtime_version(path)

    return make


@pytest.mark.parametrize(
    ("n_functions", "text", "name", "releases"),
    [
        (0, "", "LLVM 14 or earlier", (1, 14)),
        (0, "LLVM OMP build compiler: Clang 10.0", "LLVM 10.0", (10, 10)),
        (5, "", "LLVM 19 to 20", (19, 20)),
        (5, "LLVM OMP build compiler: Clang 20.1", "LLVM 20.1", (20, 20)),
        # The compiler of the runtime is of another release.
        (5, "LLVM OMP build compiler: Clang 17.0", "LLVM 19 to 20", (19, 20)),
        (5, "LLVM OMP build compiler: Clang 22.1", "LLVM 19 to 20", (19, 20)),
        (6, "LLVM OMP build compiler: GCC 14.2", "LLVM 21", (21, 21)),
        (7, "Clang\nLLVM OMP build compiler: Clang 22.1\nclang version 22.1.8", "LLVM 22.1.8", (22, 22)),
        (8, "", "LLVM 23 or later", (23, 10**6)),
        (8, "LLVM OMP build compiler: Clang 24.1", "LLVM 24.1", (24, 24)),
        (3, "@(#) Intel(R) OMP version: 5.0.20260828", "Intel, built 2026-08-28", (0, 0)),
    ],
)
def test_version_follows_from_functions_and_compiler(
    n_functions: int, text: str, name: str, releases: tuple[int, int], runtime_with: object
) -> None:
    assert callable(runtime_with)
    version = runtime_with(FUNCTIONS[:n_functions], text)
    assert (version.name, (version.first, version.last)) == (name, releases)


@pytest.mark.parametrize(
    ("version", "note"),
    [
        (RuntimeVersion("LLVM 24.1", 24, 24), "newer than the tested releases (up to LLVM 23)"),
        (RuntimeVersion("LLVM 17.0", 17, 17), "not tested"),
        (RuntimeVersion("LLVM 10.0", 10, 10), "not tested"),
        (RuntimeVersion("LLVM 14.0", 14, 14), "reports no chunks of loops"),
    ],
)
def test_known_faults_of_a_version_are_remarks(version: RuntimeVersion, note: str) -> None:
    assert any(note in known for known in version.known())


def test_a_tested_version_without_known_faults_has_no_remark() -> None:
    assert RuntimeVersion("LLVM 22.1", 22, 22).known() == []
    assert RuntimeVersion("version unknown").known() == []


def test_files_that_are_not_a_runtime_have_no_version(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no library")
    for path in (tmp_path / "text", tmp_path / "missing"):
        assert runtime_version(path).name == "version unknown"


def test_package_of_a_wheel_and_of_conda_is_named(tmp_path: Path) -> None:
    library = tmp_path / "lib" / "libomp.so"
    library.parent.mkdir()
    library.write_text("no library")
    record = tmp_path / "lib/python3.11/site-packages/intel_openmp-2026.2.0.dist-info/RECORD"
    record.parent.mkdir(parents=True)
    record.write_text("../../libomp.so,sha256=x,1\n")
    assert runtime_version(library).package == "intel_openmp 2026.2.0"
    (tmp_path / "conda-meta").mkdir()
    (tmp_path / "conda-meta" / "llvm-openmp-22.1.8-h0.json").write_text(
        '{"name": "llvm-openmp", "version": "22.1.8", "files": ["lib/libomp.so"]}'
    )
    assert runtime_version(library).package == "llvm-openmp 22.1.8"


def test_the_tested_releases_are_those_of_the_matrix() -> None:
    homes = {toolchain.runtime_library.resolve().parts for toolchain in toolchains.TOOLCHAINS}
    majors = {part.removeprefix("llvm-") for parts in homes for part in parts if part.startswith("llvm-")}
    assert sorted(map(int, majors)) == list(TESTED)
