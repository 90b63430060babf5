# SPDX-License-Identifier: Apache-2.0
"""The command line converts values as typer does, with the same errors, but does not load pydantic."""

from __future__ import annotations

import tarfile
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from typer.core import TyperCommand
from typer.testing import CliRunner

from command import loaded_modules
from ompass.commands.help import HelpedCommand

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "clang-19-preloaded-profile.tar.xz"


class Fruit(str, Enum):
    APPLE = "apple"
    PEAR = "pear"


def _command(
    paths: list[Path],
    name: str = "x",
    file: Path | None = None,
    checked: Annotated[Path | None, typer.Option(exists=True)] = None,
    folder: Annotated[Path | None, typer.Option(file_okay=False)] = None,
    fruit: Fruit = Fruit.PEAR,
    number: int = 3,
    ratio: float = 0.5,
    jobs: Annotated[int, typer.Option(min=0)] = 0,
    threads: Annotated[list[int] | None, typer.Option("--thread")] = None,
    others: Annotated[list[Path] | None, typer.Option("--other")] = None,
    names: Annotated[list[str] | None, typer.Option("--name-of")] = None,
    parsed: Annotated[Any, typer.Option(parser=lambda text: text.upper())] = "low",
    sure: bool = False,
) -> None:
    for value in locals().values():
        print(type(value).__name__, repr(value))


def _outcome(kind: type[TyperCommand], words: list[str]) -> tuple[int, str]:
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(cls=kind)(_command)
    result = CliRunner().invoke(app, words)
    return result.exit_code, result.output


@pytest.mark.parametrize(
    "words",
    [
        "", "a", "a b c", "a --name é --file b/../c", "a --fruit apple", "a --fruit plum", "a --number 7",
        "a --number many", "a --ratio 0.25", "a --jobs 2", "a --jobs -1", "a --thread 1 --thread 2",
        "a --thread x", "a --other b --other /tmp", "a --name-of b", "a --parsed high", "a --sure",
        "a --checked /nosuch", "a --checked /tmp", "a --folder /tmp", "a --folder /etc/passwd", "a --file",
    ],
)  # fmt: skip
def test_values_and_errors_are_those_of_typer(words: str) -> None:
    assert _outcome(HelpedCommand, words.split()) == _outcome(TyperCommand, words.split())


def test_an_unreadable_file_is_an_error_as_in_typer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "secret"
    path.touch()
    monkeypatch.setattr("os.access", lambda path, mode: False)
    code, output = _outcome(HelpedCommand, [str(path)])
    assert code == 2
    assert "is not readable" in "".join(output.split("\n"))
    assert (code, output) == _outcome(TyperCommand, [str(path)])


def test_report_loads_no_module_that_it_does_not_need(tmp_path: Path) -> None:
    with tarfile.open(GOLDEN) as archive:
        archive.extractall(tmp_path, filter="data")
    (run,) = tmp_path.iterdir()
    loaded = loaded_modules("report", run)
    assert "ompass.reports.run" in loaded
    needless = {"email", "importlib.metadata", "multiprocessing", "numpy", "ompass.scaling.content",
                "ompass.simulation.advice", "polars", "pydantic"}  # fmt: skip
    assert needless & loaded == set()
