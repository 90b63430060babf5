# SPDX-License-Identifier: Apache-2.0
"""Measures the cost of strict mode for a recursion that places every level, relative to a relaxed run.

Runs tree.c (depth 16, five regions) and fig8.c with a split on every level (depth 14), alternately in strict
and in relaxed mode, on several numbers of threads and domains. Prints medians and quartiles of the ratios
within a round, and the numbers of rescues and of tasks that ran outside their domain. Also prints the
round-trip time of a cache line between two processors, because the cost depends on it. Writes JSON. Needs the
build (release preset), clang 19, and an idle machine.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from ext_programs import compile_with_ext
from toolchains import compile_source, toolchain_named

SHAPES = ((2, 2), (4, 2), (4, 4), (8, 4))
PROGRAMS = {"tree": ("ext/tree.c", (), ("16", "5")), "fig8": ("ext/fig8.c", ("-DEVERY_LEVEL",), ("14", "4"))}


def run(program: Path, words: tuple[str, ...], threads: int, domains: int, strict: bool) -> dict[str, float]:
    """Returns the median time in ms, and counts.

    fig8 ends with an error if a task ran outside its domain. In relaxed mode, ignores this error.
    """
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("OMP", "KMP"))}
    environ |= {"OMP_NUM_THREADS": str(threads), "OMP_EXT_DOMAINS": str(domains)}
    environ |= {"OMP_EXT_STRICT": str(int(strict)), "OMP_EXT_SCHEDULE": "1"}
    done = subprocess.run([program, *words], env=environ, check=strict, capture_output=True, text=True).stdout
    times = [float(word) for word in done.split(";")[0].split()[1:]]
    rescued = re.search(r"rescued (\d+)", done)
    outside = re.search(r"outside (\d+)", done)
    return {
        "ms": statistics.median(times),
        "outside": int(outside[1]) if outside else 0,
        "rescued": int(rescued[1]) if rescued else 0,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--only", choices=sorted(PROGRAMS))
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures to FILE")
    arguments = parser.parse_args()
    toolchain = toolchain_named("clang-19")
    ping = compile_source("../benchmarks/cache_line.c", toolchain, opt_level="-O2")
    found: list[dict[str, object]] = []
    for name, (source, flags, words) in PROGRAMS.items():
        if arguments.only not in (None, name):
            continue
        program = compile_with_ext(source, toolchain, *flags)
        for threads, domains in SHAPES:
            line_ns = [float(subprocess.run([ping], check=True, capture_output=True).stdout)]
            rounds = [
                (run(program, words, threads, domains, True), run(program, words, threads, domains, False))
                for _ in range(arguments.rounds)
            ]
            line_ns.append(float(subprocess.run([ping], check=True, capture_output=True).stdout))
            ratios = [strict["ms"] / free["ms"] for strict, free in rounds]
            low, middle, high = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else ratios * 3
            outside, rescued = (sum(strict[what] for strict, _ in rounds) for what in ("outside", "rescued"))
            print(
                f"{name} {threads}x{domains}: {middle:.2f} ({low:.2f} to {high:.2f}), outside {outside:.0f},"
                f" rescued {rescued:.0f}; round trip of a line {min(line_ns):.0f} to {max(line_ns):.0f} ns",
                flush=True,
            )
            found.append(
                {
                    "program": name,
                    "threads": threads,
                    "domains": domains,
                    "line_ns": line_ns,
                    "rounds": rounds,
                }
            )
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
