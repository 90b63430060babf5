#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times the smallest tasks, fib and n queens without a cut-off, with every task library of this machine.

Ways: libomp alone; the extension, alone and recorded; oneTBB and gcc's libgomp; libomp with an empty tool,
with a tool that keeps 16 bytes and a clock reading per event, and with libompass.so. All ways run once per
round, in random order; ratios to libomp are taken within a round. Prints a table per program; writes JSON.
Programs of bots/ with a cut-off (sort, health, fib) skip oneTBB, libgomp and the ways with untied tasks.
The last lines show the tool's cost relative to the 16-byte tool, as means over all programs.

    tests/benchmarks/peers.py                          # everything, about 15 minutes on a quiet machine
    tests/benchmarks/peers.py --only nqueens --threads 1,2,4 --rounds 21 --json peers.json
    tests/benchmarks/peers.py --ways libomp,extension,oneTBB

Needs the build (release preset) and a clang with OpenMP. Prints the names of missing peers, and omits them.
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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.overhead import BenchmarkError, compile_tool

REPOSITORY = Path(__file__).resolve().parents[2]
SOURCE = Path(__file__).with_name("peer_tasks.cpp")
CLANGS = ("clang++-19", "clang++-18", "clang++-17", "clang++-16", "clang++-15", "clang++-14", "clang++")
BASE = "libomp"
SIXTEEN = "16-byte tool"
JUDGED = ("profile, wrappers", "trace, wrappers")  # compared with the 16-byte tool
TIMEOUT_S = 600


@dataclass(frozen=True)
class Case:
    """A program with its input."""

    name: str
    size: str
    suite_program: str = ""  # a program of bots/; empty: one of peer_tasks.cpp

    def arguments(self, threads: int) -> list[str]:
        if self.suite_program:
            return ["--json", "--threads", str(threads), *self.size.split()]
        return [self.name, self.size, str(threads)]


CASES = (
    Case("fib", "27"),
    Case("nqueens", "11"),
    Case("sort-cut", "--class small --size 4000000", "sort-tasks"),
    Case("health-cut", "--class small --steps 120", "health-tasks"),
    Case("fib-cut", "--class small --size 40", "fib-tasks"),
)


@dataclass(frozen=True)
class Way:
    """A task library, and the tool with it."""

    name: str
    program: str = "openmp"
    extension: bool = False
    tool: str = ""  # "empty", "sixteen", or a mode of libompass.so
    wrappers: bool = False
    keep_last: str = ""  # value of OMPASS_KEEP_LAST


WAYS = (
    Way(BASE),
    Way("libomp untied", "untied"),
    Way("extension", extension=True),
    Way("extension untied", "untied", extension=True),
    Way("oneTBB", "tbb"),
    Way("libgomp", "libgomp"),
    Way("extension, profile", extension=True, tool="profile", wrappers=True),
    Way("extension, trace", extension=True, tool="trace", wrappers=True),
    Way("empty tool", tool="empty"),
    Way("16-byte tool", tool="sixteen"),
    Way("profile", tool="profile"),
    Way("profile, wrappers", tool="profile", wrappers=True),
    Way("trace", tool="trace"),
    Way("trace, wrappers", tool="trace", wrappers=True),
    Way("last 20M of a trace", tool="trace", wrappers=True, keep_last="20M"),
    Way("last 1000M of a trace", tool="trace", wrappers=True, keep_last="1000M"),
)


@dataclass
class Bench:
    """The compiled peers; `missing`: the reasons why other peers do not compile."""

    build: Path
    programs: dict[str, Path] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)

    def prepare(self) -> None:
        """Compiles all peers that this machine can compile."""
        folder = self.build / "benchmarks"
        folder.mkdir(parents=True, exist_ok=True)
        openmp = ("-fopenmp",)
        for name, compilers, flags in (
            ("openmp", CLANGS, openmp),
            ("untied", CLANGS, (*openmp, "-DUNTIED")),
            ("tbb", CLANGS, ("-DPEER_TBB", "-ltbb")),
            ("libgomp", ("g++",), openmp),
        ):
            complaint = f"none of {', '.join(compilers)} is installed"
            for compiler in filter(shutil.which, compilers):
                target = folder / f"peer_tasks-{name}"
                command = [compiler, "-O2", "-std=c++20", str(SOURCE), "-o", str(target), *flags]
                ended = subprocess.run(command, capture_output=True, text=True, check=False)
                if ended.returncode == 0:
                    self.programs[name] = target
                    break
                complaint = (ended.stderr.strip().splitlines() or ["it does not compile"])[0]
            else:
                self.missing[name] = complaint
        if "openmp" not in self.programs:
            raise BenchmarkError(f"no compiler for OpenMP: {self.missing['openmp']}")
        compile_tool(folder / "empty_tool.so")
        compile_tool(folder / "sixteen_byte_tool.so", "-DRECORD_EVENTS")

    def can_run(self, way: Way, case: Case) -> bool:
        """True if the case can run in this way: some programs are compiled for libomp only."""
        return not case.suite_program or way.program == "openmp"

    def why_not(self, way: Way) -> str:
        """Returns the reason why this way cannot run here; empty if it can."""
        if way.program in self.missing:
            return self.missing[way.program]
        needed = [self.build / "lib" / "libomp_ext.so"] if way.extension else []
        if way.tool in ("profile", "trace"):
            needed.append(self.build / "lib" / "libompass.so")
        return "".join(f"{path} does not exist" for path in needed if not path.exists())

    def time_run(self, way: Way, case: Case, threads: int) -> tuple[float, int]:
        """Returns the seconds of one run, and its number of tasks."""
        suite_program = self.build / "bots" / case.suite_program
        program = suite_program if case.suite_program else self.programs[way.program]
        with tempfile.TemporaryDirectory(dir=self.build / "benchmarks") as scratch:
            settings = self._environment(way, Path(scratch) / "run.ompass")
            ended = subprocess.run(
                [str(program), *case.arguments(threads)],
                env=clean_environment() | settings,
                capture_output=True,
                text=True,
                check=False,
                timeout=TIMEOUT_S,
            )
        if ended.returncode != 0:
            raise BenchmarkError(f"{way.name}, {case.name}: exit {ended.returncode}: {ended.stderr.strip()}")
        answer = json.loads(ended.stdout)
        return float(answer["seconds"]), int(answer["tasks"])

    def _environment(self, way: Way, run_directory: Path) -> dict[str, str]:
        settings: dict[str, str] = {}
        preloaded = [str(self.build / "lib" / "libomp_ext.so")] if way.extension else []
        if way.extension:
            settings |= {"OMP_EXT_SCHEDULE": "1", "OMP_EXT_DOMAINS": "1"}
        if way.tool in ("profile", "trace"):
            ompass = str(self.build / "lib" / "libompass.so")
            settings |= {"OMPASS_MODE": way.tool, "OMPASS_DIR": str(run_directory), "OMPASS_SUMMARY": "off"}
            settings["OMPASS_WRAPPERS"] = "on" if way.wrappers else "off"
            if way.keep_last:
                settings["OMPASS_KEEP_LAST"] = way.keep_last
            if way.wrappers:
                preloaded.append(ompass)  # as `ompass run` does
            else:
                settings["OMP_TOOL_LIBRARIES"] = ompass
        elif way.tool:
            library = "empty_tool.so" if way.tool == "empty" else "sixteen_byte_tool.so"
            settings["OMP_TOOL_LIBRARIES"] = str(self.build / "benchmarks" / library)
        if preloaded:
            settings["LD_PRELOAD"] = ":".join(preloaded)
        return settings


def clean_environment() -> dict[str, str]:
    """Returns the environment without variables that control OpenMP, the tool or the extension."""
    prefixes = ("OMP_", "KMP_", "GOMP_", "OMPASS_", "TBB_", "LD_PRELOAD")
    return {name: value for name, value in os.environ.items() if not name.startswith(prefixes)}


def quartiles(values: Sequence[float]) -> tuple[float, float, float]:
    """Returns the lower quartile, the median and the upper quartile."""
    if len(values) == 1:
        return values[0], values[0], values[0]
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, middle, high


def measure(
    bench: Bench, ways: Sequence[Way], case: Case, threads: int, rounds: int
) -> Iterator[dict[str, Any]]:
    """Times all ways of one program once per round, after a warm-up round; yields a row for each."""
    seconds: dict[str, list[float]] = {way.name: [] for way in ways}
    n_tasks = 0
    for number in range(rounds + 1):
        for way in random.sample(ways, len(ways)):
            taken, n_tasks = bench.time_run(way, case, threads)
            if number > 0:
                seconds[way.name].append(taken)
    for way in ways:
        low, median, high = quartiles(ratios(seconds[way.name], seconds[BASE]))
        row = {
            "program": case.name,
            "size": case.size,
            "threads": threads,
            "tasks": n_tasks,
            "way": way.name,
            "seconds": statistics.median(seconds[way.name]),
            "ns_per_task": statistics.median(seconds[way.name]) * threads / n_tasks * 1e9,
            "of_libomp": median,
            "of_libomp_quartiles": [low, high],
            "rounds": rounds,
        }
        if SIXTEEN in seconds:
            row["of_sixteen"] = statistics.median(ratios(seconds[way.name], seconds[SIXTEEN]))
        yield row


def ratios(own: Sequence[float], others: Sequence[float]) -> list[float]:
    """Returns the ratios of one way to another, round by round."""
    return [taken / other for taken, other in zip(own, others, strict=True)]


def print_rows(rows: Sequence[dict[str, Any]]) -> None:
    """Prints one table of one program."""
    first = rows[0]
    print(f"\n{first['program']} {first['size']}, {first['threads']} threads, {first['tasks']:,} tasks")
    print(f"  {'':22} {'of libomp':>9} {'quartiles':>16} {'thread ns/task':>15}")
    for row in rows:
        low, high = row["of_libomp_quartiles"]
        print(
            f"  {row['way']:22} {row['of_libomp']:9.3f} {f'{low:.3f} to {high:.3f}':>16} "
            f"{row['ns_per_task']:15.1f}",
            flush=True,
        )


def print_means(rows: Sequence[dict[str, Any]]) -> None:
    """Prints the tool's cost relative to the 16-byte tool: means over all programs that ran."""
    for way in JUDGED:
        of_way = [row for row in rows if row["way"] == way and "of_sixteen" in row]
        for threads in sorted({row["threads"] for row in of_way}):
            each = {row["program"]: row["of_sixteen"] for row in of_way if row["threads"] == threads}
            listed = ", ".join(f"{program} {ratio:.3f}" for program, ratio in each.items())
            mean = statistics.mean(each.values())
            print(f"{way} / {SIXTEEN}, {threads} threads: mean {mean:.3f} ({listed})")
        if of_way:
            mean = statistics.mean(row["of_sixteen"] for row in of_way)
            print(f"{way} / {SIXTEEN}: mean of all {mean:.3f}", flush=True)


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=11, help="rounds that count (default 11)")
    parser.add_argument("--threads", default="1,2", help="numbers of threads (default 1,2)")
    parser.add_argument("--only", choices=[case.name for case in CASES], help="one of the programs")
    parser.add_argument(
        "--size",
        help="size of the program, or its options, in place of "
        + ", ".join(f"{case.name} {case.size}" for case in CASES),
    )
    parser.add_argument("--ways", default="", help=f"some of: {','.join(way.name for way in WAYS)}")
    parser.add_argument("--build", type=Path, default=REPOSITORY / "build" / "release")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures there")
    arguments = parser.parse_args()
    if arguments.rounds < 1:
        parser.error("--rounds must be at least 1")
    if arguments.size and not arguments.only:
        parser.error("--size needs --only")
    try:
        threads = [int(text) for text in arguments.threads.split(",")]
    except ValueError:
        parser.error("--threads takes numbers separated by commas")
    # Names of ways contain commas. The option selects a way if its whole name is between commas.
    wanted = f",{arguments.ways},"
    chosen = [way for way in WAYS if not arguments.ways or way.name == BASE or f",{way.name}," in wanted]
    if arguments.ways and len(chosen) == 1 and arguments.ways != BASE:
        parser.error(f"--ways names none of: {','.join(way.name for way in WAYS)}")
    rows: list[dict[str, Any]] = []
    try:
        bench = Bench(arguments.build.resolve())
        bench.prepare()
        ways = [way for way in chosen if not bench.why_not(way)]
        for way in chosen:
            if why_not := bench.why_not(way):
                print(f"left out: {way.name}: {why_not}")
        for case in CASES:
            if arguments.only not in (None, case.name):
                continue
            if case.suite_program and not (bench.build / "bots" / case.suite_program).exists():
                print(f"left out: {case.name}: {bench.build / 'bots' / case.suite_program} does not exist")
                continue
            of_case = replace(case, size=arguments.size or case.size)
            for n in threads:
                of_program = list(
                    measure(
                        bench,
                        [way for way in ways if bench.can_run(way, case)],
                        of_case,
                        n,
                        arguments.rounds,
                    )
                )
                print_rows(of_program)
                rows += of_program
        print()
        print_means(rows)
    except (BenchmarkError, subprocess.TimeoutExpired) as error:
        sys.exit(f"peers.py: {error}")
    if arguments.json:
        machine = {"machine": platform.machine(), "processors": os.cpu_count(), "load": os.getloadavg()[0]}
        text = json.dumps({"machine": machine, "missing": bench.missing, "rows": rows}, indent=1)
        arguments.json.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
