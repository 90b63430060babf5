# SPDX-License-Identifier: Apache-2.0
"""Fixtures that every test may use: the toolchain matrix, compiled programs, recorded runs.

support/toolchains.py compiles and runs the programs. This file skips or fails a test if something is missing,
and chooses the tests of quick runs.
"""

from __future__ import annotations

import itertools
import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest

import toolchains
from needs import require_toolchain
from toolchains import (
    CompileOptions,
    CompileProgram,
    Record,
    Recorded,
    RecordOptions,
    RunOptions,
    RunRecorded,
    Toolchain,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

# No deadlines, because a busy machine must not fail a test.
hypothesis.settings.register_profile("patient", deadline=None)
hypothesis.settings.load_profile("patient")

os.environ.pop("DEBUGINFOD_URLS", None)  # tests use no network
# Keeps the tests' caches out of the user's home directory.
os.environ["XDG_CACHE_HOME"] = str(toolchains.BUILD.parent / "cache")


@pytest.fixture(scope="session", params=[toolchain.name for toolchain in toolchains.TOOLCHAINS])
def toolchain(request: pytest.FixtureRequest) -> Toolchain:
    """Returns each compiler and runtime of the matrix in turn."""
    return require_toolchain(toolchains.toolchain_named(request.param))


def newest_toolchain() -> Toolchain:
    """Returns the default toolchain; skips or fails the test if it is missing."""
    return require_toolchain(toolchains.toolchain_named(toolchains.DEFAULT_TOOLCHAIN))


@pytest.fixture(scope="session")
def default_toolchain() -> Toolchain:
    """Returns clang 19 on its own runtime, for tests whose claim does not depend on the toolchain."""
    return newest_toolchain()


@pytest.fixture(scope="session")
def libompass(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the tool under test: OMPASS_LIBRARY if set, otherwise the library that ./run builds."""
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
    """Returns the directory of the benchmark programs (fib-tasks, fib-serial, ...)."""
    directory = toolchains.BUILD / "bots"
    if not directory.is_dir():
        pytest.fail(f"{directory} is not built: ./run test builds it")
    return directory


@pytest.fixture(scope="session")
def compile_program() -> CompileProgram:
    """Compiles a program of tests/programs (or any path) with a toolchain. Caches it in build/tests."""

    def compile_source(
        source: str | Path, toolchain: Toolchain | None = None, **options: Unpack[CompileOptions]
    ) -> Path:
        return toolchains.compile_source(source, toolchain or newest_toolchain(), **options)

    return compile_source


@pytest.fixture
def run_recorded(libompass: Path, tmp_path: Path) -> RunRecorded:
    """Runs a program with the tool loaded; each run records into a fresh directory below tmp_path."""
    numbers = itertools.count(1)

    def run(
        program: Path, toolchain: Toolchain | None = None, *arguments: str, **options: Unpack[RunOptions]
    ) -> Recorded:
        workspace = tmp_path / f"recorded-{next(numbers)}"
        workspace.mkdir()
        return toolchains.run_with_tool(
            program,
            toolchain or newest_toolchain(),
            *arguments,
            library=libompass,
            run_dir=workspace / "run.ompass",
            **options,
        )

    return run


@pytest.fixture
def record(compile_program: CompileProgram, run_recorded: RunRecorded) -> Record:
    """Compiles a program and runs it with the tool loaded. Without a toolchain, uses the default one."""

    def compile_and_run(source: str | Path, *arguments: str, **options: Unpack[RecordOptions]) -> Recorded:
        chosen: dict[str, Any] = dict(options)
        toolchain = chosen.pop("toolchain", None)
        build = {name: chosen.pop(name) for name in CompileOptions.__annotations__ if name in chosen}
        return run_recorded(compile_program(source, toolchain, **build), toolchain, *arguments, **chosen)

    return compile_and_run


def pytest_configure() -> None:
    """Stops programs from inheriting ignored signals (of nohup or a shell's `&`) and the terminal's width."""
    for number in (signal.SIGHUP, signal.SIGINT):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    os.environ.pop("COLUMNS", None)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Prints why tests were repeated. If a repeated test passes, pytest itself prints only its name."""
    for report in terminalreporter.stats.get("rerun", []):
        terminalreporter.write_line(f"RERUN {report.nodeid}:")
        terminalreporter.write_line("\n".join(report.longreprtext.splitlines()[-12:]))


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """Marks tests as slow: all of tests/slow, and those on toolchains that quick runs leave out."""
    left_out = _left_out_of_quick_runs(items)
    for item in items:
        if item in left_out or "slow" in item.path.relative_to(toolchains.REPOSITORY).parts:
            item.add_marker(pytest.mark.slow)


TOOLCHAIN_OF = {toolchain.name: toolchain for toolchain in toolchains.TOOLCHAINS}


def _left_out_of_quick_runs(items: Sequence[pytest.Item]) -> set[pytest.Item]:
    """Returns the tests that quick runs leave out: on slow toolchains, and on clangs whose turn it is not.

    A test with the fixture `toolchain` and further parameters has many cases. Quick runs execute each case
    on gcc, whose programs call other functions of the runtime, and on one clang. The clangs and their
    runtimes take turns.
    """
    left_out: set[pytest.Item] = set()
    cases: dict[str, dict[str, dict[Toolchain, pytest.Item]]] = {}
    for item in items:
        if not isinstance(item, pytest.Function) or not hasattr(item, "callspec"):
            continue
        for name, value in item.callspec.params.items():
            toolchain = TOOLCHAIN_OF.get(value) if isinstance(value, str) else None
            if toolchain is None:
                continue
            if not toolchain.is_quick:
                left_out.add(item)
            elif name == "toolchain" and toolchain.takes_turns:
                others = item.callspec.id.replace(toolchain.name, "", 1)
                cases.setdefault(item.nodeid.partition("[")[0], {}).setdefault(others, {})[toolchain] = item
    for cases_of_test in cases.values():
        if len(cases_of_test) > 1:
            for number, by_toolchain in enumerate(cases_of_test.values()):
                in_turn = list(by_toolchain.values())[number % len(by_toolchain)]
                left_out.update(item for item in by_toolchain.values() if item is not in_turn)
    return left_out
