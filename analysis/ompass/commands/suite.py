# SPDX-License-Identifier: Apache-2.0
"""`ompass suite`: measures benchmark programs on every installed runtime.

Owns the options and the loop; ompass.suite owns plans, measurements and results.
"""

from __future__ import annotations

import os
import sys
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from ompass.commands.options import output_file, refuse_output
from ompass.commands.progress import measuring_bar
from ompass.commands.streams import console_for, say
from ompass.errors import IncompleteInstallationError, UsageError
from ompass.suite import (
    Plan,
    Selection,
    SuiteJournal,
    SuiteResults,
    find_programs,
    make_plan,
    measure,
    read_results,
    write_results,
)
from ompass.suite.measurement import Run
from ompass.suite.plan import BOTH, CLASSES, DEFAULT, RUNTIMES
from ompass.suite.summary import name_of, print_summary
from ompass.units import duration, plural
from ompass.writable import file_problem

_DEFAULT_RESULT = Path("suite.json")
_EXIT_FAILED = 9

_EPILOG = """
[bold]Examples[/bold]

  ompass suite --class test --threads 1,2 --programs fib,sort

  ompass suite --threads 1,2,4 --cutoffs none,manual --rounds 11 --json all.json

  ompass suite --runtimes libomp,ext:nearest --json steal.parquet

  ompass suite --show all.json

The same command resumes a suite that was stopped or killed. FILE.journal keeps finished measurements until
FILE is complete.
"""

Class = Enum("Class", {name.upper(): name for name in CLASSES}, type=str)  # type: ignore[misc]
Kinds = Enum("Kinds", {name.upper(): name for name in BOTH}, type=str)  # type: ignore[misc]
_SMALL = Class("small")
_TIED = Kinds("tied")


def register(app: typer.Typer) -> None:
    app.command("suite", epilog=_EPILOG)(suite)


def suite(
    input_class: Annotated[Class, typer.Option("--class", help="Size of the inputs.")] = _SMALL,
    threads: Annotated[
        str,
        typer.Option(
            "--threads", "-t", metavar="N,...", help="Numbers of threads (default: 1, and all CPUs)."
        ),
    ] = "",
    programs: Annotated[
        str, typer.Option("--programs", metavar="NAME,...", help="Programs (default: all).")
    ] = "",
    versions: Annotated[
        str,
        typer.Option(
            "--versions",
            metavar="NAME,...",
            help="Versions, such as serial,tasks (default: all without kernel marks).",
        ),
    ] = "",
    cutoffs: Annotated[
        str,
        typer.Option(
            "--cutoffs", metavar="NAME,...", help="none, if, final, manual; default: as in each program."
        ),
    ] = DEFAULT,
    kinds: Annotated[Kinds, typer.Option("--tied", help="Kinds of tasks.")] = _TIED,
    runtimes: Annotated[
        str,
        typer.Option(
            "--runtimes",
            metavar="NAME,...",
            help=f"From {', '.join(RUNTIMES)} (default: all installed).",
        ),
    ] = "",
    rounds: Annotated[
        int, typer.Option("--rounds", "-r", min=1, help="Rounds; each measures everything once.")
    ] = 3,
    timeout_s: Annotated[
        float, typer.Option("--timeout", metavar="SECONDS", min=0.1, help="Longest time for one measurement.")
    ] = 600.0,
    json_file: Annotated[
        Path | None,
        typer.Option(
            "--json",
            callback=output_file,
            metavar="FILE",
            help="Results file (default: suite.json); a name in .parquet selects Parquet.",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="List the planned measurements and stop.")
    ] = False,
    show: Annotated[
        Path | None,
        typer.Option("--show", metavar="FILE", help="Show the summary of earlier results and stop."),
    ] = None,
    bots: Annotated[
        Path,
        typer.Option(
            "--bots",
            metavar="DIR",
            envvar="OMPASS_BOTS",
            help="The programs built by clang (default in ./run: its own).",
        ),
    ] = Path("build/release/bots"),
    bots_gcc: Annotated[
        Path | None,
        typer.Option(
            "--bots-gcc",
            metavar="DIR",
            envvar="OMPASS_BOTS_GCC",
            help="The programs built by gcc (default: DIR-gcc).",
        ),
    ] = None,
    extension: Annotated[
        Path | None,
        typer.Option(
            "--extension",
            metavar="FILE",
            envvar="OMPASS_EXTENSION",
            help="libomp_ext.so (default: DIR/../lib).",
        ),
    ] = None,
) -> None:
    """Measure the benchmark programs on every OpenMP runtime, and on oneTBB.

    Rounds alternate between configurations. Every result is verified, and failures are recorded, too.
    """
    if show is not None:
        print_summary(console_for(), read_results(show).runs)
        return
    selection = Selection(
        input_class=input_class.value,
        threads=_numbers(threads) or tuple(sorted({1, len(os.sched_getaffinity(0))})),
        programs=_words(programs),
        versions=_words(versions),
        cutoffs=_words(cutoffs),
        kinds=kinds.value,
        runtimes=_words(runtimes),
        rounds=rounds,
    )
    plan = _plan(selection, bots, bots_gcc or bots.with_name(f"{bots.name}-gcc"), extension)
    if dry_run:
        _list(plan)
        return
    result = json_file or _DEFAULT_RESULT
    journal = _journal(result, plan, named=json_file is not None)
    try:
        _measure_all(plan, journal, timeout_s)
    except KeyboardInterrupt:
        n_done = len(journal)
        say(f"stopped with {n_done} of {plan.n_measurements} measured; the same command resumes the suite")
        raise
    runs = journal.runs()
    write_results(SuiteResults(plan.settings, runs), result)
    journal.remove()
    print_summary(console_for(), runs)
    say(f"{plural(len(runs), 'measurement')} in {result}")
    n_failed = sum(not run["verified"] for run in runs)
    if n_failed:
        say(f"{plural(n_failed, 'measurement')} failed")
        raise typer.Exit(_EXIT_FAILED)


def _plan(selection: Selection, bots: Path, bots_gcc: Path, extension: Path | None) -> Plan:
    built = {"libomp": find_programs(bots.absolute()), "libgomp": find_programs(bots_gcc.absolute())}
    if not built["libomp"]:
        raise IncompleteInstallationError(
            f"there are no benchmark programs in {bots}",
            "",
            "build them (./run build, ./run suite), or name their directory with --bots",
        )
    if extension is None:
        beside = bots.absolute().parent / "lib" / "libomp_ext.so"
        extension = beside if beside.is_file() else None
    elif not extension.is_file():
        raise UsageError(f"--extension {extension}", "there is no such file")
    return make_plan(selection, built, extension.absolute() if extension else None, os.environ)


def _journal(result: Path, plan: Plan, *, named: bool) -> SuiteJournal:
    path = result.with_name(f"{result.name}.journal")
    refuse_output("--json", result, file_problem(result), "name another file")
    if result.exists() and not named and not path.exists():
        raise UsageError(
            f"{result} already exists",
            "its results are not overwritten",
            "name it with --json to replace it, or name another file",
        )
    journal = SuiteJournal(path, plan)
    if len(journal):
        say(f"resuming {path}: {len(journal)} of {plan.n_measurements} are measured")
    return journal


def _measure_all(plan: Plan, journal: SuiteJournal, timeout_s: float) -> None:
    shown = sys.stderr.isatty()
    with measuring_bar(shown) as progress:
        bar = progress.add_task("", total=plan.n_measurements, completed=len(journal))
        for round_number, configuration in plan.in_order():
            if journal.has(configuration, round_number):
                continue
            progress.update(bar, description=configuration.key, refresh=True)
            run = measure(configuration, round_number, timeout_s)
            journal.note(configuration, run)
            progress.advance(bar)
            if not shown:
                say(f"{len(journal)}/{plan.n_measurements} {_outcome(run)}")
            elif run["error"]:
                progress.console.print(_outcome(run), style="red")
        progress.update(bar, description="", refresh=True)


def _outcome(run: Run) -> str:
    return f"{name_of(run)}: {run['error'] or duration(1e9 * run['seconds'])}"


def _list(plan: Plan) -> None:
    for configuration in plan.configurations:
        variables = [f"{name}={value}" for name, value in configuration.variables]
        print(" ".join([*variables, *configuration.command()]))
    say(
        f"{plural(len(plan.configurations), 'configuration')} x {plural(plan.rounds, 'round')} = "
        f"{plural(plan.n_measurements, 'measurement')}"
    )


def _words(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))


def _numbers(text: str) -> tuple[int, ...]:
    numbers = []
    for word in _words(text):
        if not word.isdecimal() or int(word) == 0:
            raise UsageError(
                f"--threads {text}", "these are not numbers of threads", "write them as in 1,2,4"
            )
        numbers.append(int(word))
    return tuple(numbers)
