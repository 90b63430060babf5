# SPDX-License-Identifier: Apache-2.0
"""`ompass pack`: packs a run into one file. `ompass clean`: lists old runs and removes them."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from ompass.commands.options import JsonOption, file_option
from ompass.commands.streams import console_for, say, to_json, waiting, write_result
from ompass.errors import OmpassError, OutputError, UsageError
from ompass.keeping.names import keep_names_of
from ompass.keeping.runs import KeptRun, find_runs, remove_run
from ompass.packed import SUFFIX, pack_run
from ompass.readers.meta import traced_run
from ompass.readers.run import open_run, what_still_runs
from ompass.reports.model import Column, Kind, Table, data, plain
from ompass.reports.terminal import print_table
from ompass.units import plural, size

_EPILOG = """
[bold]Examples[/bold]

  ompass pack fib.ompass                       writes fib.ompass.zst

  ompass view fib.ompass.zst                   every command reads it

See also `ompass docs keeping`.
"""

_CLEAN_EPILOG = """
[bold]Examples[/bold]

  ompass clean                                 lists the runs in this directory, the oldest first

  ompass clean --older-than 30d --remove       asks, then removes runs older than 30 days

  ompass clean results --remove --yes          removes all runs in results, without asking
"""

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}


def register(app: typer.Typer) -> None:
    app.command("pack", epilog=_EPILOG)(pack)
    app.command("clean", epilog=_CLEAN_EPILOG)(clean)


def pack(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="A run directory (NAME.ompass).")],
    output: Annotated[
        Path | None, file_option("--output", "-o", help="The file to write (default: DIR.zst).")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Pack a run into one compressed file, which every command reads."""
    run = open_run(directory)
    if runs := what_still_runs(run):
        cure = "pack it after the process ends, on the machine that recorded it"
        raise UsageError(f"{directory}", runs, cure)
    name = f"{directory.resolve().name}{SUFFIX}"
    target = output or (directory.resolve() if directory.name in ("", "..") else directory).with_name(name)
    if target.exists() and not force:
        raise OutputError(f"{target} cannot be written", "it exists", "add --force, or name another file")
    with waiting(f"packing {directory}"):
        keep_names_of({directory, traced_run(directory)})
        pack_run(directory, target)
    before = sum(path.stat().st_blocks * 512 for path in directory.rglob("*"))
    say(f"packed {directory} ({size(before)}) into {target} ({size(target.stat().st_size)})")


def clean(
    places: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[DIR...]", help="Folders with runs, or runs (default: this directory)."),
    ] = None,
    older: Annotated[
        str,
        typer.Option("--older-than", metavar="AGE", help="Only runs older than AGE: 12h, 30d, 8w."),
    ] = "",
    remove: Annotated[bool, typer.Option("--remove", help="Remove these runs, after asking.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="With --remove: do not ask.")] = False,
    as_json: JsonOption = False,
) -> None:
    """List the runs in a directory, with size, age and program, or remove them.

    Removes only runs that have ended. Keeps sweeps, and directories with other files.
    """
    least_s = _age(older)
    found = [run for run in find_runs(places or [Path()]) if run.age_s >= least_s]
    if as_json:
        write_result(to_json(plain(_table(found))), None)
    elif found:
        print_table(console_for(), _table(found))
    else:
        where = ", ".join(map(str, places)) if places else "this directory"
        say(f"no run{' of this age' if older else ''} in {where}")
    if remove and found:
        _remove(found, yes)


def _remove(found: Sequence[KeptRun], yes: bool) -> None:
    for run in found:
        if run.obstacle:
            say(f"{run.path} is not removed: {run.obstacle}")
    chosen = [run for run in found if not run.obstacle]
    if not chosen:
        return
    total = f"{plural(len(chosen), 'run')} ({size(sum(run.size_bytes for run in chosen))})"
    if not yes:
        if not sys.stdin.isatty():
            raise UsageError("--remove", "it cannot ask, because the input is not a terminal", "add --yes")
        try:
            if not typer.confirm(f"Remove {total}?", err=True):
                return
        except typer.Abort:  # Ctrl-C or Ctrl-D, on the line of the question
            print(file=sys.stderr)
            say("nothing was removed")
            raise typer.Exit(130) from None
    failed: OmpassError | None = None
    for run in chosen:
        try:
            remove_run(run)
        except OutputError as error:
            failed = error
            say(error.one_line())
    if failed is not None:
        raise OutputError("not all runs were removed", "the lines above state why")
    say(f"removed {total}")


def _table(found: Sequence[KeptRun]) -> Table:
    return Table.of(
        "Runs",
        (
            Column("path", "run", Kind.NAME, lambda run: str(run.path)),
            Column("", "age", Kind.FIGURE, lambda run: _age_in_words(run.age_s)),
            data("age_s", lambda run: round(run.age_s, 1)),
            Column("size_bytes", "size", Kind.BYTES),
            Column("program", "program", Kind.NAME),
            Column("obstacle", "remark", Kind.TEXT),
        ),
        found,
        word="run",
    )


def _age(text: str) -> float:
    if not text:
        return 0.0
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smhdw])", text.strip())
    if match is None:
        raise UsageError(
            f"--older-than {text}", "it is not an age", "write a number and s, m, h, d or w: 30d"
        )
    return float(match[1]) * _UNITS[match[2]]


def _age_in_words(seconds: float) -> str:
    for unit, length, most in (("s", 1, 120), ("min", 60, 120), ("h", 3600, 48), ("days", 86_400, 1e9)):
        if seconds / length < most:
            return f"{seconds / length:.0f} {unit}"
    return ""
