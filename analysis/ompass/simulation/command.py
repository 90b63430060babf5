# SPDX-License-Identifier: Apache-2.0
"""`ompass simulate`, `advise`, `calibrate`: predicted runs, ranked changes, and the costs of this machine."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import Annotated

import typer

from ompass.commands.options import (
    JsonOption,
    JsonOutputOption,
    TraceArgument,
    check_json_output,
    file_option,
    new_folder,
)
from ompass.commands.streams import console_for, to_json, waiting, write_result
from ompass.errors import UsageError
from ompass.reports.model import Report, plain
from ompass.reports.terminal import print_report
from ompass.simulation.advice import advise
from ompass.simulation.calibration import as_toml, calibrate
from ompass.simulation.machine import DEFAULT, read_machine
from ompass.simulation.reader import POLICIES
from ompass.simulation.report import advice_report, simulation_report
from ompass.simulation.runs import simulate

_SIMULATE_EPILOG = (
    """
[bold]Examples[/bold]

  ompass simulate t.ompass --threads 1,2,4,8,16

  ompass simulate t.ompass --topology "pack:4 numa:1 l3:1 core:8 pu:1" --threads 8,32

  ompass simulate t.ompass --threads 32 --policy libomp,work-first,occupancy

  ompass simulate t.ompass --machine-file 4x-xeon-x7550 --threads 32 --policy strict,locality

  ompass simulate t.ompass --machine-file 4x-xeon-e7-4807 --threads 24 --policy work-first,shared-lifo --reuse

  ompass simulate t.ompass --taskgraph                      replays graphs of tasks that repeat

  ompass simulate t.ompass --threads 1,2,4 --json > predicted.json

  ompass simulate t.ompass --threads 16 --record sixteen.ompass; ompass report sixteen.ompass

[bold]Policies[/bold]

"""
    + f"  {', '.join(POLICIES)}"
)


def parse_threads(text: str) -> list[int]:
    """Parses numbers of threads, separated by commas. Raises UsageError."""
    try:
        threads = [int(part) for part in text.split(",")] if text else []
    except ValueError:
        raise UsageError(f"--threads {text}", "it is not a list of numbers", "write it as 1,2,4") from None
    return list(dict.fromkeys(threads))


def simulate_command(
    directory: TraceArgument,
    topology: Annotated[
        str,
        typer.Option(
            "--topology",
            metavar="SYNTHETIC",
            help="Cores and caches of another machine, as an hwloc synthetic string (default: the machine "
            "file's, or as many cores as --threads needs, under one cache).",
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
        typer.Option("--threads", "-t", metavar="N,...", help="Numbers of threads (default: as recorded)."),
    ] = "",
    policy: Annotated[
        str, typer.Option("--policy", metavar="NAME,...", help="Schedulers, listed below.")
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
    anyway: Annotated[
        bool,
        typer.Option(
            "--anyway",
            help="Predict other numbers of threads even if much of the time depends on facts that the trace "
            "lacks.",
        ),
    ] = False,
    taskgraph: Annotated[
        bool,
        typer.Option(
            "--taskgraph",
            help="Replay graphs of tasks that the program creates again and again, as `taskgraph` of OpenMP "
            "6.0 does.",
        ),
    ] = False,
    record: Annotated[
        Path | None,
        typer.Option(
            "--record",
            callback=new_folder,
            metavar="DIR",
            help="Write the simulated run (exactly one) as a run directory for other commands.",
        ),
    ] = None,
    reuse: Annotated[
        bool,
        typer.Option(
            "--reuse",
            help="Also show the reuse distances of declared data (`ompass docs reuse-distance`).",
        ),
    ] = False,
    as_json: JsonOption = False,
    output: JsonOutputOption = None,
) -> None:
    """Predict a recorded program on other numbers of threads, machines and schedulers.

    The machine file has the costs of operations; `ompass calibrate` measures the costs on this machine.
    Without a machine file or topology, the simulation fits its costs to the recorded run.
    """
    check_json_output(as_json, output)
    chosen = read_machine(machine_file)
    if topology:
        chosen = chosen.with_topology(topology)
    with waiting(f"simulating {directory.name}"):
        simulation = simulate(
            directory,
            machine=chosen,
            fit=machine_file == DEFAULT and not topology,
            threads=parse_threads(threads),
            policies=list(dict.fromkeys(policy.split(","))),
            seed=seed,
            untraced=untraced,
            anyway=anyway,
            taskgraph=taskgraph,
            record=record,
            reuse=reuse,
        )
    _show(simulation_report(simulation), as_json, output)


def _show(report: Report, as_json: bool, output: Path | None) -> None:
    if as_json:
        write_result(to_json(plain(report)), output)
    else:
        print_report(console_for(), report)


_ADVISE_EPILOG = """
[bold]Examples[/bold]

  ompass run --mode trace -o t.ompass -- ./fib 30

  ompass advise t.ompass

  ompass advise t.ompass --threads 32                       for a run on 32 threads

  ompass advise t.ompass --machine-file here.toml           with costs measured by ompass calibrate

  ompass advise t.ompass --json > advice.json
"""


def advise_command(
    directory: TraceArgument,
    threads: Annotated[
        int,
        typer.Option(
            "--threads",
            "-t",
            metavar="N",
            min=0,
            show_default=False,
            help="Assume N threads (default: as recorded, at least 2).",
        ),
    ] = 0,
    machine_file: Annotated[
        str, typer.Option("--machine-file", metavar="FILE", help="A machine file, as for `ompass simulate`.")
    ] = DEFAULT,
    as_json: JsonOption = False,
    output: JsonOutputOption = None,
) -> None:
    """Simulate changes of a recorded program, and rank them by the time that they save.

    Tries cut-offs, coarser and finer grain, several producers, replayed graphs of tasks, fewer waits,
    dependences, locks and barriers, other schedules of loops, divided serial work, the extension, and more
    threads; `ompass docs simulation` lists all changes. Also shows how much a faster construct would save.
    """
    check_json_output(as_json, output)
    with waiting(f"trying changes of {directory.name}"):
        content = advise(directory, machine=read_machine(machine_file), threads=threads)
    _show(advice_report(content), as_json, output)


_CALIBRATE_EPILOG = """
[bold]Examples[/bold]

  ompass calibrate -o here.toml

  ompass simulate t.ompass --machine-file here.toml --threads 1,2,4
"""


def calibrate_command(
    compiler: Annotated[
        str, typer.Option("--compiler", metavar="CC", help="The clang that builds the measuring program.")
    ] = "",
    threads: Annotated[
        int,
        typer.Option(
            "--threads",
            "-t",
            metavar="N",
            min=0,
            show_default=False,
            help="Threads for barriers and regions (default: all CPUs).",
        ),
    ] = 0,
    output: Annotated[
        Path | None, file_option("--output", "-o", help="The machine file to write (default: stdout).")
    ] = None,
) -> None:
    """Measure how long libomp and libomp_ext.so take to create, queue, run and steal a task.

    Takes about half a minute on an idle machine. Writes a machine file for `ompass simulate`.
    """
    with waiting("calibrating"):
        costs = calibrate(compiler, threads)
    write_result(as_toml(platform.node() or "this machine", costs), output)


def register(app: typer.Typer) -> None:
    app.command("simulate", epilog=_SIMULATE_EPILOG)(simulate_command)
    app.command("advise", epilog=_ADVISE_EPILOG)(advise_command)
    app.command("calibrate", epilog=_CALIBRATE_EPILOG)(calibrate_command)
