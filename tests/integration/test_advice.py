# SPDX-License-Identifier: Apache-2.0
"""Advice on recorded programs with one known defect each: it names the line.

The tasks sleep, so a busy machine hardly changes their times, and the program prints how late it woke
them: the round with the least lateness counts. tests/slow/test_predictions.py measures the real gain of the
changed programs, tests/native/test_simulation.cpp the exact gain of made programs.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ompass.simulation.advice import advise
from ompass.simulation.report import advice_report
from toolchains import Record

SOURCE = "simulation/sleepers.c"
ROUNDS = 8
LATE_NS = 3_000_000  # lateness that needs no further round
LEAST = 0.04  # least measured gain; late wake-ups consume the rest


def line_of(mark: str) -> int:
    source = Path(__file__).resolve().parents[1] / "programs" / SOURCE
    (line,) = (n for n, text in enumerate(source.read_text().splitlines(), 1) if text.endswith(f"@{mark}"))
    return line


@pytest.mark.parametrize(
    ("shape", "threads", "kinds", "gain", "words"),
    [
        ("late", 2, ["priority"], 1 / 3, "`priority(1)`"),
        ("columns", 2, ["dependences"], 1 / 3, "`depend(in: ...)`"),
        ("bound", 3, ["untied"], 2 / 9, "`untied`"),
        ("coarse", 2, ["finer"], 1 / 4, "`grainsize(2)`"),
        ("uneven", 2, ["schedule", "taskloop"], 1 / 3, "`schedule(dynamic, n)`"),
    ],
)
def test_advice_shows_the_line_and_the_code_to_write(
    record: Record, shape: str, threads: int, kinds: list[str], gain: float, words: str
) -> None:
    rounds: list[tuple[int, Path]] = []
    while len(rounds) < ROUNDS and min(rounds, default=(LATE_NS + 1,))[0] > LATE_NS:
        run = record(SOURCE, shape, "20", opt_level="-O1", mode="trace", threads=threads, preload=True)
        late = re.search(r"late=(\d+)", run.process.stdout)
        assert late
        rounds.append((int(late[1]), run.run_dir))
    content = advise(min(rounds)[1])
    found = {change.kind: change for change in reversed(content.changes)}  # the best of each kind
    report = advice_report(content).values["advice"]
    written = {one["kind"]: one["write"] for one in report}
    for kind in kinds:
        assert kind in found, sorted(found)
        assert LEAST < found[kind].gain < gain + LEAST
        assert content.location(found[kind].construct).line == line_of(shape)
    assert words in written[kinds[0]]
