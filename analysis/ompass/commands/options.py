# SPDX-License-Identifier: Apache-2.0
"""Options that several commands have: what is covered, and where the analysis of many runs is done."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

import typer


class ScopeName(str, Enum):
    """What the times cover; the values of metrics' Scope that can be asked for by name."""

    REGIONS = "regions"
    PROGRAM = "program"


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
