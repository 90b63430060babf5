# SPDX-License-Identifier: Apache-2.0
"""`ompass calibrate`: a machine file with the costs of this machine."""

from __future__ import annotations

import platform
from typing import Annotated

import typer

from ompass.commands.options import OutputOption
from ompass.commands.progress import waiting
from ompass.commands.streams import write_result
from ompass.simulation.calibration import as_toml, calibrate

_EPILOG = """
[bold]Examples[/bold]

  ompass calibrate -o here.toml

  ompass simulate t.ompass --machine-file here.toml --threads 1,2,4
"""


def register(app: typer.Typer) -> None:
    app.command("calibrate", epilog=_EPILOG)(calibrate_command)


def calibrate_command(
    compiler: Annotated[
        str, typer.Option("--compiler", metavar="CC", help="The clang that builds the measuring program.")
    ] = "",
    threads: Annotated[
        int,
        typer.Option("--threads", metavar="N", min=0, help="For barriers and regions (default: all CPUs)."),
    ] = 0,
    output: OutputOption = None,
) -> None:
    """Measure how long libomp and libomp_ext.so take to create, queue, run and steal a task.

    Takes about half a minute on an idle machine. Writes a machine file for `ompass simulate`.
    """
    with waiting("calibrating"):
        costs = calibrate(compiler, threads)
    write_result(as_toml(platform.node() or "this machine", costs), output)
