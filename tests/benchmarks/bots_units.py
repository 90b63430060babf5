# SPDX-License-Identifier: Apache-2.0
"""Measures the benchmark programs in nanoseconds per unit of work, serially and with tasks on one thread.

The serial time shows whether a kernel is fast enough; the time with tasks also shows the cost of tasks at the
program's default cut-off. Omits programs that do not count their work. Rounds are interleaved, and the
fastest repeat of each program counts. Prints the table of docs/bots.md.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]
VERSIONS = ("serial", "tasks")
RUN_TIMEOUT_S = 1800
# Variables that control a runtime, a tool or the loader. Programs must not inherit them from the shell.
STEERING = ("OMP_", "KMP_", "OMPASS_", "LD_")


class BenchmarkError(Exception):
    """The benchmark cannot continue; the message is one line for the user."""


def run(program: Path, input_class: str, n_repeats: int) -> dict[str, Any]:
    """Runs a program on one thread; returns its answer."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(STEERING)}
    command = [str(program), "--class", input_class, "--threads", "1", "--json"]
    command += ["--repeat", str(n_repeats)]
    ended = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, timeout=RUN_TIMEOUT_S
    )
    if ended.returncode != 0:
        complaint = ended.stderr.strip().splitlines()[-1:] or ["no message"]
        raise BenchmarkError(f"{' '.join(command)} ended with {ended.returncode}: {complaint[0]}")
    answer: dict[str, Any] = json.loads(ended.stdout)
    return answer


def measure(
    bots: Path, programs: list[str], input_class: str, n_rounds: int, n_repeats: int
) -> dict[str, dict[str, Any]]:
    """Returns by program: unit, inputs, and by version the nanoseconds per unit of each round's best repeat.

    If interrupted, returns the results so far.
    """
    results: dict[str, dict[str, Any]] = {}
    try:
        for number in range(n_rounds):
            for program in programs:
                print(f"round {number + 1} of {n_rounds}: {program}", file=sys.stderr, flush=True)
                for version in VERSIONS:
                    answer = run(bots / f"{program}-{version}", input_class, n_repeats)
                    result = results.setdefault(program, {name: answer[name] for name in ("unit", "inputs")})
                    if answer["units"]:
                        samples = result.setdefault(version, {"ns_per_unit": [], "tasks": answer["tasks"]})
                        samples["ns_per_unit"].append(1e9 * min(answer["repeats"]) / answer["units"])
    except KeyboardInterrupt:
        print("interrupted; reporting what is complete", file=sys.stderr)
    return results


def table(results: dict[str, dict[str, Any]]) -> str:
    """Returns the fastest rounds as a table in Markdown."""
    lines = ["| program | unit of work | serial | tasks | tasks / serial |", "|---|---|---|---|---|"]
    for program, result in results.items():
        if not all(version in result for version in VERSIONS):
            continue
        serial, tasks = (min(result[version]["ns_per_unit"]) for version in VERSIONS)
        lines.append(
            f"| {program} | {result['unit']} | {serial:.3g} ns | {tasks:.3g} ns | {tasks / serial:.2f} |"
        )
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Measures the benchmark programs in nanoseconds per unit of their work, on one thread.",
        epilog="Example: bots_units.py --programs fib,uts,sort --class small --rounds 5 --json units.json",
    )
    parser.add_argument(
        "--class", dest="input_class", default="small", help="class of the inputs (default small)"
    )
    parser.add_argument("--programs", metavar="LIST", help="comma-separated (default: all)")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="rounds (default 3)")
    parser.add_argument(
        "--repeat",
        type=int,
        default=1,
        metavar="N",
        help="repeats within a run (default 1); many repeats of a small input also suit a busy machine",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all samples there")
    parser.add_argument(
        "--bots",
        type=Path,
        default=REPOSITORY / "build" / "release" / "bots",
        metavar="DIR",
        help="the programs",
    )
    arguments = parser.parse_args()
    try:
        built = sorted(path.name.removesuffix("-serial") for path in arguments.bots.glob("*-serial"))
        programs = arguments.programs.split(",") if arguments.programs else built
        unknown = [program for program in programs if program not in built]
        if unknown or not built:
            raise BenchmarkError(f"there is no {', '.join(unknown) or 'program'} in {arguments.bots}")
        if min(arguments.rounds, arguments.repeat) < 1:
            raise BenchmarkError("--rounds and --repeat must be at least 1")
        results = measure(arguments.bots, programs, arguments.input_class, arguments.rounds, arguments.repeat)
    except (BenchmarkError, OSError) as error:
        print(f"bots_units: {error}", file=sys.stderr)
        return 1
    print(table(results))
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
