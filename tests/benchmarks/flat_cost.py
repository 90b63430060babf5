#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures whether the cost of an operation grows with the length of a chain that a program makes.

Runs each kind of flat_cost.c (depth, children, dependences, locks, threads, …) at lengths 10, 1,000 and
100,000: stock, with the extension, and recorded as profile and as trace. Reports nanoseconds of processor
time for each operation (the least of all rounds), the growth from 1,000 to the greatest length, and a
judgement:

    flat         at most 1.5 times the cost at 1,000
    as stock     grows at most 1.5 times as much as the cost of the stock runtime, as a factor or in
                 nanoseconds, because long chains exceed the caches
    GROWS        grows more; the exit code is 1

Needs the build (release preset) and a clang. All kinds take about 15 minutes.

    tests/benchmarks/flat_cost.py                                  # all kinds and ways
    tests/benchmarks/flat_cost.py --kind depth --way extension     # the stock runtime always runs, too
    tests/benchmarks/flat_cost.py --json F
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
BUILD = REPOSITORY / "build" / "release"
SOURCE = Path(__file__).with_name("flat_cost.c")
COMPILERS = ("clang-19", "clang-18", "clang-17", "clang-16", "clang")

LENGTHS = (10, 1_000, 100_000)
BASE_LENGTH = 1_000
MOST_GROWTH = 1.5
STOCK = "stock"


@dataclass(frozen=True)
class Kind:
    """One kind of chain, and the program that makes it."""

    program: Path
    name: str
    longest: int
    meaning: str

    def lengths(self) -> list[int]:
        """Returns the lengths at which the kind is measured, in increasing order."""
        return sorted({min(length, self.longest) for length in LENGTHS})


def ways(tool: Path, extension: Path) -> dict[str, dict[str, str]]:
    """Returns the environment variables that each way of running a program sets."""
    scheduled = {"LD_PRELOAD": str(extension), "OMP_EXT_SCHEDULE": "1"}
    profile = {"LD_PRELOAD": str(tool), "OMPASS_MODE": "profile", "OMPASS_SUMMARY": "off"}
    both = scheduled | profile | {"LD_PRELOAD": f"{extension} {tool}"}
    return {
        STOCK: {},
        "extension": scheduled,
        "profile": profile,
        "trace": profile | {"OMPASS_MODE": "trace"},
        "extension-runtime": scheduled | {"OMP_EXT_TASKS": "runtime"},
        "extension-relaxed": scheduled | {"OMP_EXT_TIED": "relaxed"},
        "extension-strict": scheduled | {"OMP_EXT_STRICT": "1", "OMP_EXT_DOMAINS": "2"},
        "extension-profile": both,
    }


# The ways that run by default. Others run only if --way names them.
USUAL_WAYS = (STOCK, "extension", "profile", "trace")


def compile_program(directory: Path, *flags: str) -> Path:
    """Compiles flat_cost.c with the first compiler that can; returns the program."""
    program = directory / ("flat_cost" + "".join(flags))
    for compiler in filter(shutil.which, COMPILERS):
        command = [compiler, "-O2", "-fopenmp", *flags, str(SOURCE), "-o", str(program)]
        if subprocess.run(command, capture_output=True, check=False).returncode == 0:
            return program
    sys.exit(f"flat_cost.py: none of {', '.join(COMPILERS)} compiles {SOURCE.name}")


def kinds_of(program: Path) -> list[Kind]:
    """Returns the kinds that the program lists."""
    listed = subprocess.run([program, "list"], capture_output=True, text=True, check=True).stdout
    rows = (line.split(" ", 2) for line in listed.splitlines())
    return [Kind(program, name, int(longest), meaning) for name, longest, meaning in rows]


def allow_deep_stacks() -> None:
    """Raises the limit of the first thread's stack as far as the system allows, for the deepest chains."""
    _, hard = resource.getrlimit(resource.RLIMIT_STACK)
    resource.setrlimit(resource.RLIMIT_STACK, (hard, hard))


def run_once(
    kind: Kind, length: int, settings: dict[str, str], operations: int, timeout_s: float
) -> float | None:
    """Returns the nanoseconds per operation; None if the program fails or takes too long."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("OMP", "KMP_", "LD_"))}
    if "LD_LIBRARY_PATH" in os.environ:
        own["LD_LIBRARY_PATH"] = os.environ["LD_LIBRARY_PATH"]  # the runtime under test
    with tempfile.TemporaryDirectory() as scratch:
        common = {"OMP_STACKSIZE": "1G", "OMP_EXT_STACKSIZE": "4M", "OMPASS_DIR": f"{scratch}/run"}
        try:
            finished = subprocess.run(
                [kind.program, kind.name, str(length), str(operations)],
                env=own | common | settings,
                capture_output=True,
                text=True,
                check=False,
                timeout=timeout_s,
                preexec_fn=allow_deep_stacks,
            )
        except subprocess.TimeoutExpired:
            return None
    if finished.returncode != 0:
        print(
            f"{kind.name} of {length} ended with {finished.returncode}: {finished.stderr.strip()}",
            file=sys.stderr,
        )
        return None
    result = json.loads(finished.stdout)
    return float(result["seconds"]) * 1e9 / int(result["operations"])


def growth(nanoseconds: dict[int, float | None]) -> float | None:
    """Returns the cost at the greatest length, divided by that at BASE_LENGTH."""
    longest, base = nanoseconds[max(nanoseconds)], nanoseconds[BASE_LENGTH]
    return longest / base if longest is not None and base else None


def added_ns(nanoseconds: dict[int, float | None]) -> float | None:
    """Returns the cost at the greatest length minus that at BASE_LENGTH."""
    longest, base = nanoseconds[max(nanoseconds)], nanoseconds[BASE_LENGTH]
    return longest - base if longest is not None and base is not None else None


def judgement(own: dict[int, float | None], stock: dict[int, float | None]) -> str:
    """Returns "flat", "as stock" or "GROWS".

    A growth is unknown if a run failed or timed out. If the stock runtime's growth is unknown, every cost
    that is not flat is "as stock". If only this way's own growth is unknown, the cost "GROWS".
    """
    own_growth, stock_growth = growth(own), growth(stock)
    if own_growth is not None and own_growth <= MOST_GROWTH:
        return "flat"
    if stock_growth is None:
        return "as stock"
    own_added, stock_added = added_ns(own), added_ns(stock)
    if own_growth is None or own_added is None or stock_added is None:
        return "GROWS"
    grows_as_stock = stock_growth > MOST_GROWTH and own_growth <= MOST_GROWTH * stock_growth
    return "as stock" if grows_as_stock or own_added <= MOST_GROWTH * stock_added else "GROWS"


def measure(
    kind: Kind,
    chosen: dict[str, dict[str, str]],
    rounds: int,
    operations: int,
    timeout_s: float,
) -> Iterator[dict[str, object]]:
    """Yields one row for each way: its cost at each length, its growth, and the judgement."""
    least: dict[str, dict[int, float | None]] = {way: dict.fromkeys(kind.lengths()) for way in chosen}
    for _ in range(rounds):
        for length in kind.lengths():
            for way, settings in chosen.items():
                taken = run_once(kind, length, settings, operations, timeout_s)
                before = least[way][length]
                if taken is not None and (before is None or taken < before):
                    least[way][length] = taken
    for way, nanoseconds in least.items():
        yield {
            "kind": kind.name,
            "meaning": kind.meaning,
            "way": way,
            "nanoseconds": {str(length): value for length, value in nanoseconds.items()},
            "growth": growth(nanoseconds),
            "judgement": judgement(nanoseconds, least[STOCK]),
        }


def line_of(row: dict[str, object]) -> str:
    """Returns a row as text."""
    nanoseconds, own = row["nanoseconds"], row["growth"]
    assert isinstance(nanoseconds, dict)
    cells = " ".join(
        f"{length:>7}: {'-' if value is None else format(value, '.0f'):>8}"
        for length, value in nanoseconds.items()
    )
    times = "-" if own is None else f"{own:.2f}"
    return f"{row['kind']:28} {row['way']:18} {cells}  ns, growth {times:>6}  {row['judgement']}"


def main() -> int:
    """Measures and prints. Returns 1 if a cost grows."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kind", action="append", default=[], help="a kind, or a prefix of its name")
    parser.add_argument("--way", action="append", default=[], help=f"default: {', '.join(USUAL_WAYS)}")
    parser.add_argument("--rounds", type=int, default=3, help="rounds; the fastest counts (default 3)")
    parser.add_argument(
        "--operations", type=int, default=100_000, help="operations of a run (default 100,000)"
    )
    parser.add_argument(
        "--timeout", type=float, default=60.0, metavar="SECONDS", help="time limit of a run (default 60)"
    )
    parser.add_argument("--tool", type=Path, default=BUILD / "lib" / "libompass.so")
    parser.add_argument("--extension", type=Path, default=BUILD / "lib" / "libomp_ext.so")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures there")
    arguments = parser.parse_args()
    for library in (arguments.tool, arguments.extension):
        if not library.is_file():
            parser.error(f"{library} does not exist: ./run build")
    known = ways(arguments.tool.resolve(), arguments.extension.resolve())
    names = dict.fromkeys((STOCK, *(arguments.way or USUAL_WAYS)))
    if unknown := [name for name in names if name not in known]:
        parser.error(f"--way: {unknown[0]} is not one of {', '.join(known)}")
    rows: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as scratch:
        with_events, plain = (compile_program(Path(scratch), *flags) for flags in (["-DEVENTS"], []))
        kinds = {kind.name: kind for kind in (*kinds_of(with_events), *kinds_of(plain))}
        for kind in kinds.values():
            if arguments.kind and not kind.name.startswith(tuple(arguments.kind)):
                continue
            chosen = {name: known[name] for name in names}
            for row in measure(kind, chosen, arguments.rounds, arguments.operations, arguments.timeout):
                rows.append(row)
                print(line_of(row), flush=True)
    if arguments.json:
        machine = {"processors": os.cpu_count(), "load": os.getloadavg()[0]}
        arguments.json.write_text(json.dumps({"machine": machine, "rows": rows}, indent=1) + "\n")
    return int(any(row["judgement"] == "GROWS" for row in rows))


if __name__ == "__main__":
    sys.exit(main())
