# SPDX-License-Identifier: Apache-2.0
"""Records programs with one known defect each, and checks that the advice names the line of the defect.

The tasks sleep, so a busy machine hardly changes their times. The program prints how late the system woke
them, and the test uses the round with the least lateness. tests/slow/test_predictions.py measures the real
gain of the changed programs; tests/native/test_simulation.cpp computes exact gains of synthetic programs.
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
LATE_NS = 3_000_000  # largest lateness of a round that need not be repeated
LEAST = 0.04  # least accepted gain, because late wake-ups reduce it; also the tolerated excess


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
