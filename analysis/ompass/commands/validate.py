# SPDX-License-Identifier: Apache-2.0
"""`ompass validate`: checks whether the logs and sums of a run directory are consistent."""

from __future__ import annotations

import typer

from ompass.commands.options import JsonOption, JsonOutputOption, RunsArgument, check_json_output
from ompass.commands.streams import console_for, to_json, waiting, write_result
from ompass.errors import DamagedRunError, IncompleteRunError
from ompass.packed import shown_path, shown_text
from ompass.readers.run import find_missing, find_problems

_EPILOG = """
[bold]Examples[/bold]

  ompass validate fib-1234.ompass

  ompass validate *.ompass --json
"""


def register(app: typer.Typer) -> None:
    app.command("validate", epilog=_EPILOG)(validate)


def validate(directories: RunsArgument, as_json: JsonOption = False, output: JsonOutputOption = None) -> None:
    """Check logs and figures: all records, the thread-time identity, and the profile against the trace.

    Exits with 4 if anything is wrong. Exits with 10 if the records are correct, but the tool could not write
    all of them.
    """
    check_json_output(as_json, output)
    found = {}
    missing: dict[str, list[str]] = {}
    for path in directories:
        name = shown_path(path)
        with waiting(f"checking {name}"):
            found[name] = list(map(shown_text, find_problems(path)))
            missing[name] = [] if found[name] else list(map(shown_text, find_missing(path)))
    if as_json:
        values = [
            {
                "directory": name,
                "sound": not problems and not missing[name],
                "problems": problems,
                "missing": missing[name],
            }
            for name, problems in found.items()
        ]
        write_result(to_json(values), output)
    else:
        console = console_for()
        for name, problems in found.items():
            lacks = [f"incomplete: {sentence.removeprefix(f'{name}: ')}" for sentence in missing[name]]
            for line in problems or lacks or ["sound"]:
                console.print(f"{name}: {line}", soft_wrap=True)
    if any(found.values()):
        raise typer.Exit(DamagedRunError.exit_code)
    if any(missing.values()):
        raise typer.Exit(IncompleteRunError.exit_code)
