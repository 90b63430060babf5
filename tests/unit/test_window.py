# SPDX-License-Identifier: Apache-2.0
"""Statistics of parts of a run: the parts add up to the whole."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

import made_traces
from made_traces import Body, Wait, write_trace
from ompass import open
from ompass.model import STATES, Run
from ompass.readers.run import open_run
from unit.test_schedule import BODIES, MIXED

FIGURES = {
    "regions": [*(f"{state}_ns" for state in STATES), "total_ns", "wall_ns", "n_tasks", "implicit_ns"],
    "constructs": ["work_ns", "n_completed", "n_created", "create_ns", "ready_ns"],
}
Figures = Counter[tuple[str, int, int, str]]


def figures(run: Run) -> Figures:
    """Returns every additive figure, by table, construct and thread."""
    return +Counter(
        {
            (table, row.construct, row.thread, name): getattr(row, name)
            for table, names in FIGURES.items()
            for row in getattr(run, table)
            for name in names
        }
    )


def states(run: Run) -> list[int]:
    return [sum(getattr(row, f"{state}_ns") for row in run.regions) for state in STATES]


def part(path: Path, start_ns: int, end_ns: int) -> Run:
    return open_run(path, "events", (start_ns, end_ns))


def check_cuts(path: Path, cuts: tuple[int, int]) -> None:
    whole = open_run(path, "events")
    first, second = sorted(min(cut, whole.wall_ns) for cut in cuts)
    windows = [(0, first), (first, second), (second, -1)]
    parts = [part(path, *window) for window in windows if window[0] < window[1] or window[1] < 0]
    assert sum((figures(each) for each in parts), Figures()) == figures(whole)
    assert sum(each.wall_ns for each in parts) == whole.wall_ns
    if first < second:
        sql = open(path).sql(
            f"SELECT state, sum(least(end_ns, {second}) - greatest(start_ns, {first})) AS ns FROM stretches "
            f"WHERE start_ns < {second} AND end_ns > {first} GROUP BY state"
        )
        known = dict(sql.rows())
        assert states(part(path, first, second)) == [known.get(state, 0) for state in STATES]


@given(body=BODIES, cuts=st.tuples(st.integers(1, 4000), st.integers(1, 4000)))
@settings(max_examples=60)
def test_parts_of_a_run_add_up_to_the_whole(body: Body, cuts: tuple[int, int]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = write_trace(Path(folder) / "made.ompass", made_traces.Schedule((*body, Wait()), 3, 1))
        check_cuts(path, cuts)


def test_parts_of_a_run_with_long_and_short_tasks_add_up(tmp_path: Path) -> None:
    path = write_trace(tmp_path / "made.ompass", made_traces.Schedule(MIXED, 2, 0))
    for first in range(1, 100_000, 7_919):
        check_cuts(path, (first, first + 13_007))
