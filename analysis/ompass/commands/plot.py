# SPDX-License-Identifier: Apache-2.0
"""`ompass plot`: one figure of recorded runs as SVG, PDF, PNG or as its Vega-Lite specification."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from ompass.commands.streams import say
from ompass.errors import NothingToShowError, UsageError
from ompass.figures import RUN_FIGURES, Spec, render
from ompass.figures.scaling import SWEEP_FIGURES
from ompass.metrics import Scope
from ompass.readers import open_run
from ompass.reports import collect
from ompass.reports.scaling import read_sweep
from ompass.sweep import is_sweep_directory

_EPILOG = (
    """
[bold]Figures[/bold]

"""
    + "\n\n".join(
        f"  {name:12}  {title}"
        for name, title in (
            *((each.name, each.title) for each in RUN_FIGURES.values()),
            *((each.name, each.title) for each in SWEEP_FIGURES.values()),
        )
    )
    + """

[bold]Examples[/bold]

  ompass plot breakdown fib-1234.ompass

  ompass plot breakdown health-1.ompass health-2.ompass -o threads.pdf

  ompass plot granularity fib-1234.ompass -o granularity.png

  ompass plot constructs fib-1234.ompass -o constructs.json      to change it in a Vega editor

  ompass plot scaling sort.sweep -o scaling.pdf
"""
)

FigureName = Enum("FigureName", {name.upper(): name for name in (*RUN_FIGURES, *SWEEP_FIGURES)}, type=str)  # type: ignore[misc]


def register(app: typer.Typer) -> None:
    app.command("plot", epilog=_EPILOG)(plot)


def plot(
    which: Annotated[FigureName, typer.Argument(metavar="FIGURE", help="One of the figures below.")],
    directories: Annotated[
        list[Path], typer.Argument(metavar="DIR...", help="Run directories (NAME.ompass).")
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Picture to write; .svg, .pdf, .png or .json (default: FIGURE.svg).",
        ),
    ] = None,
    program: Annotated[
        bool, typer.Option("--program", help="The whole program instead of its parallel regions.")
    ] = False,
) -> None:
    """Draw one figure of one or more runs: a picture for a paper, from the same figures as the report."""
    name = str(which.value)
    scope = Scope.PROGRAM if program else None
    spec = (
        _of_sweep(name, directories, scope) if name in SWEEP_FIGURES else _of_runs(name, directories, scope)
    )
    path = output or Path(f"{name}.svg")
    render(spec, path)
    say(f"wrote {path}")


def _of_runs(name: str, directories: list[Path], scope: Scope | None) -> Spec:
    for path in directories:
        if is_sweep_directory(path):
            raise UsageError(
                f"{path}", f"it is a sweep, and {name} is a figure of runs", f"see {', '.join(SWEEP_FIGURES)}"
            )
    chosen = RUN_FIGURES[name]
    spec = chosen.make([collect(open_run(path), scope=scope or Scope.REGIONS) for path in directories])
    if spec is None:
        raise NothingToShowError(
            f"there is nothing for the figure {name}",
            f"the runs hold no {chosen.title.partition(',')[0]}",
            "ompass report shows what they hold",
        )
    return spec


def _of_sweep(name: str, directories: list[Path], scope: Scope | None) -> Spec:
    if len(directories) != 1:
        raise UsageError(f"figure {name}", "it is about one sweep", "name a single directory")
    return SWEEP_FIGURES[name].make(read_sweep(directories[0], scope))
