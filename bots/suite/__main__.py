# SPDX-License-Identifier: Apache-2.0
"""`./run suite`: measures benchmark programs on every installed runtime.

Owns the options and the loop; the other modules own plans, measurements and results.
"""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from ompass.commands.main import run_and_exit
from ompass.commands.options import refuse_output
from ompass.commands.streams import console_for, measuring_bar, say
from ompass.errors import IncompleteInstallationError, UsageError
from ompass.files import file_problem
from ompass.units import duration, plural
from suite.journal import SuiteJournal
from suite.measurement import Run, measure
from suite.plan import BOTH, CLASSES, DEFAULT, RUNTIMES, Plan, Selection, make_plan
from suite.programs import find_programs
from suite.results import SuiteResults, read_results, write_results
from suite.summary import name_of, print_summary

_DEFAULT_RESULT = Path("suite.json")
_EXIT_FAILED = 9

_EXAMPLES = """examples:
  ./run suite --class test --threads 1,2 --programs fib,sort
  ./run suite --threads 1,2,4 --cutoffs none,manual --rounds 11 --json all.json
  ./run suite --runtimes libomp,ext:nearest --json steal.parquet
  ./run suite --show all.json

The same command resumes a suite that was stopped or killed. FILE.journal keeps finished measurements until
FILE is complete."""


@dataclass
class Options:
    """The command line. Empty tuples mean all; for threads, 1 and the number of CPUs."""

    input_class: str = "small"
    threads: tuple[int, ...] = ()
    programs: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()
    cutoffs: tuple[str, ...] = (DEFAULT,)
    kinds: str = "tied"
    runtimes: tuple[str, ...] = ()
    rounds: int = 3
    timeout_s: float = 600.0
    json_file: Path | None = None
    dry_run: bool = False
    show: Path | None = None
    bots: Path = Path(__file__).parents[2] / "build" / "release" / "bots"
    bots_gcc: Path | None = None
    extension: Path | None = None

    def selection(self) -> Selection:
        return Selection(
            input_class=self.input_class,
            threads=self.threads or tuple(sorted({1, len(os.sched_getaffinity(0))})),
            programs=self.programs,
            versions=self.versions,
            cutoffs=self.cutoffs,
            kinds=self.kinds,
            runtimes=self.runtimes,
            rounds=self.rounds,
        )


def parsed() -> Options:
    parser = argparse.ArgumentParser(
        prog="./run suite",
        description="Measure the benchmark programs on every OpenMP runtime, and on oneTBB.\n"
        "Rounds alternate between configurations. Every result is verified, and failures are recorded, too.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--class", dest="input_class", choices=CLASSES, help="size of the inputs (default: small)")
    add(
        "--threads",
        "-t",
        type=_numbers,
        metavar="N,...",
        help="numbers of threads (default: 1, and all CPUs)",
    )
    add("--programs", type=_words, metavar="NAME,...", help="programs (default: all)")
    add(
        "--versions",
        type=_words,
        metavar="NAME,...",
        help="versions, such as serial,tasks (default: all without kernel marks)",
    )
    add(
        "--cutoffs",
        type=_words,
        metavar="NAME,...",
        help="none, if, final, manual (default: each program's own)",
    )
    add("--tied", dest="kinds", choices=tuple(BOTH), help="kinds of tasks (default: tied)")
    add(
        "--runtimes",
        type=_words,
        metavar="NAME,...",
        help=f"from {', '.join(RUNTIMES)} (default: all installed)",
    )
    add("--rounds", "-r", type=int, metavar="N", help="rounds; each measures everything once (default: 3)")
    add(
        "--timeout",
        dest="timeout_s",
        type=float,
        metavar="SECONDS",
        help="longest time for one measurement (default: 600)",
    )
    add(
        "--json",
        dest="json_file",
        type=Path,
        metavar="FILE",
        help="results file (default: suite.json); a name in .parquet selects Parquet",
    )
    add("--dry-run", action="store_true", help="list the planned measurements and stop")
    add("--show", type=Path, metavar="FILE", help="show the summary of earlier results and stop")
    add("--bots", type=Path, metavar="DIR", help="the programs built by clang (default: build/release/bots)")
    add("--bots-gcc", type=Path, metavar="DIR", help="the programs built by gcc (default: DIR-gcc)")
    add("--extension", type=Path, metavar="FILE", help="libomp_ext.so (default: DIR/../lib)")
    options = parser.parse_args(namespace=Options())
    if options.rounds < 1 or options.timeout_s < 0.1:
        parser.error("--rounds must be at least 1, and --timeout at least 0.1")
    return options


def main() -> None:
    options = parsed()
    if options.show is not None:
        print_summary(console_for(), read_results(options.show).runs)
        return
    plan = _plan(options)
    if options.dry_run:
        _list(plan)
        return
    result = options.json_file or _DEFAULT_RESULT
    journal = _journal(result, plan, named=options.json_file is not None)
    try:
        _measure_all(plan, journal, options.timeout_s)
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
        sys.exit(_EXIT_FAILED)


def _plan(options: Options) -> Plan:
    bots, extension = options.bots.absolute(), options.extension
    bots_gcc = options.bots_gcc or bots.with_name(f"{bots.name}-gcc")
    built = {"libomp": find_programs(bots), "libgomp": find_programs(bots_gcc.absolute())}
    if not built["libomp"]:
        raise IncompleteInstallationError(
            f"there are no benchmark programs in {options.bots}",
            "",
            "build them (./run build, ./run suite), or name their directory with --bots",
        )
    if extension is None:
        beside = bots.parent / "lib" / "libomp_ext.so"
        extension = beside if beside.is_file() else None
    elif not extension.is_file():
        raise UsageError(f"--extension {extension}", "there is no such file")
    return make_plan(options.selection(), built, extension.absolute() if extension else None, os.environ)


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
    words = _words(text)
    if not all(word.isdecimal() and int(word) for word in words):
        raise UsageError(f"--threads {text}", "these are not numbers of threads", "write them as in 1,2,4")
    return tuple(map(int, words))


if __name__ == "__main__":
    run_and_exit(main)
