# SPDX-License-Identifier: Apache-2.0
"""The addresses of data at samples show false sharing, and contention for atomic updates."""

from __future__ import annotations

from dataclasses import replace

import pytest

from made_findings import findings, the
from made_runs import MS, made_run, team
from ompass.model import Run
from ompass.sampled import ATOMIC
from ompass.samples.metrics import (
    FalseSharing,
    Line,
    LocatedSample,
    Owner,
    UsedBytes,
    UsedData,
    false_sharing,
    share_at_common_lines,
)

LINE = Line("f", "a.c", 7, "a", "a.c:7", "a.c:7 (f)")
OTHER = replace(LINE, line=9, place="a.c:9", label="a.c:9 (f)")
TASK = Owner("task", 3)
BASE = 0x7000_0000
N_OF_THREAD = {0: 50, 1: 50}


def use(thread: int, time: int, first: int, *, stores: bool = True, line: Line = LINE) -> UsedData:
    """Makes a sample that accesses 8 bytes."""
    used = UsedBytes(BASE + first, BASE + first + 8, stores, line)
    return UsedData(thread, time, 1, TASK, (used,))


def alternating(
    n: int, first: tuple[int, int], *, stores: tuple[bool, bool] = (True, True)
) -> list[UsedData]:
    """Makes n samples of each of two threads, in turn."""
    return [use(k % 2, k, first[k % 2], stores=stores[k % 2]) for k in range(2 * n)]


def test_different_bytes_of_one_line_are_shared_falsely() -> None:
    found = false_sharing(alternating(20, (0, 24)), N_OF_THREAD)
    assert found == FalseSharing(40, 1, 2, 3, (LINE,), 1.0)


@pytest.mark.parametrize(
    ("first", "stores", "is_found"),
    [
        ((0, 56), (True, True), True),
        ((0, 64), (True, True), False),  # another line
        ((0, 0), (True, True), False),  # the same datum
        ((0, 4), (True, True), False),  # overlapping data
        ((0, 24), (True, False), True),  # one thread reads beside the other's datum
        ((0, 24), (False, False), False),  # nobody writes
    ],
)
def test_the_bytes_and_writes_decide(
    first: tuple[int, int], stores: tuple[bool, bool], is_found: bool
) -> None:
    found = false_sharing(alternating(20, first, stores=stores), N_OF_THREAD)
    assert (found is not None) == is_found


@pytest.mark.parametrize(("n", "of", "is_found"), [(4, 80, True), (3, 60, False), (4, 81, False)])
def test_a_line_counts_if_each_thread_uses_it_often(n: int, of: int, is_found: bool) -> None:
    assert (false_sharing(alternating(n, (0, 24)), {0: of, 1: 10}) is not None) == is_found


@pytest.mark.parametrize(("n_switches", "is_found"), [(3, True), (2, False)])
def test_threads_that_use_a_line_one_after_the_other_do_not_share_it(n_switches: int, is_found: bool) -> None:
    uses = [
        use(part % 2, 100 * part + k, 24 * (part % 2)) for part in range(n_switches + 1) for k in range(5)
    ]
    assert (false_sharing(uses, N_OF_THREAD) is not None) == is_found


def test_few_accesses_to_a_common_datum_of_the_line_do_not_matter() -> None:
    apart = alternating(20, (0, 24))
    common = [use(k % 2, 100 + k, 40) for k in range(10)]
    assert false_sharing(apart + common, N_OF_THREAD) is not None
    more = [use(k % 2, 100 + k, 40) for k in range(11)]
    assert false_sharing(apart + more, N_OF_THREAD) is None


def test_the_line_of_the_writes_is_named() -> None:
    reads_and_writes = [
        replace(one, used=(replace(one.used[0], stores=False, line=OTHER), *one.used))
        for one in alternating(20, (0, 24))
    ]
    found = false_sharing(reads_and_writes, N_OF_THREAD)
    assert found is not None and found.lines == (LINE,)


def test_lines_of_all_threads_count_together() -> None:
    uses = alternating(20, (0, 24)) + [use(2 + k % 2, k, 640 + 24 * (k % 2)) for k in range(40)]
    found = false_sharing(uses, dict.fromkeys(range(4), 50))
    assert found is not None and (found.n, found.n_lines, found.n_threads) == (80, 2, 4)


def working() -> Run:
    return made_run(team(0, [{"work_ns": 100 * MS}] * 2))


@pytest.mark.parametrize(("n", "is_found"), [(6, True), (4, False)])
def test_shared_lines_are_reported_from_a_tenth_of_the_time_on(n: int, is_found: bool) -> None:
    uses = tuple(replace(one, owner=Owner("implicit", 0)) for one in alternating(n, (0, 24)))
    samples = tuple(LocatedSample(thread, Owner("implicit", 0), (LINE,), "", 50) for thread in (0, 1))
    if not is_found:
        assert findings(working(), samples=samples, used_data=uses) == findings(working(), samples=samples)
        return
    found = the(working(), "false_sharing", samples=samples, used_data=uses)
    assert found.cost_ns == 2 * n * 2 * MS
    assert found.line == LINE
    assert "1 cache line (64 bytes) with data of 2 threads" in found.because


def test_writes_on_lines_of_several_threads_are_counted() -> None:
    alone = [use(k % 2, k, 64 * k) for k in range(30)]
    assert share_at_common_lines(alone) == (30, 0.0)
    common = [use(k % 2, k, 6400) for k in range(10)]
    reads = [use(k % 2, k, 6400, stores=False) for k in range(10)]
    assert share_at_common_lines(alone + common + reads) == (40, 0.25)


def test_a_write_to_private_data_beside_an_update_does_not_hide_it() -> None:
    spilled = [
        replace(one, used=(*use(one.thread, 0, -6400 - 640 * one.thread).used, *one.used))
        for one in (use(k % 2, k, 0) for k in range(20))
    ]
    assert share_at_common_lines(spilled) == (20, 1.0)


def updating(n_common: int, n: int) -> tuple[UsedData, ...]:
    """Makes n atomic updates, of which n_common are on one cache line."""
    return tuple(
        replace(use(k % 2, k, 0 if k < n_common else 64 * k), behaviour=ATOMIC, owner=Owner("implicit", 0))
        for k in range(n)
    )


@pytest.mark.parametrize(
    ("n_atomic", "used", "title"),
    [
        (41, updating(0, 40), "Atomic updates take much of the work"),
        (39, updating(0, 40), ""),  # no contention, and too little time
        (21, updating(4, 40), "Threads contend for atomic updates"),
        (41, updating(3, 40), "Atomic updates take much of the work"),  # less than a tenth on common lines
        (21, updating(0, 9), "Threads contend for atomic updates"),  # too few addresses
        (21, (), "Threads contend for atomic updates"),  # a recording without addresses
    ],
)
def test_updates_of_different_cache_lines_are_no_contention(
    n_atomic: int, used: tuple[UsedData, ...], title: str
) -> None:
    owner = Owner("implicit", 0)
    samples = (
        LocatedSample(0, owner, (LINE,), "", n_atomic, ATOMIC),
        LocatedSample(1, owner, (OTHER,), "", 100 - n_atomic),
    )
    found = [f for f in findings(working(), samples=samples, used_data=used) if f.kind == "atomic_contention"]
    assert [finding.title for finding in found] == ([title] if title else [])
