# SPDX-License-Identifier: Apache-2.0
"""Windows of a long trace with at most a given number of events."""

from __future__ import annotations

import time

import pytest

from made_runs import made_run
from ompass.errors import NothingToShowError
from ompass.readers.timeline import check_has_events, fitting_windows


@pytest.mark.parametrize(
    ("counts", "limit", "windows"),
    [
        ([1, 1, 1, 1], 4, [(0, 4), (0, 2)]),  # the first of the equally dense windows with half of the events
        ([1, 1, 1, 1], 3, [(0, 3), (0, 2)]),
        ([5, 1, 1, 9, 1, 1, 1], 9, [(0, 3), (3, 4)]),
        ([10, 0, 0, 0, 10], 10, [(0, 4), (0, 1)]),
        ([9, 9], 8, []),  # no part fits
        ([9, 1, 9], 8, [(1, 2), (1, 2)]),
        ([0, 0, 9, 0, 0, 3, 3, 3], 9, [(0, 5), (0, 3)]),
        ([1, 0, 0, 0, 4, 4, 0, 0], 8, [(1, 8), (1, 6)]),
        ([], 8, []),
    ],
)
def test_the_longest_and_the_densest_window_have_at_most_the_limit(
    counts: list[int], limit: int, windows: list[tuple[int, int]]
) -> None:
    found = fitting_windows(counts, limit)
    assert found == windows
    assert all(sum(counts[first:end]) <= limit for first, end in found)


def test_windows_of_many_parts_are_found_quickly() -> None:
    begin_s = time.process_time()
    assert fitting_windows([3] * 20_000, 300) == [(0, 100), (0, 50)]
    assert time.process_time() - begin_s < 2


def test_only_traces_have_events() -> None:
    check_has_events(made_run(mode="trace"))
    with pytest.raises(NothingToShowError, match="profile mode"):
        check_has_events(made_run(mode="profile"))
