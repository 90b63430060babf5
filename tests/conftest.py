# SPDX-License-Identifier: Apache-2.0
"""Fixtures that every test may use: the toolchain matrix, compiled programs, recorded runs.

support/toolchains.py does the work; this file only decides what happens when something is missing.
"""

from __future__ import annotations

import itertools
import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

import toolchains
from needs import require_toolchain
from toolchains import CompileProgram, Recorded, RunRecorded, Toolchain

# Keeps the tests' caches out of the user's home directory.
os.environ["XDG_CACHE_HOME"] = str(toolchains.BUILD.parent / "cache")


@pytest.fixture(scope="session", params=[toolchain.name for toolchain in toolchains.TOOLCHAINS])
def toolchain(request: pytest.FixtureRequest) -> Toolchain:
    """Each compiler and runtime of the matrix in turn."""
    return require_toolchain(toolchains.toolchain_named(request.param))


@pytest.fixture(scope="session")
def default_toolchain() -> Toolchain:
    """The newest compiler on its own runtime, for tests whose claim does not depend on the toolchain."""
    return require_toolchain(toolchains.toolchain_named(toolchains.DEFAULT_TOOLCHAIN))


@pytest.fixture(scope="session")
def libompass(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tool under test: OMPASS_LIBRARY if set, otherwise the one that ./run builds."""
    library = Path(os.environ.get("OMPASS_LIBRARY", toolchains.BUILD / "lib" / "libompass.so"))
    if not library.is_file():
        pytest.fail(f"{library} is not built: ./run test builds it")
    if set(str(library)) & set(" :"):  # LD_PRELOAD and OMP_TOOL_LIBRARIES split their values there
        link = tmp_path_factory.mktemp("library") / library.name
        link.symlink_to(library)
        return link
    return library


@pytest.fixture(scope="session")
def bots_dir() -> Path:
    """The directory of the benchmark programs (fib-tasks, fib-serial, ...)."""
    directory = toolchains.BUILD / "bots"
    if not directory.is_dir():
        pytest.fail(f"{directory} is not built: ./run test builds it")
    return directory


@pytest.fixture(scope="session")
def compile_program() -> CompileProgram:
    """Compiles a program of tests/programs (or any path) with a toolchain; cached in build/tests."""
    return toolchains.compile_source


@pytest.fixture
def run_recorded(libompass: Path, tmp_path: Path) -> RunRecorded:
    """Runs a program with the tool loaded, each time into a fresh directory below tmp_path."""
    numbers = itertools.count(1)

    def run(
        program: Path,
        toolchain: Toolchain,
        *arguments: str,
        mode: str = "profile",
        threads: int | None = 2,
        preload: bool = False,
        environment: Mapping[str, str] | None = None,
        timeout_s: float = 60.0,
        check: bool = True,
    ) -> Recorded:
        workspace = tmp_path / f"recorded-{next(numbers)}"
        workspace.mkdir()
        return toolchains.run_with_tool(
            program,
            toolchain,
            *arguments,
            library=libompass,
            run_dir=workspace / "run.ompass",
            mode=mode,
            threads=threads,
            preload=preload,
            environment=environment,
            timeout_s=timeout_s,
            check=check,
        )

    return run


def pytest_configure() -> None:
    """Resets what programs would inherit from the tests: signals that nohup ignores, the terminal's width."""
    for number in (signal.SIGHUP, signal.SIGINT):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    os.environ.pop("COLUMNS", None)  # the width of the terminal of the tests


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """Marks all tests under tests/slow as slow."""
    for item in items:
        if "slow" in item.path.relative_to(toolchains.REPOSITORY).parts:
            item.add_marker(pytest.mark.slow)
