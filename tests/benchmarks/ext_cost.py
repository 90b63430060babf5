#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the scheduler of libomp_ext.so costs and gains, against the same runtime alone.

Each way of running a program is timed in turn, round after round, so that whatever else the machine does
falls on all of them alike; the figure is the ratio of medians, with the smallest and largest ratio of single
rounds.
Standard library only. Give it a machine that does nothing else; all cases take about an hour.

    tests/benchmarks/ext_cost.py                         # all cases, table
    tests/benchmarks/ext_cost.py --rounds 15 --json      # JSON on standard output
    tests/benchmarks/ext_cost.py --only fib --threads 2
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
BUILD = REPOSITORY / "build" / "release"

STOCK: dict[str, str] = {}
ONE_DOMAIN = {"OMP_EXT_SCHEDULE": "1", "OMP_EXT_DOMAINS": "1"}
DORMANT = {"OMP_EXT_SCHEDULE": "0"}


@dataclass(frozen=True)
class Case:
    """One program at one size, and the ways that are compared with the runtime alone, with their targets."""

    name: str
    command: tuple[str, ...]
    threads: int
    ways: tuple[tuple[str, dict[str, str], float], ...]


def programs() -> list[str]:
    """Return the task programs that are built."""
    return sorted(path.name for path in (BUILD / "bots").glob("*-tasks"))


def cases(threads: Iterable[int]) -> list[Case]:
    """Return all cases: fine tasks at every number of threads, all programs at all cut-offs at two."""
    made = []
    fine = {"fib-tasks": ("27", 0.25), "nqueens-tasks": ("11", 0.16)}
    for n in threads:
        for name, (size, target) in fine.items():
            command = (name, "--cutoff", "none", "--size", size)
            ways = (("one domain", ONE_DOMAIN, target if n == 2 else 0.5), ("dormant", DORMANT, 1.005))
            made.append(Case(f"{name} without cut-off", command, n, ways))
    for name in programs():
        for cutoff in ("if", "final", "manual"):
            ways = (("one domain", ONE_DOMAIN, 1.03), ("dormant", DORMANT, 1.005))
            made.append(Case(f"{name} {cutoff}", (name, "--cutoff", cutoff, "--class", "small"), 2, ways))
    return made


def time_run(case: Case, way: dict[str, str], library: Path) -> float:
    """Return the seconds that the program itself reports, or exit when it fails."""
    settings = {"OMP_NUM_THREADS": str(case.threads), **way}
    if way:
        settings["LD_PRELOAD"] = str(library)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("OMP_", "KMP_"))}
    command = [str(BUILD / "bots" / case.command[0]), *case.command[1:], "--json"]
    finished = subprocess.run(
        command, env=environment | settings, capture_output=True, text=True, check=False, timeout=600
    )
    if finished.returncode != 0:
        sys.exit(f"ext_cost.py: {' '.join(command)} failed:\n{finished.stdout}{finished.stderr}")
    return float(json.loads(finished.stdout)["seconds"])


def measure(case: Case, rounds: int, library: Path) -> list[dict[str, object]]:
    """Time all ways of a case in turn, after one round that does not count."""
    ways: list[tuple[str, dict[str, str], float]] = [("stock", STOCK, 1.0), *case.ways]
    seconds: dict[str, list[float]] = {name: [] for name, _, _ in ways}
    for number in range(rounds + 1):
        for name, way, _ in ways:
            taken = time_run(case, way, library)
            if number > 0:
                seconds[name].append(taken)
    stock = seconds["stock"]
    rows: list[dict[str, object]] = []
    for name, _, target in ways[1:]:
        singles = [own / base for own, base in zip(seconds[name], stock, strict=True)]
        ratio = statistics.median(seconds[name]) / statistics.median(stock)
        rows.append(
            {
                "case": case.name,
                "threads": case.threads,
                "way": name,
                "ratio": ratio,
                "ratio_min": min(singles),
                "ratio_max": max(singles),
                "target": target,
                "stock_seconds": statistics.median(stock),
                "seconds": statistics.median(seconds[name]),
                "rounds": rounds,
            }
        )
    return rows


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7, help="rounds that count (default 7)")
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--threads", type=int, nargs="+", default=[2, 4, 8], help="for the fine tasks")
    parser.add_argument("--library", type=Path, default=BUILD / "lib" / "libomp_ext.so")
    parser.add_argument("--json", action="store_true", help="print JSON")
    arguments = parser.parse_args()
    if arguments.rounds < 1:
        parser.error("--rounds must be at least 1")
    if not arguments.library.is_file() or not programs():
        parser.error("nothing is built: ./run build")
    rows = []
    for case in cases(arguments.threads):
        if arguments.only not in case.name:
            continue
        for row in measure(case, arguments.rounds, arguments.library.resolve()):
            rows.append(row)
            if not arguments.json:
                print(
                    f"{row['case']:32} {row['threads']:2} threads  {row['way']:12} {row['ratio']:6.3f} "
                    f"({row['ratio_min']:.3f} to {row['ratio_max']:.3f}; target {row['target']})",
                    flush=True,
                )
    if arguments.json:
        machine = {"machine": platform.machine(), "processors": os.cpu_count(), "load": os.getloadavg()[0]}
        json.dump({"machine": machine, "rows": rows}, sys.stdout, indent=1)
        print()


if __name__ == "__main__":
    main()
