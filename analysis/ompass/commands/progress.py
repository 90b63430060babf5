# SPDX-License-Identifier: Apache-2.0
"""The bar of commands that measure one thing after the other."""

from __future__ import annotations

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from ompass.commands.streams import console_for


def measuring_bar(shown: bool, transient: bool = False) -> Progress:
    """A bar that is drawn when told to, between measurements: a thread that drew it would disturb them."""
    return Progress(
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.description}"),
        console=console_for(stderr=True),
        auto_refresh=False,
        disable=not shown,
        transient=transient,
    )
