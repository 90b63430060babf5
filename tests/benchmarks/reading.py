# SPDX-License-Identifier: Apache-2.0
"""Measures the time and memory of reading a trace, from log to breakdown.

Records two traces of the benchmark program fib: one with deferred tasks, one with undeferred tasks, which are
packed several to a word. Replays each in a separate process, prints a table and writes JSON. Run it with the
Python that has the package installed; needs the build (release preset).
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
CASES = {
    "deferred": "--cutoff none --size 31",
    "undeferred": "--cutoff if --size 35 --depth 10",
}
# Peak resident memory includes the pages of the mapped log. The table divides it by the length of the log.
REPLAY = """
import json, resource, sys, time
from ompass import _core
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
start = time.perf_counter()
run = _core.replay_trace(sys.argv[1])
seconds = time.perf_counter() - start
tasks = sum(row.n_completed for row in run.constructs)
undeferred = sum(row.n_undeferred for row in run.constructs)
print(json.dumps({
    "seconds": seconds, "tasks": tasks, "undeferred": undeferred, "log_bytes": run.log_bytes,
    "records": sum(row.n_events for row in run.threads),
    "peak_bytes": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024,
}))
"""


def record(case: str, directory: Path, build: Path, threads: int) -> Path:
    run = directory / f"{case}.ompass"
    environment = os.environ | {
        "OMP_TOOL_LIBRARIES": str(build / "lib/libompass.so"),
        "OMPASS_MODE": "trace",
        "OMPASS_DIR": str(run),
        "OMPASS_SUMMARY": "off",
    }
    command = [str(build / "bots/fib-tasks"), "--threads", str(threads), *CASES[case].split()]
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    return run


def replay(run: Path) -> dict[str, float]:
    command = [sys.executable, "-c", REPLAY, str(run)]
    output = subprocess.run(command, check=True, capture_output=True, text=True)
    result: dict[str, float] = json.loads(output.stdout)
    # A deferred task has several records. The packed begin and end of an undeferred task count as two.
    packed = 2 * result["undeferred"]
    result["events"] = max(result["records"], packed)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2, help="threads of the recorded program")
    parser.add_argument("--build", type=Path, default=REPOSITORY / "build/release")
    parser.add_argument("--json", type=Path, help="write all samples to this file")
    arguments = parser.parse_args()
    results: dict[str, list[dict[str, float]]] = {}
    with tempfile.TemporaryDirectory(dir=arguments.build) as scratch:
        for case in CASES:
            run = record(case, Path(scratch), arguments.build, arguments.threads)
            results[case] = [replay(run) for _ in range(arguments.repeat)]
    print(
        f"{'case':<12}{'tasks':>12}{'events':>14}{'events/s':>12}{'log MiB':>9}"
        f"{'bytes/task':>12}{'memory/log':>12}"
    )
    for case, samples in results.items():
        rate = statistics.median(sample["events"] / sample["seconds"] for sample in samples)
        memory = statistics.median(sample["peak_bytes"] / sample["log_bytes"] for sample in samples)
        first = samples[0]
        print(
            f"{case:<12}{first['tasks']:>12,.0f}{first['events']:>14,.0f}{rate / 1e6:>10.1f} M"
            f"{first['log_bytes'] / 2**20:>9.1f}{first['log_bytes'] / first['tasks']:>12.1f}{memory:>12.2f}"
        )
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
