# SPDX-License-Identifier: Apache-2.0
"""Checks that build systems find the installed libraries, and that manual pages and completion work.

Tests two installations: one by `cmake --install`, and one inside the Python package.
"""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
import typer

import toolchains
from command import command_line
from command import ompass as call
from needs import require_commands, require_toolchain
from ompass import installation
from ompass.commands.main import application
from ompass.errors import IncompleteInstallationError
from ompass.installation import Component
from toolchains import PROGRAMS, Toolchain, neutral_environment

CONSUMER = PROGRAMS / "consumer"
COMPILERS = ("clang-19", "gcc-12-libomp-19")


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs `cmake --install`; returns the installation, moved to another directory."""
    require_commands("cmake")
    first = tmp_path_factory.mktemp("installed") / "first"
    subprocess.run(
        ["cmake", "--install", toolchains.BUILD, "--prefix", first],
        check=True,
        capture_output=True,
        timeout=60,
    )
    return first.rename(first.with_name("moved"))


@pytest.fixture(
    params=[("prefix", "clang-19"), ("package", "gcc-12-libomp-19")], ids=lambda pair: "-".join(pair)
)
def installed(request: pytest.FixtureRequest) -> tuple[Path, Toolchain]:
    """Returns the root of an installation, and a toolchain."""
    where, name = request.param
    root: Path = request.getfixturevalue("prefix") if where == "prefix" else installation.native_prefix()
    return root, require_toolchain(toolchains.toolchain_named(name))


@pytest.fixture
def command_on_path(tmp_path: Path) -> Path:
    """Makes a directory that contains the command `ompass`."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "ompass").write_text(f'#!/bin/sh\nexec {shlex.join(command_line())} "$@"\n')
    (folder / "ompass").chmod(0o755)
    return folder


def output_of(program: Path, environment: Mapping[str, str]) -> str:
    """Runs a program, which must succeed, in its own directory; returns its stdout."""
    return subprocess.run(
        [program],
        env=environment,
        cwd=program.parent,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        timeout=60,
    ).stdout


def build_and_run(way: str, toolchain: Toolchain, folder: Path, environment: Mapping[str, str]) -> None:
    """Builds the programs in one way and runs them; checks their output and the recording."""
    subprocess.run(
        [CONSUMER / "build", way, folder],
        env={**neutral_environment(), "CC": toolchain.cc, **environment},
        check=True,
        stdout=subprocess.DEVNULL,
        timeout=60,
    )
    settings = toolchain.run_environment(
        {"OMP_NUM_THREADS": "2", "OMP_EXT_DOMAINS": "2", "OMPASS_SUMMARY": "off", "OMPASS_DIR": "run.ompass"}
    )
    outputs = {
        program: subprocess.run(
            [folder / program],
            env=settings,
            cwd=folder,
            check=True,
            capture_output=True,
            text=True,
            timeout=60,
        ).stdout
        for program in ("marks", "placed", "recorded")
    }
    assert outputs == {"marks": "sum=1225\n", "placed": "sum=1225 held=50\n", "recorded": "sum=1225\n"}
    assert [path.name for path in folder.glob("*.ompass")] == ["run.ompass"]  # the other two record nothing
    report = json.loads(call("report", folder / "run.ompass", "--json").stdout)
    assert [(kernel["name"], kernel["executions"]) for kernel in report["kernels"]] == [("add", 50)]


@pytest.mark.parametrize("name", COMPILERS)
def test_programs_are_built_by_ompass_config(name: str, command_on_path: Path, tmp_path: Path) -> None:
    toolchain = require_toolchain(toolchains.toolchain_named(name))
    path = f"{command_on_path}:{neutral_environment()['PATH']}"
    build_and_run("config", toolchain, tmp_path / "built", {"PATH": path})


def test_programs_are_built_by_pkg_config(installed: tuple[Path, Toolchain], tmp_path: Path) -> None:
    require_commands("pkg-config")
    root, toolchain = installed
    where = {"PKG_CONFIG_PATH": str(root / "lib" / "pkgconfig")}
    build_and_run("pkg-config", toolchain, tmp_path / "built", where)


def test_programs_are_built_by_cmake(installed: tuple[Path, Toolchain], tmp_path: Path) -> None:
    root, toolchain = installed
    build_and_run("cmake", toolchain, tmp_path / "built", {"CMAKE_PREFIX_PATH": str(root)})


@pytest.mark.parametrize("name", COMPILERS)
def test_a_fortran_program_compiles_the_modules_first(name: str) -> None:
    toolchain = require_toolchain(toolchains.toolchain_named(name))
    modules = [Path(call("config", part, "--fortran").stdout.strip()) for part in ("tool", "ext")]
    program = toolchains.compile_source(
        CONSUMER / "placed.f90",
        toolchain,
        flags=shlex.split(call("config", "ext", "--libs").stdout),
        extra_sources=modules,
    )
    assert output_of(program, toolchain.run_environment({"OMP_NUM_THREADS": "2"})) == "tasks=50\n"


def test_cmake_names_a_component_that_is_not_installed(prefix: Path, tmp_path: Path) -> None:
    library = prefix / "lib" / "libomp_ext.so"
    hidden = library.rename(tmp_path / "hidden")
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(tool_only LANGUAGES NONE)\n"
        "find_package(Ompass REQUIRED COMPONENTS Tool)\nfind_package(Ompass COMPONENTS Tool Ext)\n"
        'message(STATUS "both=${Ompass_FOUND} ext=${Ompass_Ext_FOUND}")\n'
    )
    try:
        configured = subprocess.run(
            ["cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={prefix}"],
            check=True, capture_output=True, text=True, timeout=60,
        )  # fmt: skip
    finally:
        hidden.rename(library)
    assert "both=0 ext=FALSE" in configured.stdout


def test_config_quotes_for_a_shell_and_names_what_exists() -> None:
    shown = dict(line.split(maxsplit=1) for line in call("config", "ext").stdout.splitlines())
    assert set(shown) == {"library", "cflags", "libs", "fortran", "cmake", "pkg-config"}
    for name in ("library", "fortran", "cmake", "pkg-config"):
        (path,) = shlex.split(shown[name])
        assert Path(path).exists()
    asked = call("config", "ext", "--cflags", "--libs").stdout
    assert asked == f"{shown['cflags']} {shown['libs']}\n"


def test_a_missing_extension_is_reported_with_its_cause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installation, "native_prefix", lambda: tmp_path)
    with pytest.raises(IncompleteInstallationError, match=r"libomp_ext.so .*hwloc.h.*libhwloc-dev"):
        installation.library_path(Component.EXT)


def test_every_command_has_a_manual_page_with_all_of_its_options(prefix: Path) -> None:
    folder = prefix / "share" / "man" / "man1"
    commands = vars(typer.main.get_command(application()))["commands"]
    assert {page.name for page in folder.iterdir()} == {
        "ompass.1",
        *(f"ompass-{name}.1" for name in commands),
    }
    for name, command in commands.items():
        page = (folder / f"ompass-{name}.1").read_text().replace("\\-", "-")
        assert f"ompass-{name} - " in page
        options = {
            option
            for parameter in command.params
            for option in parameter.opts
            if option.startswith("-") and not getattr(parameter, "hidden", False)
        }
        assert [option for option in options if not re.search(rf"{option}\b", page)] == []


def test_manual_pages_are_sound(prefix: Path) -> None:
    require_commands("groff")
    for page in (prefix / "share" / "man" / "man1").iterdir():
        shown = subprocess.run(
            ["groff", "-man", "-Tutf8", "-K", "utf8", "-ww", page], check=True, capture_output=True, text=True
        )
        assert shown.stderr == "", page.name
        assert "[bold]" not in shown.stdout


def test_bash_completes_commands_and_options() -> None:
    start = "import ompass.commands.main as command; command.main()"

    def completed(*words: str) -> list[str]:
        environment = neutral_environment() | {
            "_OMPASS_COMPLETE": "complete_bash",
            "COMP_WORDS": " ".join(["ompass", *words]),
            "COMP_CWORD": str(len(words)),
        }
        return subprocess.run(
            [sys.executable, "-c", f"import sys; sys.argv = ['ompass']; {start}"],
            env=environment, check=True, capture_output=True, text=True, timeout=60,
        ).stdout.split()  # fmt: skip

    assert completed("val") == ["validate"]
    assert completed("report", "--h") == ["--html", "--help"]


def test_docs_lays_a_page_out_for_a_terminal() -> None:
    ours, its = pty.openpty()
    process = subprocess.Popen(
        command_line("docs", "cost"),
        env=neutral_environment() | {"PAGER": "cat", "TERM": "xterm", "COLUMNS": "80"},
        stdin=its,
        stdout=its,
        stderr=its,
    )
    os.close(its)
    shown = b""
    with contextlib.suppress(OSError):  # reading a terminal fails once all other ends are closed
        while some := os.read(ours, 65536):
            shown += some
    os.close(ours)
    assert process.wait(timeout=60) == 0
    text = shown.decode()
    assert "The cost of recording" in text and "# The cost of recording" not in text
    assert "\x1b[" in text
