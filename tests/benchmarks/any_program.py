# SPDX-License-Identifier: Apache-2.0
"""Measures the cost of recording any program, such as one of a suite outside of this project.

    OMP_STACKSIZE=1G python tests/benchmarks/any_program.py --rounds 5 -- ./uts -f tiny.input

Every round runs the program stock, with a recorded profile and with a recorded trace, in random order. Prints
as JSON, for each way, the median of the wall and processor times in seconds, and the median and quartiles of
their ratios to the stock run of the same round. Needs the library (--library) and an otherwise idle machine.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import monotonic
from typing import Final

STOCK: Final = "stock"
WAYS: Final = (STOCK, "profile", "trace")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--library", type=Path, default=Path("build/release/lib/libompass.so"))
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("program", nargs="+", help="the program and its arguments, after --")
    arguments = parser.parse_args()
    library = arguments.library.resolve()
    if not library.is_file():
        parser.error(f"{library} does not exist: ./run build makes it")
    rounds = []
    for number in range(arguments.rounds):
        ways = random.sample(WAYS, len(WAYS))
        rounds.append({way: run(arguments.program, way, library) for way in ways})
        print(f"round {number + 1} of {arguments.rounds}", file=sys.stderr)
    text = json.dumps({way: summary(rounds, way) for way in WAYS}, indent=1)
    print(text)
    if arguments.output:
        arguments.output.write_text(text + "\n", encoding="utf-8")
    return 0


def run(program: Sequence[str], way: str, library: Path) -> dict[str, float]:
    """Runs the program once; returns its wall and processor time in seconds. Exits if the program fails."""
    environment = dict(os.environ)
    with tempfile.TemporaryDirectory() as folder:
        if way != STOCK:
            environment |= {
                "LD_PRELOAD": str(library),
                "OMP_TOOL_LIBRARIES": str(library),
                "OMPASS_MODE": way,
                "OMPASS_DIR": f"{folder}/run.ompass",
                "OMPASS_SUMMARY": "off",
            }
        before, begin = _processor_s(), monotonic()
        done = subprocess.run(program, env=environment, stdout=subprocess.DEVNULL, check=False)
        wall_s, processor_s = monotonic() - begin, _processor_s() - before
    if done.returncode != 0:
        sys.exit(f"{program[0]} ended with status {done.returncode} ({way})")
    return {"wall_s": wall_s, "processor_s": processor_s}


def _processor_s() -> float:
    use = resource.getrusage(resource.RUSAGE_CHILDREN)
    return use.ru_utime + use.ru_stime


def summary(rounds: Sequence[dict[str, dict[str, float]]], way: str) -> dict[str, object]:
    """Returns the medians of one way, and its ratios to the stock runs: [quartile, median, quartile]."""
    result: dict[str, object] = {}
    for figure in ("wall_s", "processor_s"):
        ratios = [one[way][figure] / one[STOCK][figure] for one in rounds]
        result[figure] = round(statistics.median(one[way][figure] for one in rounds), 4)
        spread = statistics.quantiles(ratios, n=4, method="inclusive") if len(ratios) > 1 else ratios * 3
        result[figure.replace("_s", "_ratio")] = [round(ratio, 3) for ratio in spread]
    return result


if __name__ == "__main__":
    sys.exit(main())
