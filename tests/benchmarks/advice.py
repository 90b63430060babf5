# SPDX-License-Identifier: Apache-2.0
"""Compares the first advice on sick programs with the gain of their cured versions.

Takes the programs of tests/diseases whose cure is a change that `ompass advise` can suggest (advice.csv).
Runs each program sick, cured, and sick with a recorded trace, in random order. `ompass advise` reads the
trace with the median time. The first advice is right if advice.csv lists its kind for the program, and the
predicted gain is within 10 points of the measured gain (from medians). build/advice keeps finished
measurements; `--again` reads them instead of running the programs. Needs the package and, for good figures, a
quiet machine. 70 programs and five rounds take some 15 minutes.

    PYTHONPATH=tests:tests/support python tests/benchmarks/advice.py --rounds 5 --json advice.json
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

import toolchains
from diseases.conditions import QUIET
from diseases.labels import Label, advised_kinds, all_labels
from diseases.runs import COMPILERS, build
from ompass.errors import OmpassError
from ompass.installation import Component, library_path
from ompass.readers.run import open_run
from ompass.simulation.advice import advise

FOLDER = toolchains.REPOSITORY / "build" / "advice"
NEAR = 0.10
THREADS = 2


@dataclass(frozen=True)
class Measured:
    """The wall times of one program in all rounds, in s, and the recording with the median time."""

    sick: list[float]
    cured: list[float]
    run_dir: str

    @property
    def gain(self) -> float:
        return 1 - median(self.cured) / median(self.sick)


@dataclass(frozen=True)
class Judged:
    """The first advice on one program; its kind is empty if there is none."""

    program: str
    disease: str
    compiler: str
    expected: str  # kinds
    measured: float
    kind: str
    gain: float
    low: float
    high: float
    place: str
    title: str
    others: list[str]  # further advice: kind and gain
    took_s: float

    @property
    def right_kind(self) -> bool:
        return self.kind in self.expected.split()

    @property
    def right(self) -> bool:
        return self.right_kind and abs(self.gain - self.measured) <= NEAR


def measure(label: Label, compiler: str, rounds: int, order: random.Random) -> Measured:
    """Runs both versions of the program and records the sick one, in random order in each round."""
    toolchain = toolchains.toolchain_named(compiler)
    sick, cured = build(label, compiler), build(label, compiler, cured=True)
    folder = FOLDER / f"{label.program}-{compiler}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    settings = label.environment | QUIET.environment(THREADS)
    library = library_path(Component.TOOL)
    times: dict[Path, list[float]] = {sick: [], cured: []}
    recorded: list[tuple[int, Path]] = []

    def run(program: Path) -> None:
        before = time.perf_counter()
        ended = toolchain.run([str(program)], settings | {"OMP_NUM_THREADS": str(THREADS)})
        times[program].append(time.perf_counter() - before)
        assert ended.returncode == 0, f"{program} ended with {ended.returncode}"

    def record(run_dir: Path) -> None:
        toolchains.run_with_tool(
            sick, toolchain, library=library, run_dir=run_dir, threads=THREADS, mode="trace", preload=True,
            environment=settings,
        )  # fmt: skip
        recorded.append((open_run(run_dir).wall_ns, run_dir))

    with QUIET():
        for number in range(rounds):
            for what in order.sample(("sick", "cured", "trace"), 3):
                if what == "trace":
                    record(folder / f"{number}.ompass")
                else:
                    run(sick if what == "sick" else cured)
    recorded.sort()
    kept = recorded[len(recorded) // 2][1]
    for _, run_dir in recorded:
        if run_dir != kept:
            shutil.rmtree(run_dir)
    measured = Measured(times[sick], times[cured], str(kept))
    (folder / "times.json").write_text(json.dumps(asdict(measured)), encoding="utf-8")
    return measured


def read_measured(label: Label, compiler: str) -> Measured:
    text = (FOLDER / f"{label.program}-{compiler}" / "times.json").read_text(encoding="utf-8")
    return Measured(**json.loads(text))


def judge(label: Label, expected: tuple[str, ...], compiler: str, measured: Measured) -> Judged:
    before = time.perf_counter()
    try:
        content = advise(Path(measured.run_dir))
        changes = content.changes
    except OmpassError as error:
        print(f"{label.program}: {error.one_line()}", file=sys.stderr)
        changes = ()
    first = changes[0] if changes else None
    return Judged(
        program=label.program,
        disease=label.disease,
        compiler=compiler,
        expected=" ".join(expected),
        measured=measured.gain,
        kind=first.kind if first else "",
        gain=first.gain if first else 0.0,
        low=first.low if first else 0.0,
        high=first.high if first else 0.0,
        place=content.location(first.construct).label() if first else "",
        title=f"{first.kind} {first.value}" if first else "",
        others=[f"{change.kind} {change.gain:.2f}" for change in changes[1:]],
        took_s=time.perf_counter() - before,
    )


def row(judged: Judged) -> str:
    """Returns a line of the table: the measured gain, the first advice, and the others."""
    mark = "ok   " if judged.right else "kind " if not judged.right_kind else "gain "
    first = f"{judged.kind or 'none'} {judged.gain:.0%}" if judged.kind else "none"
    return (
        f"{mark}{judged.program:26}{judged.measured:6.0%}  {first:20}{judged.place:28}"
        f"[{judged.low:.0%}, {judged.high:.0%}] {judged.took_s:4.1f} s  {', '.join(judged.others[:4])}"
        + ("" if judged.right_kind else f"  (right: {judged.expected})")
    )


def as_values(all_judged: Sequence[Judged]) -> dict[str, Any]:
    return {
        "programs": len(all_judged),
        "right_kind": sum(judged.right_kind for judged in all_judged),
        "right": sum(judged.right for judged in all_judged),
        "judged": [asdict(judged) | {"right": judged.right} for judged in all_judged],
    }


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default="", metavar="NAMES", help="programs or diseases, comma-separated")
    parser.add_argument("--compilers", default=COMPILERS[0], metavar="NAMES", help="comma-separated")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="rounds of each program (5)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="seed of the order of runs (1)")
    parser.add_argument("--again", action="store_true", help="read the kept measurements")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all results to FILE")
    return parser.parse_args()


def main() -> None:
    options = parsed()
    only = options.only.split(",") if options.only else ()
    order = random.Random(options.seed)
    found = []
    kinds = advised_kinds()
    for label in all_labels():
        if label.program not in kinds or (only and not {label.program, label.disease} & set(only)):
            continue
        for compiler in options.compilers.split(","):
            if not label.builds_with(compiler):
                continue
            measured = (
                read_measured(label, compiler)
                if options.again
                else measure(label, compiler, options.rounds, order)
            )
            found.append(judge(label, kinds[label.program], compiler, measured))
            print(row(found[-1]), flush=True)
    values = as_values(found)
    print(f"{values['right_kind']} of {len(found)} kinds are right; {values['right']} of their gains too")
    if options.json:
        options.json.write_text(json.dumps(values, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
