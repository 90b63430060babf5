# SPDX-License-Identifier: Apache-2.0
"""Options that several commands have: where the analysis of many runs is done."""

from __future__ import annotations

from typing import Annotated

import typer

DaskOption = Annotated[
    str,
    typer.Option(
        "--dask",
        metavar="ADDRESS",
        help="Read the runs on the workers of this Dask scheduler (docs/ranks.md).",
    ),
]

ProcessesOption = Annotated[
    int,
    typer.Option(
        "--processes",
        metavar="N",
        min=0,
        help="Read this many runs at a time (default: as many as CPUs, once the logs are large).",
    ),
]
