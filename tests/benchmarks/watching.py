# SPDX-License-Identifier: Apache-2.0
"""Measures the cost of recording context switches and of sampling call stacks.

Runs each program in four variants: without the tool, and recorded with neither, with switches, or with both.
A round runs every variant once, in random order. Prints medians and quartiles of the ratios within a round,
and writes all times as JSON. Threads are bound unless --unbound is given: two threads that share a processor
take twice as long, recorded or not. Needs the build (release preset) and an otherwise idle machine.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
PROGRAMS = {
    "fib-none": ["fib-tasks", "--cutoff", "none", "--size", "28"],
    "fib": ["fib-tasks", "--class", "small"],
    "health": ["health-tasks", "--class", "small"],
    "sort": ["sort-tasks", "--class", "small"],
}
VARIANTS: dict[str, dict[str, str] | None] = {
    "none": None,
    "recorded": {"OMPASS_CPU": "off", "OMPASS_SAMPLE": "0"},
    "switches": {"OMPASS_SAMPLE": "0"},
    "samples": {"OMPASS_SAMPLE": "100"},
}
RATIOS = (("recorded", "none"), ("switches", "recorded"), ("samples", "switches"))


def seconds(build: Path, command: list[str], threads: int, settings: dict[str, str] | None) -> float:
    """Runs the program; returns the seconds that it reports for its kernel."""
    folder = Path(tempfile.mkdtemp())
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("KMP", "OMPASS"))}
    if settings is not None:
        library = str(build / "lib" / "libompass.so")
        environ |= {"LD_PRELOAD": library, "OMP_TOOL_LIBRARIES": library, "OMPASS_SUMMARY": "off"}
        environ |= {"OMPASS_DIR": str(folder / "run.ompass"), **settings}
    whole = [str(build / "bots" / command[0]), "--json", "--threads", str(threads), *command[1:]]
    done = subprocess.run(whole, env=environ, check=True, capture_output=True, text=True)
    shutil.rmtree(folder)
    return float(json.loads(done.stdout)["seconds"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=31, help="rounds after a warm-up round (default 31)")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", choices=sorted(PROGRAMS), help="one of the programs")
    parser.add_argument("--unbound", action="store_true", help="do not bind threads")
    parser.add_argument("--build", type=Path, default=REPOSITORY / "build" / "release")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all times to FILE")
    arguments = parser.parse_args()
    if not arguments.unbound:
        os.environ["OMP_PROC_BIND"] = "true"
    taken: dict[str, dict[str, list[float]]] = {}
    for name, command in PROGRAMS.items():
        if arguments.only not in (None, name):
            continue
        times = taken[name] = {variant: [] for variant in VARIANTS}
        for number in range(arguments.rounds + 1):
            for variant in random.sample(list(VARIANTS), len(VARIANTS)):
                time_s = seconds(arguments.build, command, arguments.threads, VARIANTS[variant])
                if number:  # the first one warms up
                    times[variant].append(time_s)
        said = [f"{name:9} {statistics.median(times['none']):.3f} s"]
        for one, other in RATIOS:
            ratios = [a / b for a, b in zip(times[one], times[other], strict=True)]
            low, middle, high = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else ratios * 3
            said.append(f"{one}/{other} {middle:.3f} ({low:.3f} to {high:.3f})")
        print("  ".join(said), flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(taken, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
