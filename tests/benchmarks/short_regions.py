#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the cost of recording for a program of short parallel regions.

short_regions.c runs reductions in which each thread works for 2 us. Each round runs it without a tool, with
an empty tool, and recorded in several ways, in random order. Reports the time of a region, and its excess
over 1.1 times the time with the empty tool (target: at most 0.3 us per thread). The figure of a run is the
lower quartile of its batches of 250 regions; on a busy machine, choose --figure least.

    tests/benchmarks/short_regions.py                        # one and two threads, about a minute
    tests/benchmarks/short_regions.py --threads 2 --work-ns 1000 --figure least --json regions.json
    tests/benchmarks/short_regions.py --before OLD/libompass.so    # another build, in the same rounds

Needs the build (release preset) and a clang with OpenMP and omp-tools.h.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.overhead import COMPILERS, BenchmarkError, compile_tool
from benchmarks.peers import clean_environment, quartiles

REPOSITORY = Path(__file__).resolve().parents[2]
SOURCE = Path(__file__).with_name("short_regions.c")
EMPTY = "empty"
ALLOWED_FACTOR, ALLOWED_NS = 1.1, 300
TIMEOUT_S = 120


@dataclass(frozen=True)
class Way:
    """A way to run the program."""

    name: str
    library: Path | None = None  # None: no tool
    mode: str = ""  # of libompass.so; empty for another tool
    wrappers: bool = False

    def environment(self, run_directory: Path) -> dict[str, str]:
        """Returns the variables that this way sets."""
        if self.library is None:
            return {}
        loaded = {"LD_PRELOAD" if self.wrappers else "OMP_TOOL_LIBRARIES": str(self.library)}
        if not self.mode:
            return loaded
        switches = {"OMPASS_MODE": self.mode, "OMPASS_DIR": str(run_directory), "OMPASS_SUMMARY": "off"}
        return loaded | switches | {"OMPASS_WRAPPERS": "on" if self.wrappers else "off"}


def ways(library: Path, before: Path | None, folder: Path) -> list[Way]:
    """Compiles the empty tool, and returns all ways."""
    empty = folder / "empty_tool.so"
    compile_tool(empty)
    recorded = [(library, "")] + ([(before, ", before")] if before else [])
    return [Way("none"), Way(EMPTY, empty)] + [
        Way(f"{mode}{', preloaded' if wrappers else ''}{suffix}", each, mode, wrappers)
        for mode in ("profile", "trace")
        for wrappers in (False, True)
        for each, suffix in recorded
    ]


def compile_program(folder: Path) -> Path:
    """Compiles short_regions.c with the first compiler that can."""
    target = folder / "short_regions"
    for compiler in filter(shutil.which, COMPILERS):
        command = [compiler, "-O2", "-fopenmp", str(SOURCE), "-o", str(target)]
        if subprocess.run(command, capture_output=True, check=False).returncode == 0:
            return target
    raise BenchmarkError(f"none of {', '.join(COMPILERS)} compiles {SOURCE.name}")


def run_once(program: Path, way: Way, threads: int, work_ns: int, batches: int) -> dict[str, float]:
    """Runs the program; returns the figures that it prints."""
    command = [str(program), str(threads), str(work_ns), str(batches)]
    with tempfile.TemporaryDirectory() as scratch:
        ended = subprocess.run(
            command,
            env=clean_environment() | way.environment(Path(scratch) / "run.ompass"),
            capture_output=True,
            text=True,
            check=False,
            timeout=TIMEOUT_S,
        )
    if ended.returncode != 0:
        raise BenchmarkError(
            f"{' '.join(command)}, {way.name}: exit {ended.returncode}: {ended.stderr.strip()}"
        )
    printed: dict[str, float] = json.loads(ended.stdout)
    return printed


def measure(
    program: Path, compared: list[Way], threads: int, arguments: argparse.Namespace
) -> Iterator[dict[str, Any]]:
    """Runs all ways in each round; yields a result for each way."""
    runs: dict[str, list[dict[str, float]]] = {way.name: [] for way in compared}
    for _ in range(arguments.rounds):
        for way in random.sample(compared, len(compared)):
            runs[way.name].append(run_once(program, way, threads, arguments.work_ns, arguments.batches))
    ns = {name: [run[f"{arguments.figure}_ns"] for run in own] for name, own in runs.items()}
    for way in compared:
        low, median, high = quartiles(ns[way.name])
        beyond = [own - ALLOWED_FACTOR * empty for own, empty in zip(ns[way.name], ns[EMPTY], strict=True)]
        yield {
            "way": way.name,
            "threads": threads,
            "work_ns": arguments.work_ns,
            "rounds": arguments.rounds,
            "figure": arguments.figure,
            "ns": median,
            "quartiles": [low, high],
            "processor_ns": statistics.median(run["processor_ns"] for run in runs[way.name]),
            "of_empty": statistics.median(
                own / empty for own, empty in zip(ns[way.name], ns[EMPTY], strict=True)
            ),
            "beyond_ns": statistics.median(beyond),
            "met": statistics.median(beyond) <= ALLOWED_NS * threads if way.mode else None,
        }


def print_results(results: list[dict[str, Any]]) -> None:
    """Prints the results of one number of threads."""
    first = results[0]
    print(f"\n{first['work_ns']} ns of work, threads: {first['threads']}, rounds: {first['rounds']}")
    for result in results:
        low, high = result["quartiles"]
        line = f"  {result['way']:26} {result['ns']:8.0f} ns a region ({low:.0f} to {high:.0f})"
        if result["met"] is not None:
            line += f", {result['of_empty']:.3f} times empty, {result['beyond_ns']:+6.0f} ns beyond"
            line += f" {ALLOWED_FACTOR} times empty: {'met' if result['met'] else 'MISSED'}"
        print(line, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=9, help="default 9")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2], help="default 1 2")
    parser.add_argument("--work-ns", type=int, default=2000, help="work of each thread (default 2000)")
    parser.add_argument(
        "--batches", type=int, default=80, help="batches of 250 regions in a run (default 80)"
    )
    parser.add_argument(
        "--figure",
        choices=("median", "lower_quartile", "least"),
        default="lower_quartile",
        help="statistic over a run's batches (default lower_quartile)",
    )
    parser.add_argument("--build", type=Path, default=REPOSITORY / "build" / "release")
    parser.add_argument("--library", type=Path, help="libompass.so (default: the build's)")
    parser.add_argument("--before", type=Path, help="another libompass.so to measure")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures to FILE")
    arguments = parser.parse_args()
    if arguments.rounds < 2 or arguments.batches < 1:
        parser.error("--rounds must be at least 2, --batches at least 1")
    library = (arguments.library or arguments.build / "lib" / "libompass.so").resolve()
    before = arguments.before.resolve() if arguments.before else None
    for each in filter(None, (library, before)):
        if not each.is_file():
            parser.error(f"{each} does not exist: ./run build")
    folder = arguments.build.resolve() / "benchmarks"
    folder.mkdir(parents=True, exist_ok=True)
    results: list[dict[str, Any]] = []
    try:
        program, compared = compile_program(folder), ways(library, before, folder)
        for threads in arguments.threads:
            own = list(measure(program, compared, threads, arguments))
            print_results(own)
            results += own
    except (BenchmarkError, subprocess.TimeoutExpired) as error:
        sys.exit(f"short_regions.py: {error}")
    if arguments.json:
        machine = {"machine": platform.machine(), "processors": os.cpu_count(), "load": os.getloadavg()[0]}
        arguments.json.write_text(json.dumps({"machine": machine, "rows": results}, indent=1) + "\n")


if __name__ == "__main__":
    main()
