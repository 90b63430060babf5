# SPDX-License-Identifier: Apache-2.0
"""`./run fuzz`: runs the fuzzer on the golden runs, the inputs that it kept earlier, and their mutations."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile

import toolchains
from fuzz import seeds

BUILD = toolchains.REPOSITORY / "build" / "fuzz"
TIMEOUT_S = 20  # of one input
MEMORY_MB = 3000


def main() -> int:
    arguments = parsed()
    made, corpus = BUILD / "seeds", BUILD / "corpus"
    seeds.write(made)
    corpus.mkdir(exist_ok=True)
    if arguments.keep:
        first = {path.name for path in made.iterdir()}
        # The merge adds inputs of the corpus that reach new code to the first inputs.
        status = run_fuzzer("-merge=1", "-use_counters=0", str(made), str(corpus))
        seeds.keep(path for path in made.iterdir() if path.name not in first)
        return status
    return run_fuzzer(
        f"-max_total_time={arguments.seconds}",
        f"-timeout={TIMEOUT_S}",
        f"-fork={arguments.at_once}",
        *("-ignore_crashes=1", "-ignore_timeouts=1", "-ignore_ooms=1") * arguments.go_on,
        *map(str, (corpus, made)),
    )


def run_fuzzer(*arguments: str) -> int:
    """Runs the fuzzer to its end; returns its status."""
    command = [
        str(BUILD / "bin" / "ompass-fuzz-run"),
        f"-rss_limit_mb={MEMORY_MB}",
        f"-artifact_prefix={BUILD}/",
        "-max_len=1000000",
        *arguments,
    ]
    options = {"ASAN_OPTIONS": "detect_leaks=0", "UBSAN_OPTIONS": "print_stacktrace=1"}
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="ompass-fuzz-", dir=memory) as scratch:
        environment = os.environ | options | {"TMPDIR": scratch}
        return subprocess.run(command, env=environment, cwd=BUILD, check=False).returncode


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="./run fuzz",
        description="Fuzz the readers of run directories under sanitizers. Inputs that reach new code are "
        "kept in build/fuzz/corpus; an input that fails is kept as build/fuzz/crash-…, timeout-… or oom-…, "
        "which `build/fuzz/bin/ompass-fuzz-run FILE` repeats.",
    )
    parser.add_argument("seconds", nargs="?", type=int, default=60, help="duration (60)")
    parser.add_argument("--at-once", type=int, default=1, metavar="N", help="processes (1)")
    parser.add_argument(
        "--keep", action="store_true", help="do not fuzz; add found inputs to tests/fuzz/found.tar.xz"
    )
    parser.add_argument("--go-on", action="store_true", help="continue after a failure")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
