#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times each kind of task with libomp, libgomp and the extension.

Kinds: tasks with dependences (a wavefront), taskloop, one producer, task reductions, recursion (fib). The
tasks are empty unless the row names a time. All ways run once per round, in random order. The result is
the median of all rounds, with quartiles, and the ratio to the fastest way, taken within rounds. The
processor time is that of the whole process, per task; on a busy machine it varies less than the time.

    tests/benchmarks/task_kinds.py                                # everything, about 3 minutes
    tests/benchmarks/task_kinds.py --only wavefront --threads 2 --rounds 21 --json kinds.json

Needs the build (release preset), a clang with OpenMP, and g++ for libgomp.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import resource
import shutil
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.overhead import BenchmarkError
from benchmarks.peers import CLANGS, REPOSITORY, TIMEOUT_S, clean_environment, quartiles, ratios

SOURCE = Path(__file__).with_name("task_kinds.cpp")
EXTENSION = "extension"
REPETITIONS = 4  # of task_kinds.cpp


@dataclass(frozen=True)
class Row:
    """A kind of task of one length."""

    kind: str
    task_ns: int = 0

    @property
    def name(self) -> str:
        return f"{self.kind}, {self.task_ns} ns" if self.task_ns else self.kind


ROWS = (
    Row("wavefront"),
    Row("wavefront", 1000),
    Row("taskloop"),
    Row("producer"),
    Row("reduction"),
    Row("fib"),
    Row("taskloop", 1000),
    Row("producer", 200),
    Row("producer", 1000),
)
COMPILERS = {"libomp": CLANGS, "libgomp": ("g++",), EXTENSION: CLANGS}


def compile_kind(kind: str, way: str, folder: Path) -> Path:
    """Compiles one kind for one way, with the first compiler that can."""
    target = folder / f"task_kinds-{kind}-{'gcc' if way == 'libgomp' else 'clang'}"
    flags = ["-O2", "-std=c++20", "-fopenmp", f"-DKIND={kind}"]
    if kind == "reduction":
        flags.append("-DHAS_REDUCTIONS")
    complaint = f"none of {', '.join(COMPILERS[way])} is installed"
    for compiler in filter(shutil.which, COMPILERS[way]):
        command = [compiler, *flags, str(SOURCE), "-o", str(target)]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        if ended.returncode == 0:
            return target
        complaint = (ended.stderr.strip().splitlines() or ["it does not compile"])[0]
    raise BenchmarkError(f"{kind}, {way}: {complaint}")


def environment(way: str, library: Path, threads: int) -> dict[str, str]:
    """Returns the environment of a run."""
    settings = clean_environment() | {"OMP_NUM_THREADS": str(threads)}
    if way == EXTENSION:
        settings |= {"LD_PRELOAD": str(library), "OMP_EXT_SCHEDULE": "1", "OMP_EXT_DOMAINS": "1"}
    return settings


@dataclass(frozen=True)
class Run:
    """One run of a program. `processor_seconds`: of all threads in all repetitions."""

    seconds: float
    processor_seconds: float
    n_tasks: int


def processor_seconds() -> float:
    """Returns the processor time of all child processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def time_run(program: Path, row: Row, threads: int, settings: dict[str, str]) -> Run:
    """Runs a program."""
    before = processor_seconds()
    command = [str(program), str(threads), str(row.task_ns)]
    ended = subprocess.run(
        command, env=settings, capture_output=True, text=True, check=False, timeout=TIMEOUT_S
    )
    if ended.returncode != 0:
        raise BenchmarkError(f"{' '.join(command)}: exit {ended.returncode}: {ended.stderr.strip()}")
    answer = json.loads(ended.stdout)
    return Run(float(answer["seconds"]), processor_seconds() - before, int(answer["tasks"]))


def measure(
    row: Row, threads: int, rounds: int, programs: dict[str, Path], library: Path
) -> Iterator[dict[str, Any]]:
    """Times all ways of one row once per round, after a warm-up round; yields a result for each."""
    runs: dict[str, list[Run]] = {way: [] for way in programs}
    for number in range(rounds + 1):
        for way in random.sample(list(programs), len(programs)):
            finished = time_run(programs[way], row, threads, environment(way, library, threads))
            if number > 0:
                runs[way].append(finished)
    seconds = {way: [one.seconds for one in runs[way]] for way in programs}
    fastest = min(programs, key=lambda way: statistics.median(seconds[way]))
    for way in programs:
        low, median, high = quartiles(seconds[way])
        n_tasks = runs[way][0].n_tasks
        processor = statistics.median(one.processor_seconds for one in runs[way])
        yield {
            "row": row.name,
            "kind": row.kind,
            "task_ns": row.task_ns,
            "threads": threads,
            "tasks": n_tasks,
            "way": way,
            "seconds": median,
            "quartiles": [low, high],
            "ns_per_task": median / n_tasks * 1e9,
            "processor_ns_per_task": processor / REPETITIONS / n_tasks * 1e9,
            "of_fastest": statistics.median(ratios(seconds[way], seconds[fastest])),
            "rounds": rounds,
        }


def print_rows(results: Sequence[dict[str, Any]]) -> None:
    """Prints the results of one row."""
    first = results[0]
    print(f"\n{first['row']}, {first['threads']} threads, {first['tasks']:,} tasks")
    for result in results:
        low, high = (1e3 * value for value in result["quartiles"])
        print(
            f"  {result['way']:10} {1e3 * result['seconds']:9.2f} ms ({low:.2f} to {high:.2f}), "
            f"{result['ns_per_task']:7.1f} ns per task, {result['of_fastest']:6.2f} of the fastest, "
            f"{result['processor_ns_per_task']:7.1f} ns of processor time",
            flush=True,
        )


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=9, help="rounds that count (default 9)")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2], help="default 1 2")
    parser.add_argument("--only", default="", help="rows whose name contains this")
    parser.add_argument("--ways", nargs="+", choices=list(COMPILERS), default=list(COMPILERS))
    parser.add_argument("--build", type=Path, default=REPOSITORY / "build" / "release")
    parser.add_argument("--library", type=Path, help="libomp_ext.so (default: the build's)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures there")
    arguments = parser.parse_args()
    if arguments.rounds < 1:
        parser.error("--rounds must be at least 1")
    library = (arguments.library or arguments.build / "lib" / "libomp_ext.so").resolve()
    if EXTENSION in arguments.ways and not library.is_file():
        parser.error(f"{library} does not exist: ./run build")
    folder = arguments.build.resolve() / "benchmarks"
    folder.mkdir(parents=True, exist_ok=True)
    results: list[dict[str, Any]] = []
    try:
        for row in ROWS:
            if arguments.only not in row.name:
                continue
            programs = {way: compile_kind(row.kind, way, folder) for way in arguments.ways}
            for threads in arguments.threads:
                of_row = list(measure(row, threads, arguments.rounds, programs, library))
                print_rows(of_row)
                results += of_row
    except (BenchmarkError, subprocess.TimeoutExpired) as error:
        sys.exit(f"task_kinds.py: {error}")
    if arguments.json:
        machine = {"machine": platform.machine(), "processors": os.cpu_count(), "load": os.getloadavg()[0]}
        arguments.json.write_text(json.dumps({"machine": machine, "rows": results}, indent=1) + "\n")


if __name__ == "__main__":
    main()
