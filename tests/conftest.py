# SPDX-License-Identifier: Apache-2.0
"""Fixtures that every test may use: the toolchain matrix, compiled programs, recorded runs.

support/toolchains.py compiles and runs the programs. This file skips or fails a test if something is missing,
and chooses the tests of quick runs.
"""

from __future__ import annotations

import fcntl
import itertools
import os
import signal
from collections.abc import Generator, Sequence
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
from turns import in_turn

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
    if set(str(library)) & set(" :"):  # separators in LD_PRELOAD and OMP_TOOL_LIBRARIES
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


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Runs a test. While a slow test marked `alone` runs, no other worker of this checkout runs a test."""
    folder = toolchains.BUILD.parent
    folder.mkdir(exist_ok=True)
    with (folder / "tests-next").open("w") as next_one, (folder / "tests-running").open("w") as running:
        # All tests queue here, so that none overtakes a test that waits to run alone.
        fcntl.flock(next_one, fcntl.LOCK_EX)
        fcntl.flock(running, fcntl.LOCK_EX if _runs_alone(item) else fcntl.LOCK_SH)
        fcntl.flock(next_one, fcntl.LOCK_UN)
        return (yield)


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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks tests as slow: tests/slow, slow toolchains, and combinations that quick runs leave out.

    Puts tests that run alone at the end, so that other workers wait for them as little as possible.
    """
    for item in items:
        if "slow" in _folders(item) or _is_on_a_slow_toolchain(item):
            item.add_marker(pytest.mark.slow)
    for item in _not_in_turn(items):
        item.add_marker(pytest.mark.slow)
    items.sort(key=_runs_alone)


def _runs_alone(item: pytest.Item) -> bool:
    return bool(item.get_closest_marker("alone") and item.get_closest_marker("slow"))


SLOW_TOOLCHAINS = {toolchain.name for toolchain in toolchains.TOOLCHAINS if not toolchain.is_quick}


def _folders(item: pytest.Item) -> tuple[str, ...]:
    """Returns the components of the path of a test's file in the repository."""
    return item.path.relative_to(toolchains.REPOSITORY).parts


def _parameters(item: pytest.Item) -> dict[str, object]:
    """Returns the values of a test's parameters, by name."""
    return (
        dict(item.callspec.params) if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
    )


def _is_on_a_slow_toolchain(item: pytest.Item) -> bool:
    return any(isinstance(value, str) and value in SLOW_TOOLCHAINS for value in _parameters(item).values())


def _in_turn_parameters(item: pytest.Item) -> dict[str, str]:
    """Returns a test's parameters as text.

    Joins the parameters of one parametrize list into one value, unless the test has `list_takes_turns`.
    """
    values = {name: repr(value) for name, value in _parameters(item).items()}
    if not item.get_closest_marker("list_takes_turns"):
        for marker in item.iter_markers("parametrize"):
            names = marker.args[0] if isinstance(marker.args[0], str) else ",".join(marker.args[0])
            values[names] = ",".join(values.pop(name.strip()) for name in names.split(","))
    return values


def _not_in_turn(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """Returns the cases of integration tests that quick runs leave out; see turns.in_turn."""
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        if "integration" in _folders(item) and not item.get_closest_marker("slow"):
            cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    left_out = []
    for of_test in cases.values():
        chosen = set(in_turn([_in_turn_parameters(item) for item in of_test]))
        left_out += [item for number, item in enumerate(of_test) if number not in chosen]
    return left_out
