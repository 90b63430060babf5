# SPDX-License-Identifier: Apache-2.0
"""Times four ways to compute reuse distances: exact on one thread or several, a Fenwick tree, and sampling.

Each variant runs in a separate process, interleaved with the others, on the same accesses to --blocks blocks
of 4 KiB. Their order is uniform (the hardest: nothing is in cache), follows Zipf's law, or is a loop.
Seconds are wall time for the variant `threads`, and CPU time for the others, because a busy machine changes
CPU time less. Prints a table of the fastest runs and writes JSON. Run it with the Python that has the package
installed; needs a C++ compiler.
"""

import argparse
import ctypes
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

BLOCK_BYTES = 4096
L2_BYTES, LLC_BYTES = 1 << 20, 32 << 20
VARIANTS = ("olken", "exact", "threads", "sampled")
ORDERS = ("uniform", "zipf", "loop")


def accesses(order: str, n: int, n_blocks: int) -> np.ndarray[Any, np.dtype[np.uint64]]:
    """Returns the addresses of n block accesses."""
    random = np.random.default_rng(1)
    if order == "uniform":
        block = random.integers(0, n_blocks, n, dtype=np.uint64)
    elif order == "zipf":
        ranks = np.minimum(random.zipf(1.2, n), n_blocks) - 1
        block = random.permutation(n_blocks).astype(np.uint64)[ranks]
    else:
        block = np.arange(n, dtype=np.uint64) % np.uint64(n_blocks)
    address: np.ndarray[Any, np.dtype[np.uint64]] = np.uint64(1 << 32) + block * np.uint64(BLOCK_BYTES)
    return address


def run_olken(
    library: Path, address: np.ndarray[Any, Any], n_bytes: np.ndarray[Any, Any]
) -> tuple[list[int], int]:
    function = ctypes.CDLL(str(library)).olken
    bins, cold = np.zeros(64, dtype=np.uint64), np.zeros(1, dtype=np.uint64)
    pointer = ctypes.c_void_p
    function(
        pointer(address.ctypes.data),
        pointer(n_bytes.ctypes.data),
        ctypes.c_uint64(len(address)),
        pointer(bins.ctypes.data),
        pointer(cold.ctypes.data),
    )
    return [int(x) for x in bins], int(cold[0])


def run_core(columns: list[np.ndarray[Any, Any]], rate: float, n_jobs: int) -> tuple[list[int], int]:
    from ompass import _core

    address, n_bytes, write, group, kernel = columns
    classes = [(L2_BYTES, LLC_BYTES)]
    result = _core.reuse_of_accesses(
        address, n_bytes, write, group, kernel, classes, rate=rate, block_bytes=BLOCK_BYTES, n_jobs=n_jobs
    )
    (found,) = result.groups[0].kernels
    return list(found.bins), found.cold_bytes


def measure(
    variant: str, order: str, n: int, n_blocks: int, rate: float, n_jobs: int, library: Path
) -> dict[str, Any]:
    address = accesses(order, n, n_blocks)
    n_bytes = np.full(n, BLOCK_BYTES, dtype=np.uint64)
    # write, group, kernel; filled before the measurement, so their pages exist
    others = [np.full(n, 0, dtype) for dtype in (np.uint8, np.uint16, np.uint32)]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    clock = time.perf_counter if variant == "threads" else time.process_time
    start = clock()
    if variant == "olken":
        bins, cold = run_olken(library, address, n_bytes)
    else:
        bins, cold = run_core(
            [address, n_bytes, *others],
            rate if variant == "sampled" else 1.0,
            n_jobs if variant == "threads" else 1,
        )
    seconds = clock() - start
    peak_bytes = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    return {"seconds": seconds, "peak_bytes": peak_bytes, "bins": bins, "cold_bytes": cold}


def largest_error(found: dict[str, Any], true: dict[str, Any]) -> float:
    """Returns the largest difference of the two cumulative distributions, over all bins."""
    shares = [np.cumsum([*run["bins"], run["cold_bytes"]]) for run in (found, true)]
    return float(max(abs(shares[0] / shares[0][-1] - shares[1] / shares[1][-1])))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--accesses", type=int, default=50_000_000)
    parser.add_argument("--blocks", type=int, default=1_000_000)
    parser.add_argument("--rate", type=float, default=0.01, help="rate of the sample")
    parser.add_argument("--jobs", type=int, default=2, help="threads of the variant `threads`")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--order", choices=ORDERS, action="append", help="default: all")
    parser.add_argument("--json", type=Path, help="write all runs there")
    parser.add_argument("--one", choices=VARIANTS, help=argparse.SUPPRESS)
    parser.add_argument("--library", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        run = measure(
            arguments.one,
            arguments.order[0],
            arguments.accesses,
            arguments.blocks,
            arguments.rate,
            arguments.jobs,
            arguments.library,
        )
        print(json.dumps(run))
        return
    results: dict[str, dict[str, list[dict[str, Any]]]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        library = Path(scratch) / "libolken.so"
        source = Path(__file__).with_name("olken_baseline.cpp")
        subprocess.run(
            ["c++", "-std=c++20", "-O2", "-fPIC", "-shared", str(source), "-o", str(library)], check=True
        )
        for order in arguments.order or ORDERS:
            results[order] = {variant: [] for variant in VARIANTS}
            for _ in range(arguments.repeat):
                for variant in VARIANTS:
                    command = [sys.executable, __file__, "--one", variant, "--order", order]
                    command += ["--accesses", str(arguments.accesses), "--blocks", str(arguments.blocks)]
                    command += ["--rate", str(arguments.rate), "--library", str(library)]
                    command += ["--jobs", str(arguments.jobs)]
                    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
                    results[order][variant].append(json.loads(output))
    print(f"{'order':<10}{'variant':<10}{'best s':>9}{'median s':>10}{'M/s':>8}{'MiB':>8}{'error':>9}")
    for order, runs in results.items():
        exact = runs["exact"][0]
        for variant in ("olken", "threads"):
            other = runs[variant][0]
            if [exact["bins"], exact["cold_bytes"]] != [other["bins"], other["cold_bytes"]]:
                sys.exit(f"{order}: the variant {variant} found other exact distances")
        for variant, samples in runs.items():
            seconds = [sample["seconds"] for sample in samples]
            error = largest_error(samples[0], exact)
            print(
                f"{order:<10}{variant:<10}{min(seconds):>9.2f}{statistics.median(seconds):>10.2f}"
                f"{arguments.accesses / min(seconds) / 1e6:>8.1f}{samples[0]['peak_bytes'] / 2**20:>8.0f}"
                f"{error:>9.4f}"
            )
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
