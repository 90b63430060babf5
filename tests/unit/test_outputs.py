# SPDX-License-Identifier: Apache-2.0
"""Options with unusable output paths are refused before any work, by an error that names the option."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import typer

from ompass.commands.main import COMMANDS, application
from ompass.errors import OutputError
from ompass.files import file_problem, folder_problem, sync
from unit.test_commands import call, error_of

# Options that name input files or directories.
_INPUTS = {
    "--libomp", "--machine-file", "--topology", "--compiler",
}  # fmt: skip


def path_options() -> list[tuple[str, str]]:
    """Returns (command, option) for every option that names an output file or directory."""
    group: Any = typer.main.get_command(application(COMMANDS))
    return [
        (name, parameter.opts[0])
        for name, command in group.commands.items()
        for parameter in command.params
        if parameter.metavar in ("FILE", "DIR", "OUT") and parameter.opts[0].startswith("--")
        if parameter.opts[0] not in _INPUTS
    ]


EVERY = path_options()


def test_outputs_are_found() -> None:
    assert {("report", "--html"), ("scale", "--output"), ("timeline", "--otf2")} <= set(EVERY)


# `run` and `top` start a program, so this test omits them.
@pytest.mark.parametrize(("command", "option"), [each for each in EVERY if each[0] not in ("run", "top")])
def test_output_that_cannot_be_written_is_refused_before_any_work(
    tmp_path: Path, command: str, option: str
) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    run = str(tmp_path / "no.ompass")
    words = {
        "plot": ["states", run],
        "compare": [run, run],
        "query": [run, "select 1"],
        "calibrate": [],
    }.get(command, [run])
    error = error_of(call(command, option, tmp_path / "file" / "out.svg", *words))
    assert isinstance(error, OutputError)
    assert ("-o " if option == "--output" else option) in error.what
    assert (tmp_path / "file").read_text(encoding="utf-8") == "x"


def test_file_that_can_be_written_stays_unchanged(tmp_path: Path) -> None:
    (tmp_path / "old").write_text("kept", encoding="utf-8")
    assert file_problem(tmp_path / "old") == ""
    assert file_problem(tmp_path / "new") == ""
    assert [path.name for path in tmp_path.iterdir()] == ["old"]
    assert (tmp_path / "old").read_text(encoding="utf-8") == "kept"


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("", "a directory"),
        ("no/file", "does not exist"),
        ("n" * 300, "too long"),
        ("old/file", "does not exist"),
        ("/proc/file", "No such file"),
        ("/dev/full", ""),
    ],
)
def test_file_is_refused_with_the_reason(tmp_path: Path, path: str, why: str) -> None:
    (tmp_path / "old").write_text("", encoding="utf-8")
    problem = file_problem(tmp_path / path)
    assert (why in problem) if why else not problem


def test_syncing_a_pipe_is_not_an_error() -> None:
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb"), os.fdopen(writer, "wb") as file:
        sync(file)


def test_new_folder_must_not_exist(tmp_path: Path) -> None:
    assert folder_problem(tmp_path) == ""
    assert folder_problem(tmp_path, may_exist=False) == "it exists"
