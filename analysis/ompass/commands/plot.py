# SPDX-License-Identifier: Apache-2.0
"""`ompass plot`: one figure of recorded runs as SVG, PDF, PNG or as its Vega-Lite specification."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from ompass.commands.streams import say
from ompass.errors import NothingToShowError
from ompass.figures import RUN_FIGURES, render
from ompass.metrics import Scope
from ompass.readers import open_run
from ompass.reports import collect

_EPILOG = (
    """
[bold]Figures[/bold]

"""
    + "\n\n".join(f"  {each.name:12}  {each.title}" for each in RUN_FIGURES.values())
    + """

[bold]Examples[/bold]

  ompass plot breakdown fib-1234.ompass

  ompass plot breakdown health-1.ompass health-2.ompass -o threads.pdf

  ompass plot granularity fib-1234.ompass -o granularity.png

  ompass plot constructs fib-1234.ompass -o constructs.json      to change it in a Vega editor
"""
)

FigureName = Enum("FigureName", {name.upper(): name for name in RUN_FIGURES}, type=str)  # type: ignore[misc]


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
    chosen = RUN_FIGURES[str(which.value)]
    scope = Scope.PROGRAM if program else Scope.REGIONS
    spec = chosen.make([collect(open_run(path), scope=scope) for path in directories])
    if spec is None:
        raise NothingToShowError(
            f"there is nothing for the figure {chosen.name}",
            f"the runs hold no {chosen.title.partition(',')[0]}",
            "ompass report shows what they hold",
        )
    path = output or Path(f"{chosen.name}.svg")
    render(spec, path)
    say(f"wrote {path}")
