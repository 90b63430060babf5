# SPDX-License-Identifier: Apache-2.0
"""Measures the cost of kernel marks in trace mode, for matmul and fmm at their published task sizes.

The papers report at most 5% over the unmarked program, with tasks of 17 us (matmul) and 3.25 us (fmm).
Every round runs all variants once, in random order, so a drift of the machine affects all of them.
Prints the medians of the ratios to the unmarked program within a round. Needs the build (release preset) and
an otherwise idle machine; takes a few minutes.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

REPOSITORY = Path(__file__).resolve().parents[2]
RUN_TIMEOUT_S = 600
LARGEST_COST = 0.05
# Variables that control a runtime, a tool or the loader. Programs must not inherit them from the shell.
STEERING = ("OMP_", "KMP_", "OMPASS_", "LD_")


class Variant(NamedTuple):
    """A build of a program, recorded or not."""

    name: str
    version: str
    traced: bool


BASELINE = "unmarked"
VARIANTS = (
    Variant(BASELINE, "tasks", False),
    Variant("marked", "tasks-marked", False),
    Variant("unmarked, traced", "tasks", True),
    Variant("marked, traced", "tasks-marked", True),
)


@dataclass(frozen=True)
class Case:
    """A program with an input, and the published time of its tasks."""

    program: str
    size: int
    grains: tuple[int, ...]  # candidates; the one with tasks nearest to the published time is used
    published_task_us: float

    def arguments(self, grain: int) -> list[str]:
        return ["--size", str(self.size), "--grain", str(grain)]


# Each takes about a second on one core.
CASES = (
    Case("matmul", 3072, (48, 96, 192), 17.0),
    Case("fmm", 300_000, (200, 300, 400, 500, 600, 800), 3.25),
)


class BenchmarkError(Exception):
    """The benchmark cannot continue; the message is one line for the user."""


def run(build: Path, case: Case, grain: int, variant: Variant, threads: int, scratch: Path) -> dict[str, Any]:
    """Runs a variant once; returns the program's answer and `trace_bytes`; deletes the run directory."""
    program = build / "bots" / f"{case.program}-{variant.version}"
    command = [str(program), "--json", "--threads", str(threads), *case.arguments(grain)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(STEERING)}
    with tempfile.TemporaryDirectory(prefix="marks-", dir=scratch) as directory:
        run_dir = Path(directory) / "run.ompass"
        if variant.traced:
            environment |= {
                "OMP_TOOL_LIBRARIES": str(build / "lib" / "libompass.so"),
                "OMPASS_MODE": "trace",
                "OMPASS_DIR": str(run_dir),
                "OMPASS_SUMMARY": "off",
            }
        ended = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False, timeout=RUN_TIMEOUT_S
        )
        if ended.returncode != 0:
            complaint = ended.stderr.strip().splitlines()[-1:] or ["no message"]
            raise BenchmarkError(f"{' '.join(command)} ended with {ended.returncode}: {complaint[0]}")
        answer: dict[str, Any] = json.loads(ended.stdout)
        logs = list(run_dir.glob("thread-*.log"))
        if variant.traced and not logs:
            raise BenchmarkError(f"{program.name}: libompass.so left no thread logs")
        answer["trace_bytes"] = sum(log.stat().st_size for log in logs)
    return answer


def choose_grain(build: Path, case: Case, scratch: Path) -> int:
    """Returns the grain whose tasks, unmarked and on one thread, are nearest to the published time."""

    def distance(grain: int) -> float:
        answers = [run(build, case, grain, VARIANTS[0], 1, scratch) for _ in range(3)]
        task_us = 1e6 * min(answer["seconds"] for answer in answers) / answers[0]["tasks"]
        return abs(math.log(task_us / case.published_task_us))

    print(f"{case.program}: choosing the size of tasks", file=sys.stderr, flush=True)
    return min(case.grains, key=distance)


def measure(
    build: Path, case: Case, grain: int, threads: int, n_rounds: int, scratch: Path
) -> Iterator[dict[str, Any]]:
    """Yields the answers of the programs of each round, by variant."""
    order = random.Random(0)
    for number in range(n_rounds):
        print(
            f"{case.program}, {threads} threads: round {number + 1} of {n_rounds}",
            file=sys.stderr,
            flush=True,
        )
        answers = {}
        for variant in order.sample(VARIANTS, len(VARIANTS)):
            answers[variant.name] = run(build, case, grain, variant, threads, scratch)
        yield answers


def evaluate(case: Case, threads: int, rounds: list[dict[str, Any]]) -> dict[str, Any]:
    """Returns medians over the rounds; costs are relative to the unmarked program in the same round."""
    first = rounds[0][BASELINE]
    n_tasks = first["tasks"]
    least_s = min(answers[BASELINE]["seconds"] for answers in rounds)
    variants = {}
    for variant in VARIANTS:
        seconds = [answers[variant.name]["seconds"] for answers in rounds]
        costs = [answers[variant.name]["seconds"] / answers[BASELINE]["seconds"] - 1 for answers in rounds]
        variants[variant.name] = {
            "seconds": seconds,
            "median_s": statistics.median(seconds),
            "min_s": min(seconds),
            "median_cost": statistics.median(costs),
            "cost_of_minima": min(seconds) / least_s - 1,
            "ns_per_task": 1e9 * threads * (min(seconds) - least_s) / n_tasks,
            "trace_bytes": rounds[0][variant.name]["trace_bytes"],
        }
    return {
        "program": case.program,
        "threads": threads,
        "inputs": first["inputs"],
        "cuts": first["cuts"],
        "tasks": n_tasks,
        "task_us": 1e6 * threads * least_s / n_tasks,
        "published_task_us": case.published_task_us,
        "variants": variants,
    }


def print_report(results: list[dict[str, Any]]) -> None:
    for result in results:
        print(
            f"{result['program']}, {result['threads']} threads: {result['tasks']} tasks of "
            f"{result['task_us']:.2f} us (published: {result['published_task_us']:g} us)"
        )
        for name, values in result["variants"].items():
            print(
                f"  {name:18} median {values['median_s']:8.4f} s  min {values['min_s']:8.4f} s  "
                f"cost {100 * values['median_cost']:+6.2f}%  "
                f"by minima {100 * values['cost_of_minima']:+6.2f}%  {values['ns_per_task']:7.0f} ns/task"
            )
        cost = result["variants"]["marked, traced"]["median_cost"]
        verdict = "within" if cost <= LARGEST_COST else "ABOVE"
        print(f"  {verdict} the papers' {100 * LARGEST_COST:g}%")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description="Measures the cost of kernel marks in trace mode, relative to the unmarked program.",
        epilog="Example: kernel_marks.py --threads 1,2 --rounds 15 --json marks.json",
    )
    parser.add_argument("--rounds", type=int, default=15, metavar="N", help="rounds (default 15)")
    parser.add_argument("--threads", default="1,2", metavar="LIST", help="team sizes (default 1,2)")
    names = ",".join(case.program for case in CASES)
    parser.add_argument("--programs", default=names, metavar="LIST", help=f"programs (default {names})")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all samples and statistics there")
    parser.add_argument(
        "--build", type=Path, default=REPOSITORY / "build" / "release", metavar="DIR", help="the build"
    )
    parser.add_argument(
        "--scratch",
        type=Path,
        metavar="DIR",
        help="directory for traces, up to 100 MB (default: in the build)",
    )
    return parser.parse_args()


def main() -> int:
    arguments = parse_arguments()
    build: Path = arguments.build.resolve()
    scratch: Path = arguments.scratch or build / "benchmarks" / "scratch"
    try:
        words = arguments.threads.split(",")
        if not all(word.isdecimal() and int(word) > 0 for word in words):
            raise BenchmarkError(f"--threads: {arguments.threads!r} is not a list of whole numbers from 1 on")
        if arguments.rounds < 1:
            raise BenchmarkError("--rounds must be at least 1")
        scratch.mkdir(parents=True, exist_ok=True)
        results = []
        chosen = arguments.programs.split(",")
        if unknown := set(chosen) - {case.program for case in CASES}:
            raise BenchmarkError(f"--programs: there is no {min(unknown)!r}")
        for case in CASES:
            if case.program not in chosen:
                continue
            grain = choose_grain(build, case, scratch)
            for threads in map(int, words):
                rounds = list(measure(build, case, grain, threads, arguments.rounds, scratch))
                results.append(evaluate(case, threads, rounds))
    except (BenchmarkError, OSError) as error:
        print(f"kernel_marks: {error}", file=sys.stderr)
        return 1
    print_report(results)
    if arguments.json:
        report = {"rounds": arguments.rounds, "cpu_count": os.cpu_count(), "results": results}
        arguments.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
