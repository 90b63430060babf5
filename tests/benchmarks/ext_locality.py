#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the gain from placing tasks on this machine, with health and heat and one domain per cache.

Each round times three ways in turn. `stock` is the version `tasks` on the runtime alone; `unplaced` is the
same version under the scheduler, without placement; `placed` is the version `locality` in strict mode. The
data fit into all caches together, but not into one. After the timed rounds, Ompass records each way once,
for the breakdown of thread time. Needs the build (release preset), the command `ompass` and an idle machine.

    tests/benchmarks/ext_locality.py                       # table
    tests/benchmarks/ext_locality.py --domains l2 --rounds 15 --json
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]
BUILD = REPOSITORY / "build" / "release"
STATES = ("work_ns", "create_ns", "schedule_ns", "sync_ns", "idle_ns")

# Sizes for two L2 caches of 512 KiB: two plates of 200 x 200 doubles take 640 KiB, health with 5 levels about
# 800 KiB.
INPUTS = {
    "heat": ("--size", "200", "--steps", "500", "--cutoff", "manual", "--grain", "16"),
    "health": ("--class", "test", "--cutoff", "manual"),
}


def ways(domains: str, library: Path) -> dict[str, tuple[str, dict[str, str]]]:
    """Returns the version of the program and its environment for each way, by name."""
    scheduled = {"LD_PRELOAD": str(library), "OMP_EXT_SCHEDULE": "1", "OMP_EXT_DOMAINS": domains}
    return {
        "stock": ("tasks", {}),
        "unplaced": ("tasks", scheduled),
        "placed": ("locality", {**scheduled, "OMP_EXT_STRICT": "1"}),
    }


def environment(more: dict[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OMP_", "KMP_"))}
    return kept | more


def time_run(program: Path, options: tuple[str, ...], settings: dict[str, str]) -> float:
    """Returns the seconds that the program reports; exits if it fails."""
    command = [str(program), *options, "--json"]
    finished = subprocess.run(
        command, env=environment(settings), capture_output=True, text=True, check=False, timeout=600
    )
    if finished.returncode != 0:
        sys.exit(f"ext_locality.py: {' '.join(command)} failed:\n{finished.stdout}{finished.stderr}")
    return float(json.loads(finished.stdout)["seconds"])


def breakdown(ompass: str, program: Path, options: tuple[str, ...], settings: dict[str, str]) -> Any:
    """Records a run; returns the shares of its thread time, and the locality figures."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        command = [
            ompass,
            "run",
            "--no-report",
            "--report-json",
            str(report),
            "-o",
            f"{folder}/run.ompass",
            "--",
        ]
        finished = subprocess.run(
            [*command, str(program), *options],
            env=environment(settings),
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )
        if finished.returncode != 0:
            sys.exit(f"ext_locality.py: ompass run failed:\n{finished.stdout}{finished.stderr}")
        found = json.loads(report.read_text())
        shares = {state.removesuffix("_ns"): found[state] / found["thread_time_ns"] for state in STATES}
        work_s = found["work_ns"] / 1e9
        return {"shares": shares, "work_seconds": work_s, "locality": found.get("locality")}


def measure(arguments: argparse.Namespace, name: str) -> list[dict[str, Any]]:
    """Times all ways of one program, and records each."""
    options = (*INPUTS[name], "--threads", str(arguments.threads))
    seconds: dict[str, list[float]] = {}
    compared = ways(arguments.domains, arguments.library.resolve())
    for number in range(arguments.rounds + 1):
        for way, (version, settings) in compared.items():
            taken = time_run(BUILD / "bots" / f"{name}-{version}", options, settings)
            if number > 0:
                seconds.setdefault(way, []).append(taken)
    stock = statistics.median(seconds["stock"])
    rows = []
    for way, (version, settings) in compared.items():
        row = {
            "program": name,
            "way": way,
            "seconds": statistics.median(seconds[way]),
            "seconds_min": min(seconds[way]),
            "ratio": statistics.median(seconds[way]) / stock,
            "ratio_of_minima": min(seconds[way]) / min(seconds["stock"]),
            "rounds": arguments.rounds,
        }
        if arguments.ompass:
            row |= breakdown(arguments.ompass, BUILD / "bots" / f"{name}-{version}", options, settings)
        rows.append(row)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=101, help="rounds after a warm-up round (default 101)")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--domains", default="l2", help="OMP_EXT_DOMAINS (default l2)")
    parser.add_argument("--only", choices=sorted(INPUTS), help="one program")
    parser.add_argument("--library", type=Path, default=BUILD / "lib" / "libomp_ext.so")
    found = REPOSITORY / ".venv" / "bin" / "ompass"
    default = str(found) if found.is_file() else shutil.which("ompass")
    parser.add_argument("--ompass", default=default, help="the command that records; empty: no recording")
    parser.add_argument("--json", action="store_true", help="print JSON")
    arguments = parser.parse_args()
    if arguments.rounds < 1:
        parser.error("--rounds must be at least 1")
    names = [arguments.only] if arguments.only else sorted(INPUTS)
    if not arguments.library.is_file() or not all(
        (BUILD / "bots" / f"{name}-locality").is_file() for name in names
    ):
        parser.error("the library or a program is not built: ./run build")
    rows = [row for name in names for row in measure(arguments, name)]
    if arguments.json:
        machine = {"machine": platform.machine(), "processors": os.cpu_count(), "load": os.getloadavg()[0]}
        json.dump({"machine": machine, "rows": rows}, sys.stdout, indent=1)
        print()
        return
    for row in rows:
        shares = "  ".join(f"{state} {share:.1%}" for state, share in row.get("shares", {}).items())
        print(
            f"{row['program']:8} {row['way']:9} {row['seconds'] * 1e3:9.2f} ms  {row['ratio']:6.3f} "
            f"(minima {row['ratio_of_minima']:.3f})  {shares}"
        )


if __name__ == "__main__":
    main()
