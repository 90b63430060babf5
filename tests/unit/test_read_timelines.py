# SPDX-License-Identifier: Apache-2.0
"""The slices of synthetic traces: windows, limits, and the order in which a thread enters and leaves them."""

from __future__ import annotations

from pathlib import Path

import pytest

from made_traces import Body, Schedule, Spawn, Wait, Work, write_trace
from ompass.errors import NothingToShowError, UsageError
from ompass.model import Run
from ompass.readers.run import open_run
from ompass.readers.timeline import Slice, read_timeline, walk

BODY: Body = (*(Spawn((Work(1000),), 2) for _ in range(40)), Wait())


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return open_run(write_trace(tmp_path / "made.ompass", Schedule(BODY, 2)), "events")


def test_a_run_with_more_slices_than_the_limit_is_refused_with_windows_that_fit(run: Run) -> None:
    n = len(read_timeline(run))
    assert len(read_timeline(run, limit=n)) == n
    with pytest.raises(UsageError) as refused:
        read_timeline(run, limit=50)
    assert "more than 50 slices" in refused.value.one_line()
    assert "--window" in refused.value.one_line()


def test_a_short_window_of_a_long_run_is_not_refused(run: Run) -> None:
    whole = read_timeline(run)
    few = read_timeline(run, start_ns=whole.end_ns // 2, end_ns=whole.end_ns // 2 + 500, limit=50)
    assert 0 < len(few) < 50
    first = read_timeline(run, end_ns=500, limit=50)
    assert 0 < len(first) < 50
    assert (first.start_ns, first.end_ns) == (0, 500)
    with pytest.raises(NothingToShowError):
        read_timeline(run, start_ns=10**15, end_ns=10**15 + 1)


def test_a_thread_enters_and_leaves_each_slice_once_in_order(run: Run) -> None:
    timeline = read_timeline(run)
    assert timeline.end_ns == max(s.end_ns for slices in timeline.by_thread.values() for s in slices)
    for slices in timeline.by_thread.values():
        stack: list[Slice] = []
        times: list[int] = []
        for time, one, entered in walk(slices):
            times.append(time)
            if entered:
                assert one.depth == len(stack)
                stack.append(one)
            else:
                assert stack.pop() is one
        assert not stack
        assert times == sorted(times)
        assert len(times) == 2 * len(slices)
