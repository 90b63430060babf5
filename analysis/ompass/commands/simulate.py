# SPDX-License-Identifier: Apache-2.0
"""`ompass simulate`: predicts a recorded program on other machines, under other schedulers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ompass.commands.options import JsonOption, OutputOption, TraceArgument, check_form, new_folder
from ompass.commands.progress import waiting
from ompass.commands.streams import console_for, to_json, write_result
from ompass.errors import UsageError
from ompass.reports import plain, print_report
from ompass.reports.simulation import simulation_report
from ompass.simulation.machine import DEFAULT, read_machine
from ompass.simulation.runs import POLICIES, simulate

_EPILOG = """
[bold]Examples[/bold]

  ompass simulate t.ompass --threads 1,2,4,8,16

  ompass simulate t.ompass --machine "pack:4 numa:1 l3:1 core:8 pu:1" --threads 8,32

  ompass simulate t.ompass --threads 32 --policy libomp,work-first,occupancy

  ompass simulate t.ompass --machine-file 4x-xeon-x7550 --threads 32 --policy strict,locality

  ompass simulate t.ompass --threads 1,2,4 --json > predicted.json

  ompass simulate t.ompass --threads 16 --record sixteen.ompass; ompass report sixteen.ompass

[bold]Policies[/bold]

""" + "\n\n".join(f"  {name}" for name in [", ".join(POLICIES)])


def register(app: typer.Typer) -> None:
    app.command("simulate", epilog=_EPILOG)(simulate_command)


def parse_threads(text: str) -> list[int]:
    """Parses numbers of threads, separated by commas. UsageError."""
    try:
        threads = [int(part) for part in text.split(",")] if text else []
    except ValueError:
        raise UsageError(f"--threads {text}", "it is not a list of numbers", "write it as 1,2,4") from None
    return list(dict.fromkeys(threads))


def simulate_command(
    directory: TraceArgument,
    machine: Annotated[
        str,
        typer.Option(
            "--machine",
            metavar="SYNTHETIC",
            help="Cores and caches, as an hwloc synthetic string (default: the topology of the machine file, "
            "or as many cores as --threads needs, under one cache).",
        ),
    ] = "",
    machine_file: Annotated[
        str,
        typer.Option(
            "--machine-file",
            metavar="FILE",
            help="Costs of runtime operations, and a topology: a TOML file, or the name of a machine file of "
            "Ompass (`ompass docs simulation`).",
        ),
    ] = DEFAULT,
    threads: Annotated[
        str,
        typer.Option("--threads", metavar="N,...", help="Numbers of threads (default: as recorded)."),
    ] = "",
    policy: Annotated[
        str, typer.Option("--policy", metavar="NAME,...", help="Schedulers, listed below (default: libomp).")
    ] = "libomp",
    seed: Annotated[
        int,
        typer.Option(
            "--seed", metavar="N", min=0, help="Seed for random victims; the same seed gives the same run."
        ),
    ] = 1,
    untraced: Annotated[
        bool,
        typer.Option(
            "--untraced",
            help="Subtract the recording overhead of each task, to predict runs without Ompass.",
        ),
    ] = False,
    record: Annotated[
        Path | None,
        typer.Option(
            "--record",
            callback=new_folder,
            metavar="DIR",
            help="Write the simulated run (only one) as a run directory for other commands.",
        ),
    ] = None,
    as_json: JsonOption = False,
    output: OutputOption = None,
) -> None:
    """Predict a recorded program on other numbers of threads, machines and schedulers.

    The machine file has the costs of operations; `ompass calibrate` measures the costs on this machine.
    """
    check_form(as_json, False, output, "the terminal")
    chosen = read_machine(machine_file)
    if machine:
        chosen = chosen.with_topology(machine)
    with waiting(f"simulating {directory.name}"):
        simulation = simulate(
            directory,
            machine=chosen,
            threads=parse_threads(threads),
            policies=list(dict.fromkeys(policy.split(","))),
            seed=seed,
            untraced=untraced,
            record=record,
        )
    report = simulation_report(simulation)
    if as_json:
        write_result(to_json(plain(report)), output)
    else:
        print_report(console_for(), report)
