#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the cost and the gain of libomp_ext.so's scheduler, compared with the runtime alone.

Times all ways of running a program in turn, round after round, so other load affects all of them. The
result is the median of the ratios of single rounds, with the smallest and the largest. Needs the build
(release preset), a clang and an idle machine; all cases take about an hour.

Fine tasks are fib and nqueens without a cut-off, placed tasks are placed_tasks.c. Each other case runs a
program with one of its cut-offs on inputs of class `test`, and repeats it for at least half a second.

    tests/benchmarks/ext_cost.py                         # all cases, table
    tests/benchmarks/ext_cost.py --rounds 15 --json F    # more rounds; also writes all figures to F
    tests/benchmarks/ext_cost.py --only fib --threads 2
    tests/benchmarks/ext_cost.py --defaults small --threads 1 2 4  # default cut-offs, about 15 minutes
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import platform
import shutil
import statistics
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
BUILD = REPOSITORY / "build" / "release"

PLACED_TASKS = Path(__file__).with_name("placed_tasks.c")
COMPILERS = ("clang-19", "clang-18", "clang-17", "clang-16", "clang-15", "clang-14", "clang")
RUN_SECONDS = 0.5  # least length of a timed run
TIMEOUT_S = 600

STOCK: dict[str, str] = {}
ONE_DOMAIN = {"OMP_EXT_SCHEDULE": "1", "OMP_EXT_DOMAINS": "1"}
DORMANT = {"OMP_EXT_SCHEDULE": "0"}
TWO_STRICT = {"OMP_EXT_DOMAINS": "2", "OMP_EXT_STRICT": "1"}


@dataclass(frozen=True)
class Way:
    """One way to run a case. The library is preloaded unless `environment` is empty (the runtime alone)."""

    name: str
    environment: dict[str, str]
    target: float | None = None  # greatest ratio to the first way
    command: tuple[str, ...] = ()  # replaces the case's command


@dataclass(frozen=True)
class Case:
    """One program of one size, and its ways, which are compared with the first one."""

    name: str
    command: tuple[str, ...]
    threads: int
    ways: tuple[Way, ...]


def compile_placed(name: str, library: Path, *flags: str) -> str:
    """Compiles placed_tasks.c with the first compiler that can; returns the program."""
    target = BUILD / "benchmarks" / name
    target.parent.mkdir(parents=True, exist_ok=True)
    for compiler in filter(shutil.which, COMPILERS):
        command = [compiler, "-O2", "-fopenmp", f"-I{REPOSITORY}/omp_ext/include", str(PLACED_TASKS)]
        command += [*flags, f"-L{library.parent}", f"-Wl,-rpath,{library.parent}", "-o", str(target)]
        if subprocess.run(command, capture_output=True, check=False).returncode == 0:
            return str(target)
    sys.exit(f"ext_cost.py: none of {', '.join(COMPILERS)} compiles {PLACED_TASKS.name}")


def fine_cases(threads: Iterable[int]) -> Iterator[Case]:
    """Yields fib and nqueens without a cut-off."""
    for n in threads:
        for program, size, target in (("fib", "27", 0.25), ("nqueens", "11", 0.16)):
            command = (str(BUILD / "bots" / f"{program}-tasks"), "--cutoff", "none", "--size", size, "--json")
            ways = (
                Way("stock", STOCK),
                Way("one domain", ONE_DOMAIN, target if n == 2 else 0.5),
                Way("dormant", DORMANT, 1.005),
            )
            yield Case(f"{program} none", command, n, ways)


def placed_cases(library: Path) -> Iterator[Case]:
    """Yields fib with placed tasks in its top levels, and flat tasks with and without placement."""
    stock, placed = (
        compile_placed("stock_tasks", library, "-DSTOCK"),
        compile_placed("placed_tasks", library, "-lomp_ext"),
    )
    # Constrained tasks do not step aside: from the second level on, they wait for each other until a rescue.
    constrained = TWO_STRICT | {"OMP_EXT_TIED": "constrained"}
    fib_ways = (
        Way("stock", STOCK, command=(stock, "fib", "27", "1")),
        Way("2 strict, 1 level", TWO_STRICT, 0.4, (placed, "fib", "27", "1")),
        Way("2 strict, 6 levels", TWO_STRICT, 0.35, (placed, "fib", "27", "6")),
        Way("2 strict, 6, constrained", constrained, None, (placed, "fib", "27", "6")),
    )
    yield Case("fib, levels placed", (), 2, fib_ways)
    for domains in ("1", "2"):
        settings = {"OMP_EXT_DOMAINS": domains, "OMP_EXT_STRICT": "1"}
        ways = [
            Way(f"{where} domain", settings, command=(placed, "flat", "2000000", where))
            for where in (("default", "own") if domains == "1" else ("default", "own", "next"))
        ]
        yield Case(f"flat, {domains} domains", (), int(domains), tuple(ways))


def program_cases() -> Iterator[Case]:
    """Yields every task program at every cut-off, without the fine cases."""
    for path in task_programs():
        output = subprocess.run([path, "--describe"], capture_output=True, text=True, check=True).stdout
        facts = json.loads(output)
        for cutoff in facts["cutoffs"]:
            if (facts["program"], cutoff) in {("fib", "none"), ("nqueens", "none")}:
                continue
            command = (str(path), "--cutoff", cutoff, "--class", "test", "--json")
            ways = (Way("stock", STOCK), Way("one domain", ONE_DOMAIN, 1.03), Way("dormant", DORMANT, 1.005))
            yield Case(f"{facts['program']} {cutoff}", command, 2, ways)


def default_cases(size: str, threads: Iterable[int]) -> Iterator[Case]:
    """Yields every task program, with its default cut-off and this class, on each number of threads."""
    for path in [*task_programs(), BUILD / "bots" / "sparselu-for", BUILD / "bots" / "lu-depend"]:
        for n in threads:
            command = (str(path), "--class", size, "--json")
            ways = (Way("stock", STOCK), Way("one domain", ONE_DOMAIN, 1.02))
            yield Case(f"{path.name.removesuffix('-tasks')} {size}", command, n, ways)


def task_programs() -> list[Path]:
    """Returns the task versions of all benchmark programs."""
    return sorted((BUILD / "bots").glob("*-tasks"))


def time_run(case: Case, way: Way, library: Path, *more: str) -> float:
    """Returns the seconds that the program reports; exits if it fails."""
    settings = {"OMP_NUM_THREADS": str(case.threads), **way.environment}
    if way.environment:
        settings["LD_PRELOAD"] = str(library)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("OMP_", "KMP_"))}
    command = [*(way.command or case.command), *more]
    finished = subprocess.run(
        command, env=environment | settings, capture_output=True, text=True, check=False, timeout=TIMEOUT_S
    )
    if finished.returncode != 0:
        sys.exit(f"ext_cost.py: {' '.join(command)} failed:\n{finished.stdout}{finished.stderr}")
    return float(json.loads(finished.stdout)["seconds"])


def measure(case: Case, rounds: int, library: Path) -> list[dict[str, object]]:
    """Times all ways of a case in turn, after a warm-up round. Returns a row for each way but the first."""
    base = case.ways[0]
    first = time_run(case, base, library)
    is_bots = bool(case.command)
    more = ("--repeat", str(min(100, math.ceil(RUN_SECONDS / first)))) if is_bots else ()
    seconds: dict[str, list[float]] = {way.name: [] for way in case.ways}
    for number in range(rounds + 1):
        for way in case.ways:
            taken = time_run(case, way, library, *more)
            if number > 0:
                seconds[way.name].append(taken)
    rows: list[dict[str, object]] = []
    for way in case.ways[1:]:
        singles = [own / other for own, other in zip(seconds[way.name], seconds[base.name], strict=True)]
        rows.append(
            {
                "case": case.name,
                "threads": case.threads,
                "way": way.name,
                "against": base.name,
                "ratio": statistics.median(singles),
                "ratio_min": min(singles),
                "ratio_max": max(singles),
                "target": way.target,
                "base_seconds": statistics.median(seconds[base.name]),
                "seconds": statistics.median(seconds[way.name]),
                "rounds": rounds,
            }
        )
    return rows


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7, help="rounds that count (default 7)")
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument(
        "--threads", type=int, nargs="+", default=[2, 4, 8], help="for the fine tasks and --defaults"
    )
    parser.add_argument(
        "--defaults", metavar="CLASS", help="instead, all programs of this class at their default cut-offs"
    )
    parser.add_argument("--library", type=Path, default=BUILD / "lib" / "libomp_ext.so")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures there")
    arguments = parser.parse_args()
    if arguments.rounds < 1:
        parser.error("--rounds must be at least 1")
    if not arguments.library.is_file() or not list((BUILD / "bots").glob("*-tasks")):
        parser.error("nothing is built: ./run build")
    library = arguments.library.resolve()
    rows = []
    if arguments.defaults:
        cases = default_cases(arguments.defaults, arguments.threads)
    else:
        cases = itertools.chain(fine_cases(arguments.threads), placed_cases(library), program_cases())
    for case in cases:
        if arguments.only not in case.name:
            continue
        for row in measure(case, arguments.rounds, library):
            rows.append(row)
            target = "" if row["target"] is None else f"; target {row['target']}"
            print(
                f"{row['case']:24} {row['threads']:2} threads  {row['way']:20} {row['ratio']:6.3f} "
                f"of {row['against']} ({row['ratio_min']:.3f} to {row['ratio_max']:.3f}{target})",
                flush=True,
            )
    if arguments.json:
        machine = {"machine": platform.machine(), "processors": os.cpu_count(), "load": os.getloadavg()[0]}
        arguments.json.write_text(json.dumps({"machine": machine, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
