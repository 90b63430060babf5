# SPDX-License-Identifier: Apache-2.0
"""Measures how often `ompass check` and `ompass compare` are right: equal builds, and builds with more work.

Each pair is one program at two paths, like two equal builds. In some pairs the second one gets more work.
`check` records the pair, and `compare` reads the same runs. The pairs come in random order, so a drift of the
machine affects both kinds. Writes every verdict as JSON. Needs the package, clang, and a quiet machine: 150
pairs take about an hour.

    python tests/benchmarks/verdicts.py --equal 100 --more 50 -o verdicts.json
    python tests/benchmarks/verdicts.py --again verdicts.json

The second form takes the recorded times of equal builds as noise. It counts how often `compare` would call n
of these runs different from n others, if they had run alternately or in series.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ompass.check.verdict import MOST_ROUNDS
from ompass.comparison.metrics import Repeat, changes
from ompass.model import StateTimes

PROGRAM = Path(__file__).with_name("verdict_program.c")
KINDS = ("tasks", "fine", "loop", "memory")
AMOUNT = 1000


@dataclass(frozen=True)
class Outcome:
    """One pair, and the results of both commands."""

    kind: str
    more: bool
    check: int  # exit status
    check_verdict: str
    because: str
    rounds: int
    compare: str  # verdict of the comparison
    different: tuple[str, ...]  # figures that compare called different
    times_ns: tuple[tuple[int, int], ...]  # of each round: before, after
    load: float  # of the machine, before the pair


def ompass(*words: object, statuses: Sequence[int] = (0,)) -> subprocess.CompletedProcess[str]:
    """Runs the command. Raises RuntimeError if it ends with another status."""
    command = [sys.executable, "-m", "ompass", *map(str, words)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode not in statuses:
        raise RuntimeError(f"{' '.join(command)} ended with {ended.returncode}: {ended.stderr}")
    return ended


def try_pair(kind: str, more: bool, options: argparse.Namespace, folder: Path) -> Outcome:
    """Records a pair, and returns the results of both commands."""
    amount = round(AMOUNT * (1 + options.percent / 100)) if more else AMOUNT
    load = os.getloadavg()[0]
    runs = folder / "runs"
    shutil.rmtree(runs, ignore_errors=True)
    checked = ompass(
        "check", "--json", "--quiet", "--threads", options.threads, "--repeat", options.repeat,
        "--time", options.time, "-o", runs, "--no-traces",
        f"{folder / 'before'} {kind} {AMOUNT}", "--", folder / "after", kind, amount,
        statuses=(0, 1, 2),
    )  # fmt: skip
    report = json.loads(checked.stdout)
    (compared,) = json.loads(ompass("compare", "--json", runs / "before", runs / "after").stdout)["compared"]
    return Outcome(
        kind=kind,
        more=more,
        check=checked.returncode,
        check_verdict=report["verdict"],
        because=report["because"],
        rounds=report["runs_after"],
        compare=compared["verdict"],
        different=tuple(
            " ".join(filter(None, (c["figure"], (c["construct"] or {}).get("label"))))
            for c in compared["changes"]
            if c["verdict"] in ("more", "less")
        ),
        times_ns=tuple(
            zip(report["times"][0]["values_before_ns"], report["times"][0]["values_after_ns"], strict=True)
        ),
        load=load,
    )


def called_different(runs: Sequence[tuple[str, int]]) -> bool:
    """True if `compare` calls the two sides different. `runs`: (side, time in ns), in the order of start."""
    sides: dict[str, list[Repeat[str]]] = {"before": [], "after": []}
    for start, (side, time_ns) in enumerate(runs):
        sides[side].append(Repeat(time_ns, StateTimes(work_ns=time_ns), 1, {}, start))
    return changes(sides["before"], sides["after"])[0].verdict in ("more", "less")


def on_recorded_noise(pairs: Sequence[Mapping[str, Any]], n: int, chance: random.Random) -> dict[str, str]:
    """Counts the comparisons of n equal runs with n others that `compare` calls different.

    Returns the count by order of the runs: alternating, or in series.
    """
    found = {"alternating": [0, 0], "in series": [0, 0]}
    for pair in pairs:
        times = [time_ns for each in pair["times_ns"] for time_ns in each]
        for first in range(0, len(times) - 2 * n + 1, 2):
            window = times[first : first + 2 * n]
            order = [side for _ in range(n) for side in chance.sample(("before", "after"), 2)]
            for name, sides in (("alternating", order), ("in series", ["before"] * n + ["after"] * n)):
                found[name][0] += called_different(list(zip(sides, window, strict=True)))
                found[name][1] += 1
    return {name: f"{wrong} of {total}" for name, (wrong, total) in found.items()}


def summary(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Returns the counts that docs/check.md reports."""
    found: dict[str, Any] = {}
    for name, more in (("equal", False), ("more_work", True)):
        those = [one for one in outcomes if one.more == more]
        found[name] = {
            "pairs": len(those),
            "check": dict(collections.Counter(f"{one.check} {one.check_verdict}" for one in those)),
            "compare": dict(collections.Counter(one.compare for one in those)),
            "any_figure_different": sum(bool(one.different) for one in those),
            "mean_rounds": sum(one.rounds for one in those) / len(those) if those else 0,
        }
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--equal", type=int, default=100, help="pairs of equal builds")
    parser.add_argument("--more", type=int, default=50, help="pairs whose second build has more work")
    parser.add_argument("--percent", type=float, default=3, help="how much more work")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=MOST_ROUNDS)
    parser.add_argument("--time", default="10m")
    parser.add_argument("--compiler", default="clang-19")
    parser.add_argument("-o", "--output", type=Path, default=Path("verdicts.json"))
    parser.add_argument("--again", type=Path, help="evaluate the noise in this file; record nothing")
    options = parser.parse_args()
    if options.again:
        pairs = json.loads(options.again.read_text(encoding="utf-8"))["pairs"]
        equal = [pair for pair in pairs if not pair["more"]]
        for n in (4, 5, 6, 8, 10):
            print(n, on_recorded_noise(equal, n, random.Random(0)))
        return
    plan = [(KINDS[k % len(KINDS)], False) for k in range(options.equal)]
    plan += [(KINDS[k % len(KINDS)], True) for k in range(options.more)]
    random.shuffle(plan)
    outcomes: list[Outcome] = []
    with tempfile.TemporaryDirectory(prefix="ompass-verdicts-") as name:
        folder = Path(name)
        for side in ("before", "after"):
            command = [options.compiler, "-O2", "-g", "-fopenmp", str(PROGRAM), "-o", str(folder / side)]
            subprocess.run(command, check=True)
        for number, (kind, more) in enumerate(plan, 1):
            outcomes.append(try_pair(kind, more, options, folder))
            one = outcomes[-1]
            print(
                f"{number}/{len(plan)} {kind}, {'more' if more else 'equal'}: check {one.check} "
                f"({one.check_verdict}, {one.rounds} rounds), compare {one.compare}, load {one.load:.1f}",
                flush=True,
            )
            document = {"summary": summary(outcomes), "pairs": [asdict(each) for each in outcomes]}
            options.output.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(summary(outcomes), indent=2))


if __name__ == "__main__":
    main()
