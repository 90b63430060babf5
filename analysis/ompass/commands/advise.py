# SPDX-License-Identifier: Apache-2.0
"""`ompass advise`: ranks changes of a recorded program by their simulated effect."""

from __future__ import annotations

from typing import Annotated

import typer

from ompass.commands.options import JsonOption, OutputOption, TraceArgument, check_form
from ompass.commands.progress import waiting
from ompass.commands.streams import console_for, to_json, write_result
from ompass.reports import plain, print_report
from ompass.reports.advice import advice_report
from ompass.simulation.advice import advise
from ompass.simulation.machine import DEFAULT, read_machine

_EPILOG = """
[bold]Examples[/bold]

  ompass run --mode trace -o t.ompass -- ./fib 30

  ompass advise t.ompass

  ompass advise t.ompass --threads 32                       for a run on 32 threads

  ompass advise t.ompass --machine-file here.toml           with costs measured by ompass calibrate

  ompass advise t.ompass --json > advice.json
"""


def register(app: typer.Typer) -> None:
    app.command("advise", epilog=_EPILOG)(advise_command)


def advise_command(
    directory: TraceArgument,
    threads: Annotated[
        int,
        typer.Option("--threads", metavar="N", min=0, help="For a run on N threads (default: as recorded)."),
    ] = 0,
    machine_file: Annotated[
        str, typer.Option("--machine-file", metavar="FILE", help="A machine file, as for `ompass simulate`.")
    ] = DEFAULT,
    as_json: JsonOption = False,
    output: OutputOption = None,
) -> None:
    """Simulate changes of a recorded program, and rank them by the time that they save.

    Tries cut-offs by depth and by time, coarser and finer grain, several producers, dependences instead of
    waits, untied tasks, priorities, schedules and chunks of loops, the extension instead of libomp, placed
    subtrees, and more threads. Also shows how much a faster construct would save.
    """
    check_form(as_json, False, output, "the terminal")
    with waiting(f"trying changes of {directory.name}"):
        content = advise(directory, machine=read_machine(machine_file), threads=threads)
    report = advice_report(content)
    if as_json:
        write_result(to_json(plain(report)), output)
    else:
        print_report(console_for(), report)
