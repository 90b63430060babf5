# SPDX-License-Identifier: Apache-2.0
"""Steps that time benchmark programs, most of them without recording them, and ratios of these times.

A step runs all cases of one group once, in random order, so that a disturbance affects all of them. A case
repeats its work. Its time is the shortest: other programs on the same processors can only add to it.
"""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import toolchains
from papers import priority
from papers.model import Step, Values, Workplace
from papers.recordings import PATIENCE_S, Case

_TRACING: Final = {
    "OMP_TOOL_LIBRARIES": str(toolchains.BUILD / "lib" / "libompass.so"),
    "OMPASS_MODE": "trace",
    "OMPASS_SAMPLE": "off",
    "OMPASS_SUMMARY": "off",
}


@dataclass(frozen=True, slots=True)
class Group:
    """Cases whose times are compared. Each repeats its work `n_repeats` times."""

    name: str
    cases: Sequence[Case]
    n_repeats: int


def timings(groups: Sequence[Group], n_rounds: int) -> Iterator[Step]:
    """Yields a step per group and round. Its value is the seconds of each case, by the name of the case."""
    for number in range(n_rounds):
        for group in groups:
            yield Step(f"time {group.name} {number}", _Timed(group, number))


@dataclass(frozen=True, slots=True)
class _Timed:
    group: Group
    number: int

    def __call__(self, place: Workplace) -> dict[str, float]:
        shuffled = list(self.group.cases)
        random.Random(self.number).shuffle(shuffled)
        return {case.name: _seconds(case, self.group.n_repeats, place.folder) for case in shuffled}


def _seconds(case: Case, n_repeats: int, folder: Path) -> float:
    """Returns the shortest time of a verified run. Raises CalledProcessError if a result is wrong."""
    command = [*priority.prefix(), *case.command(), "--json", "--repeat", str(n_repeats)]
    environment = toolchains.neutral_environment() | {**case.variables}
    if case.traced:
        trace = folder / "timed.ompass"
        shutil.rmtree(trace, ignore_errors=True)
        environment |= {**_TRACING, "OMPASS_DIR": str(trace)}
    done = subprocess.run(
        command, env=environment, check=True, capture_output=True, text=True, timeout=PATIENCE_S
    )
    repeats: list[float] = json.loads(done.stdout)["repeats"]
    return min(repeats)


def rounds(values: Values, group: str) -> list[Mapping[str, float]]:
    """Returns the times of every round of a group."""
    return [value for key, value in values.items() if key.rpartition(" ")[0] == f"time {group}"]


def ratio(values: Values, group: str, over: str, under: str, other_group: str = "") -> float:
    """Returns the shortest time of the case `over` divided by the shortest of `under`, over all rounds.

    `other_group`: the group of `under`, if it is not `group`.
    """
    return shortest(values, group, over) / shortest(values, other_group or group, under)


def shortest(values: Values, group: str, case: str) -> float:
    """Returns the shortest time of a case, over all rounds, in seconds."""
    return min(times[case] for times in rounds(values, group))


def error(values: Values, group: str, cases: Sequence[str]) -> float:
    """Returns the largest ratio of a case's times in two rounds, which shows the error of a ratio."""
    times = [[one[case] for one in rounds(values, group)] for case in cases]
    return max(max(found) / min(found) for found in times)


def repeatability(values: Values, group: str, case: str) -> float:
    """Returns the second shortest time of all rounds over the shortest: the error of the shortest."""
    first, second, *_ = sorted(times[case] for times in rounds(values, group))
    return second / first
