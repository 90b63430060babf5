#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares a build of libomp_ext.so with another one, or with the runtime alone, on every benchmark program.

A case is a program, with its default cut-off and without placement, on a number of threads. Each round runs
it once with each library preloaded, in random order. The result is the median of the ratios within a round,
with its 99% confidence interval (by order statistics). A case ends when that interval is on one side of
--limit, or after --most rounds. Cases alternate, so a noisy minute affects all of them. Because a case may
end after any round, the confidence of cases that end early is below 99%.

    tests/benchmarks/two_libraries.py OLD.so build/release/lib/libomp_ext.so
    tests/benchmarks/two_libraries.py OLD.so NEW.so --threads 1,2 --most 41 --minutes 60 --json F
    tests/benchmarks/two_libraries.py none NEW.so --limit 1.03            # against the runtime alone
    tests/benchmarks/two_libraries.py none NEW.so --dormant --limit 1.005 # preloaded, but not used

Needs the build (release preset) and an idle machine.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import random
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

BUILD = Path(__file__).resolve().parents[2] / "build" / "release"
SCHEDULED = {"OMP_EXT_SCHEDULE": "1", "OMP_EXT_DOMAINS": "1"}
DORMANT = {"OMP_EXT_SCHEDULE": "0"}
CONFIDENCE = 0.99
RUN_SECONDS = 0.3  # least length of a timed run
TIMEOUT_S = 600


@dataclass(frozen=True)
class Library:
    """A library under comparison, with the settings of its runs."""

    is_new: bool
    settings: dict[str, str]


@dataclass
class Case:
    """One program on a number of threads, with the ratios of the rounds so far."""

    program: Path
    threads: int
    repeats: int = 1
    ratios: list[float] = field(default_factory=list)

    @property
    def name(self) -> str:
        return f"{self.program.name.removesuffix('-tasks')}, {self.threads} threads"

    def seconds(self, library: Library) -> float:
        """Runs the program once; returns the median of its repetitions."""
        command = [str(self.program), "--class", "small", "--json", "--threads", str(self.threads)]
        command += ["--repeat", str(self.repeats)]
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("OMP_", "KMP_"))}
        finished = subprocess.run(
            command,
            env=kept | library.settings,
            capture_output=True,
            text=True,
            check=False,
            timeout=TIMEOUT_S,
        )
        if finished.returncode != 0:
            sys.exit(f"two_libraries.py: {self.name} failed:\n{finished.stdout}{finished.stderr}")
        return float(json.loads(finished.stdout)["seconds"])

    def add_round(self, old: Library, new: Library) -> None:
        """Runs the program with both libraries, in random order."""
        taken = {library.is_new: self.seconds(library) for library in random.sample((old, new), 2)}
        self.ratios.append(taken[True] / taken[False])

    def interval(self) -> tuple[float, float]:
        """Returns the confidence interval of the median."""
        n_out = ranks_outside(len(self.ratios))
        ordered = sorted(self.ratios)
        return (ordered[n_out], ordered[-1 - n_out]) if n_out >= 0 else (0.0, math.inf)

    def verdict(self, limit: float) -> str:
        """Returns `holds` or `exceeds`, or an empty string while neither is certain."""
        low, high = self.interval()
        return "holds" if high <= limit else "exceeds" if low > limit else ""


def ranks_outside(n: int) -> int:
    """Returns how many of n values lie on each side of the median's interval; -1 if n is too small."""
    sum_of_chances, outside = 0.0, -1
    for k in range(n):
        sum_of_chances += math.comb(n, k) / 2**n
        if sum_of_chances > (1 - CONFIDENCE) / 2:
            break
        outside = k
    return outside


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("old", help="the library to compare with; none: the runtime alone")
    parser.add_argument("new", help="the library to judge")
    parser.add_argument("--dormant", action="store_true", help="preload the library, but do not use it")
    parser.add_argument("--threads", default="1,2", help="numbers of threads (default 1,2)")
    parser.add_argument("--only", default="", help="programs whose name contains this")
    parser.add_argument("--limit", type=float, default=1.01, help="limit of the ratio (default 1.01)")
    parser.add_argument("--least", type=int, default=9, help="fewest rounds (default 9)")
    parser.add_argument("--most", type=int, default=41, help="most rounds (default 41)")
    parser.add_argument("--minutes", type=float, default=60, help="time limit (default 60)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures to FILE")
    arguments = parser.parse_args()
    programs = [path for path in sorted((BUILD / "bots").glob("*-tasks")) if arguments.only in path.name]
    if not programs:
        parser.error("no such program is built: ./run build")
    libraries: list[Library] = []
    for name in (arguments.old, arguments.new):
        settings: dict[str, str] = {}
        if name != "none":
            if not Path(name).is_file():
                parser.error(f"{name} does not exist")
            settings = {"LD_PRELOAD": str(Path(name).resolve())} | (
                DORMANT if arguments.dormant else SCHEDULED
            )
        libraries.append(Library(is_new=bool(libraries), settings=settings))
    old, new = libraries
    cases = [Case(program, int(n)) for n in arguments.threads.split(",") for program in programs]
    for case in cases:
        case.repeats = min(10, math.ceil(RUN_SECONDS / case.seconds(new)))
    end = time.monotonic() + 60 * arguments.minutes
    for number in range(arguments.most):
        open_cases = [c for c in cases if number < arguments.least or not c.verdict(arguments.limit)]
        for case in open_cases:
            if time.monotonic() < end:
                case.add_round(old, new)
        print(f"round {number + 1}: {len(open_cases)} of {len(cases)} cases", file=sys.stderr, flush=True)
    cases = [case for case in cases if case.ratios]
    for case in cases:
        low, high = case.interval()
        print(
            f"{case.name:28} {median(case.ratios):6.3f} ({low:.3f} to {high:.3f}, "
            f"{len(case.ratios)} rounds)  {case.verdict(arguments.limit) or 'not decided'}"
        )
    verdicts = [case.verdict(arguments.limit) for case in cases]
    mean = math.exp(math.fsum(math.log(median(case.ratios)) for case in cases) / len(cases))
    print(
        f"geometric mean {mean:.3f}; {verdicts.count('holds')} hold {arguments.limit}, "
        f"{verdicts.count('exceeds')} exceed it, {verdicts.count('')} are not decided"
    )
    if arguments.json:
        machine = {"machine": platform.machine(), "processors": os.cpu_count(), "load": os.getloadavg()[0]}
        rows = [{"case": c.name, "ratios": c.ratios, "verdict": c.verdict(arguments.limit)} for c in cases]
        arguments.json.write_text(json.dumps({"machine": machine, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
