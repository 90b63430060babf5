# SPDX-License-Identifier: Apache-2.0
"""Measures the cost of recording: programs without a tool, with an empty tool, and with libompass.so.

Every repetition runs all variants of all cases once, in random order, so a drift of the machine affects
all of them. Reports the medians of the ratios within a repetition. This file runs and measures;
overhead_report.py evaluates and formats. Needs the build (release preset), a clang with its omp-tools.h, and
an otherwise idle machine; takes about half an hour.
"""

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.overhead_report import Kind, Measurement, Sample, build_report, format_report

REPOSITORY = Path(__file__).resolve().parents[2]
EMPTY_TOOL = Path(__file__).with_name("empty_tool.c")
TOOL_CALLBACKS = REPOSITORY / "ompt_tool" / "src" / "callbacks.cpp"
COMPILERS = ("clang-19", "clang-18", "clang-17", "clang-16", "clang-15", "clang-14", "clang")
RUN_TIMEOUT_S = 600


@dataclass(frozen=True)
class Case:
    """A timed program with its input."""

    name: str
    program: str
    kind: Kind
    arguments: str
    serialised_arguments: str = ""  # for one thread, where tasks may cost much less; empty: `arguments`

    def command(self, build: Path, threads: int) -> list[str]:
        arguments = (
            self.serialised_arguments if threads == 1 and self.serialised_arguments else self.arguments
        )
        return [str(build / "bots" / self.program), "--json", "--threads", str(threads), *arguments.split()]


CASES = (
    Case("fib", "fib-tasks", Kind.COARSE, "--class small"),
    Case("nqueens", "nqueens-tasks", Kind.COARSE, "--class small"),
    Case("sort", "sort-tasks", Kind.COARSE, "--class small"),
    Case("health", "health-tasks", Kind.COARSE, "--class small"),
    Case("fib-none", "fib-tasks", Kind.FINE, "--cutoff none --size 28", "--cutoff none --size 31"),
    Case("fib-if", "fib-tasks", Kind.UNDEFERRED, "--cutoff if --size 34 --depth 14"),
    Case("nqueens-if", "nqueens-tasks", Kind.UNDEFERRED, "--cutoff if --size 14 --depth 4"),
)


@dataclass(frozen=True)
class Variant:
    """A way to run a program: without a tool, or with one."""

    name: str
    mode: str = ""  # mode of libompass.so; empty: not loaded
    wrappers: bool = False

    def environment(self, empty_tool: Path, ompass: Path, run_directory: Path) -> dict[str, str]:
        if self.name == "none":
            return {}
        if not self.mode:
            return {"OMP_TOOL_LIBRARIES": str(empty_tool)}
        switches = {"OMPASS_MODE": self.mode, "OMPASS_DIR": str(run_directory), "OMPASS_SUMMARY": "off"}
        if self.wrappers:
            return switches | {"LD_PRELOAD": str(ompass), "OMPASS_WRAPPERS": "on"}
        return switches | {"OMP_TOOL_LIBRARIES": str(ompass), "OMPASS_WRAPPERS": "off"}


VARIANTS = (
    Variant("none"),
    Variant("empty"),
    Variant("profile", "profile"),
    Variant("trace", "trace"),
    Variant("profile+wrappers", "profile", wrappers=True),
    Variant("trace+wrappers", "trace", wrappers=True),
)


class BenchmarkError(Exception):
    """The benchmark cannot continue; the message is one line for the user."""


def compile_tool(target: Path, *flags: str) -> None:
    """Compiles empty_tool.c into the library `target`, with the first compiler that has omp-tools.h."""
    target.parent.mkdir(parents=True, exist_ok=True)
    complaint = "none of them is installed"
    for compiler in filter(shutil.which, COMPILERS):
        command = [compiler, "-O2", "-shared", "-fPIC", *flags, str(EMPTY_TOOL), "-o", str(target)]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode == 0:
            return
        complaint = result.stderr.strip().splitlines()[0]
    raise BenchmarkError(f"empty_tool.c compiles with none of {', '.join(COMPILERS)}: {complaint}")


def check_callback_lists() -> None:
    """Raises BenchmarkError if the empty tool does not register the same callbacks as libompass.so."""
    source = TOOL_CALLBACKS.read_text(encoding="utf-8")
    ours = set(
        re.findall(r"^    add\(ompt_callback_(\w+)", source, re.MULTILINE)
    )  # omits callbacks that only traces need
    empty = set(re.findall(r"\bX\(\w+, (\w+),", EMPTY_TOOL.read_text(encoding="utf-8"))) - {"event"}
    if ours != empty:
        raise BenchmarkError(
            "empty_tool.c and ompt_tool/src/callbacks.cpp register different callbacks: "
            + ", ".join(sorted(ours ^ empty))
        )


class Bench:
    """Runs cases under variants; owns the compiled tools and the scratch directory."""

    def __init__(self, build: Path, scratch: Path) -> None:
        self._build = build
        self._scratch = scratch
        self._ompass = build / "lib" / "libompass.so"
        self._empty_tool = build / "benchmarks" / "empty_tool.so"
        self._counting_tool = build / "benchmarks" / "counting_tool.so"

    def prepare(self, cases: Sequence[Case], variants: Sequence[Variant]) -> None:
        """Compiles the tools; raises BenchmarkError if something is missing."""
        build_it = "build it with: cmake --preset release && cmake --build --preset release"
        for program in {case.program for case in cases}:
            if not (self._build / "bots" / program).exists():
                raise BenchmarkError(f"{self._build / 'bots' / program} does not exist; {build_it}")
        if any(variant.mode for variant in variants):
            if not self._ompass.exists():
                raise BenchmarkError(
                    f"{self._ompass} does not exist; {build_it}, or measure without it: --variants none,empty"
                )
            check_callback_lists()
        compile_tool(self._empty_tool)
        compile_tool(self._counting_tool, "-DCOUNT_EVENTS")

    def count_task_events(self, case: Case, threads: int) -> int:
        """Returns the number of task_create and task_schedule events of one run."""
        with self._scratch_directory() as directory:
            counts_file = directory / "counts.json"
            environment = {
                "OMP_TOOL_LIBRARIES": str(self._counting_tool),
                "EVENT_COUNT_FILE": str(counts_file),
            }
            self._run(case.command(self._build, threads), environment)
            if not counts_file.exists():
                raise BenchmarkError(f"{case.name}: its OpenMP runtime loads no OMPT tool")
            counts = json.loads(counts_file.read_text(encoding="utf-8"))
        return int(counts["task_create"]) + int(counts["task_schedule"])

    def sample(self, case: Case, threads: int, variant: Variant) -> Sample:
        """Runs a variant once; deletes its run directory."""
        with self._scratch_directory() as directory:
            run_directory = directory / "run.ompass"
            environment = variant.environment(self._empty_tool, self._ompass, run_directory)
            result = self._run(case.command(self._build, threads), environment)
            logs = list(run_directory.glob("thread-*.log"))
            if variant.mode and not logs:
                raise BenchmarkError(f"{case.name}, {variant.name}: libompass.so left no thread logs")
            log_bytes = sum(log.stat().st_size for log in logs)
        return Sample(
            seconds=float(result["seconds"]),
            n_tasks=int(result["tasks"]),
            trace_bytes=log_bytes if variant.mode == "trace" else None,
        )

    @contextmanager
    def _scratch_directory(self) -> Iterator[Path]:
        self._scratch.mkdir(parents=True, exist_ok=True)
        directory = Path(tempfile.mkdtemp(prefix="overhead-", dir=self._scratch))
        try:
            yield directory
        finally:
            shutil.rmtree(directory)

    def _run(self, command: list[str], environment: dict[str, str]) -> dict[str, Any]:
        clean = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("OMP_", "KMP_", "OMPASS_")) and name != "LD_PRELOAD"
        }
        result = subprocess.run(
            command,
            env=clean | environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=RUN_TIMEOUT_S,
        )
        if result.returncode != 0:
            complaint = result.stderr.strip().splitlines()[-1:] or ["no message"]
            raise BenchmarkError(f"{' '.join(command)} ended with {result.returncode}: {complaint[0]}")
        parsed: dict[str, Any] = json.loads(result.stdout)
        return parsed


def measure(
    bench: Bench, cases: Sequence[Case], variants: Sequence[Variant], threads: Sequence[int], n_repeats: int
) -> list[Measurement]:
    """Runs everything `n_repeats` times; if interrupted, returns the complete repetitions."""
    measurements = [
        (case, Measurement(case.name, case.kind, n, " ".join(case.command(Path(), n)[1:])))
        for case in cases
        for n in threads
    ]
    progress = Progress()
    for case, measurement in measurements:
        progress.show("counting events", f"{case.name}, threads: {measurement.threads}")
        measurement.n_task_events = bench.count_task_events(case, measurement.threads)
    order = random.Random(0)
    try:
        for repeat in range(n_repeats):
            round_samples: list[tuple[Measurement, dict[str, Sample]]] = []
            for case, measurement in measurements:
                samples: dict[str, Sample] = {}
                for variant in order.sample(variants, len(variants)):
                    label = f"{case.name}, threads: {measurement.threads}, {variant.name}"
                    progress.show(f"repetition {repeat + 1} of {n_repeats}", label)
                    samples[variant.name] = bench.sample(case, measurement.threads, variant)
                round_samples.append((measurement, samples))
            for measurement, samples in round_samples:
                measurement.repetitions.append(samples)
    except KeyboardInterrupt:
        progress.show("interrupted; reporting the repetitions that are complete")
    progress.show("")
    return [measurement for _, measurement in measurements]


class Progress:
    """Shows progress on stderr: one line that is replaced on a terminal, otherwise one line per stage."""

    def __init__(self) -> None:
        self._stage = ""

    def show(self, stage: str, detail: str = "") -> None:
        if sys.stderr.isatty():
            print(f"\r\033[K{stage}{': ' * bool(detail)}{detail}", end="", file=sys.stderr, flush=True)
        elif stage and stage != self._stage:
            print(stage, file=sys.stderr, flush=True)
        self._stage = stage


def parse_arguments() -> argparse.Namespace:
    def names(known: Sequence[str]) -> str:
        return "comma-separated, from: " + ", ".join(known)

    parser = argparse.ArgumentParser(
        description="Measures the cost of recording, relative to no tool and to an empty tool.",
        epilog="Example: overhead.py --cases fib-if,nqueens-if --threads 2 --variants none,empty,profile",
    )
    parser.add_argument(
        "--repeat",
        type=int,
        default=15,
        metavar="N",
        help="repetitions (default and least for a verdict: 15)",
    )
    parser.add_argument("--cases", metavar="LIST", help=names([case.name for case in CASES]))
    parser.add_argument("--variants", metavar="LIST", help=names([variant.name for variant in VARIANTS]))
    parser.add_argument("--threads", default="2,1", metavar="LIST", help="team sizes (default 2,1)")
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="write all samples, statistics and verdicts there"
    )
    parser.add_argument(
        "--build", type=Path, default=REPOSITORY / "build" / "release", metavar="DIR", help="the build"
    )
    parser.add_argument(
        "--scratch", type=Path, metavar="DIR", help="directory for traces, up to 2 GB (default: in the build)"
    )
    return parser.parse_args()


def choose(option: str, wanted: str | None, known: Sequence[str]) -> list[str]:
    """Returns the names in a comma-separated list, in the order of `known`; without a list, all names."""
    if wanted is None:
        return list(known)
    names = [name for name in wanted.split(",") if name]
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        raise BenchmarkError(f"{option}: {wanted!r} is not a list of names from {', '.join(known)}")
    return [name for name in known if name in names]


def main() -> int:
    arguments = parse_arguments()
    try:
        case_names = choose("--cases", arguments.cases, [case.name for case in CASES])
        variant_names = choose("--variants", arguments.variants, [variant.name for variant in VARIANTS])
        if not re.fullmatch(r"[1-9]\d*(,[1-9]\d*)*", arguments.threads):
            raise BenchmarkError(f"--threads: {arguments.threads!r} is not a list of whole numbers from 1 on")
        if arguments.repeat < 1:
            raise BenchmarkError("--repeat must be at least 1")
        cases = [case for case in CASES if case.name in case_names]
        variants = [variant for variant in VARIANTS if variant.name in variant_names]
        threads = [int(word) for word in arguments.threads.split(",")]
        build: Path = arguments.build.resolve()
        bench = Bench(build, arguments.scratch or build / "benchmarks" / "scratch")
        bench.prepare(cases, variants)
        report = build_report(measure(bench, cases, variants, threads, arguments.repeat))
    except BenchmarkError as error:
        print(f"overhead: {error}", file=sys.stderr)
        return 1
    print(format_report(report))
    if arguments.json:
        arguments.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
