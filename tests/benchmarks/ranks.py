# SPDX-License-Identifier: Apache-2.0
"""Measures the cost of recording an MPI job with many ranks: wall time, and processor time per rank.

Runs tests/programs/ranks/jobs.c in four variants: without the tool, with the tool alone (no command of
ompass), by one launch (`ompass run -- mpirun`), and by a launch for each rank (`mpirun ompass run`). A round
runs every variant once, in random order. Prints medians, and the ratio of wall times to the variant without
the tool within a round. Needs OpenMPI, a libomp and an otherwise idle machine.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ompass.launch.plan import RunOptions, plan_here
from ompass.launch.program import inspect_program

PROGRAMS = Path(__file__).resolve().parents[1] / "programs"
SCRIPT = f"""#!{sys.executable}
import sys
from ompass.__main__ import main
sys.exit(main())
"""
"""The command `ompass`, as current versions of pip write it. Earlier ones also import `re`, for 8 ms."""
SETTINGS = {
    "OMP_NUM_THREADS": "1",
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
}


def compiled(folder: Path) -> Path:
    program = folder / "jobs"
    flags = ["-O1", "-g", "-fopenmp", f"-I{PROGRAMS}", str(PROGRAMS / "ranks" / "jobs.c")]
    subprocess.run(["mpicc", *flags, "-o", str(program)], check=True)
    return program


def installed(folder: Path) -> Path:
    script = folder / "ompass"
    script.write_text(SCRIPT, encoding="utf-8")
    script.chmod(0o755)
    return script


def cost(words: list[str], environ: dict[str, str], scratch: Path) -> tuple[float, float]:
    """Returns wall and processor seconds of a command.

    Keeps its recordings in a new folder of `scratch`: ext4 creates files slowly just after it removed some.
    """
    folder = tempfile.mkdtemp(dir=scratch)
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(words, env=environ, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    wall_s = time.monotonic() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall_s, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--ranks", type=int, default=64)
    parser.add_argument(
        "--job", nargs=2, default=["even", "6"], metavar=("KIND", "N"), help="arguments of jobs.c"
    )
    arguments = parser.parse_args()
    scratch = Path(tempfile.mkdtemp())
    program = compiled(scratch)
    environ = {**os.environ, **SETTINGS}
    _, plan = plan_here(inspect_program(str(program), environ), RunOptions(), environ, scratch)
    tool = {**environ, **plan.variables, "OMPASS_SUMMARY": "off"}
    job = [str(program), *arguments.job]
    mpirun = ["mpirun", "-n", str(arguments.ranks)]
    ompass = [str(installed(scratch)), "run", "-q", "--no-report", "--"]
    variants = {
        "none": ([*mpirun, *job], environ),
        "tool": ([*mpirun, *job], tool),
        "one launch": ([*ompass, *mpirun, *job], environ),
        "a launch each": ([*mpirun, *ompass, *job], environ),
    }
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in variants}
    for _ in range(arguments.rounds):
        for name in random.sample(list(variants), len(variants)):
            taken[name].append(cost(*variants[name], scratch))
    for name, costs in taken.items():
        wall_s, cpu_s = (statistics.median(values) for values in zip(*costs, strict=True))
        ratio = statistics.median(a[0] / b[0] for a, b in zip(costs, taken["none"], strict=True))
        more = statistics.median(a[1] - b[1] for a, b in zip(costs, taken["none"], strict=True))
        per_rank = f"{1000 * more / arguments.ranks:.0f} ms more per rank"
        print(f"{name:14} {wall_s:6.2f} s ({ratio:.2f} times)  {cpu_s:6.2f} s of processor time, {per_rank}")
    shutil.rmtree(scratch)


if __name__ == "__main__":
    main()
