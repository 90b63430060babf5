# SPDX-License-Identifier: Apache-2.0
"""`ompass validate`: is a run directory sound, byte by byte and sum by sum."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ompass.commands.streams import console_for, to_json, write_result
from ompass.errors import DamagedRunError
from ompass.metrics.consistency import agreement_problems, identity_problems
from ompass.readers import find_problems, open_run

_EPILOG = """
[bold]Examples[/bold]

  ompass validate fib-1234.ompass

  ompass validate *.ompass --json
"""


def register(app: typer.Typer) -> None:
    app.command("validate", epilog=_EPILOG)(validate)


def validate(
    directories: Annotated[
        list[Path], typer.Argument(metavar="DIR...", help="Run directories (NAME.ompass).")
    ],
    as_json: Annotated[bool, typer.Option("--json", help="JSON instead.")] = False,
) -> None:
    """Check logs and figures: every record, the thread-time identity, and the profile against the trace.

    Exit code 4 when anything is wrong.
    """
    found = {str(path): problems_of(path) for path in directories}
    if as_json:
        values = [
            {"directory": path, "sound": not problems, "problems": problems}
            for path, problems in found.items()
        ]
        write_result(to_json(values), None)
    else:
        console = console_for()
        for path, problems in found.items():
            for problem in problems:
                console.print(f"{path}: {problem}", markup=False, soft_wrap=True)
            if not problems:
                console.print(f"{path}: sound", markup=False, soft_wrap=True)
    if any(found.values()):
        raise typer.Exit(DamagedRunError.exit_code)


def problems_of(path: Path) -> list[str]:
    """Everything wrong with a run, one sentence each."""
    problems = find_problems(path)
    profile = open_run(path)
    problems += identity_problems(profile)
    # Events of a run cut short end wherever the last one was written; then the two differ by nature.
    if profile.mode == "trace" and profile.complete and not any(t.n_dropped for t in profile.threads):
        events = open_run(path, "events")
        if not events.complete:  # paused, or beyond a limit: the events are known to lack something
            return problems
        problems += [f"from events: {problem}" for problem in identity_problems(events)]
        problems += agreement_problems(profile, events)
    return problems
